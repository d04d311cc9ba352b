//! Output of the command: results on standard output, everything else on standard error.

use std::io::{self, IsTerminal, Write};

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

/// Whether standard output may carry colour: on a terminal, without `NO_COLOR`.
#[must_use]
pub(super) fn coloured() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Bold text where colour is allowed.
#[must_use]
pub(super) fn bold(text: &str) -> String {
    if coloured() { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}
