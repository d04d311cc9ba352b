//! Runs a verified program on given arrivals without a device: its decisions and their cost.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{hint, thread};

use aqmkit_kernel::{Classifier, Event, decision};
use aya::Ebpf;
use aya::maps::{Map, MapData};

use super::maps::{Maps, Statistics};
use super::program::{self, MapSizes};
use crate::LiveError;
use crate::bpf::{look_up, test_run, update};

/// A loaded program fed with arrivals by this process (`BPF_PROG_TEST_RUN`).
#[derive(Debug)]
pub struct Replay {
    program: OwnedFd,
    events: MapData,
    next: MapData,
    /// Keeps the maps alive.
    _loaded: Ebpf,
    maps: Maps,
}

/// The decisions of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// 0 for pass; otherwise 1 for mark or 2 for drop, plus 256 times the reason.
    pub verdicts: Vec<u32>,
    /// Mean nanoseconds per decision, including map lookups.
    pub nanoseconds: u32,
}

impl Replay {
    /// Loads a discipline's program with these settings, for up to `arrivals` arrivals per run.
    ///
    /// # Errors
    /// When permission is missing, or the verifier rejects the program.
    pub fn new(classifier: &Classifier, settings: &[u64], arrivals: u32) -> Result<Replay, LiveError> {
        super::allowed()?;
        let preparing = || LiveError::while_doing("preparing a replay in the kernel");
        let mut loaded =
            program::load(classifier.object(), MapSizes { events: Some(arrivals), ..MapSizes::default() })?;
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

    /// Replays arrivals, at most as many as there is room for.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn run(&self, arrivals: &[Event]) -> Result<Decided, LiveError> {
        self.prepare(arrivals)?;
        let nanoseconds = self.repeat(arrivals.len() as u32)?;
        Ok(Decided { verdicts: self.verdicts(arrivals)?, nanoseconds })
    }

    /// As [`Replay::run`], on this many CPUs concurrently: each takes the next arrival until none are left.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn run_at_once(&self, arrivals: &[Event], processors: usize) -> Result<Vec<u32>, LiveError> {
        self.prepare(arrivals)?;
        let ready = AtomicUsize::new(0);
        let runs = || {
            ready.fetch_add(1, Ordering::SeqCst);
            // Busy-wait rather than sleep, so that all start within a millisecond.
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

    /// The program's counters and gauges.
    ///
    /// # Errors
    /// When the maps cannot be read.
    pub fn statistics(&self) -> Result<Statistics, LiveError> {
        self.maps.statistics(None, false).map_err(running())
    }

    fn prepare(&self, arrivals: &[Event]) -> Result<(), LiveError> {
        for (i, event) in (0..).zip(arrivals) {
            update(self.events.fd().as_fd(), &u32::to_ne_bytes(i), event).map_err(running())?;
        }
        update(self.next.fd().as_fd(), &[0; 4], &[0; 8]).map_err(running())
    }

    /// Runs the program this many times; returns the mean nanoseconds per run.
    fn repeat(&self, times: u32) -> Result<u32, LiveError> {
        // Long enough to be accepted as a packet.
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
