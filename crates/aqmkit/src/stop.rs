//! Handles Ctrl-C: it sets a flag, which long computations check.

use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fail::Failure;

/// Set by Ctrl-C.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed since [`listen`].
#[must_use]
pub(super) fn stopping() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Makes the first Ctrl-C a request to stop. A second one ends the program immediately and removes unfinished files.
///
/// # Errors
/// When Ctrl-C cannot be handled.
pub(super) fn listen() -> Result<(), Failure> {
    catch(false, || {
        if STOP.swap(true, Ordering::Relaxed) {
            remove_drafts();
            std::process::exit(130);
        }
    })
}

/// Makes every Ctrl-C a request to stop, for commands that must restore settings before they end. The thread that waits
/// for signals has no capabilities and cannot gain any.
///
/// # Errors
/// When Ctrl-C cannot be handled.
#[cfg(live)]
pub(super) fn listen_once() -> Result<(), Failure> {
    catch(true, || STOP.store(true, Ordering::Relaxed))
}

fn catch(bare: bool, act: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    static ONCE: Once = Once::new();
    let mut result = Ok(());
    ONCE.call_once(|| result = handle(bare, act));
    result.map_err(|e| Failure::Environment(format!("cannot handle Ctrl-C: {e}")))
}

/// Whether the program was started with SIGHUP ignored, as by `nohup`. Closing the terminal must not stop it then.
#[cfg(target_os = "linux")]
#[must_use]
pub(super) fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is signal 1, so its bit is the lowest.
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(target_os = "linux")]
fn handle(bare: bool, mut act: impl FnMut() + Send + 'static) -> Result<(), Box<dyn std::error::Error>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let hangup = (!ignores_hangup()).then_some(SIGHUP);
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup))?;
    let wait = move || {
        #[cfg(live)]
        if bare {
            aqmkit_live::capabilities::keep_none();
            // Older kernels ignore this.
            let _ = aqmkit_live::confinement::confine(aqmkit_live::confinement::Needs::Nothing);
        }
        #[cfg(not(live))]
        let _ = bare;
        signals.forever().for_each(|_| act());
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn handle(_bare: bool, act: impl FnMut() + Send + 'static) -> Result<(), Box<dyn std::error::Error>> {
    Ok(ctrlc::set_handler(act)?)
}

/// Removes the temporary files ([`aqmkit_files::Temporary`]) that this process has open. Other threads may still be
/// running; files that they complete in the meantime have been renamed and are kept.
fn remove_drafts() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    let is_draft = |path: &PathBuf| {
        let name = path.file_name().and_then(|n| n.to_str());
        name.is_some_and(|n| n.starts_with(".aqmkit-") && n.ends_with(".part"))
    };
    for draft in open.flatten().filter_map(|e| std::fs::read_link(e.path()).ok()).filter(is_draft) {
        // Fails if the file has been removed or renamed already.
        let _ = std::fs::remove_file(draft);
    }
}
