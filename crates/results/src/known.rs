//! A mean and its precision.

/// A mean, and the width of its interval relative to the required precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The row, with its combination if there are several: `fifo`, `fifo, topology.rate 10mbit`.
    pub row: String,
    /// The column: `queue delay, p99`.
    pub column: String,
    /// The mean with its interval and unit: `45.1 ±6.2 ms`.
    pub value: String,
    /// Half the width of the interval divided by the target: at most 1 if the mean is precise enough, infinite for a
    /// single run.
    pub excess: f64,
}
