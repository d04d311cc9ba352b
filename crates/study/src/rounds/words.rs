//! Sentences on what the rounds could not make known.

use aqmkit_base::Duration;
use aqmkit_results::Known;
use aqmkit_runs::transient::Unsettled;

/// The most seeds that a note advises.
const ADVISED: f64 = 1000.0;

/// How the options are spelt that notes name: those of the command, or the arguments of a function.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The time before the measurement: `--warmup`.
    pub warmup: &'static str,
    /// The measured time: `--duration`.
    pub duration: &'static str,
    /// This number of seeds: `--repeat 40`.
    pub repeat: fn(u32) -> String,
    /// This share of a mean as the aim: `--precision 10%`.
    pub precision: fn(f64) -> String,
}

/// A share in percent, without needless digits: 0.05 is `5`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{}", (1e4 * share).round() / 100.0)
}

/// The purpose of the next round.
pub(super) fn purpose(worst: &Known, share: f64) -> String {
    format!("{} of {} is {} (aim ±{} %), ", worst.column, worst.row, worst.value, percent(share))
}

/// Whether the warm-up was lengthened, and whether it is still too short.
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

/// Those of the means that are not known as well as asked for, in a sentence; none if all are.
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
