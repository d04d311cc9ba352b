//! The `aqmkit` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    aqmkit_lab::cli::main()
}
