//! Replaces `live.rs` where live links are not available: on systems other than Linux, or without the feature `live`.

use aqmkit_experiment::Experiment;

use super::args;
use super::fail::Failure;
use super::progress::Talk;

/// The error that live links are not available, with advice.
pub(super) fn absent() -> Failure {
    let right = match cfg!(target_os = "linux") {
        true => "this aqmkit was built without live links: build it with the feature live",
        false => "use aqmkit on Linux for that; simulations and replay work here",
    };
    Failure::Environment(format!("live links and bridges need Linux\n  {right}"))
}

/// `run --live` and `run --kernel`.
///
/// # Errors
/// Always.
pub(super) fn run(_exp: &Experiment, _args: &args::Run, _talk: Talk) -> Result<(), Failure> {
    Err(absent())
}

/// `reproduce --live` and `reproduce --kernel`.
///
/// # Errors
/// Always.
pub(super) fn reproduce(_experiments: &[Experiment], _args: &args::Reproduce, _talk: Talk) -> Result<(), Failure> {
    Err(absent())
}
