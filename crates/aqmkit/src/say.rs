//! Output of the command: results on standard output, everything else on standard error.

use std::io::{self, Write};

use aqmkit_report::terminal::Screen;

/// Prints results. A closed pipe is not an error.
///
/// # Errors
/// When they cannot be written.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let ending = if text.ends_with('\n') { "" } else { "\n" };
    match out.write_all(text.as_bytes()).and_then(|()| out.write_all(ending.as_bytes())).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints a message on standard error.
pub(super) fn tell(text: &str) {
    // An error of standard error cannot be reported.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Bold text where colour is allowed.
#[must_use]
pub(super) fn bold(text: &str) -> String {
    if Screen::of_stdout().color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}
