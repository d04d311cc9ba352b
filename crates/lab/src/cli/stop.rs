//! Ctrl-C: a wish to stop, which long work looks for.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fail::Failure;

/// Set by Ctrl-C.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed since [`listen`].
#[must_use]
pub fn stopping() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Makes the first Ctrl-C a wish to stop; a second one ends the program at once.
///
/// # Errors
/// When it cannot be caught.
pub fn listen() -> Result<(), Failure> {
    static ONCE: Once = Once::new();
    let mut result = Ok(());
    ONCE.call_once(|| {
        result = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
    });
    result.map_err(|e| Failure::Environment(format!("Ctrl-C cannot be caught: {e}")))
}
