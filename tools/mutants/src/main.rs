//! The command that `make mutants` runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    mutants::cli::main()
}
