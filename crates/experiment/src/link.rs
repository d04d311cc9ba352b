//! One link, and the checks of its numbers.

use std::sync::Arc;

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes, Duration, Framing};
use aqmkit_sim::scenario::{self, Wire};
use serde::{Serialize, Serializer};

use super::problem::{Origin, Problem};
use super::queue::plain;
use super::rate::LinkRate;

/// The typical packet size of a link that names none.
pub(super) const MEAN_PACKET: Bytes = Bytes(1000);

/// A link as the simulator takes it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Link {
    pub(super) name: String,
    pub(super) rate: LinkRate,
    pub(super) delay: Duration,
    #[serde(flatten)]
    pub(super) framing: Framing,
    pub(super) mean_packet: Bytes,
    #[serde(serialize_with = "with_name")]
    pub(super) aqm: Spec,
    /// What takes packets out of the queue ahead of the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) driver: Option<scenario::Driver>,
    /// Delay, loss, marks, jitter and reordering behind the queue.
    pub(super) wire: Wire,
    pub(super) report: bool,
    /// The path of its table, where it has one.
    #[serde(skip)]
    pub(super) path: Option<String>,
}

impl Link {
    /// The link as the simulator takes it.
    pub(super) fn to_scenario(&self) -> scenario::Link {
        scenario::Link {
            name: self.name.clone(),
            rate: self.rate.mean,
            trace: self.rate.trace.as_ref().map(|t| Arc::clone(&t.trace)),
            delay: self.delay,
            framing: self.framing,
            mean_packet: self.mean_packet,
            aqm: self.aqm.clone(),
            driver: self.driver,
            wire: self.wire,
            report: self.report,
        }
    }

    /// The properties of the link that its discipline sees.
    pub(super) fn at(&self, classes: &[String]) -> aqmkit_aqm::Link {
        aqmkit_aqm::Link { rate: self.rate.mean, mean_packet: self.mean_packet, classes: classes.to_vec() }
    }
}

/// Serialises a discipline with its name, and with its version if a program has added it.
fn with_name<S: Serializer>(spec: &Spec, s: S) -> Result<S::Ok, S::Error> {
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

/// A link that is not under study.
pub(super) fn plain_link(name: &str, rate: BitRate, report: bool, at: &Origin) -> Result<Link, Problem> {
    above_zero(name, rate, MEAN_PACKET, at)?;
    Ok(Link {
        name: name.to_owned(),
        rate: LinkRate { mean: rate, trace: None },
        delay: Duration::ZERO,
        framing: Framing::default(),
        mean_packet: MEAN_PACKET,
        aqm: plain()?,
        driver: None,
        wire: Wire::default(),
        report,
        path: None,
    })
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

/// The fastest link and the longest delay; larger values are taken for a mistake.
const FASTEST: BitRate = BitRate::from_mbps(10_000_000);
const LONGEST: Duration = Duration::from_secs(3600);

/// Checks that a propagation delay is plausible.
pub(super) fn not_too_long(delay: Duration) -> Result<(), Problem> {
    if delay <= LONGEST {
        return Ok(());
    }
    Err(Problem::new(format!("{delay} is too long for a network delay")).right(format!("the longest is {LONGEST}")))
}

/// Checks that the rate and the typical packet are above zero, as disciplines require.
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
