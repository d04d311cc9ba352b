//! A bottleneck on its own threads, and its handle.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use aqmkit_base::Instant;
use aqmkit_measure::Plan;
use aqmkit_packets::frame::{Frame, Reader};
use aqmkit_packets::meter::Meter;
use aqmkit_packets::shaper::{Setup, Shaper};
use rustix::event::{EventfdFlags, eventfd};

use crate::bottleneck::{Bottleneck, Direction, Request};
use crate::bounds;
use crate::confinement::{Needs, confine};
use crate::ctl::Control;
use crate::ctl::control::{Shown, ThreadHandle};
use crate::error::LiveError;
use crate::kernel::queue::KernelQueue;
use crate::measured::{Measured, Snapshot};
use crate::port::Port;
use crate::timing::{Clock, request_realtime};
use crate::tun::Tun;

/// The number of forwarding threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One thread for both directions.
    #[default]
    One,
    /// One thread per direction.
    Two,
}

/// A running bottleneck, which stops when closed or dropped.
#[derive(Debug)]
pub struct Running<D: Port = Tun> {
    /// The handle that reports on and changes it.
    pub control: Arc<Control<D>>,
    threads: Joined,
}

/// A direction before its discipline is built, which happens on the thread that will run it, because disciplines need
/// not be `Send`.
pub(crate) struct Unbuilt<D: Port> {
    pub(crate) setup: Setup,
    /// Input device and output.
    pub(crate) between: (D, D::Outlet),
    pub(crate) meter: Meter,
    pub(crate) kernel: Option<KernelQueue>,
}

impl<D: Port> Unbuilt<D> {
    /// A direction measured in a single window over the whole time.
    pub(crate) fn whole(setup: &Setup, between: (D, D::Outlet)) -> Self {
        Unbuilt { setup: setup.clone(), between, meter: Meter::whole(&setup.classes), kernel: None }
    }

    fn build(self) -> Result<Direction<D>, LiveError> {
        let Unbuilt { setup, between: (device, outlet), meter, kernel } = self;
        let shaper = built(&setup, meter)?;
        Ok(Direction { name: setup.name, device, outlet, shaper, kernel })
    }
}

/// The name of the threads that move packets.
pub const THREAD: &str = "bottleneck";

/// Settings shared by the directions of a bottleneck.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) reader: Reader,
    pub(crate) clock: Clock,
    pub(crate) plan: Option<Plan>,
    /// Drops the capabilities that a forwarding thread does not need.
    pub(crate) keep: fn(),
    pub(crate) needs: Needs,
}

/// Validates the settings of directions before any device is touched.
///
/// # Errors
/// When a parameter is invalid.
pub(crate) fn check<'a>(setups: impl IntoIterator<Item = &'a Setup>) -> Result<(), LiveError> {
    setups.into_iter().try_for_each(|setup| {
        bounds::check(setup).map_err(|error| LiveError::Parameter { direction: setup.name.clone(), error })?;
        built(setup, Meter::whole(&setup.classes)).map(drop)
    })
}

fn built(setup: &Setup, meter: Meter) -> Result<Shaper<Frame>, LiveError> {
    Shaper::new(setup, meter, Instant::ZERO)
        .map_err(|error| LiveError::Parameter { direction: setup.name.clone(), error })
}

impl<D> Running<D>
where
    D: Port + Send + 'static,
    D::Outlet: Send,
{
    /// Starts the threads and waits until they run. Reports show `shown` and these settings.
    ///
    /// # Errors
    /// When a discipline cannot be built, or a thread cannot be started.
    pub(crate) fn start(
        shown: Shown,
        setups: Vec<Setup>,
        threads: Threads,
        mut directions: Vec<Unbuilt<D>>,
        common: &Common,
    ) -> Result<Self, LiveError> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| cannot("cannot make an eventfd")(e.into()))?;
        let mut joined = Joined { stop: Arc::new(stop), threads: Vec::new() };
        let mut reached = Vec::new();
        let of_each = if threads == Threads::One { directions.len() } else { 1 };
        let mut before = 0;
        while !directions.is_empty() {
            let rest = directions.split_off(of_each.min(directions.len()));
            let own = std::mem::replace(&mut directions, rest);
            let (sender, requests) = channel();
            let snapshot = Arc::new(Mutex::new(Snapshot::default()));
            reached.push(ThreadHandle { requests: sender, snapshot: Arc::clone(&snapshot), directions: own.len() });
            let (common, count) = (common.clone(), own.len());
            joined.begin(move || bottleneck(own, before, common, requests, snapshot))?;
            before += count;
        }
        let control = Arc::new(Control::new(shown, setups, reached));
        Ok(Running { control, threads: joined })
    }
}

impl<D: Port> Running<D> {
    /// Whether it is still running. It stops by itself when a device is gone for good.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.threads.are_up()
    }

    /// Stops it and returns the measurements.
    ///
    /// # Errors
    /// When a thread panicked.
    pub fn close(mut self) -> Result<Measured, LiveError> {
        self.threads.end().ok_or_else(|| cannot("the bottleneck failed")(io::Error::other("its thread panicked")))
    }
}

/// Builds the directions of a thread, on that thread, after dropping capabilities.
fn bottleneck<D: Port>(
    directions: Vec<Unbuilt<D>>,
    before: usize,
    common: Common,
    requests: Receiver<Request<D>>,
    snapshot: Arc<Mutex<Snapshot>>,
) -> Result<Bottleneck<D>, LiveError> {
    let Common { reader, clock, plan, keep, needs } = common;
    let mut directions: Vec<_> = directions.into_iter().map(Unbuilt::build).collect::<Result<_, _>>()?;
    let granted = request_realtime();
    // Packets are untrusted, so the thread parsing them keeps only the capabilities it needs.
    keep();
    // Confinement is best effort: older kernels lack seccomp.
    let _ = confine(needs);
    // Publish a first snapshot, so that every direction is visible from the start.
    if let Ok(mut shared) = snapshot.lock() {
        let directions = directions.iter_mut().map(Direction::snapshot).collect();
        *shared = Snapshot { at: clock.now(), directions, ..Snapshot::default() };
    }
    Ok(Bottleneck { directions, before, requests, reader, clock, snapshot, plan, granted })
}

/// The forwarding threads, in the order of their directions. They stop together.
#[derive(Debug)]
struct Joined {
    stop: Arc<OwnedFd>,
    threads: Vec<JoinHandle<Option<Measured>>>,
}

impl Joined {
    /// Starts a thread that builds and runs a bottleneck, and waits until it runs.
    fn begin<D: Port>(
        &mut self,
        make: impl FnOnce() -> Result<Bottleneck<D>, LiveError> + Send + 'static,
    ) -> Result<(), LiveError> {
        let stop = Arc::clone(&self.stop);
        let (started, news) = channel();
        let body = move || match make() {
            Ok(bottleneck) => {
                // The receiver is waiting, so this cannot fail.
                let _ = started.send(Ok(()));
                let measured = bottleneck.run(&*stop);
                // A thread whose device is gone stops the other one.
                raise(&stop);
                Some(measured)
            }
            Err(error) => {
                let _ = started.send(Err(error));
                None
            }
        };
        let thread = std::thread::Builder::new().name(THREAD.to_owned()).spawn(body);
        self.threads.push(thread.map_err(cannot("cannot start a thread"))?);
        news.recv().unwrap_or_else(|_| Err(cannot("the bottleneck failed")(io::Error::other("its thread panicked"))))
    }

    fn are_up(&self) -> bool {
        !self.threads.is_empty() && self.threads.iter().all(|thread| !thread.is_finished())
    }

    /// Stops all threads; merges their results, unless one panicked.
    fn end(&mut self) -> Option<Measured> {
        raise(&self.stop);
        let ended: Vec<_> = self.threads.drain(..).map(|thread| thread.join().ok().flatten()).collect();
        let all = ended.into_iter().collect::<Option<Vec<_>>>()?;
        all.into_iter().reduce(Measured::and)
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.end();
    }
}

/// Signals all threads to stop.
fn raise(stop: &OwnedFd) {
    // This fails only if the counter is already at its maximum, hence readable.
    let _ = rustix::io::write(stop, &1_u64.to_ne_bytes());
}

fn cannot(doing: &str) -> impl FnOnce(io::Error) -> LiveError {
    LiveError::while_doing(doing)
}
