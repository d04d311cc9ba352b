//! How the commands end their rounds of seeds.

use aqmkit_lab::Until;
use aqmkit_study::rounds::{Options, percent};

/// The options of the command that notes name.
const OPTIONS: Options = Options {
    warmup: "--warmup",
    duration: "--duration",
    repeat: |seeds| format!("--repeat {seeds}"),
    precision: |share| format!("--precision {}%", percent(share)),
};

/// Rounds until the means are known to this share, or to the usual one. With `lengthen`, a warm-up that is too short is lengthened.
pub(super) fn until(precision: Option<f64>, lengthen: bool) -> Until {
    Until { precision, lengthen, cost: |_| 1.0, options: OPTIONS }
}
