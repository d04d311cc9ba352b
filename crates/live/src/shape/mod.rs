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

use aqmkit_base::Instant;
use aqmkit_packets::frame::{Frame, Reader};
use aqmkit_packets::meter::Meter;
use aqmkit_packets::shaper::{Setup, Shaper};
use aqmkit_packets::wire::{Classes, Encapsulation};

use crate::bottleneck::{Bottleneck, Direction};
use crate::bounds;
use crate::capabilities::keep_only_packets;
use crate::confinement::{Needs, confine};
use crate::error::LiveError;
use crate::running::{Places, Running};
use crate::timing::{Clock, be_punctual};

pub use end::End;
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
    /// The classification of packets.
    pub classes: Classes,
    /// The random salt of flow keys.
    pub salt: u64,
}

/// Opens the devices, starts the thread between them, and has the interface's frames pass through it. `name` is that of its
/// reports.
///
/// # Errors
/// When a parameter cannot be used, the interface is not there or not Ethernet, the kernel is too old, or the process may not.
pub fn open(setup: &ShapeSetup, name: &str) -> Result<Running<End>, LiveError> {
    let classes = setup.classes.names();
    let with_classes = |s: &Setup| Setup { classes: classes.to_vec(), ..s.clone() };
    let shown = [Some(&setup.egress), setup.ingress.as_ref()].into_iter().flatten().map(with_classes).collect();
    let setup = setup.clone();
    Running::start("shape", name, shown, move |places| bottleneck(&setup, places))
}

fn bottleneck(setup: &ShapeSetup, places: Places<End>) -> Result<Bottleneck<End>, LiveError> {
    let clock = Clock::start();
    // Without a queue for what arrives, nothing comes to the second one.
    let queues = [&setup.egress, setup.ingress.as_ref().unwrap_or(&setup.egress)];
    let [egress, ingress] = [shaper(queues[0], setup)?, shaper(queues[1], setup)?];
    let [machine, network] = end::both(&setup.interface, setup.ingress.is_some(), clock)?;
    let [out, back] = queues.map(|queue| queue.name.clone());
    let directions = [
        Direction { name: out, device: machine, shaper: egress, kernel: None },
        Direction { name: back, device: network, shaper: ingress, kernel: None },
    ];
    let reader = Reader::new(Encapsulation::Ethernet, setup.classes.clone(), setup.salt);
    let granted = be_punctual();
    // Packets come from anywhere, so the thread that reads them gets only the necessary rights: those to take the interface again
    // when it returns.
    keep_only_packets();
    // Older kernels ignore this.
    let _ = confine(Needs::Bpf);
    let Places { requests, look } = places;
    Ok(Bottleneck { directions, requests: Some(requests), reader, clock, look, plan: None, granted })
}

fn shaper(of: &Setup, setup: &ShapeSetup) -> Result<Shaper<Frame>, LiveError> {
    let classes = setup.classes.names();
    let of = Setup { classes: classes.to_vec(), ..of.clone() };
    bounds::check(&of)
        .and_then(|()| Shaper::<Frame>::new(&of, Meter::whole(classes), Instant::ZERO))
        .map_err(|error| LiveError::Parameter { direction: of.name.clone(), error })
}
