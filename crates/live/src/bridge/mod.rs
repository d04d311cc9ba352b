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
mod xdp;

use std::sync::Arc;

use aqmkit_base::Instant;

use crate::bottleneck::{Bottleneck, Direction, Measured};
use crate::bounds;
use crate::capabilities::keep_only_packets;
use crate::confinement::{Needs, confine};
use crate::ctl::Control;
use crate::error::LiveError;
use crate::offload::{SwitchedOff, WriteDown};
use crate::port::Port;
use crate::running::{Places, Running};
use crate::timing::{Clock, be_punctual};
use aqmkit_packets::frame::{Frame, Reader};
use aqmkit_packets::meter::Meter;
use aqmkit_packets::shaper::{Setup, Shaper};
use aqmkit_packets::wire::{Classes, Encapsulation};

pub use crate::port::Counts;
use fail_open::KernelBridge;
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
    running: Running<Interface>,
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
        let setups = setup.directions.clone().map(|s| Setup { classes: setup.classes.names().to_vec(), ..s });
        let setup = setup.clone();
        let running = Running::start("bridge", name, setups.to_vec(), move |places| bottleneck(&setup, places, note))?;
        Ok(Bridge { running })
    }

    /// The handle that shows and changes it.
    #[must_use]
    pub fn control(&self) -> Arc<Control<Interface>> {
        Arc::clone(&self.running.control)
    }

    /// The bottleneck in its thread.
    #[must_use]
    pub fn running(&self) -> &Running<Interface> {
        &self.running
    }

    /// The state of its interfaces: name, presence and counters.
    #[must_use]
    pub fn interfaces(&self) -> Option<[(String, bool, Counts); 2]> {
        self.running.control.ask(|directions, _| {
            directions.each_mut().map(|d| {
                let counts = d.device.counts();
                (d.device.name().to_owned(), d.device.is_there(), counts)
            })
        })
    }

    /// The offloads that it has disabled, for a record that outlives it.
    #[must_use]
    pub fn switched_off(&self) -> Option<Vec<SwitchedOff>> {
        self.running.control.ask(|directions, _| directions.iter().flat_map(|d| d.device.switched_off()).collect())
    }

    /// Whether it is still running.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.running.is_up()
    }

    /// Ends the bridge, restores the interfaces and returns the measurements.
    ///
    /// # Errors
    /// When its thread panicked.
    pub fn close(self) -> Result<Measured, LiveError> {
        self.running.close()
    }
}

fn bottleneck(
    setup: &BridgeSetup,
    places: Places<Interface>,
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
    let Places { requests, look } = places;
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
