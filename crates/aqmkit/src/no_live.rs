//! Replaces `live.rs` on systems other than Linux, and without the feature `live`.

use aqmkit_experiment::Experiment;

use super::args;
use super::fail::Failure;
use super::progress::Talk;

/// The error that live links are unavailable, with advice.
pub(super) fn absent() -> Failure {
    Failure::Environment(match cfg!(target_os = "linux") {
        true => "this aqmkit was built without live links\n  build it with its default features: \
                 cargo build --release -p aqmkit"
            .to_owned(),
        false => "live links and bridges need Linux\n  simulations and replay work here".to_owned(),
    })
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
