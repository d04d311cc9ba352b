//! `load`: the load that a traffic is calibrated to offer.

use aqmkit_base::units::parse_rate;
use aqmkit_traffic::registry::Spec;
use serde::Serialize;

use super::network::{Network, Route};
use super::problem::Problem;
use super::tree::{Node, Value};

/// How much faster the links of a trial are: le04 uses a gigabit link instead of its 100 Mb/s link.
pub(super) const FASTER: u64 = 10;

/// A load and where it is measured.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Load {
    pub(super) written: String,
    pub(super) bps: u64,
    /// Index of the link on which it is measured.
    pub(super) link: usize,
    /// Index of the reverse link whose load counts, too (`both_ways`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) back: Option<usize>,
}

/// Reads the `load` of a traffic.
pub(super) fn read_load(node: &Node, spec: &Spec, routes: &[Route], network: &Network) -> Result<Load, Problem> {
    let value = node.get("load").unwrap_or(node);
    let written = value.as_str().unwrap_or_default();
    let mut spec = spec.clone();
    let Some(knob) = spec.knob() else {
        let help = "omit load; it is for models with users, sessions or sources, such as http-unc";
        return Err(Problem::new(format!("{} has no population to calibrate", spec.name())).right(help).at(&value.at));
    };
    if let Some(given) = node.get(knob.field()) {
        let problem = Problem::new(format!("both load and {} set the amount of traffic", knob.field()));
        return Err(problem.right("remove one of them").at(&given.at));
    }
    let link = crossed(routes, network);
    let back = back(node, routes, network)?;
    let bps = match written.strip_suffix('%') {
        Some(percent) => percent.trim().parse().ok().map(|p: f64| network.links[link].rate.as_bps() as f64 * p / 100.0),
        None => parse_rate(written).ok().map(|r| r.as_bps() as f64),
    };
    match bps {
        Some(bps) if bps >= 1.0 && bps <= network.links[link].rate.as_bps() as f64 * FASTER as f64 / 2.0 => {
            Ok(Load { written: written.to_owned(), bps: bps as u64, link, back })
        }
        _ => Err(Problem::new(format!("{written:?} is not a load"))
            .right(
                "use a percentage of the link above 0% and at most 500%, such as \"98%\", or a rate such as \"98mbit\"",
            )
            .at(&value.at)),
    }
}

/// The slowest link of the reverse path, if `both_ways` requests the load of both directions.
fn back(node: &Node, routes: &[Route], network: &Network) -> Result<Option<usize>, Problem> {
    if !node.get("both_ways").is_some_and(|n| matches!(n.value, Value::Scalar(toml::Value::Boolean(true)))) {
        return Ok(None);
    }
    let path = routes.first().map_or(&[][..], |r| &r.reverse);
    let slowest = path.iter().copied().min_by_key(|&l| network.links[l].rate);
    slowest.map(Some).ok_or_else(|| {
        let at = &node.get("both_ways").unwrap_or(node).at;
        Problem::new("the reverse path has no link whose load could count").right("give the reverse path a link").at(at)
    })
}

/// The link that a traffic's load refers to: the measured one, or the slowest on its path.
fn crossed(routes: &[Route], network: &Network) -> usize {
    let path = routes.first().map_or(&[][..], |r| &r.forward);
    if path.contains(&network.measured) {
        return network.measured;
    }
    path.iter().copied().min_by_key(|&l| network.links[l].rate).unwrap_or(network.measured)
}
