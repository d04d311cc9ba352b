//! An outline of a run, its links and traffic, for programs that show or change it.

use aqmkit_aqm::registry::{self, Spec};
use aqmkit_base::{BitRate, Duration};

use super::plan::RunSpec;
use super::resolve::Resolved;

/// The links and the traffic of a run.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The time before t = 0, which is not measured.
    pub warmup: Duration,
    /// The measured time.
    pub duration: Duration,
    /// The links, in the order of the scenario.
    pub links: Vec<LinkOutline>,
    /// The link that classes are measured on, as an index into `links`.
    pub measured: usize,
    /// The traffic, in the order of the scenario.
    pub groups: Vec<GroupOutline>,
}

/// A link of a run.
#[derive(Clone, Debug)]
pub struct LinkOutline {
    /// The name of the link in results.
    pub name: String,
    /// The path of its table in the experiment, such as `topology` or `topology.links.b`; `None` if it has none.
    pub path: Option<String>,
    /// Its rate; if it follows a trace, the mean rate.
    pub rate: BitRate,
    /// Whether its rate follows a trace.
    pub varies: bool,
    /// Its propagation delay.
    pub delay: Duration,
    /// Its discipline, with the parameters as written.
    pub aqm: Spec,
    /// The properties of the link that its discipline sees.
    pub seen: registry::Link,
    /// Whether it is in the results.
    pub report: bool,
}

/// A traffic of a run.
#[derive(Clone, Debug)]
pub struct GroupOutline {
    /// The name of the traffic in results.
    pub name: String,
    /// Its model.
    pub kind: &'static str,
    /// The name of its class.
    pub class: String,
    /// Its congestion control; `None` for traffic that sends datagrams.
    pub control: Option<&'static str>,
    /// Whether its connections use ECN.
    pub ecn: bool,
    /// The number of its applications.
    pub applications: usize,
    /// The parameter that sets the number of applications, if there is one.
    pub counted: Option<&'static str>,
    /// Its parameter `rate`, where it has one.
    pub rate: Option<BitRate>,
    /// Whether it sends.
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
            control: group.uses_transport().then(|| group.profile.congestion.name()),
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
