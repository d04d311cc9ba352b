//! Runs the verified program on given arrivals without a device: its decisions and their duration.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{hint, thread};

use aqmkit_kernel::{Classifier, Event, decision};
use aya::Ebpf;
use aya::maps::{Map, MapData};

use super::maps::{Maps, Statistics};
use super::program::{self, Room};
use crate::LiveError;
use crate::bpf::{look_up, test_run, update};

/// A program in the kernel whose arrivals come from this process (`BPF_PROG_TEST_RUN`).
#[derive(Debug)]
pub struct Replay {
    program: OwnedFd,
    events: MapData,
    next: MapData,
    /// They go with the program otherwise.
    _loaded: Ebpf,
    maps: Maps,
}

/// Decisions of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// 0 for pass; else 1 for a mark or 2 for a drop, plus 256 times the reason.
    pub verdicts: Vec<u32>,
    /// Nanoseconds for each, with looking up the maps.
    pub nanoseconds: u32,
}

impl Replay {
    /// Loads the program of a discipline with these settings, for this many arrivals at a time.
    ///
    /// # Errors
    /// When the process may not, or the kernel refuses the program.
    pub fn new(classifier: &Classifier, settings: &[u64], arrivals: u32) -> Result<Replay, LiveError> {
        super::allowed()?;
        let preparing = || LiveError::while_doing("preparing a replay in the kernel");
        let mut loaded = program::load(classifier.object(), Room { events: Some(arrivals), ..Room::default() })?;
        let program = program::verified(&mut loaded, "replay")?;
        let maps = Maps::of(&mut loaded).map_err(preparing())?;
        maps.write_settings(settings).map_err(preparing())?;
        let mut take = |name: &str| match loaded.take_map(name) {
            Some(Map::Array(data)) => Ok(data),
            _ => Err(preparing()(std::io::Error::other(format!("the program has no map {name}")))),
        };
        let (events, next) = (take("events")?, take("next_event")?);
        Ok(Replay { program, events, next, _loaded: loaded, maps })
    }

    /// Lets the program decide about arrivals, not more than there is room for.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn run(&self, arrivals: &[Event]) -> Result<Decided, LiveError> {
        self.prepare(arrivals)?;
        let nanoseconds = self.repeat(arrivals.len() as u32)?;
        Ok(Decided { verdicts: self.verdicts(arrivals)?, nanoseconds })
    }

    /// The same on so many processors at once: each takes the next arrival, whichever that is, until all are taken.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn run_at_once(&self, arrivals: &[Event], processors: usize) -> Result<Vec<u32>, LiveError> {
        self.prepare(arrivals)?;
        let ready = AtomicUsize::new(0);
        let runs = || {
            ready.fetch_add(1, Ordering::SeqCst);
            // Not asleep, so that all start within less than a millisecond.
            while ready.load(Ordering::SeqCst) < processors {
                hint::spin_loop();
            }
            self.repeat(arrivals.len() as u32).map(drop)
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..processors).map(|_| scope.spawn(runs)).collect();
            threads.into_iter().try_for_each(|one| match one.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        self.verdicts(arrivals)
    }

    /// What the program has counted, and the state of its law.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn statistics(&self) -> Result<Statistics, LiveError> {
        self.maps.statistics(None, false).map_err(running())
    }

    fn prepare(&self, arrivals: &[Event]) -> Result<(), LiveError> {
        for (i, event) in (0..).zip(arrivals) {
            update(self.events.fd().as_fd(), &u32::to_ne_bytes(i), event).map_err(running())?;
        }
        update(self.next.fd().as_fd(), &[0; 4], &[0; 8]).map_err(running())
    }

    /// Runs the program so often; the nanoseconds for each time.
    fn repeat(&self, times: u32) -> Result<u32, LiveError> {
        // Long enough to pass for a packet.
        test_run(self.program.as_fd(), &[0; 64], times).map_err(running())
    }

    fn verdicts(&self, arrivals: &[Event]) -> Result<Vec<u32>, LiveError> {
        let one = |(i, event): (u32, &Event)| {
            let mut after = *event;
            look_up(self.events.fd().as_fd(), i, &mut after).map_err(running())?;
            Ok(decision(&after))
        };
        (0..).zip(arrivals).map(one).collect()
    }
}

fn running() -> impl FnOnce(std::io::Error) -> LiveError {
    LiveError::while_doing("replaying arrivals in the kernel")
}
