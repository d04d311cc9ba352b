//! Builds the traffic and the transport of a comparison.

use aqmkit_base::Duration;
use aqmkit_base::near::suggest;
use aqmkit_transport::{Catalogue, Profile, profile, rate, registry as transports};
use toml::{Table, Value};

use super::Comparison;
use super::link::ComparedLink;
use super::text::{string, table};
use crate::error::{LabError, wrong};

/// Offered load of a web user in bits per second, from the calibration of `http-mah`: 8.81 Mb/s from 3000 users.
const USER_BPS: f64 = 2940.0;

/// Offered load of a user of `pages` in bits per second, on an uncongested link with a round-trip time of 50 ms:
/// `aqmkit calibrate` finds 299.4 Mb/s from 249 users over 20 minutes. An experiment with `load` calibrates for its own
/// link, but a small number of users reaches a load only approximately.
const PAGES_USER_BPS: f64 = 1.2e6;

/// The default hosts: Linux 6 with its congestion control. Its servers accept ECN but its clients do not request it
/// (`net.ipv4.tcp_ecn = 2`), so ECN is not used without `--ecn`.
const HOSTS: &str = "linux-6";
const CONTROL: &str = "cubic";

/// Start times of flows.
#[derive(Clone, Copy)]
struct Starts {
    /// Half the warm-up, so that the last flow to start has as long again to reach its share.
    within: Duration,
}

impl Starts {
    /// The key that spreads the start times of a kind of traffic, if it has one: the default of its model, limited to
    /// half the warm-up.
    fn key(self, kind: &str) -> Option<(&'static str, Value)> {
        let usual = match kind {
            "bulk" => Duration::from_secs(10),
            "mpeg" => Duration::from_secs(1),
            _ => return None,
        };
        Some(("stagger", string(usual.min(self.within))))
    }
}

/// An entry of `[[traffic]]`.
struct Group {
    name: &'static str,
    kind: &'static str,
    class: &'static str,
    /// The key for the amount of traffic, and its value.
    amount: (&'static str, Value),
    /// Whether its data flows in the compared direction.
    down: bool,
}

/// The list `[[traffic]]` of a comparison. The default is a mix of present-day traffic: downloads, web pages, a video,
/// a video call and a telephone call, and an upload if there are two directions.
///
/// # Errors
/// When an amount is invalid, or the transport is unknown.
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

/// The groups that are specified by a number of sources or, if `none` are specified, those of the default mix.
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

/// The mix of a datacentre: long transfers, and many short ones that would end within a few round trips but queue
/// behind them (the background traffic and short messages of Alizadeh et al., "Data Center TCP", SIGCOMM 2010, section
/// 2.2).
fn datacentre() -> Vec<Group> {
    let count = |n: i64| Value::Integer(n);
    let group = |name, kind, key, n| Group { name, kind, class: "tcp", amount: (key, count(n)), down: true };
    vec![group("bulk", "bulk", "flows", 2), group("short", "short-flows", "sources", 40)]
}

/// The entries for a group: one, or one for each congestion control among which bulk flows are divided.
fn shared(group: Group, controls: &[String], link: &ComparedLink, starts: Starts) -> Result<Vec<Value>, LabError> {
    let Group { name, kind, class, amount: (key, amount), down } = group;
    let entry = |called: String, much: Value, control: Option<&String>| {
        // Congestion controls that share a link are measured separately, each as a class; uploads share the other link.
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

/// The table `[transport]` of a comparison; the default hosts if none are specified. Traffic that is not divided among
/// several congestion controls uses the first one.
///
/// # Errors
/// When the profile or a congestion control is unknown.
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

/// The default congestion control.
fn usual(asked: &Comparison) -> &'static str {
    if asked.is_datacentre() { "dctcp" } else { CONTROL }
}

/// The congestion controls listed in `--cc`.
fn controls(asked: &Comparison, catalogue: &Catalogue) -> Result<Vec<String>, LabError> {
    let Some(list) = &asked.mix.cc else { return Ok(Vec::new()) };
    let names: Vec<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
    // Rate-based transports are not accepted, because web traffic, which most comparisons have, needs TCP.
    let known = || catalogue.names().filter(|name| rate::find(name).is_none());
    match names.iter().find(|name| !known().any(|k| k == name.as_str())) {
        None => Ok(names),
        Some(name) => wrong(format!("no congestion control of TCP is called {name:?}"), suggest(name, known())),
    }
}

/// The error for an unknown profile, with suggestions.
fn no_profile<T>(name: &str) -> Result<T, LabError> {
    if transports::find(name).is_some() {
        let help = format!("write --cc {name}; profiles are {}", profile::NAMES.join(", "));
        return wrong(format!("{name} is a congestion control, and --transport takes a profile"), help);
    }
    wrong(format!("no profile of TCP is called {name:?}"), suggest(name, profile::NAMES))
}

/// The number of users that offer this fraction of the link's rate; at least one.
fn users(fraction: f64, link: &ComparedLink, bps: f64) -> Value {
    Value::Integer(((fraction * link.down.as_bps() as f64 / bps).round() as i64).max(1))
}

/// Checks a load, given as a fraction of the link's rate.
fn load(option: &str, fraction: f64) -> Result<f64, LabError> {
    if fraction > 0.0 && fraction <= 2.0 {
        return Ok(fraction);
    }
    wrong(
        format!("{option} {fraction} is not a load"),
        "write the fraction of the link's rate that the web offers, above 0 and at most 2, such as 0.9",
    )
}
