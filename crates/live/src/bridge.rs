//! A transparent bridge between two interfaces, with a bottleneck in each direction.
//!
//! ```text
//!   IF1 ──▶ ring ──▶ forth: Shaper ──▶ send ──▶ IF2
//!   IF1 ◀── send ◀── back: Shaper ◀── ring ◀── IF2
//! ```
//!
//! Every Ethernet frame passes, whatever its protocol: the kernel's network stack is bypassed, so neither addresses nor
//! forwarding are needed. Changed interface settings (promiscuous mode, receive offloads) are restored when the bridge
//! ends; after a kill, [`crate::cleanup`] re-enables the offloads. With `fail_open`, the kernel's bridge forwards from
//! then on.

mod fail_open;
mod interface;
mod redirect;
mod ring;
mod xdp;

use std::sync::Arc;

use crate::capabilities::keep_only_packets;
use crate::confinement::Needs;
use crate::ctl::Control;
use crate::ctl::control::Shown;
use crate::error::LiveError;
use crate::measured::Measured;
use crate::offload::{DisabledOffload, OffloadLog};
use crate::port::Port;
use crate::running::{self, Common, Running, Threads, Unbuilt};
use crate::timing::Clock;
use aqmkit_packets::frame::Reader;
use aqmkit_packets::shaper::Setup;
use aqmkit_packets::wire::{Classes, Encapsulation};

pub use crate::port::Counts;
use fail_open::KernelBridge;
pub use fail_open::{KernelDevice, kernel_bridge_of, kernel_bridges, remove_kernel_bridge};
use interface::Opening;
pub use interface::{Interface, Io, Outlet};

/// The settings of a bridge.
#[derive(Clone, Debug)]
pub struct BridgeSetup {
    /// Names of the two interfaces.
    pub interfaces: [String; 2],
    /// How frames are received and sent.
    pub io: Io,
    /// The threads that move packets.
    pub threads: Threads,
    /// Whether a kernel bridge forwards between the interfaces once this process ends.
    pub fail_open: bool,
    /// The directions: from the first to the second interface, and back.
    pub directions: [Setup; 2],
    /// How packets are assigned to classes.
    pub classes: Classes,
    /// Random salt of the flow hash.
    pub salt: u64,
}

/// A running bridge.
pub struct Bridge {
    running: Running<Interface>,
}

impl Bridge {
    /// Opens the interfaces and starts the threads between them.
    ///
    /// # Errors
    /// When a parameter is invalid, an interface is missing, or permission is missing.
    pub fn open(setup: &BridgeSetup, name: &str) -> Result<Self, LiveError> {
        Bridge::open_noting(setup, name, OffloadLog::none())
    }

    /// As [`Bridge::open`]; `note` is called with each offload before it is disabled, at start and whenever an
    /// interface returns, so that [`crate::cleanup`] can restore it after a kill.
    ///
    /// # Errors
    /// As [`Bridge::open`].
    pub fn open_noting(setup: &BridgeSetup, name: &str, note: OffloadLog) -> Result<Self, LiveError> {
        let classes = setup.classes.names();
        let setups = setup.directions.each_ref().map(|s| Setup { classes: classes.to_vec(), ..s.clone() });
        running::check(&setups)?;
        let clock = Clock::start();
        let kernel = setup.fail_open.then(|| KernelBridge::between(&setup.interfaces)).transpose()?;
        let opening = Opening { io: setup.io, kernel_bridge: kernel.as_ref().map(|k| k.index), note };
        let open = |interface: &String| Interface::open_as(interface, clock, opening.clone());
        let [first, second] = [open(&setup.interfaces[0])?, open(&setup.interfaces[1])?];
        let (to_first, to_second) = (first.outlet(), second.outlet());
        let directions =
            vec![Unbuilt::whole(&setups[0], (first, to_second)), Unbuilt::whole(&setups[1], (second, to_first))];
        let common = Common {
            reader: Reader::new(Encapsulation::Ethernet, setup.classes.clone(), setup.salt),
            clock,
            plan: None,
            keep: keep_only_packets,
            needs: if setup.io == Io::Xdp || setup.fail_open { Needs::Bpf } else { Needs::Nothing },
        };
        let [a, b] = &setup.interfaces;
        let ways = vec![format!("{a} to {b}"), format!("{b} to {a}")];
        let shown = Shown { kind: "bridge", name: name.to_owned(), interfaces: setup.interfaces.to_vec(), ways };
        let running = Running::start(shown, setups.to_vec(), setup.threads, directions, &common)?;
        if let Some(kernel) = kernel {
            kernel.keep();
        }
        Ok(Bridge { running })
    }

    /// The handle that reports on and changes the bridge.
    #[must_use]
    pub fn control(&self) -> Arc<Control<Interface>> {
        Arc::clone(&self.running.control)
    }

    /// The threads that run the bottleneck.
    #[must_use]
    pub fn running(&self) -> &Running<Interface> {
        &self.running
    }

    /// Its interfaces: name, whether present, and counters.
    #[must_use]
    pub fn interfaces(&self) -> Option<[(String, bool, Counts); 2]> {
        let all = self.running.control.ask_all(|direction, _| {
            let counts = direction.device.counts();
            (direction.device.name().to_owned(), direction.device.is_there(), counts)
        });
        all?.try_into().ok()
    }

    /// The offloads it has disabled, to be recorded for cleanup.
    #[must_use]
    pub fn disabled_offloads(&self) -> Option<Vec<DisabledOffload>> {
        let all = self.running.control.ask_all(|direction, _| direction.device.disabled_offloads())?;
        Some(all.into_iter().flatten().collect())
    }

    /// Whether the bridge is still running.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.running.is_up()
    }

    /// Ends the bridge, restores the interfaces and returns the measurements.
    ///
    /// # Errors
    /// When a thread panicked.
    pub fn close(self) -> Result<Measured, LiveError> {
        self.running.close()
    }
}
