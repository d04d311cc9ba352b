//! A queue in front of an interface of this machine, for what leaves it and, if asked, for what arrives.
//!
//! ```text
//!   egress of IF ──▶ program ──▶ aqm-egress0 ──▶ egress: Shaper ──▶ packet socket at IF
//!   ingress of IF ──▶ program ──▶ aqm-ingress0 ──▶ ingress: Shaper ──▶ aqm-ingress0 ──▶ program ──▶ ingress of IF, marked
//! ```
//!
//! Traffic control programs redirect the frames of the interface to TAP devices, which this process reads. What it sends at the
//! interface goes past the programs (`PACKET_QDISC_BYPASS`). What arrives returns to the kernel as if the interface had
//! received it only now: a second program marks it, so that the first one lets it pass.
//!
//! Programs and devices are files of this process. However it ends, the kernel removes them, and the interface is as before:
//! frames pass without a queue of ours from then on, and there is nothing to clean up.

mod end;
mod programs;

use aqmkit_packets::frame::Reader;
use aqmkit_packets::shaper::Setup;
use aqmkit_packets::wire::{Classes, Encapsulation};

use crate::capabilities::keep_only_packets;
use crate::confinement::Needs;
use crate::ctl::control::Shown;
use crate::error::LiveError;
use crate::running::{self, Common, Running, Threads, Unbuilt};
use crate::timing::Clock;

pub use end::{End, Outlet};
pub(crate) use programs::can_attach;

/// The settings of the queues of an interface.
#[derive(Clone, Debug)]
pub struct ShapeSetup {
    /// The interface.
    pub interface: String,
    /// The queue of what leaves.
    pub egress: Setup,
    /// The queue of what arrives; `None` to leave that alone.
    pub ingress: Option<Setup>,
    /// The threads that move packets.
    pub threads: Threads,
    /// The classification of packets.
    pub classes: Classes,
    /// The random salt of flow keys.
    pub salt: u64,
}

/// Opens the devices, starts the threads between them, and has the interface's frames pass through them. `name` is that of its
/// reports.
///
/// # Errors
/// When a parameter cannot be used, the interface is not there or not Ethernet, the kernel is too old, or the process may not.
pub fn open(setup: &ShapeSetup, name: &str) -> Result<Running<End>, LiveError> {
    let classes = setup.classes.names();
    let with_classes = |s: &Setup| Setup { classes: classes.to_vec(), ..s.clone() };
    let queues: Vec<Setup> = std::iter::once(&setup.egress).chain(&setup.ingress).map(with_classes).collect();
    running::check(&queues)?;
    let clock = Clock::start();
    let ends = end::ends(&setup.interface, setup.ingress.is_some(), clock)?;
    let directions = queues.iter().zip(ends).map(|(queue, between)| Unbuilt::whole(queue, between)).collect();
    let common = Common {
        reader: Reader::new(Encapsulation::Ethernet, setup.classes.clone(), setup.salt),
        clock,
        plan: None,
        // The rights to take the interface again when it returns.
        keep: keep_only_packets,
        needs: Needs::Bpf,
    };
    let interface = &setup.interface;
    let ways = vec![format!("leaves {interface}"), format!("arrives at {interface}")];
    let shown = Shown { kind: "shape", name: name.to_owned(), interfaces: vec![interface.clone()], ways };
    Running::start(shown, queues, setup.threads, directions, &common)
}
