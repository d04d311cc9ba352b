//! The program `aqmkit`.

use std::process::ExitCode;

fn main() -> ExitCode {
    aqmkit::main()
}
