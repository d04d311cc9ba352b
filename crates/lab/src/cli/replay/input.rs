//! Reads the capture to its end, or until the user stops the command.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aqmkit_experiment::Problem;
use aqmkit_runs::clock;

use super::CAPTURE;
use crate::cli::fail::{Failure, wrong};
use crate::cli::places::standard_input;
use crate::cli::stop::stopping;

/// How often it is looked whether somebody wants to stop, where nothing comes.
#[cfg(unix)]
const PULSE: Duration = Duration::from_millis(50);

/// How long a pipe is read on. Ctrl-C reaches the program at its other end too, which then hands over what it still has, as
/// tcpdump does.
const PATIENCE: Duration = Duration::from_secs(1);

/// A capture that is read until somebody wants to stop.
pub(super) struct Input {
    file: File,
    /// Whether what is in it is there already, however long nobody reads it.
    lies: bool,
    /// Until when it is read on.
    until: Option<Instant>,
    cut: Arc<AtomicBool>,
}

/// The capture, and how long it is where that is known.
pub(super) fn open(path: &Path) -> Result<(Input, Option<u64>), Failure> {
    let cannot = |e: io::Error| Problem::new(format!("{} cannot be read: {e}", path.display())).right(CAPTURE);
    let file = match path == Path::new("-") {
        true => standard_input(),
        false => File::open(path),
    };
    let file = file.map_err(cannot)?;
    let about = file.metadata().map_err(cannot)?;
    if about.is_dir() {
        return wrong(format!("{} is a directory", path.display()), CAPTURE);
    }
    let length = about.is_file().then_some(about.len());
    Ok((Input { file, lies: about.is_file(), until: None, cut: Arc::default() }, length))
}

impl Input {
    /// What is set once reading was stopped before the end.
    pub(super) fn cut(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cut)
    }

    /// Waits until there is something to read, or its end. False where it is time to stop.
    fn wait(&mut self) -> io::Result<bool> {
        loop {
            if stopping() {
                let now = clock::now();
                let until = *self.until.get_or_insert(now + PATIENCE);
                if self.lies || now >= until {
                    return Ok(false);
                }
            }
            if self.lies {
                return Ok(true);
            }
            if something_comes(&self.file)? {
                return Ok(true);
            }
        }
    }
}

/// Whether there is something to read, or the end, within [`PULSE`].
#[cfg(unix)]
fn something_comes(file: &File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let pulse = Timespec { tv_sec: 0, tv_nsec: PULSE.subsec_nanos().into() };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&pulse)) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// Elsewhere a pipe is read until something comes: Ctrl-C ends a capture with its next packet.
#[cfg(not(unix))]
fn something_comes(_file: &File) -> io::Result<bool> {
    Ok(true)
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.wait()? {
            self.cut.store(true, Ordering::Relaxed);
            return Ok(0);
        }
        self.file.read(buffer)
    }
}
