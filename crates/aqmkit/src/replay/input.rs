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
use crate::fail::{Failure, wrong};
use crate::places::standard_input;
use crate::stop::stopping;

/// The interval of checks for a request to stop while no data arrives.
#[cfg(unix)]
const PULSE: Duration = Duration::from_millis(50);

/// The time for which a pipe is still read after Ctrl-C, which also reaches the program at its other end; that program
/// then writes its remaining data, as tcpdump does.
const PATIENCE: Duration = Duration::from_secs(1);

/// A capture that is read until its end or a request to stop.
pub(super) struct Input {
    file: File,
    /// Whether it is a file, whose data does not get lost if it is not read.
    lies: bool,
    /// The time until which it is still read.
    until: Option<Instant>,
    cut: Arc<AtomicBool>,
}

/// Opens a capture; returns its length if it is known.
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
    /// A flag that is set when reading was stopped before the end.
    pub(super) fn cut(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cut)
    }

    /// Waits for data or the end of the input. False if it is time to stop.
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

/// Whether data arrives, or the input ends, within [`PULSE`].
#[cfg(unix)]
fn something_comes(file: &File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let pulse = Timespec { tv_sec: 0, tv_nsec: PULSE.subsec_nanos().into() };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&pulse)) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// On other systems a pipe is read until data arrives: Ctrl-C takes effect at the next packet.
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
