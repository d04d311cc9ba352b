//! `ctl play`, and `--play` of `link`, `bridge` and `shape`: shows a running bottleneck in the page of `aqmkit play`.
//!
//! A separate process serves the page, as an ordinary client of the control socket: it has no privileges, cannot gain
//! any, opens no files, and cannot delay packets.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use aqmkit_lab::player::page;
use aqmkit_live::capabilities::keep_none;
use aqmkit_live::confinement::{Needs, confine};
use aqmkit_live::ctl::{Client, DirectionReport, Report};
use rustix::rand::{GetRandomFlags, getrandom};
use serde::Serialize;

use super::super::args::wire::Access;
use super::super::fail::Failure;
use super::super::play::server::Site;
use super::super::play::watched::{Bottleneck, Change, States};
use super::super::say;

/// Delays are computed over this number of states, which takes about a second.
const STATES: usize = 10;

/// The interval between checks that the bottleneck still runs.
const PULSE: Duration = Duration::from_millis(500);

/// Serves the page of a bottleneck until it ends.
///
/// # Errors
/// When it does not run, or no port is available.
pub(super) fn serve(client: &Client, access: Access, port: u16, no_open: bool) -> Result<(), Failure> {
    client.report()?;
    let token = token().map_err(|e| Failure::Environment(format!("the system gives no random numbers: {e}")))?;
    let bottleneck = bottleneck(client, access, token.clone());
    let site = Site::open(port, page(), None, Some(bottleneck))
        .map_err(|e| Failure::Environment(format!("cannot listen on 127.0.0.1:{port}: {e}")))?;
    // The server handles requests from others, so it drops all privileges.
    keep_none();
    let address = format!("http://127.0.0.1:{}/#live={token}", site.port());
    say::print(&address)?;
    if !no_open && open::that_detached(&address).is_err() {
        say::message("No browser could be started: open the address above.");
    }
    // The user id stays the same, because only root may connect to a socket of root. Confinement therefore also
    // prevents opening files. Older kernels ignore it.
    let _ = confine(Needs::Connections);
    std::thread::spawn(move || site.serve());
    while client.report().is_ok() {
        std::thread::sleep(PULSE);
    }
    // Gives the page time to learn that the bottleneck has ended.
    std::thread::sleep(PULSE);
    Ok(())
}

/// Starts a process that serves the page for a bottleneck of this process, and prints its URL to standard error. The
/// process ends with the bottleneck.
///
/// # Errors
/// When it cannot be started.
pub(in super::super) fn start(name: &str, access: Access) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::Environment(format!("the page of --play cannot be started: {e}"));
    let errors = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["ctl", "play", "--to", name, "--no-open"]);
    if access == Access::Change {
        command.arg("--writable");
    }
    command.stdin(Stdio::null()).stdout(errors).spawn().map_err(failed)?;
    Ok(())
}

/// 128 random bits, in hexadecimal.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if filled < bytes.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn bottleneck(client: &Client, access: Access, token: String) -> Bottleneck {
    let (told, changed) = (client.clone(), client.clone());
    let writable = access == Access::Change;
    let states = move || {
        let (asked, mut recent) = (told.clone(), VecDeque::new());
        Box::new(move || {
            let report = asked.report().map_err(|e| e.to_string())?;
            let text = serde_json::to_string(&State::of(&report, recent.front(), writable));
            recent.push_back(report);
            if recent.len() > STATES {
                recent.pop_front();
            }
            text.map_err(|e| e.to_string())
        }) as States
    };
    let change: Change = Box::new(move |text| {
        let change = serde_json::from_str(text).map_err(|e| format!("this is no change: {e}"))?;
        changed.change(change).map(drop).map_err(|e| e.to_string())
    });
    Bottleneck { token, states: Box::new(states), change: writable.then_some(change) }
}

/// The state of a bottleneck, as sent to the page.
#[derive(Serialize)]
struct State<'a> {
    kind: &'a str,
    name: &'a str,
    /// Seconds since the bottleneck started.
    at: f64,
    writable: bool,
    /// The 99th percentile of how late departures were, in seconds.
    late: Option<f64>,
    directions: Vec<DirectionState<'a>>,
}

/// The state of a direction, as sent to the page. Counters start with the bottleneck.
#[derive(Serialize)]
struct DirectionState<'a> {
    name: &'a str,
    discipline: &'a str,
    parameters: &'a serde_json::Value,
    rate: u64,
    packets: u64,
    bytes: u64,
    arrived: u64,
    sent: u64,
    sent_bytes: u64,
    dropped: u64,
    marked: u64,
    /// Packets that the kernel dropped before the discipline saw them, because this process was too slow.
    overrun: u64,
    /// Queue delay of the packets that departed within the last second, in seconds.
    delay: Option<f64>,
    delay_p99: Option<f64>,
    gauges: &'a BTreeMap<String, f64>,
}

impl<'a> State<'a> {
    /// The state according to a report, with the delays since an earlier report.
    fn of(report: &'a Report, earlier: Option<&Report>, writable: bool) -> State<'a> {
        let late = earlier.map_or(report.late, |e| report.late.since(&e.late));
        let before = |name: &str| earlier.and_then(|e| e.directions.iter().find(|d| d.name == name));
        State {
            kind: &report.kind,
            name: &report.name,
            at: report.at_s,
            writable,
            late: late.quantile_ms(0.99).map(seconds),
            directions: report.directions.iter().map(|d| DirectionState::of(d, before(&d.name))).collect(),
        }
    }
}

impl<'a> DirectionState<'a> {
    fn of(now: &'a DirectionReport, before: Option<&DirectionReport>) -> DirectionState<'a> {
        let waited = before.map_or(now.total.waited, |b| now.total.waited.since(&b.total.waited));
        DirectionState {
            name: &now.name,
            discipline: &now.discipline,
            parameters: &now.parameters,
            rate: now.rate_bps,
            packets: now.backlog_packets,
            bytes: now.backlog_bytes,
            arrived: now.total.offered_packets,
            sent: now.total.sent_packets,
            sent_bytes: now.total.sent_bytes,
            dropped: now.total.drops.values().sum(),
            marked: now.total.marks.values().sum(),
            overrun: now.device.overrun,
            delay: waited.quantile_ms(0.5).map(seconds),
            delay_p99: waited.quantile_ms(0.99).map(seconds),
            gauges: &now.gauges,
        }
    }
}

fn seconds(ms: f64) -> f64 {
    ms / 1000.0
}

#[cfg(test)]
mod tests {
    use aqmkit_live::ctl::Counted;
    use aqmkit_live::port::Counts;

    use super::*;

    #[test]
    fn a_state_has_counters_since_the_start() {
        let drops = [("early", 3), ("full", 4)].map(|(reason, n)| (reason.to_owned(), n)).into();
        let total = Counted { offered_packets: 9, sent_packets: 2, sent_bytes: 3000, drops, ..Counted::default() };
        let device = Counts { overrun: 5, ..Counts::default() };
        let down = DirectionReport {
            name: "down".to_owned(),
            rate_bps: 1_000_000,
            total,
            device,
            ..DirectionReport::default()
        };
        let report = Report { name: "home".to_owned(), at_s: 1.5, directions: vec![down], ..Report::default() };
        let state = serde_json::to_value(State::of(&report, None, true)).unwrap();
        assert_eq!((&state["name"], &state["at"], &state["writable"]), (&"home".into(), &1.5.into(), &true.into()));
        let direction = &state["directions"][0];
        let counters =
            ["rate", "arrived", "sent", "sent_bytes", "dropped", "marked", "overrun"].map(|name| &direction[name]);
        assert_eq!(counters.map(|value| value.as_u64().unwrap()), [1_000_000, 9, 2, 3000, 7, 0, 5]);
        assert!(direction["delay"].is_null(), "nothing has left");
    }

    #[test]
    fn tokens_differ() {
        let [a, b] = [token().unwrap(), token().unwrap()];
        assert!(a != b && a.len() == 32, "{a} {b}");
    }
}
