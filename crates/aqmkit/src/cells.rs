//! Table cells that the summaries of `link` and `replay` share.

use aqmkit_measure::output::Summary;
use aqmkit_report::format::fixed;

/// Mean, median, p90, p99 and maximum of a delay in ms; dashes if no packet left the queue.
pub(super) fn delays(delay: Option<&Summary>) -> [String; 5] {
    let of: [fn(&Summary) -> f64; 5] = [|d| d.mean, |d| d.p50, |d| d.p90, |d| d.p99, |d| d.max];
    of.map(|of| fixed(delay.map_or(f64::NAN, of), 2))
}
