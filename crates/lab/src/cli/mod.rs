//! The command.

use std::process::ExitCode;

pub mod near;

/// Runs the command with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
