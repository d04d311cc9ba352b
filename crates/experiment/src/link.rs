//! A link, and checks of its numbers.

use std::ops::Deref;

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes, Duration, Framing};
use aqmkit_sim::scenario::{self, Wire};
use serde::{Serialize, Serializer};

use super::problem::{Origin, Problem};
use super::queue::plain;

/// Typical packet size of links that do not set `mean_packet`.
pub(super) const MEAN_PACKET: Bytes = Bytes(1000);

/// A link as the simulator takes it, and its origin in the file.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) simulated: scenario::Link,
    /// Hash of the text of its trace, if its rate follows one.
    pub(super) trace_hash: Option<String>,
    /// Path of its table, if it has one.
    pub(super) path: Option<String>,
}

impl Deref for Link {
    type Target = scenario::Link;

    fn deref(&self) -> &scenario::Link {
        &self.simulated
    }
}

impl Link {
    /// The link properties that its discipline needs.
    pub(super) fn at(&self, classes: &[String]) -> aqmkit_aqm::Link {
        aqmkit_aqm::Link { rate: self.rate, mean_packet: self.mean_packet, classes: classes.to_vec() }
    }
}

/// The link properties in the hash of a run. A trace is represented by the hash of its text.
#[derive(Serialize)]
struct Hashed<'a> {
    name: &'a str,
    rate: HashedRate<'a>,
    delay: Duration,
    #[serde(flatten)]
    framing: Framing,
    mean_packet: Bytes,
    #[serde(serialize_with = "with_name")]
    aqm: &'a Spec,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<scenario::Driver>,
    wire: Wire,
    report: bool,
}

#[derive(Serialize)]
struct HashedRate<'a> {
    mean: BitRate,
    trace: Option<HashedTrace<'a>>,
}

#[derive(Serialize)]
struct HashedTrace<'a> {
    hash: &'a str,
}

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let scenario::Link { name, rate, trace: _, delay, framing, mean_packet, aqm, driver, wire, report } =
            &self.simulated;
        Hashed {
            name,
            rate: HashedRate { mean: *rate, trace: self.trace_hash.as_deref().map(|hash| HashedTrace { hash }) },
            delay: *delay,
            framing: *framing,
            mean_packet: *mean_packet,
            aqm,
            driver: *driver,
            wire: *wire,
            report: *report,
        }
        .serialize(s)
    }
}

/// Serializes a discipline with its name, and with its version if a program has added it.
fn with_name<S: Serializer>(spec: &&Spec, s: S) -> Result<S::Ok, S::Error> {
    match spec.version() {
        None => (spec.name(), spec).serialize(s),
        Some(version) => (spec.name(), version, spec).serialize(s),
    }
}

/// Adds a link and returns its index.
pub(super) fn push(links: &mut Vec<Link>, link: Link) -> usize {
    links.push(link);
    links.len() - 1
}

/// Creates a link that is not under study.
pub(super) fn plain_link(name: &str, rate: BitRate, report: bool, at: &Origin) -> Result<Link, Problem> {
    above_zero(name, rate, MEAN_PACKET, at)?;
    let simulated = scenario::Link {
        name: name.to_owned(),
        rate,
        trace: None,
        delay: Duration::ZERO,
        framing: Framing::default(),
        mean_packet: MEAN_PACKET,
        aqm: plain()?,
        driver: None,
        wire: Wire::default(),
        report,
    };
    Ok(Link { simulated, trace_hash: None, path: None })
}

/// Adds an access link for each server.
pub(super) fn access_links(
    links: &mut Vec<Link>,
    name: &str,
    rate: BitRate,
    servers: u32,
    at: &Origin,
) -> Result<Vec<usize>, Problem> {
    (0..servers).map(|s| plain_link(&format!("{name}.{s}"), rate, false, at).map(|l| push(links, l))).collect()
}

/// Upper limits for rate and delay; larger values are probably a mistake.
const FASTEST: BitRate = BitRate::from_mbps(10_000_000);
const LONGEST: Duration = Duration::from_secs(3600);

/// Checks a propagation delay against the upper limit.
pub(super) fn not_too_long(delay: Duration) -> Result<(), Problem> {
    if delay <= LONGEST {
        return Ok(());
    }
    Err(Problem::new(format!("{delay} is too long for a network delay")).right(format!("the longest is {LONGEST}")))
}

/// Checks that the rate and the typical packet size are positive, as disciplines require.
pub(super) fn above_zero(name: &str, rate: BitRate, mean_packet: Bytes, at: &Origin) -> Result<(), Problem> {
    if rate.as_bps() == 0 {
        return Err(Problem::new(format!("the rate of {name} is zero")).right("for example \"10mbit\"").at(at));
    }
    if rate > FASTEST {
        let problem = Problem::new(format!("{rate} is too fast for {name}"));
        return Err(problem.right(format!("the maximum rate is {FASTEST}")).at(at));
    }
    if mean_packet == Bytes::ZERO {
        return Err(Problem::new("mean_packet is zero").right("for example mean_packet = \"1000b\"").at(at));
    }
    Ok(())
}
