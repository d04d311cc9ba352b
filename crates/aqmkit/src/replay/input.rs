//! Reads a capture to its end, or until the user stops the command.

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

/// How long to wait for data before checking whether to stop.
#[cfg(unix)]
const PULSE: Duration = Duration::from_millis(50);

/// How long a pipe is still read after Ctrl-C. The program at its other end receives Ctrl-C too and then writes its
/// remaining data, as tcpdump does.
const PATIENCE: Duration = Duration::from_secs(1);

/// A capture that is being read.
pub(super) struct Input {
    file: File,
    /// Whether it is a regular file, so that data which is not read is not lost.
    is_file: bool,
    /// After Ctrl-C: when to stop reading.
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
    Ok((Input { file, is_file: about.is_file(), until: None, cut: Arc::default() }, length))
}

impl Input {
    /// The flag that is set if reading is stopped before the end.
    pub(super) fn cut(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cut)
    }

    /// Waits for data or the end of the input. Returns false when it is time to stop.
    fn wait(&mut self) -> io::Result<bool> {
        loop {
            if stopping() {
                let now = clock::now();
                let until = *self.until.get_or_insert(now + PATIENCE);
                if self.is_file || now >= until {
                    return Ok(false);
                }
            }
            if self.is_file {
                return Ok(true);
            }
            if is_readable(&self.file)? {
                return Ok(true);
            }
        }
    }
}

/// Whether data or the end of the input arrives within [`PULSE`].
#[cfg(unix)]
fn is_readable(file: &File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let pulse = Timespec { tv_sec: 0, tv_nsec: PULSE.subsec_nanos().into() };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&pulse)) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// Other systems cannot wait with a timeout: on a pipe, Ctrl-C takes effect at the next packet.
#[cfg(not(unix))]
fn is_readable(_file: &File) -> io::Result<bool> {
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
