//! Notes on the precision of results.

use aqmkit_base::Duration;
use aqmkit_results::Known;
use aqmkit_runs::transient::Unsettled;

/// Upper limit for the number of seeds that a note suggests.
const ADVISED: f64 = 1000.0;

/// Spelling of options in notes: those of the command, or arguments of a function.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Option for the time before the measurement: `--warmup`.
    pub warmup: &'static str,
    /// Option for the measured time: `--duration`.
    pub duration: &'static str,
    /// Option for this number of seeds: `--repeat 40`.
    pub repeat: fn(u32) -> String,
    /// Option for this precision: `--precision 10%`.
    pub precision: fn(f64) -> String,
}

/// Formats a share in percent without trailing zeros: 0.05 is `5`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{}", (1e4 * share).round() / 100.0)
}

/// Describes the purpose of the next round.
pub(super) fn purpose(worst: &Known, share: f64) -> String {
    format!("{} of {} is {} (aim ±{} %), ", worst.column, worst.row, worst.value, percent(share))
}

/// Notes on a lengthened warm-up, and on one that is still too short.
pub(super) fn on_warmup(found: Option<&Unsettled>, lengthened: Option<Duration>, options: &Options) -> Vec<String> {
    let mut said: Vec<String> = lengthened
        .map(|to| format!("The warm-up is {to}: before, the links had not settled ({} sets it).", options.warmup))
        .into_iter()
        .collect();
    said.extend(found.map(|found| {
        format!(
            "The {} of {} still settles in the first {:.0} s of the measured time: its mean includes the start-up. A \
             longer {} or {} helps.",
            found.what, found.run, found.first_s, options.warmup, options.duration
        )
    }));
    said
}

/// A note on the means that are less precise than required; `None` if there are none.
pub(super) fn unknown(judged: Vec<Known>, share: f64, seeds: u32, options: &Options) -> Option<String> {
    let unknown: Vec<Known> = judged.into_iter().filter(|known| known.excess > 1.0).collect();
    let worst = unknown.first()?;
    let mut columns: Vec<&str> = Vec::new();
    for known in &unknown {
        if !columns.contains(&known.column.as_str()) {
            columns.push(&known.column);
        }
    }
    let needed = (f64::from(seeds) * worst.excess * worst.excess).ceil();
    let repeats =
        if needed <= ADVISED { format!("about {}, ", (options.repeat)(needed as u32)) } else { String::new() };
    Some(format!(
        "After {seeds} seeds these are known less well than to ±{} %: {}. The widest is {} of {}: {}. For closer ones: {repeats}a longer \
         {}, or a wider aim such as {}.",
        percent(share),
        columns.join(", "),
        worst.column,
        worst.row,
        worst.value,
        options.duration,
        (options.precision)(2.0 * share),
    ))
}
