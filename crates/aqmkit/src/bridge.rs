//! `bridge`: a transparent bridge.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use aqmkit_aqm::Catalogue;
use aqmkit_lab::rates::second as second_rate;
use aqmkit_live::LiveError;
use aqmkit_live::bridge::{Bridge, BridgeSetup, Io, kernel_bridge_of, remove_kernel_bridge};
use aqmkit_live::cleanup::{self, BridgeState, Cleaned};
use aqmkit_live::ctl;
use aqmkit_live::handover;
use aqmkit_live::netns::cookie;
use aqmkit_live::offload::OffloadLog;
use aqmkit_packets::shaper::Setup;

use super::args::wire;
use super::fail::{Failure, wrong};
use super::link::note;
use super::progress::Talk;
use super::queue;
use super::say;
use super::standing::{self, Ended, Ledger, Service};
use super::stop;

/// `aqmkit bridge`.
///
/// # Errors
/// When an argument is wrong, or the machine lacks something.
pub(super) fn bridge(args: &wire::Bridge, disciplines: &Catalogue, talk: Talk) -> Result<(), Failure> {
    let directory = ctl::directory();
    if args.cleanup {
        return clean_up(&directory);
    }
    let setup = setup(args, disciplines)?;
    standing::check_exist(&setup.interfaces)?;
    // Clean up first, or settings that a killed bridge changed would be taken for the user's.
    note(cleanup::clean(&directory), talk);
    // Kernels before 5.14 cannot identify namespaces; the check for other bridges then finds no records.
    let place = cookie().unwrap_or_default();
    standing::check_unused(&directory, place, &setup.interfaces)?;
    if !setup.fail_open {
        leave_kernel_bridges(&setup.interfaces, talk)?;
    }
    // The bridge restores the interfaces when it ends, which a second Ctrl-C must not prevent.
    stop::listen_once()?;
    let state = BridgeState {
        name: args.name.clone(),
        place,
        interfaces: setup.interfaces.to_vec(),
        fail_open: setup.fail_open,
        off: Vec::new(),
    };
    let ledger = Arc::new(Mutex::new(Ledger::open(&directory, state, talk)));
    let noting = {
        let ledger = Arc::clone(&ledger);
        OffloadLog::new(move |off| ledger.lock().unwrap_or_else(PoisonError::into_inner).add(off))
    };
    let bridge = Bridge::open_noting(&setup, &args.name, noting)?;
    let [a, b] = &setup.interfaces;
    let service = Service { directory: &directory, name: &args.name, watched: args.watched };
    standing::run_service(bridge.running(), service, &format!("bridging {a} and {b}"), talk)?;
    let interfaces = bridge.interfaces();
    let report = bridge.control().report();
    let measured = bridge.close()?;
    if setup.fail_open {
        talk.note(&format!("from now on the kernel forwards between {a} and {b}; aqmkit bridge --cleanup ends that"));
    }
    let interfaces = interfaces.into_iter().flatten().map(|(name, _, counts)| (name, counts)).collect();
    Ended { report: &report, measured: &measured, interfaces }.print(args.json)
}

/// Restores settings that killed bridges changed, and removes kernel bridges that took over from bridges which have
/// ended.
fn clean_up(directory: &Path) -> Result<(), Failure> {
    let cannot = LiveError::while_doing("cannot remove the kernel's bridges");
    let made_here = handover::all(directory).into_iter().filter(handover::Forwarding::made_here);
    let removed =
        made_here.map(|device| device.remove().map(|()| format!("the kernel's bridge {} removed", device.name())));
    let mut lines = removed.collect::<Result<Vec<_>, _>>().map_err(cannot)?;
    // Last, because a record is kept as long as its device exists.
    let cleaned = cleanup::clean(directory);
    if cleaned != Cleaned::default() || lines.is_empty() {
        lines.push(cleaned.to_string());
    }
    Ok(say::print(&lines.join("\n"))?)
}

/// Without --fail-open, no kernel bridge may forward between the interfaces, or every frame would arrive twice. Removes
/// those that earlier bridges left between these interfaces; fails if there is another one.
fn leave_kernel_bridges(interfaces: &[String; 2], talk: Talk) -> Result<(), Failure> {
    for interface in interfaces {
        let cannot = LiveError::while_doing(format!("cannot look at {interface}"));
        match kernel_bridge_of(interface).map_err(cannot)? {
            None => {}
            Some((bridge, true)) => {
                let failed = LiveError::while_doing("cannot remove the kernel's bridge");
                remove_kernel_bridge(&bridge).map_err(failed)?;
                talk.note(&format!("the kernel's bridge {bridge} is removed"));
            }
            Some((bridge, false)) => {
                return wrong(
                    format!(
                        "{interface} is a port of the kernel's bridge {bridge}, which would forward every frame a second time"
                    ),
                    format!(
                        "ip link set {interface} nomaster, or use --fail-open, with which {bridge} forwards only when this bridge does not"
                    ),
                );
            }
        }
    }
    Ok(())
}

/// Describes the settings.
///
/// # Errors
/// When an argument is invalid.
pub(super) fn describe(args: &wire::Bridge, disciplines: &Catalogue) -> Result<String, Failure> {
    let setup = setup(args, disciplines)?;
    let [a, b] = &setup.interfaces;
    let one = |s: &Setup| format!("{} {}", s.rate, s.aqm.name());
    let [forth, back] = &setup.directions;
    Ok(format!("between {a} and {b}, {} from {a} to {b}, {} back", one(forth), one(back)))
}

fn setup(args: &wire::Bridge, disciplines: &Catalogue) -> Result<BridgeSetup, Failure> {
    let (Some(first), Some(second), Some(rate)) = (&args.first, &args.second, args.rate) else {
        return wrong("no interfaces given", "give two interfaces and a --rate");
    };
    if first == second {
        return wrong(format!("both interfaces are {first}"), "give two interfaces");
    }
    standing::check_name(&args.name)?;
    let forth = queue::setup("forth", rate.first, &args.queue.aqm, &args.queue, disciplines)?;
    let back_aqm = args.back_aqm.as_ref().unwrap_or(&args.queue.aqm);
    let back_rate = second_rate(args.rate, "--back-rate", args.back_rate)?.unwrap_or(rate.first);
    let back = queue::setup("back", back_rate, back_aqm, &args.queue, disciplines)?;
    let on_the_way = |direction: Setup| Setup { delay: args.delay, wire: args.wire.wire(), ..direction };
    Ok(BridgeSetup {
        interfaces: [first.clone(), second.clone()],
        io: match args.io {
            wire::Io::AfPacket => Io::Packet,
            wire::Io::AfXdp => Io::Xdp,
        },
        threads: standing::threads(args.threads),
        fail_open: args.fail_open,
        directions: [forth, back].map(on_the_way),
        classes: queue::classes(&args.queue.class)?,
        salt: standing::salt(),
    })
}
