//! Shapes an interface of this machine: its egress and, on request, its ingress.
//!
//! ```text
//!   egress of IF ──▶ program ──▶ aqm-egress0 ──▶ egress: Shaper ──▶ packet socket at IF
//!   ingress of IF ──▶ program ──▶ aqm-ingress0 ──▶ ingress: Shaper ──▶ aqm-ingress0 ──▶ program ──▶ ingress of IF, marked
//! ```
//!
//! tcx programs redirect the interface's frames to TAP devices, which this process reads. Egress frames are sent with
//! `PACKET_QDISC_BYPASS`, past the programs. Ingress frames are returned to the kernel as if the interface had just
//! received them: a second program marks them (skb mark), so that the first one lets them pass.
//!
//! Programs and devices are file descriptors of this process. However it ends, the kernel removes them: frames then
//! pass unshaped, and there is nothing to clean up.

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

/// The settings of a shaped interface.
#[derive(Clone, Debug)]
pub struct ShapeSetup {
    /// Interface name.
    pub interface: String,
    /// The egress direction.
    pub egress: Setup,
    /// The ingress direction; `None` to leave it alone.
    pub ingress: Option<Setup>,
    /// The threads that move packets.
    pub threads: Threads,
    /// How packets are assigned to classes.
    pub classes: Classes,
    /// Random salt of the flow hash.
    pub salt: u64,
}

/// Opens the devices, starts the threads, and redirects the interface's frames through them. `name` appears in reports.
///
/// # Errors
/// When a parameter is invalid, the interface is missing or not Ethernet, the kernel is too old, or permission is
/// missing.
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
        // Enough to take the interface over again when it returns.
        keep: keep_only_packets,
        needs: Needs::Bpf,
    };
    let interface = &setup.interface;
    let ways = vec![format!("leaves {interface}"), format!("arrives at {interface}")];
    let shown = Shown { kind: "shape", name: name.to_owned(), interfaces: vec![interface.clone()], ways };
    Running::start(shown, queues, setup.threads, directions, &common)
}
