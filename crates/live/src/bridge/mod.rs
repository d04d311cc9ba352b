//! A transparent bridge: two interfaces, and a bottleneck in each direction between them.
//!
//! ```text
//!   IF1 ──▶ ring ──▶ forth: Shaper ──▶ send ──▶ IF2
//!   IF1 ◀── send ◀── back: Shaper ◀── ring ◀── IF2
//! ```
//!
//! Every frame passes, whatever it carries: the kernel's network stack is bypassed and needs neither addresses nor
//! forwarding. Changed settings of the interfaces (promiscuous mode, receive offloads) are restored when the bridge
//! ends; if it is killed, [`crate::cleanup`] enables the offloads again. With `fail_open`, the kernel's bridge forwards
//! the frames from then on.

mod fail_open;
mod interface;
mod redirect;
mod ring;
mod sockopt;
mod xdp;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use aqmkit_base::Instant;
use rustix::event::{EventfdFlags, eventfd};

use self::fail_open::KernelBridge;
use crate::bottleneck::{Bottleneck, Direction, Look, Measured, Request};
use crate::bounds;
use crate::capabilities::keep_only_packets;
use crate::confinement::{Needs, confine};
use crate::ctl::Control;
use crate::error::LiveError;
use crate::link::start;
use crate::offload::{SwitchedOff, WriteDown};
use crate::port::Port;
use crate::timing::{Clock, be_punctual};
use aqmkit_packets::frame::{Frame, Reader};
use aqmkit_packets::meter::Meter;
use aqmkit_packets::shaper::{Setup, Shaper};
use aqmkit_packets::wire::{Classes, Encapsulation};

pub use crate::port::Counts;
pub use fail_open::{kernel_bridge_of, remove_kernel_bridge, remove_kernel_bridges};
use interface::Opening;
pub use interface::{Interface, Io};

/// The settings of a bridge.
#[derive(Clone, Debug)]
pub struct BridgeSetup {
    /// Its interfaces.
    pub interfaces: [String; 2],
    /// The I/O method.
    pub io: Io,
    /// Whether the kernel bridges the interfaces when this process ends.
    pub fail_open: bool,
    /// The directions: from the first to the second interface, and back.
    pub directions: [Setup; 2],
    /// The classification of packets.
    pub classes: Classes,
    /// The random salt of flow keys.
    pub salt: u64,
}

/// A running bridge.
pub struct Bridge {
    control: Arc<Control<Interface>>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<Option<Measured>>>,
}

impl Bridge {
    /// Opens the interfaces and starts the thread between them.
    ///
    /// # Errors
    /// When a parameter cannot be used, an interface is not there, or the process may not.
    pub fn open(setup: &BridgeSetup, name: &str) -> Result<Self, LiveError> {
        Bridge::open_noting(setup, name, WriteDown::nowhere())
    }

    /// The same; `note` is called with each offload before it is disabled, now and whenever an interface returns, so
    /// that [`crate::cleanup`] can restore it if this process is killed.
    ///
    /// # Errors
    /// As [`Bridge::open`].
    pub fn open_noting(setup: &BridgeSetup, name: &str, note: WriteDown) -> Result<Self, LiveError> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| cannot("cannot make an eventfd")(e.into()))?;
        let stop = Arc::new(stop);
        let look = Arc::new(Mutex::new(Look::default()));
        let (sender, requests) = channel();
        let thread = start({
            let (setup, look, stop) = (setup.clone(), Arc::clone(&look), Arc::clone(&stop));
            move |started: &Sender<_>| {
                let bottleneck = bottleneck(&setup, requests, look, note)?;
                // The receiver still waits for the result.
                let _ = started.send(Ok(()));
                Ok(bottleneck.run(&*stop))
            }
        })?;
        let setups = setup.directions.clone().map(|s| Setup { classes: setup.classes.names().to_vec(), ..s });
        let control = Arc::new(Control::new("bridge", name, setups, look, sender));
        Ok(Bridge { control, stop, thread: Some(thread) })
    }

    /// The handle that shows and changes it.
    #[must_use]
    pub fn control(&self) -> Arc<Control<Interface>> {
        Arc::clone(&self.control)
    }

    /// The state of its interfaces: name, presence and counters.
    #[must_use]
    pub fn interfaces(&self) -> Option<[(String, bool, Counts); 2]> {
        self.control.ask(|directions, _| {
            directions.each_mut().map(|d| {
                let counts = d.device.counts();
                (d.device.name().to_owned(), d.device.is_there(), counts)
            })
        })
    }

    /// The offloads that it has disabled, for a record that outlives it.
    #[must_use]
    pub fn switched_off(&self) -> Option<Vec<SwitchedOff>> {
        self.control.ask(|directions, _| directions.iter().flat_map(|d| d.device.switched_off()).collect())
    }

    /// Whether it is still running.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.thread.as_ref().is_some_and(|t| !t.is_finished())
    }

    /// Ends the bridge, restores the interfaces and returns the measurements.
    ///
    /// # Errors
    /// When its thread panicked.
    pub fn close(mut self) -> Result<Measured, LiveError> {
        self.end().ok_or_else(|| cannot("the bridge failed")(io::Error::other("its thread panicked")))
    }

    fn end(&mut self) -> Option<Measured> {
        // A counter that cannot be raised has been raised.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        self.thread.take().and_then(|t| t.join().ok()).flatten()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.end();
    }
}

fn bottleneck(
    setup: &BridgeSetup,
    requests: Receiver<Request<Interface>>,
    look: Arc<Mutex<Look>>,
    note: WriteDown,
) -> Result<Bottleneck<Interface>, LiveError> {
    let clock = Clock::start();
    let [forth, back] = &setup.directions;
    let kernel = setup.fail_open.then(|| KernelBridge::between(&setup.interfaces)).transpose()?;
    let needs = Opening { io: setup.io, kernel_bridge: kernel.as_ref().map(|k| k.index), note };
    let directions = [direction(forth, setup, 0, clock, needs.clone())?, direction(back, setup, 1, clock, needs)?];
    if let Some(kernel) = kernel {
        kernel.keep();
    }
    let reader = Reader::new(Encapsulation::Ethernet, setup.classes.clone(), setup.salt);
    let granted = be_punctual();
    // Packets come from anywhere, so the thread that reads them gets only the necessary rights.
    keep_only_packets();
    // Older kernels ignore this.
    let _ = confine(if setup.io == Io::Xdp || setup.fail_open { Needs::Bpf } else { Needs::Nothing });
    Ok(Bottleneck { directions, requests: Some(requests), reader, clock, look, plan: None, granted })
}

fn direction(
    setup: &Setup,
    bridge: &BridgeSetup,
    side: usize,
    clock: Clock,
    needs: Opening,
) -> Result<Direction<Interface>, LiveError> {
    let classes = bridge.classes.names();
    let setup = Setup { classes: classes.to_vec(), ..setup.clone() };
    let shaper = bounds::check(&setup)
        .and_then(|()| Shaper::<Frame>::new(&setup, Meter::whole(classes), Instant::ZERO))
        .map_err(|error| LiveError::Parameter { direction: setup.name.clone(), error })?;
    let device = Interface::open_as(&bridge.interfaces[side], clock, needs)?;
    Ok(Direction { name: setup.name, device, shaper, kernel: None })
}

fn cannot(doing: &str) -> impl FnOnce(io::Error) -> LiveError {
    LiveError::while_doing(doing)
}
