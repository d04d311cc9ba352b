//! `bridge`: a transparent bridge.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aqmkit_aqm::Catalogue;
use aqmkit_base::near::closest;
use aqmkit_live::LiveError;
use aqmkit_live::bottleneck::Measured;
use aqmkit_live::bridge::{Bridge, BridgeSetup, Counts, Io, kernel_bridge_of, remove_kernel_bridge};
use aqmkit_live::capabilities::keep_none;
use aqmkit_live::cleanup::{self, Held, Record, Taken};
use aqmkit_live::confinement::{Needs, confine};
use aqmkit_live::ctl::{self, Report};
use aqmkit_live::metrics;
use aqmkit_live::netlink::Netlink;
use aqmkit_live::netns::cookie;
use aqmkit_live::offload::{SwitchedOff, WriteDown};
use aqmkit_live::service::Manager;
use aqmkit_measure::output::Summary;
use aqmkit_packets::shaper::Setup;
use serde::Serialize;

use super::args::wire;
use super::ctl::page;
use super::dashboard;
use super::fail::{Failure, wrong};
use super::link::{note, tidied};
use super::progress::Talk;
use super::queue;
use super::say;
use super::stop;

/// The interval of checks for the end.
const PULSE: Duration = Duration::from_millis(100);

/// `aqmkit bridge`.
///
/// # Errors
/// When an argument is wrong, or the machine lacks something.
pub(super) fn bridge(args: &wire::Bridge, disciplines: &Catalogue, talk: Talk) -> Result<(), Failure> {
    let directory = ctl::directory();
    if args.cleanup {
        say::print(&tidied(cleanup::clean(&directory)))?;
        return remove_kernel_bridges(&directory);
    }
    let setup = setup(args, disciplines)?;
    exist(&setup.interfaces)?;
    // Clean up first: settings that a killed bridge has changed would be taken for those of the user.
    note(cleanup::clean(&directory), talk);
    // Kernels before 5.14 cannot identify namespaces; no record is searched there.
    let place = cookie().unwrap_or_default();
    alone(&directory, place, &setup.interfaces)?;
    if !setup.fail_open {
        leave_kernel_bridges(&setup.interfaces, talk)?;
    }
    // The bridge restores the interfaces at its end; a second Ctrl-C must not prevent this.
    stop::listen_once()?;
    let ledger = Arc::new(Mutex::new(Ledger::open(&directory, &setup, &args.name, place)));
    let note = {
        let ledger = Arc::clone(&ledger);
        WriteDown::with(move |off| ledger.lock().unwrap_or_else(PoisonError::into_inner).add(off))
    };
    let bridge = Bridge::open_noting(&setup, &args.name, note)?;
    let control = bridge.control();
    let _socket = ctl::serve(&directory, control.clone()).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Failure::Problem(
            aqmkit_experiment::Problem::new(format!("a bridge or link named {} is already running", args.name))
                .right("give this one another name with --name"),
        ),
        _ => Failure::Environment(format!("cannot make a socket in {}: {error}", directory.display())),
    })?;
    let served = args.metrics.map(|address| serve(address, control.clone())).transpose()?;
    args.play.map(|access| page::start(&args.name, access)).transpose()?;
    // From here on, this thread only waits.
    keep_none();
    // Older kernels ignore this.
    let _ = confine(Needs::Nothing);
    if talk != Talk::Quiet {
        let [a, b] = &setup.interfaces;
        let page = served.as_ref().map(|s| format!(", metrics at http://{}/metrics", s.address())).unwrap_or_default();
        say::tell(&format!("bridging {a} and {b}{page}; Ctrl-C ends it, aqmkit ctl --to {} watch shows it", args.name));
    }
    let manager = Manager::of_this_process().unwrap_or_else(|e| {
        say::tell(&format!("note: the service manager cannot be notified: {e}"));
        None
    });
    wait(&bridge, manager.as_ref());
    let interfaces = bridge.interfaces();
    let report = control.report();
    let measured = bridge.close()?;
    if setup.fail_open && talk != Talk::Quiet {
        let [a, b] = &setup.interfaces;
        say::tell(&format!(
            "note: from now on the kernel forwards between {a} and {b}; aqmkit bridge --cleanup ends that"
        ));
    }
    let summary = BridgeSummary { report: &report, doubts: measured.doubts(0), measured: &measured, interfaces };
    say::print(&if args.json { summary.json()? } else { summary.text() })?;
    if summary.doubts.is_empty() { Ok(()) } else { Err(Failure::Missed) }
}

/// Waits for the end. As long as the thread that moves packets works, which renews its report ten times a second, the
/// service manager is notified.
fn wait(bridge: &Bridge, manager: Option<&Manager>) {
    let control = bridge.control();
    manager.inspect(|m| m.ready());
    let (mut last, mut since) = (None, Duration::MAX);
    while bridge.is_up() && !stop::stopping() {
        if let Some(manager) = manager
            && manager.pulse().is_some_and(|pulse| since >= pulse)
        {
            let at = Some(control.report().at_s.to_bits());
            if at != last {
                manager.alive();
                (last, since) = (at, Duration::ZERO);
            }
        }
        std::thread::sleep(PULSE);
        since = since.saturating_add(PULSE);
    }
    manager.inspect(|m| m.stopping());
}

/// The record of a bridge, from which `--cleanup` restores settings if the bridge is killed.
struct Ledger {
    record: Record,
    held: Option<Held>,
}

impl Ledger {
    /// Writes the record, before the bridge changes anything.
    fn open(directory: &Path, setup: &BridgeSetup, name: &str, place: u64) -> Self {
        let interfaces = setup.interfaces.to_vec();
        let title = format!("{} and {}", interfaces[0], interfaces[1]);
        let taken = Taken { name: name.to_owned(), place, interfaces, off: Vec::new() };
        let record = Record { pid: std::process::id(), title, bridge: Some(taken), ..Record::default() };
        let held = Held::new(directory, &record);
        if let Err(e) = &held {
            say::tell(&format!("note: no record can be kept in {}: {e}", directory.display()));
        }
        Ledger { record, held: held.ok() }
    }

    /// Adds an offload that is about to be disabled.
    fn add(&mut self, off: &SwitchedOff) {
        let (Some(held), Some(taken)) = (&mut self.held, &mut self.record.bridge) else { return };
        if !taken.off.contains(off) {
            taken.off.push(off.clone());
            if let Err(e) = held.update(&self.record) {
                say::tell(&format!("note: {} of {} is disabled without a record: {e}", off.offload, off.interface));
            }
        }
    }
}

/// Refuses an interface that has a bridge already, since every frame would pass twice.
fn alone(directory: &Path, place: u64, interfaces: &[String; 2]) -> Result<(), Failure> {
    match cleanup::bridge_at(directory, place, interfaces) {
        None => Ok(()),
        Some((interface, other)) => wrong(
            format!("{interface} already belongs to bridge {} (process {})", other.name(), other.pid),
            "end that bridge first, or name other interfaces",
        ),
    }
}

/// Removes the kernel's bridges that took over for bridges which have ended.
fn remove_kernel_bridges(directory: &Path) -> Result<(), Failure> {
    let place = cookie().unwrap_or_default();
    let running = cleanup::records(directory).into_iter().filter(|f| f.running).filter_map(|f| f.record.bridge);
    let in_use: Vec<String> = running.filter(|taken| taken.place == place).flat_map(|t| t.interfaces).collect();
    let cannot = LiveError::while_doing("cannot remove the kernel's bridges");
    for name in aqmkit_live::bridge::remove_kernel_bridges(&in_use).map_err(cannot)? {
        say::print(&format!("the kernel's bridge {name} removed"))?;
    }
    Ok(())
}

/// Without --fail-open, no bridge of the kernel may forward between the interfaces: every frame would arrive twice. Those
/// of earlier bridges between these interfaces are removed, others are named.
fn leave_kernel_bridges(interfaces: &[String; 2], talk: Talk) -> Result<(), Failure> {
    for interface in interfaces {
        let cannot = LiveError::while_doing(format!("cannot look at {interface}"));
        match kernel_bridge_of(interface).map_err(cannot)? {
            None => {}
            Some((bridge, true)) => {
                let failed = LiveError::while_doing("cannot remove the kernel's bridge");
                remove_kernel_bridge(&bridge).map_err(failed)?;
                if talk != Talk::Quiet {
                    say::tell(&format!("note: the kernel's bridge {bridge} is removed"));
                }
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

/// The settings of the arguments, in words.
///
/// # Errors
/// When one is wrong.
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
    if !name_is_usable(&args.name) {
        return wrong(
            format!("{:?} is not a valid name for a bridge", args.name),
            "use at most 32 letters, digits, - and _",
        );
    }
    let forth = queue::setup("forth", rate, &args.queue.aqm, &args.queue, disciplines)?;
    let back_aqm = args.back_aqm.as_ref().unwrap_or(&args.queue.aqm);
    let back = queue::setup("back", args.back_rate.unwrap_or(rate), back_aqm, &args.queue, disciplines)?;
    let on_the_way = |direction: Setup| Setup { delay: args.delay, wire: args.wire.wire(), ..direction };
    let mut salt = [0; 8];
    // If the kernel has no random numbers this early, some bytes stay zero.
    let _ = rustix::rand::getrandom(&mut salt, rustix::rand::GetRandomFlags::NONBLOCK);
    Ok(BridgeSetup {
        interfaces: [first.clone(), second.clone()],
        io: match args.io {
            wire::Io::AfPacket => Io::Packet,
            wire::Io::AfXdp => Io::Xdp,
        },
        fail_open: args.fail_open,
        directions: [forth, back].map(on_the_way),
        classes: queue::classes(&args.queue.class)?,
        salt: u64::from_ne_bytes(salt),
    })
}

fn name_is_usable(name: &str) -> bool {
    (1..=32).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Refuses interfaces that do not exist.
fn exist(interfaces: &[String; 2]) -> Result<(), Failure> {
    let cannot = LiveError::while_doing("cannot list the interfaces");
    let known: Vec<String> =
        Netlink::open().and_then(|mut n| n.interfaces()).map_err(cannot)?.into_iter().map(|i| i.name).collect();
    for name in interfaces {
        if !known.contains(name) {
            let near = closest(name, known.iter().map(String::as_str));
            let near = near.map(|n| format!("did you mean {n}? ")).unwrap_or_default();
            return wrong(
                format!("there is no interface {name}"),
                format!("{near}This machine has {}", known.join(", ")),
            );
        }
    }
    Ok(())
}

fn serve(
    address: SocketAddr,
    control: Arc<ctl::Control<aqmkit_live::bridge::Interface>>,
) -> Result<metrics::MetricsServer, Failure> {
    metrics::serve(address, move || control.report()).map_err(|e| {
        Failure::Environment(format!("cannot listen at {address}: {e}\n  choose another address with --metrics"))
    })
}

/// The summary of a bridge.
struct BridgeSummary<'a> {
    report: &'a Report,
    measured: &'a Measured,
    /// Why the measurement is invalid; empty if it is valid.
    doubts: Vec<String>,
    interfaces: Option<[(String, bool, Counts); 2]>,
}

#[derive(Serialize)]
struct Json<'a> {
    /// False if the machine could not keep up.
    valid: bool,
    doubts: &'a [String],
    report: &'a Report,
    queue_delay_ms: BTreeMap<&'a str, Option<Summary>>,
    lateness_ms: Option<Summary>,
    interfaces: BTreeMap<String, Counts>,
    granted: aqmkit_live::timing::Granted,
}

impl BridgeSummary<'_> {
    fn delays(&self) -> BTreeMap<&str, Option<Summary>> {
        let first = |(name, windows): &'_ (String, Vec<aqmkit_measure::Passed>)| {
            (name.as_str().to_owned(), windows.first().and_then(|w| w.delay.summary()))
        };
        let delays: BTreeMap<String, _> = self.measured.directions.iter().map(first).collect();
        self.report.directions.iter().map(|d| (d.name.as_str(), delays.get(&d.name).copied().flatten())).collect()
    }

    fn json(&self) -> Result<String, Failure> {
        let interfaces = self.interfaces.iter().flatten().map(|(name, _, counts)| (name.clone(), *counts));
        Ok(serde_json::to_string_pretty(&Json {
            valid: self.doubts.is_empty(),
            doubts: &self.doubts,
            report: self.report,
            queue_delay_ms: self.delays(),
            lateness_ms: self.measured.late.summary(),
            interfaces: interfaces.collect(),
            granted: self.measured.granted,
        })?)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if !self.doubts.is_empty() {
            text.push_str("The machine could not keep up, so the measurement is not valid:\n");
            text.extend(self.doubts.iter().map(|d| format!("  {d}\n")));
            text.push('\n');
        }
        text.push_str(&dashboard::draw(self.report, None));
        if let Some(late) = self.measured.late.summary() {
            let us = |ms: f64| aqmkit_report::format::fixed(ms * 1000.0, 0);
            text.push_str(&format!(
                "\nLateness of departures: {} µs (median), {} µs (99 %), {} µs (max)\n",
                us(late.p50),
                us(late.p99),
                us(late.max)
            ));
        }
        text
    }
}
