//! The traffic of a comparison.

use aqmkit_base::Duration;
use aqmkit_base::near::suggest;
use aqmkit_transport::{Catalogue, Profile, profile, rate, registry as transports};
use toml::{Table, Value};

use super::Comparison;
use super::link::ComparedLink;
use super::text::{string, table};
use crate::error::{LabError, wrong};

/// Bits per second that one web user offers, by the calibration of `http-mah`: 8.81 Mb/s from 3000 users.
const USER_BPS: f64 = 2940.0;

/// Bits per second that one user of `pages` offers on an uncongested link with a round-trip time of 50 ms: `aqmkit
/// calibrate` finds 299.4 Mb/s from 249 users over 20 minutes. An experiment with `load` calibrates for its own link,
/// but small numbers of users reach a load only approximately.
const PAGES_USER_BPS: f64 = 1.2e6;

/// Hosts of today, where a comparison chooses none: Linux 6 with its congestion control. Its servers answer with ECN but its clients do
/// not ask for it (`net.ipv4.tcp_ecn = 2`), so there is none without `--ecn`.
const HOSTS: &str = "linux-6";
const CONTROL: &str = "cubic";

/// When flows begin to send.
#[derive(Clone, Copy)]
struct Starts {
    /// Half of the warm-up: the last to start still has as long again to find its share.
    within: Duration,
}

impl Starts {
    /// The key that spreads the starts of a kind of traffic, where it has one: as its model does, but no longer than half of the warm-up.
    fn key(self, kind: &str) -> Option<(&'static str, Value)> {
        let usual = match kind {
            "bulk" => Duration::from_secs(10),
            "mpeg" => Duration::from_secs(1),
            _ => return None,
        };
        Some(("stagger", string(usual.min(self.within))))
    }
}

/// One `[[traffic]]`.
struct Group {
    name: &'static str,
    kind: &'static str,
    class: &'static str,
    /// The key for the amount of this traffic, with its value.
    amount: (&'static str, Value),
    /// Whether its data flows in the compared direction.
    down: bool,
}

/// The list `[[traffic]]` of a comparison. Without any, it is a mix of today's traffic: downloads, web pages, a
/// video, a video call and a telephone call, and an upload if there are two directions.
///
/// # Errors
/// When an amount cannot be used, or the transport is not known.
pub(super) fn traffic(asked: &Comparison, link: &ComparedLink, catalogue: &Catalogue) -> Result<Vec<Value>, LabError> {
    let controls = controls(asked, catalogue)?;
    let none = asked.mix.is_empty();
    let mut groups = counted(asked, link, none)?;
    let web = none && !asked.is_datacentre();
    if let Some(fraction) = asked.mix.web.or(web.then_some(0.3)) {
        let amount = ("users", users(load("--web", fraction)?, link, PAGES_USER_BPS));
        groups.push(Group { name: "web", kind: "pages", class: "tcp", amount, down: true });
    }
    if let Some(fraction) = asked.mix.http {
        let amount = ("users", users(load("--http", fraction)?, link, USER_BPS));
        groups.push(Group { name: "http-mah", kind: "http-mah", class: "tcp", amount, down: true });
    }
    if let Some(rate) = asked.mix.cbr {
        groups.push(Group { name: "cbr", kind: "cbr", class: "other", amount: ("rate", string(rate)), down: true });
    }
    let starts = Starts { within: asked.warmup() / 2 };
    let mut list = Vec::new();
    for group in groups {
        list.extend(shared(group, &controls, link, starts)?);
    }
    Ok(list)
}

/// The groups with a number that is asked for; or, without any, the default mix.
fn counted(asked: &Comparison, link: &ComparedLink, none: bool) -> Result<Vec<Group>, LabError> {
    if asked.mix.upload.is_some() && link.up.is_none() {
        return wrong("--upload needs a queue in the other direction", "give both rates, such as --rate 50mbit/10mbit");
    }
    let of = |name, kind, class, key, n: Option<u32>, down| {
        n.map(|n| Group { name, kind, class, amount: (key, Value::Integer(n.into())), down })
    };
    let both = link.up.is_some();
    if none && asked.is_datacentre() {
        return Ok(datacentre());
    }
    let today = |n: u32| none.then_some(n);
    let (call, voip) = (asked.mix.call.or(today(1)), asked.mix.voip.or(today(1)));
    let groups = [
        of("bulk", "bulk", "tcp", "flows", asked.mix.bulk.or(today(2)), true),
        of("upload", "bulk", "upload", "flows", asked.mix.upload.or(today(1).filter(|_| both)), false),
        of("video", "dash", "video", "viewers", asked.mix.video.or(today(1)), true),
        of("call", "call", "realtime", "calls", call, true),
        of("call-up", "call", "upload", "calls", call.filter(|_| both), false),
        of("game", "game", "realtime", "players", asked.mix.game, true),
        of("voip", "voip", "realtime", "calls", voip, true),
        of("voip-up", "voip", "upload", "calls", voip.filter(|_| both), false),
        of("mpeg", "mpeg", "multimedia", "flows", asked.mix.mpeg, true),
        of("videoconf", "videoconf", "multimedia", "flows", asked.mix.videoconf, true),
    ];
    Ok(groups.into_iter().flatten().collect())
}

/// The mix of a datacentre: long transfers, and many short ones that end within a few round trips and wait behind them (the background and
/// the short messages of Alizadeh et al., "Data Center TCP", SIGCOMM 2010, section 2.2).
fn datacentre() -> Vec<Group> {
    let count = |n: i64| Value::Integer(n);
    let group = |name, kind, key, n| Group { name, kind, class: "tcp", amount: (key, count(n)), down: true };
    vec![group("bulk", "bulk", "flows", 2), group("short", "short-flows", "sources", 40)]
}

/// The entries of a group: one, or one for each congestion control, among which bulk flows are divided.
fn shared(group: Group, controls: &[String], link: &ComparedLink, starts: Starts) -> Result<Vec<Value>, LabError> {
    let Group { name, kind, class, amount: (key, amount), down } = group;
    let entry = |called: String, much: Value, control: Option<&String>| {
        // Controls that share a link are measured apart, each as a class; what goes up is of another link.
        let class = control.filter(|_| down).map_or(class, String::as_str);
        let names = [("name", string(called)), ("kind", string(kind)), ("class", string(class)), (key, much)];
        let mut keys = table(names);
        keys.extend(starts.key(kind).map(|(spread, value)| (spread.to_owned(), value)));
        if kind == "short-flows" {
            // 40 sources, 10 ms apart: 4000 a second of 9 KB on average, a thirtieth of 10 Gbit/s.
            keys.extend(table([("interval", string("10ms")), ("size_max", string("1mb"))]));
        }
        keys.extend(link.path(down));
        if let Some(control) = control {
            keys.insert("transport".to_owned(), Value::Table(table([("congestion", string(control))])));
        }
        Value::Table(keys)
    };
    let flows = amount.as_integer().filter(|_| kind == "bulk" && controls.len() > 1);
    let Some(flows) = flows else { return Ok(vec![entry(name.to_owned(), amount, None)]) };
    let sharing = controls.len() as i64;
    if flows < sharing {
        let what = format!("{flows} flows of {name} cannot be shared by {sharing} congestion controls");
        return wrong(what, format!("give at least {sharing}"));
    }
    let share = |i: i64| Value::Integer(flows / sharing + i64::from(i < flows % sharing));
    let parts = controls.iter().zip(0..);
    Ok(parts.map(|(control, i)| entry(format!("{name}-{control}"), share(i), Some(control))).collect())
}

/// The table `[transport]` of a comparison, without a choice the hosts of today; traffic that is not divided among several congestion
/// controls uses the first one.
///
/// # Errors
/// When the profile or a congestion control is not known.
pub(super) fn transport(asked: &Comparison, catalogue: &Catalogue) -> Result<Table, LabError> {
    let (name, usual) = (asked.mix.transport.as_deref().unwrap_or(HOSTS), usual(asked));
    if Profile::named(name).is_none() {
        return no_profile(name);
    }
    let mut keys = table([("profile", string(name))]);
    let own = controls(asked, catalogue)?.into_iter().next();
    if let Some(control) = own.or(asked.mix.transport.is_none().then(|| usual.to_owned())) {
        keys.insert("congestion".to_owned(), string(control));
    }
    if asked.marks() {
        keys.insert("ecn".to_owned(), Value::Boolean(true));
    }
    Ok(keys)
}

/// The congestion control where none is chosen.
fn usual(asked: &Comparison) -> &'static str {
    if asked.is_datacentre() { "dctcp" } else { CONTROL }
}

/// The congestion controls of `--cc`.
fn controls(asked: &Comparison, catalogue: &Catalogue) -> Result<Vec<String>, LabError> {
    let Some(list) = &asked.mix.cc else { return Ok(Vec::new()) };
    let names: Vec<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
    // Rate-based transports of the library are left out: web traffic, which most comparisons have, needs TCP.
    let known = || catalogue.names().filter(|name| rate::find(name).is_none());
    match names.iter().find(|name| !known().any(|k| k == name.as_str())) {
        None => Ok(names),
        Some(name) => wrong(format!("no congestion control of TCP is called {name:?}"), suggest(name, known())),
    }
}

/// The error for an unknown profile, with the closest names.
fn no_profile<T>(name: &str) -> Result<T, LabError> {
    if transports::find(name).is_some() {
        let help = format!("write --cc {name}; profiles are {}", profile::NAMES.join(", "));
        return wrong(format!("{name} is a congestion control, and --transport takes a profile"), help);
    }
    wrong(format!("no profile of TCP is called {name:?}"), suggest(name, profile::NAMES))
}

/// The number of users that offer this fraction of the link's rate, at least one.
fn users(fraction: f64, link: &ComparedLink, bps: f64) -> Value {
    Value::Integer(((fraction * link.down.as_bps() as f64 / bps).round() as i64).max(1))
}

/// A load as a fraction of the link's rate, checked.
fn load(option: &str, fraction: f64) -> Result<f64, LabError> {
    if fraction > 0.0 && fraction <= 2.0 {
        return Ok(fraction);
    }
    wrong(
        format!("{option} {fraction} is not a load"),
        "write the fraction of the link's rate that the web offers, above 0 and at most 2, such as 0.9",
    )
}
