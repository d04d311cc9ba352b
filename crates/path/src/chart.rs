//! The queueing delay over time, drawn with characters.

use std::fmt::Write as _;

use aqmkit_base::{Duration, Instant};

use crate::log::{Event, Log};

/// The columns of a text chart.
const COLUMNS: usize = 64;
/// Its rows.
const ROWS: usize = 8;
/// A block of each height, in eighths of a row.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A period of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Column {
    /// The longest queueing delay of the packets that left.
    pub(crate) delay: Duration,
    pub(crate) dropped: u64,
    pub(crate) lost: u64,
    pub(crate) marked: u64,
}

/// The run, until `end`, in periods of equal length.
pub(crate) fn columns(log: &Log, end: Instant, number: usize) -> Vec<Column> {
    let mut columns = vec![Column::default(); number];
    let span = u128::from(end.as_nanos().max(1));
    for (at, event) in &log.events {
        let place = (u128::from(at.as_nanos()) * number as u128 / span) as usize;
        let Some(column) = columns.get_mut(place.min(number - 1)) else { continue };
        match event {
            Event::Departed { waited, .. } => column.delay = column.delay.max(*waited),
            Event::Dropped { .. } => column.dropped += 1,
            Event::Lost => column.lost += 1,
            Event::Marked { .. } => column.marked += 1,
            _ => {}
        }
    }
    columns
}

/// The packets of a period that a row of the chart counts.
type Count = fn(&Column) -> u64;

/// The rows of events below the delays.
pub(crate) const EVENTS: [(&str, Count); 3] =
    [("drops", |column| column.dropped), ("lost", |column| column.lost), ("marks", |column| column.marked)];

pub(crate) fn chart(log: &Log, end: Instant) -> String {
    let columns = columns(log, end, COLUMNS);
    let highest = columns.iter().map(|column| column.delay).max().unwrap_or_default();
    let mut text = String::new();
    for row in (0..ROWS).rev() {
        let label = match row {
            0 => "0".to_owned(),
            row if row + 1 == ROWS => format!("{:.1} ms", highest.as_millis_f64()),
            _ => String::new(),
        };
        let bars: String = columns.iter().map(|column| block(column.delay, highest, row)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label:>10} │{}", bars.trim_end());
    }
    let _ = writeln!(text, "{:>10} └{}", "", "─".repeat(COLUMNS));
    for (name, count) in EVENTS {
        if columns.iter().any(|column| count(column) > 0) {
            let digits: String = columns.iter().map(|column| magnitude(count(column))).collect();
            let _ = writeln!(text, "{name:>10}  {}", digits.trim_end());
        }
    }
    let seconds = format!("{:.3} s", end.as_secs_f64());
    let _ = writeln!(text, "{:>10}  0{seconds:>width$}", "", width = COLUMNS - 1);
    text
}

/// The part of a bar in a row. A delay that is not zero is visible.
fn block(delay: Duration, highest: Duration, row: usize) -> char {
    let eighths = (ROWS * 8) as u128 * u128::from(delay.as_nanos());
    let height = eighths.div_ceil(u128::from(highest.as_nanos().max(1))) as usize;
    BLOCKS[height.saturating_sub(8 * row).min(8)]
}

/// A number of events as one character: digits, and `+` from ten on.
fn magnitude(events: u64) -> char {
    match events {
        0 => ' ',
        1..=9 => (b'0' + events as u8) as char,
        _ => '+',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_aqm::Why;
    use aqmkit_base::Transmission;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A delay that grows from 1 to 64 ms, one step a column; a drop in the first, and 12 marks in the last.
    #[test]
    fn a_delay_that_grows_evenly_is_a_staircase() {
        let mut log = Log::default();
        log.add(at(0), Event::Dropped { len: 1500, why: Why::Early, arrived: at(0) });
        for ms in 0..64 {
            let (waited, transmission) = (Duration::from_millis(ms + 1), Transmission::default());
            log.add(at(ms), Event::Departed { len: 1500, waited, transmission });
        }
        for _ in 0..12 {
            log.add(at(63), Event::Marked { len: 1500, why: Why::Early, arrived: at(63) });
        }
        let drawn = chart(&log, at(64));
        let rows: Vec<&str> = drawn.lines().collect();
        assert_eq!(rows[0], format!("   64.0 ms │{}▁▂▃▄▅▆▇█", " ".repeat(56)));
        assert_eq!(rows[7], format!("         0 │▁▂▃▄▅▆▇{}", "█".repeat(57)));
        assert_eq!((rows[9], rows[10]), ("     drops  1", format!("     marks  {}+", " ".repeat(63)).as_str()));
        assert!(rows[11].ends_with("0.064 s"), "{drawn}");
    }
}
