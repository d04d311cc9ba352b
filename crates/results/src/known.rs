//! A mean beside the precision that is asked of it.

/// A mean and how far its interval is from the aim.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The row, with its combination if there are several: `fifo`, `fifo, topology.rate 10mbit`.
    pub row: String,
    /// The column: `queue delay, p99`.
    pub column: String,
    /// The mean with its interval and unit: `45.1 ±6.2 ms`.
    pub value: String,
    /// Half the width of its interval over what is aimed at: at most 1 where it is known well enough. Infinite for a
    /// single run.
    pub excess: f64,
}
