//! Changes of a scenario while it runs.

use std::sync::Arc;

use aqmkit_aqm::ParamError;
use aqmkit_base::{Duration, Instant};
use aqmkit_stack::Factory;
use aqmkit_traffic::Application;
use aqmkit_transport::Profile;

use crate::scenario::{Delays, Link, Scenario};

/// A change and when it takes effect: after all other events of that instant.
pub struct TimedChange {
    /// When.
    pub at: Instant,
    /// What.
    pub change: Change,
}

/// A change while a scenario runs.
pub enum Change {
    /// New settings for a link. Its name and trace, and whether results report it, stay the same, and so does its
    /// discipline, with other parameters.
    ///
    /// The rest of a packet in transmission is sent at the new rate. With a shorter delay, no packet overtakes those
    /// already on the wire.
    Link {
        /// The link, as an index into [`Scenario::links`].
        link: usize,
        /// All of its settings from now on.
        to: Box<Link>,
    },
    /// New delays for a group, in addition to those of the links, for open connections too. Packets in flight keep
    /// their delay.
    Delays {
        /// The group, as an index into [`Scenario::groups`].
        group: usize,
        /// For each route, the further delay from server to client and from client to server.
        routes: Vec<(Duration, Duration)>,
        /// The rest of the round trip.
        delays: Delays,
    },
    /// A new number of applications in a group.
    Traffic {
        /// The group, as an index into [`Scenario::groups`].
        group: usize,
        /// The number of its applications that continue, from number 0. The others stop, and their connections end.
        keep: usize,
        /// Applications that start now, with the numbers from `keep` on.
        begin: Vec<Box<dyn Application>>,
        /// How both ends of its connections behave from now on. Allowed only if no application continues.
        transport: Option<Box<Transport>>,
    },
}

/// How both ends of the connections of a group behave: as [`Group::profile`](crate::scenario::Group::profile) and
/// [`Group::stack`](crate::scenario::Group::stack).
pub struct Transport {
    /// The profile.
    pub profile: Profile,
    /// A stack from outside, in its place.
    pub stack: Option<Arc<dyn Factory>>,
}

impl Change {
    /// Checks that the change refers to something in the scenario.
    pub(crate) fn check(&self, links: &[Link], groups: usize) -> Result<(), String> {
        match self {
            Change::Link { link, to } => {
                let Some(now) = links.get(*link) else { return Err(format!("there is no link {link}")) };
                is_possible(now, to)
            }
            Change::Delays { group, .. } | Change::Traffic { group, .. } if *group >= groups => {
                Err(format!("there is no traffic {group}"))
            }
            Change::Traffic { keep, transport: Some(_), .. } if *keep > 0 => {
                Err("the transport of connections that continue cannot change".to_owned())
            }
            Change::Delays { delays, .. } => match delays {
                Delays::Uniform(low, high) if low > high => Err("a range of delays ends before it begins".to_owned()),
                Delays::Each(list) if list.is_empty() => Err("the list of delays is empty".to_owned()),
                _ => Ok(()),
            },
            Change::Traffic { .. } => Ok(()),
        }
    }
}

fn is_possible(now: &Link, to: &Link) -> Result<(), String> {
    let name = &now.name;
    if now.name != to.name || now.report != to.report || now.trace != to.trace {
        return Err(format!("the name, the trace and the report of link {name:?} cannot change"));
    }
    if now.driver != to.driver {
        return Err(format!("the driver of link {name:?} cannot change"));
    }
    if to.trace.is_some() && now.rate != to.rate {
        return Err(format!("the rate of link {name:?} follows a trace"));
    }
    if to.rate.as_bps() == 0 {
        return Err(format!("link {name:?} has no rate"));
    }
    if now.aqm.name() != to.aqm.name() || now.aqm.flow() != to.aqm.flow() {
        return Err(format!("the discipline of link {name:?} cannot be replaced, nor what a flow is for it"));
    }
    if !to.wire.is_possible() {
        return Err(format!("the wire of link {name:?} has a probability outside 0 to 1"));
    }
    Ok(())
}

/// Checks whether a link's discipline accepts the parameters and the rate of its new settings while it runs.
///
/// # Errors
/// When it does not, or only in a new queue.
pub fn check_link(from: &Link, to: &Link, classes: &[String]) -> Result<(), ParamError> {
    crate::link::Link::check_change(from, to, classes)
}

/// Checks the timed changes of a scenario, in order.
pub(crate) fn check_all(scenario: &Scenario) -> Result<(), String> {
    if !scenario.changes.is_sorted_by_key(|timed| timed.at) {
        return Err("the changes of a scenario are not in the order of their times".to_owned());
    }
    scenario.changes.iter().try_for_each(|timed| timed.change.check(&scenario.links, scenario.groups.len()))
}
