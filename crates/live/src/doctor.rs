//! Checks whether this machine supports live traffic, and diagnoses running links.

mod disciplines;

use std::fs::File;
use std::io;
use std::path::Path;

use aqmkit_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::capabilities::may_make_links;
use crate::cleanup::{Record, records, short};
use crate::congestion;
use crate::kernel;
use crate::measured::{DirectionSnapshot, LATEST, Snapshot, loses_too_much};
use crate::netlink::Netlink;
use crate::netns::{Netns, set_sysctl, sysctl};
use crate::offload::{OFFLOADS, is_on};
use crate::rootless::{self, Refused, Step};
use crate::timing::{Clock, Granted, request_realtime, wait};
use crate::tun::Tun;
use aqmkit_measure::Times;
use aqmkit_measure::output::Summary;

pub use disciplines::Known;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All good.
    Good,
    /// Works, with limitations.
    Poor,
    /// Unavailable.
    Missing,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of the check.
    pub name: String,
    /// The result.
    pub state: State,
    /// The finding, in words.
    pub found: String,
    /// The remedy; empty if none is needed.
    pub right: String,
}

fn check(name: &str, state: State, found: impl Into<String>, right: &str) -> Check {
    let right = if state == State::Good { "" } else { right };
    Check { name: name.to_owned(), state, found: found.into(), right: right.to_owned() }
}

fn tried<T>(name: &str, result: io::Result<T>, good: impl Into<String>, right: &str) -> Check {
    match result {
        Ok(_) => check(name, State::Good, good, ""),
        Err(e) => check(name, State::Missing, e.to_string(), right),
    }
}

/// Runs all checks, which takes about a second for the timer measurement. `disciplines` are those to look for in the
/// kernel and in `tc`, by their `tc` names.
#[must_use]
pub fn examine(disciplines: &[&str]) -> Vec<Check> {
    let namespace = Netns::create();
    let mut checks = match may_make_links() {
        true => with_rights(&namespace),
        false => without_rights(&rootless::tried()),
    };
    checks.extend(sockets());
    checks.push(congestion());
    checks.push(queue_disciplines(disciplines));
    checks.push(ecn(namespace.ok().as_ref()));
    checks.push(programs());
    checks.extend(in_kernel());
    checks.extend(punctuality());
    checks.extend(merging());
    checks
}

/// The requirements of links, for a user with the capabilities.
fn with_rights(namespace: &io::Result<Netns>) -> Vec<Check> {
    let there = || namespace.as_ref().map_err(|e| io::Error::from(e.kind()));
    let tun = there().and_then(|n| n.inside(|| Tun::create("aqmkit0")));
    vec![
        check("rights", State::Good, "links can be set up", ""),
        tried("namespaces", there(), "can be created", "a kernel with CONFIG_NET_NS"),
        tried("TUN", tun, "devices can be created", "the module tun: modprobe tun"),
    ]
}

/// The same for a user without them, as far as a user namespace grants them.
fn without_rights(tried: &Result<(), Refused>) -> Vec<Check> {
    const LACKS: &str = "CAP_SYS_ADMIN or CAP_NET_ADMIN is missing";
    const ROOT: &str = "run it as root, for example with sudo";
    const INSIDE: &str = "can be created in a user namespace";
    const FOR_ALL: &str = "root; or user namespaces for all users, by those of these settings that the machine has: sysctl -w user.max_user_namespaces=10000 \
         kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0";
    let rights = |state, right| check("rights", state, LACKS, right);
    let missing = |name, refused: &Refused, right| check(name, State::Missing, refused.to_string(), right);
    match tried {
        Ok(()) => vec![
            rights(
                State::Poor,
                "links need none in a user namespace: unshare -Urn aqmkit link …; bridge, shape and kernel need root",
            ),
            check("namespaces", State::Good, INSIDE, ""),
            check("TUN", State::Good, format!("devices {INSIDE}"), ""),
        ],
        Err(refused) if matches!(refused.step, Step::Users | Step::Network) => vec![
            rights(State::Missing, ROOT),
            missing("namespaces", refused, FOR_ALL),
            check("TUN", State::Missing, "not tried without a namespace", "first of all namespaces"),
        ],
        Err(refused) => {
            let right = match refused.error.kind() {
                io::ErrorKind::PermissionDenied if refused.step == Step::File => {
                    "root; or the device file for all users, as usual: chmod 666 /dev/net/tun"
                }
                _ => "the module tun: modprobe tun",
            };
            vec![
                rights(State::Missing, ROOT),
                check("namespaces", State::Good, INSIDE, ""),
                missing("TUN", refused, right),
            ]
        }
    }
}

/// The sockets that a bridge can use.
fn sockets() -> Vec<Check> {
    use rustix::net::{AddressFamily, SocketType, socket};
    let open = |family: u16| socket(AddressFamily::from_raw(family), SocketType::RAW, None).map_err(io::Error::from);
    let packet = open(libc::AF_PACKET as u16);
    let xdp = open(libc::AF_XDP as u16);
    vec![
        tried("AF_PACKET", packet, "sockets can be opened", "root, and a kernel with CONFIG_PACKET"),
        tried(
            "AF_XDP",
            xdp,
            "sockets can be opened (bridge --io af-xdp)",
            "only for bridge --io af-xdp: root, and a kernel with CONFIG_XDP_SOCKETS",
        ),
    ]
}

/// tcx programs, tried on the loopback of a namespace.
fn programs() -> Check {
    let attached = Netns::create().and_then(|n| n.inside(|| crate::shape::can_attach(1)));
    tried(
        "tcx",
        attached,
        "programs can be attached to interfaces (shape, bridge --fail-open)",
        "only for shape and bridge --fail-open: root, and Linux 6.6 or later",
    )
}

fn queue_disciplines(names: &[&str]) -> Check {
    let known: Vec<(&str, Known)> = names.iter().map(|name| (*name, Known::of(name))).collect();
    let missing: Vec<&str> =
        known.iter().filter(|(name, of)| !of.missing(name).is_empty()).map(|(name, _)| *name).collect();
    let unknown = known.iter().all(|(name, of)| of.kernel.is_none() || *name == "pfifo");
    let found = match (unknown, missing.as_slice()) {
        (true, []) => "no list of the kernel's modules is here, so what it has is not known".to_owned(),
        (_, []) => "kernel and tc have all that advise recommends".to_owned(),
        (_, missing) => format!("kernel or tc lack {}", missing.join(", ")),
    };
    let state = if missing.is_empty() { State::Good } else { State::Poor };
    check(
        "queue disciplines",
        state,
        found,
        "only for the lines of advise: a kernel built with them (dualpi2: 6.17), and a newer iproute2",
    )
}

fn congestion() -> Check {
    let known = congestion::controls();
    let default = sysctl("net.ipv4.tcp_congestion_control").unwrap_or_default();
    let state = if known.iter().any(|k| k == "cubic") { State::Good } else { State::Poor };
    let added: String = congestion::addable().iter().map(|name| format!("; {name} can be added")).collect();
    let found = format!("{}{added}; the default is {default}", known.join(", "));
    check("congestion control", state, found, "load modules, such as with modprobe tcp_cubic tcp_dctcp")
}

/// TCP's ECN support, tried in a separate namespace.
fn ecn(namespace: Option<&Netns>) -> Check {
    let now = sysctl("net.ipv4.tcp_ecn").unwrap_or_default();
    let can = |value: &str| namespace.is_some_and(|n| n.inside(|| set_sysctl("net.ipv4.tcp_ecn", value)).is_ok());
    let meaning = match now.as_str() {
        "0" => "never used",
        "1" => "requested and accepted",
        "2" => "accepted when requested",
        _ => "in a newer mode of the kernel",
    };
    let accurate = if can("3") { "; also accurate ECN (RFC 9768)" } else { "" };
    let state = if namespace.is_none() || can("1") { State::Good } else { State::Poor };
    check(
        "ECN",
        state,
        format!("{meaning} (net.ipv4.tcp_ecn = {now}); --ecn turns it on within a link{accurate}"),
        "a kernel with this setting per namespace",
    )
}

/// The kernel's support for in-kernel disciplines.
fn in_kernel() -> Vec<Check> {
    let one = |found: kernel::examine::Found| match found.what {
        Ok(what) => check(found.name, State::Good, what, ""),
        Err(why) => {
            let right = format!("only for aqmkit kernel: {}", found.right);
            check(found.name, State::Missing, why.replace('\n', ";"), &right)
        }
    };
    kernel::examine::examine().into_iter().map(one).collect()
}

fn punctuality() -> Vec<Check> {
    let thread = std::thread::Builder::new().name("timers".into()).spawn(measure_timers);
    let Some((granted, late)) = thread.ok().and_then(|t| t.join().ok()) else { return Vec::new() };
    let state = |good| if good { State::Good } else { State::Poor };
    let found = |good: bool, yes: &str, no: &str| (if good { yes } else { no }).to_owned();
    vec![
        check(
            "SCHED_FIFO",
            state(granted.realtime),
            found(granted.realtime, "granted", "refused"),
            "root, or CAP_SYS_NICE",
        ),
        check(
            "mlockall",
            state(granted.locked),
            found(granted.locked, "granted", "refused"),
            "root, CAP_IPC_LOCK, or a higher ulimit -l",
        ),
        check(
            "timers",
            state(late.p99 <= LATEST.as_millis_f64()),
            format!(
                "late by {:.0} µs (median), {:.0} µs (p99), {:.0} µs (max)",
                late.p50 * 1e3,
                late.p99 * 1e3,
                late.max * 1e3
            ),
            "a less loaded machine: links with such lateness give no results",
        ),
    ]
}

/// Timer lateness of a real-time thread: a timer every 300 µs for one second.
fn measure_timers() -> (Granted, Summary) {
    let granted = request_realtime();
    let clock = Clock::start();
    let mut late = Times::default();
    for i in 1..3333 {
        let due = Instant::ZERO + Duration::from_micros(300) * i;
        if wait(&mut [], &clock, due).is_ok() {
            late.record(clock.now().since(due));
        }
    }
    (granted, late.summary().unwrap_or_default())
}

/// Interfaces with LRO, which cannot be undone. Other offloads do no harm: a bridge disables the harmful ones while it
/// runs, and leaves segmentation to the NIC, which is several times as fast.
fn merging() -> Vec<Check> {
    let interfaces = Netlink::open().and_then(|mut n| n.interfaces()).unwrap_or_default();
    let merges = |name: &str| OFFLOADS.iter().any(|o| o.name == "lro" && is_on(name, o).unwrap_or(false));
    interfaces.iter().filter(|i| merges(&i.name)).map(|i| irreversible(&i.name)).collect()
}

fn irreversible(name: &str) -> Check {
    let right = format!("only for shape, which refuses it: ethtool -K {name} lro off");
    check(&format!("LRO of {name}"), State::Poor, "on: it merges packets in a way that cannot be undone", &right)
}

/// One direction of a running link over the last second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionActivity {
    /// Departure rate in bit/s.
    pub bps: f64,
    /// Arrival rate in bit/s.
    pub offered_bps: f64,
    /// Packets queued.
    pub waiting_packets: u64,
    /// Packets dropped in that second.
    pub drops: u64,
    /// Packets marked in that second.
    pub marks: u64,
    /// Packets dropped by the kernel before the discipline in that second.
    #[serde(default)]
    pub overrun: u64,
}

/// A running link over the last second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkActivity {
    /// Seconds since the start of the link.
    pub at_s: f64,
    /// The directions: down, up.
    pub directions: Vec<DirectionActivity>,
    /// Maximum lateness of a departure since the start, in milliseconds.
    pub latest_ms: f64,
}

impl LinkActivity {
    /// The difference of two snapshots, taken a second apart.
    #[must_use]
    pub fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let seconds = now.at.since(before.at).as_secs_f64().max(1e-9);
        let one = |(i, snapshot): (usize, &DirectionSnapshot)| {
            let counters = snapshot.counters.traffic;
            let was = before.directions.get(i);
            let earlier = was.map(|d| d.counters.traffic).unwrap_or_default();
            DirectionActivity {
                bps: (counters.sent_bytes - earlier.sent_bytes) as f64 * 8.0 / seconds,
                offered_bps: (counters.offered_bytes - earlier.offered_bytes) as f64 * 8.0 / seconds,
                waiting_packets: snapshot.backlog.packets,
                drops: counters.drops() - earlier.drops(),
                marks: counters.marks() - earlier.marks(),
                overrun: snapshot.device.overrun.saturating_sub(was.map_or(0, |d| d.device.overrun)),
            }
        };
        LinkActivity {
            at_s: now.at.as_secs_f64(),
            directions: now.directions.iter().enumerate().map(one).collect(),
            latest_ms: now.latest.as_millis_f64(),
        }
    }
}

/// A running link and its diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Process id.
    pub pid: u32,
    /// A short description of its command.
    pub title: String,
    /// Per direction, whether its queue is the bottleneck; then other problems.
    pub findings: Vec<String>,
}

/// Diagnoses every running link.
#[must_use]
pub fn diagnoses(directory: &Path) -> Vec<Diagnosis> {
    let running = records(directory).into_iter().filter(|f| f.running && f.record.bridge.is_none());
    let one = |found: crate::cleanup::Found| {
        let text = File::open(found.path.with_extension("look")).and_then(|file| short(&file)).ok();
        let activity = text.and_then(|t| serde_json::from_slice::<LinkActivity>(&t).ok());
        let mut findings = match activity {
            Some(activity) => diagnose(&found.record, &activity),
            None => vec!["it began less than two seconds ago".to_owned()],
        };
        findings.extend(lost_before(&found.record));
        Diagnosis { pid: found.record.pid, title: found.record.title, findings }
    };
    running.map(one).collect()
}

/// Below this utilisation a link is not the bottleneck.
const BUSY: f64 = 0.9;

fn diagnose(record: &Record, activity: &LinkActivity) -> Vec<String> {
    let directions = ["down", "up"].into_iter().zip(&activity.directions).zip(&record.rates_bps);
    let mut findings: Vec<String> = directions.map(|((name, d), rate)| judge(name, d, *rate)).collect();
    if activity.latest_ms > 10.0 * LATEST.as_millis_f64() {
        findings.push(format!("the machine delayed a packet by {:.0} ms", activity.latest_ms));
    }
    findings
}

fn judge(name: &str, d: &DirectionActivity, rate: u64) -> String {
    let busy = d.bps / rate.max(1) as f64;
    let share = format!("{:.0} % busy, {} packets wait", busy * 100.0, d.waiting_packets);
    if d.bps == 0.0 && d.offered_bps == 0.0 {
        format!("{name}: nothing is sent")
    } else if busy >= BUSY {
        format!("{name}: the bottleneck is here ({share})")
    } else if d.waiting_packets > 0 {
        format!("{name}: packets wait but the link is not always busy ({share}): traffic is bursty")
    } else {
        format!(
            "{name}: the bottleneck is elsewhere ({share}): an application, a window or another link limits the rate"
        )
    }
}

/// Reports packets dropped by the kernel on the device, which never reached the discipline.
fn lost_before(record: &Record) -> Vec<String> {
    let dropped = |(path, device): (&String, &String)| {
        let interface = Netns::at(path).ok()?.inside(|| Netlink::open()?.interface(device)).ok()?;
        let text =
            format!("the kernel dropped {} packets before {device}: the link cannot keep up", interface.tx_dropped);
        loses_too_much(interface.tx_dropped, interface.tx_packets).then_some(text)
    };
    record.paths.iter().zip(&record.devices).filter_map(dropped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Advice to disable segmentation offload would make a bridge several times slower.
    #[test]
    fn only_what_hurts_is_advised_against() {
        assert!(merging().iter().all(|c| c.name.starts_with("LRO of ")));
        assert_eq!(irreversible("eth0").right, "only for shape, which refuses it: ethtool -K eth0 lro off");
    }

    #[test]
    fn a_user_without_rights_is_told_what_works() {
        let states = |tried: Result<(), Refused>| -> Vec<_> {
            without_rights(&tried).into_iter().map(|c| (c.state, c.found, c.right)).collect()
        };
        let works = states(Ok(()));
        assert!(works.iter().all(|(state, ..)| *state != State::Missing), "{works:?}");
        assert!(works[0].2.contains("unshare -Urn aqmkit link") && works[1].1.ends_with("in a user namespace"));
        let refused = |step, kind: io::ErrorKind| states(Err(Refused { step, error: kind.into() }));
        let none = refused(Step::Users, io::ErrorKind::PermissionDenied);
        assert!(none.iter().all(|(state, ..)| *state == State::Missing), "{none:?}");
        assert!(none[1].1.starts_with("a user namespace cannot be created: ") && none[1].2.contains("sysctl -w user."));
        assert!(!none[0].2.contains("unshare"), "what does not work is not advised");
        let closed = refused(Step::File, io::ErrorKind::PermissionDenied);
        assert_eq!((closed[1].0, closed[2].0), (State::Good, State::Missing));
        assert!(closed[2].2.ends_with("chmod 666 /dev/net/tun"), "{closed:?}");
        assert!(refused(Step::File, io::ErrorKind::NotFound)[2].2.ends_with("modprobe tun"));
    }

    #[test]
    fn the_bottleneck_is_where_the_link_is_busy() {
        let busy =
            DirectionActivity { bps: 9.6e6, offered_bps: 10e6, waiting_packets: 12, drops: 1, marks: 0, overrun: 0 };
        let said = |d: DirectionActivity| judge("down", &d, 10_000_000);
        assert!(said(busy).contains("is here (96 % busy, 12 packets wait)"));
        let starved = DirectionActivity { bps: 4e6, waiting_packets: 0, ..busy };
        assert!(said(starved).contains("elsewhere"));
        assert!(said(DirectionActivity { waiting_packets: 3, ..starved }).contains("bursty"));
        assert!(said(DirectionActivity::default()).contains("nothing is sent"));
    }
}
