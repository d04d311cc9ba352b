//! A bottleneck in a thread of its own, and what other threads hold of it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use aqmkit_packets::shaper::Setup;
use rustix::event::{EventfdFlags, eventfd};

use crate::bottleneck::{Bottleneck, Look, Measured, Request};
use crate::ctl::Control;
use crate::error::LiveError;
use crate::port::Port;
use crate::tun::Tun;

/// A bottleneck that runs until it is ended or dropped.
#[derive(Debug)]
pub struct Running<D = Tun> {
    /// The handle that shows and changes it.
    pub control: Arc<Control<D>>,
    /// A snapshot, updated ten times a second.
    pub look: Arc<Mutex<Look>>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<Option<Measured>>>,
}

/// What a new thread makes its bottleneck from, besides its settings.
pub(crate) struct Places<D> {
    /// Requests to it.
    pub(crate) requests: Receiver<Request<D>>,
    /// The place of its snapshots.
    pub(crate) look: Arc<Mutex<Look>>,
}

impl<D: Port + 'static> Running<D> {
    /// Starts the thread, which makes the bottleneck, and waits until it runs. `kind` and `name` are those of its reports, and
    /// `setups` the settings of the directions that these show.
    ///
    /// # Errors
    /// When `make` fails, or no thread can be started.
    pub(crate) fn start(
        kind: &'static str,
        name: &str,
        setups: Vec<Setup>,
        make: impl FnOnce(Places<D>) -> Result<Bottleneck<D>, LiveError> + Send + 'static,
    ) -> Result<Self, LiveError> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| cannot("cannot make an eventfd")(e.into()))?;
        let stop = Arc::new(stop);
        let look = Arc::new(Mutex::new(Look::default()));
        let (sender, requests) = channel();
        let thread = begin({
            let (stop, places) = (Arc::clone(&stop), Places { requests, look: Arc::clone(&look) });
            move |started: &Sender<_>| {
                let bottleneck = make(places)?;
                // The receiver still waits for the result.
                let _ = started.send(Ok(()));
                Ok(bottleneck.run(&*stop))
            }
        })?;
        let control = Arc::new(Control::new(kind, name, setups, Arc::clone(&look), sender));
        Ok(Running { control, look, stop, thread: Some(thread) })
    }
}

impl<D> Running<D> {
    /// Whether it is still running. It ends by itself when a device is gone for good.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.thread.as_ref().is_some_and(|t| !t.is_finished())
    }

    /// Ends it and returns the measurements.
    ///
    /// # Errors
    /// When its thread panicked.
    pub fn close(mut self) -> Result<Measured, LiveError> {
        self.end().ok_or_else(|| cannot("the bottleneck failed")(io::Error::other("its thread panicked")))
    }

    fn end(&mut self) -> Option<Measured> {
        // A counter that cannot be raised has been raised.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        self.thread.take().and_then(|t| t.join().ok()).flatten()
    }
}

impl<D> Drop for Running<D> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts the thread that moves packets, and waits until it runs. Disciplines are built in that thread, because they
/// need not be movable between threads.
fn begin(
    work: impl FnOnce(&Sender<Result<(), LiveError>>) -> Result<Measured, LiveError> + Send + 'static,
) -> Result<JoinHandle<Option<Measured>>, LiveError> {
    let (started, news) = channel();
    let body = move || match work(&started) {
        Ok(measured) => Some(measured),
        Err(error) => {
            // The receiver still waits for the result.
            let _ = started.send(Err(error));
            None
        }
    };
    let thread =
        std::thread::Builder::new().name("bottleneck".into()).spawn(body).map_err(cannot("cannot start a thread"))?;
    match news.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(cannot("the bottleneck failed")(io::Error::other("its thread panicked"))),
    }
}

fn cannot(doing: &str) -> impl FnOnce(io::Error) -> LiveError {
    LiveError::while_doing(doing)
}
