//! A summary of a run's links and traffic, for programs that show or change it.

use aqmkit_aqm::registry::{self, Spec};
use aqmkit_base::{BitRate, Duration};

use super::plan::RunSpec;
use super::resolve::Resolved;

/// Links and traffic of a run.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Length of the warm-up, before t = 0.
    pub warmup: Duration,
    /// Length of the measurement.
    pub duration: Duration,
    /// Links in the order of the scenario.
    pub links: Vec<LinkOutline>,
    /// Index in `links` of the link that classes are measured on.
    pub measured: usize,
    /// Traffic in the order of the scenario.
    pub groups: Vec<GroupOutline>,
}

/// A link of a run.
#[derive(Clone, Debug)]
pub struct LinkOutline {
    /// Name in results.
    pub name: String,
    /// Path of its table in the experiment, such as `topology` or `topology.links.b`; `None` if it has none.
    pub path: Option<String>,
    /// Rate, or mean rate of its trace.
    pub rate: BitRate,
    /// Whether the rate follows a trace.
    pub varies: bool,
    /// Propagation delay.
    pub delay: Duration,
    /// Discipline, with the parameters as written.
    pub aqm: Spec,
    /// The link properties that the discipline needs.
    pub seen: registry::Link,
    /// Whether it is reported in the results.
    pub report: bool,
}

/// A traffic of a run.
#[derive(Clone, Debug)]
pub struct GroupOutline {
    /// Name in results.
    pub name: String,
    /// Name of the traffic model.
    pub kind: &'static str,
    /// Name of the class.
    pub class: String,
    /// Congestion control, or the name of a stack from outside; `None` for traffic that sends datagrams.
    pub control: Option<&'static str>,
    /// Whether its connections use ECN.
    pub ecn: bool,
    /// Number of applications.
    pub applications: usize,
    /// Parameter that sets the number of applications, if there is one.
    pub counted: Option<&'static str>,
    /// Value of its parameter `rate`, if it has one.
    pub rate: Option<BitRate>,
    /// Whether it sends at this time.
    pub active: bool,
}

impl RunSpec {
    /// The links and the traffic at the start of the run.
    #[must_use]
    pub fn outline(&self) -> Outline {
        outline(&self.resolved)
    }
}

/// The links and the traffic of a resolved run.
pub(super) fn outline(run: &Resolved) -> Outline {
    let link = |link: &super::link::Link| LinkOutline {
        name: link.name.clone(),
        path: link.path.clone(),
        rate: link.rate,
        varies: link.trace.is_some(),
        delay: link.delay,
        aqm: link.aqm.clone(),
        seen: link.at(&run.classes),
        report: link.report,
    };
    let group = |group: &super::group::Group| {
        let written = toml::Table::try_from(&group.spec).unwrap_or_default();
        GroupOutline {
            name: group.name.clone(),
            kind: group.spec.name(),
            class: run.classes.get(usize::from(group.class)).cloned().unwrap_or_default(),
            control: group.uses_transport().then(|| group.transport_name()),
            ecn: group.uses_transport() && group.profile.ecn,
            applications: group.population.instances(),
            counted: group.spec.clone().count().map(|(name, _)| name),
            rate: written.get("rate").and_then(|rate| aqmkit_base::units::parse_rate(rate.as_str()?).ok()),
            active: group.active,
        }
    };
    Outline {
        warmup: run.warmup,
        duration: run.duration,
        links: run.links.iter().map(link).collect(),
        measured: run.measured,
        groups: run.groups.iter().map(group).collect(),
    }
}
