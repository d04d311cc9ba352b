//! Builds the traffic of a comparison.

use aqmkit_base::Duration;
use toml::Value;

use super::Comparison;
use super::ends::Ends;
use super::link::ComparedLink;
use super::text::{string, table};
use crate::error::{LabError, wrong};

/// Offered load of a web user in bits per second, from the calibration of `http-mah`: 8.81 Mb/s from 3000 users.
const USER_BPS: f64 = 2940.0;

/// Offered load of a user of `pages` in bits per second, on an uncongested link with a round-trip time of 50 ms:
/// `aqmkit calibrate` finds 299.4 Mb/s from 249 users over 20 minutes. An experiment with `load` calibrates for its own
/// link, but a small number of users reaches a load only approximately.
const PAGES_USER_BPS: f64 = 1.2e6;

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
/// When an amount is invalid.
pub(super) fn traffic(asked: &Comparison, link: &ComparedLink, sharing: &[Ends]) -> Result<Vec<Value>, LabError> {
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
        list.extend(shared(group, sharing, link, starts)?);
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

/// The entries for a group: one, or one for each kind of ends among which bulk flows are divided.
fn shared(group: Group, sharing: &[Ends], link: &ComparedLink, starts: Starts) -> Result<Vec<Value>, LabError> {
    let Group { name, kind, class, amount: (key, amount), down } = group;
    let entry = |called: String, much: Value, ends: Option<&Ends>| {
        // Ends that share a link are measured separately, each as a class; uploads share the other link.
        let class = ends.filter(|_| down).map_or(class, |ends| ends.name.as_str());
        let names = [("name", string(called)), ("kind", string(kind)), ("class", string(class)), (key, much)];
        let mut keys = table(names);
        keys.extend(starts.key(kind).map(|(spread, value)| (spread.to_owned(), value)));
        if kind == "short-flows" {
            // 40 sources, 10 ms apart: 4000 a second of 9 KB on average, a thirtieth of 10 Gbit/s.
            keys.extend(table([("interval", string("10ms")), ("size_max", string("1mb"))]));
        }
        keys.extend(link.path(down));
        if let Some(ends) = ends {
            keys.insert("transport".to_owned(), Value::Table(ends.transport.clone()));
        }
        Value::Table(keys)
    };
    let flows = amount.as_integer().filter(|_| kind == "bulk" && sharing.len() > 1);
    let Some(flows) = flows else { return Ok(vec![entry(name.to_owned(), amount, None)]) };
    let kinds = sharing.len() as i64;
    if flows < kinds {
        let names: Vec<&str> = sharing.iter().map(|ends| ends.name.as_str()).collect();
        let what = format!("{flows} flows of {name} cannot be shared by {kinds}: {}", names.join(", "));
        return wrong(what, format!("give at least {kinds}"));
    }
    let share = |i: i64| Value::Integer(flows / kinds + i64::from(i < flows % kinds));
    let parts = sharing.iter().zip(0..);
    Ok(parts.map(|(ends, i)| entry(format!("{name}-{}", ends.name), share(i), Some(ends))).collect())
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
