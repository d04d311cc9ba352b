//! The command `aqmkit-stacks`.

use std::process::ExitCode;

use aqmkit_base::ParamError;

fn main() -> Result<ExitCode, ParamError> {
    aqmkit_stacks::run(std::env::args_os()).map(ExitCode::from)
}
