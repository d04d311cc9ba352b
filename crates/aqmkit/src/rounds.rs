//! The rule that the commands use for ending rounds of seeds.

use aqmkit_lab::Until;
use aqmkit_study::rounds::{Options, percent};

/// The command's options that notes suggest.
const OPTIONS: Options = Options {
    warmup: "--warmup",
    duration: "--duration",
    repeat: |seeds| format!("--repeat {seeds}"),
    precision: |share| format!("--precision {}%", percent(share)),
};

/// Rounds end when the means are known to this relative precision, or to the default one. With `lengthen`, a warm-up
/// that is too short is lengthened.
pub(super) fn until(precision: Option<f64>, lengthen: bool) -> Until {
    Until { precision, lengthen, cost: |_| 1.0, options: OPTIONS }
}
