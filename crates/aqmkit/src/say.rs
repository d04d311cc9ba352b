//! Output of the command: results on standard output, everything else on standard error.

use std::io::{self, Write};

use aqmkit_report::terminal::Screen;

/// Prints results. It is not an error if the reader of a pipe has gone.
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

/// Prints a message to standard error.
pub(super) fn message(text: &str) {
    // There is nowhere to report a failure to.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Makes text bold if colours are enabled.
#[must_use]
pub(super) fn bold(text: &str) -> String {
    if Screen::of_stdout().color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}
