//! The common part of long-running commands, `bridge` and `shape`: they are stopped by a signal, and monitored through
//! ctl, metrics and systemd.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aqmkit_base::near::closest;
use aqmkit_live::LiveError;
use aqmkit_live::capabilities::keep_none;
use aqmkit_live::cleanup::{self, BridgeState, Held, Record};
use aqmkit_live::confinement::{Needs, confine};
use aqmkit_live::ctl::{self, Control, Report};
use aqmkit_live::measured::Measured;
use aqmkit_live::metrics;
use aqmkit_live::netlink::Netlink;
use aqmkit_live::offload::DisabledOffload;
use aqmkit_live::port::{Counts, Port};
use aqmkit_live::running::{Running, Threads};
use aqmkit_live::service::Manager;
use aqmkit_measure::output::Summary;
use serde::Serialize;

use super::args::wire;
use super::ctl::page;
use super::dashboard;
use super::fail::{Failure, wrong};
use super::progress::Talk;
use super::say;
use super::stop;

/// The interval between checks whether to end.
const PULSE: Duration = Duration::from_millis(100);

/// Converts `--threads`.
pub(super) fn threads(number: u8) -> Threads {
    if number == 1 { Threads::One } else { Threads::Two }
}

/// How a running bottleneck is monitored and controlled.
#[derive(Clone, Copy)]
pub(super) struct Service<'a> {
    /// The directory for control sockets.
    pub(super) directory: &'a Path,
    /// The name of the control socket, for `aqmkit ctl`.
    pub(super) name: &'a str,
    /// The options for metrics and the page.
    pub(super) watched: wire::Watched,
}

/// Serves a running bottleneck until it ends, after dropping this thread's privileges. `doing` describes it to the
/// user.
///
/// # Errors
/// When a socket cannot be created.
pub(super) fn run_service<D: Port + Send + 'static>(
    running: &Running<D>,
    service: Service<'_>,
    doing: &str,
    talk: Talk,
) -> Result<(), Failure> {
    let Service { directory, name, watched } = service;
    let control = &running.control;
    let _socket = ctl::serve(directory, Arc::clone(control)).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Failure::Problem(
            aqmkit_experiment::Problem::new(format!("a link, bridge or shaper named {name} is already running"))
                .right("give this one another name with --name"),
        ),
        _ => Failure::Environment(format!("cannot make a socket in {}: {error}", directory.display())),
    })?;
    let served = watched.metrics.map(|address| serve(address, Arc::clone(control))).transpose()?;
    watched.play.map(|access| page::start(name, access)).transpose()?;
    // This thread only waits from here on.
    keep_none();
    // Older kernels ignore this.
    let _ = confine(Needs::Nothing);
    if talk != Talk::Quiet {
        let page = served.as_ref().map(|s| format!(", metrics at http://{}/metrics", s.address())).unwrap_or_default();
        say::message(&format!("{doing}{page}; Ctrl-C ends it, aqmkit ctl --to {name} watch shows it"));
    }
    let manager = Manager::of_this_process().unwrap_or_else(|e| {
        talk.note(&format!("the service manager cannot be notified: {e}"));
        None
    });
    wait(running, manager.as_ref());
    Ok(())
}

/// Waits for the end. Notifies the service manager's watchdog as long as the threads that move packets renew their
/// report, which they do ten times a second.
fn wait<D: Port + 'static>(running: &Running<D>, manager: Option<&Manager>) {
    manager.inspect(|m| m.ready());
    let (mut last, mut since) = (None, Duration::MAX);
    while running.is_up() && !stop::stopping() {
        if let Some(manager) = manager
            && manager.watchdog_interval().is_some_and(|interval| since >= interval)
        {
            let at = Some(running.control.report().at_s.to_bits());
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

fn serve<D: Port + 'static>(address: SocketAddr, control: Arc<Control<D>>) -> Result<metrics::MetricsServer, Failure> {
    metrics::serve(address, move || control.report()).map_err(|e| {
        Failure::Environment(format!("cannot listen at {address}: {e}\n  choose another address with --metrics"))
    })
}

/// The record of the interfaces in use, from which `--cleanup` restores their settings if the process is killed.
pub(super) struct Ledger {
    record: Record,
    held: Option<Held>,
    talk: Talk,
}

impl Ledger {
    /// Writes the record before anything is changed.
    pub(super) fn open(directory: &Path, state: BridgeState, talk: Talk) -> Self {
        cleanup::forget(directory, state.place, &state.interfaces);
        let title = state.interfaces.join(" and ");
        let record = Record { pid: std::process::id(), title, bridge: Some(state), ..Record::default() };
        let held = Held::new(directory, &record);
        if let Err(e) = &held {
            talk.note(&format!("no record can be kept in {}: {e}", directory.display()));
        }
        Ledger { record, held: held.ok(), talk }
    }

    /// Records an offload before it is disabled.
    pub(super) fn add(&mut self, off: &DisabledOffload) {
        let (Some(held), Some(state)) = (&mut self.held, &mut self.record.bridge) else { return };
        if !state.off.contains(off) {
            state.off.push(off.clone());
            if let Err(e) = held.update(&self.record) {
                self.talk.note(&format!("{} of {} is disabled without a record: {e}", off.offload, off.interface));
            }
        }
    }
}

/// Rejects an interface that already has a bridge or queue, because every frame would pass two queues.
///
/// # Errors
/// When one of them has.
pub(super) fn check_unused(directory: &Path, place: u64, interfaces: &[String]) -> Result<(), Failure> {
    match cleanup::bridge_at(directory, place, interfaces) {
        None => Ok(()),
        Some((interface, other)) => wrong(
            format!("{interface} already belongs to {} (process {})", other.name(), other.pid),
            "end that one first, or name other interfaces",
        ),
    }
}

/// Rejects a name that is unsuitable for a socket.
///
/// # Errors
/// When it is unsuitable.
pub(super) fn check_name(name: &str) -> Result<(), Failure> {
    let known = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if (1..=32).contains(&name.len()) && name.bytes().all(known) {
        return Ok(());
    }
    wrong(format!("{name:?} is not a valid name"), "use at most 32 letters, digits, - and _")
}

/// Rejects interfaces that do not exist.
///
/// # Errors
/// When one of them does not.
pub(super) fn check_exist(interfaces: &[String]) -> Result<(), Failure> {
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

/// A random salt for flow hashes.
pub(super) fn salt() -> u64 {
    let mut salt = [0; 8];
    // If the kernel has too little entropy this early after booting, some bytes remain zero.
    let _ = rustix::rand::getrandom(&mut salt, rustix::rand::GetRandomFlags::NONBLOCK);
    u64::from_ne_bytes(salt)
}

/// The measurements of the whole running time.
pub(super) struct Ended<'a> {
    /// The report at the end.
    pub(super) report: &'a Report,
    /// The measurements.
    pub(super) measured: &'a Measured,
    /// The counters of each interface, by name.
    pub(super) interfaces: BTreeMap<String, Counts>,
}

#[derive(Serialize)]
struct Json<'a> {
    /// False if the machine could not keep up.
    valid: bool,
    doubts: &'a [String],
    report: &'a Report,
    queue_delay_ms: BTreeMap<&'a str, Option<Summary>>,
    lateness_ms: Option<Summary>,
    interfaces: &'a BTreeMap<String, Counts>,
    granted: aqmkit_live::timing::Granted,
}

impl Ended<'_> {
    /// Prints the summary.
    ///
    /// # Errors
    /// [`Failure::Missed`] if the machine could not keep up, so that the measurement is invalid.
    pub(super) fn print(&self, json: bool) -> Result<(), Failure> {
        // Reasons why the measurement is invalid; empty if it is valid.
        let doubts = self.measured.doubts(0);
        say::print(&if json { self.json(&doubts)? } else { self.text(&doubts) })?;
        if doubts.is_empty() { Ok(()) } else { Err(Failure::Missed) }
    }

    fn delays(&self) -> BTreeMap<&str, Option<Summary>> {
        let first = |(name, windows): &'_ (String, Vec<aqmkit_measure::Passed>)| {
            (name.as_str().to_owned(), windows.first().and_then(|w| w.delay.summary()))
        };
        let delays: BTreeMap<String, _> = self.measured.directions.iter().map(first).collect();
        self.report.directions.iter().map(|d| (d.name.as_str(), delays.get(&d.name).copied().flatten())).collect()
    }

    fn json(&self, doubts: &[String]) -> Result<String, Failure> {
        Ok(serde_json::to_string_pretty(&Json {
            valid: doubts.is_empty(),
            doubts,
            report: self.report,
            queue_delay_ms: self.delays(),
            lateness_ms: self.measured.late.summary(),
            interfaces: &self.interfaces,
            granted: self.measured.granted,
        })?)
    }

    fn text(&self, doubts: &[String]) -> String {
        let mut text = String::new();
        if !doubts.is_empty() {
            text.push_str("The machine could not keep up, so the measurement is not valid:\n");
            text.extend(doubts.iter().map(|d| format!("  {d}\n")));
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
