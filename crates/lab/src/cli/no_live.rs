//! What takes the place of `live.rs` where there are no live links: on other systems than Linux, or without the feature `live`.

use aqmkit_experiment::Experiment;

use super::args;
use super::fail::Failure;
use super::progress::Talk;

/// That live links are not to be had, and where they are.
pub fn absent() -> Failure {
    let right = match cfg!(target_os = "linux") {
        true => "this aqmkit was built without them: build it with the feature live",
        false => "use aqmkit on Linux for that; everything that simulates works here, and so does replay",
    };
    Failure::Environment(format!("live links and bridges need Linux\n  {right}"))
}

/// `run --live` and `run --kernel`.
///
/// # Errors
/// Always.
pub fn run(_exp: &Experiment, _args: &args::Run, _talk: Talk) -> Result<(), Failure> {
    Err(absent())
}

/// `reproduce --live` and `reproduce --kernel`.
///
/// # Errors
/// Always.
pub fn reproduce(_experiments: &[Experiment], _args: &args::Reproduce, _talk: Talk) -> Result<(), Failure> {
    Err(absent())
}
