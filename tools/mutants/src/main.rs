//! The command that `make -C tools/mutants` runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    mutants::cli::main()
}
