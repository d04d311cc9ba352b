//! Translates a simulated scenario into the settings of a live link.

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Duration, Instant};
use aqmkit_live::congestion;
use aqmkit_live::link::{LinkSetup, router};
use aqmkit_live::running::Threads;
use aqmkit_measure::{LinkInfo, Plan, WindowSpec};
use aqmkit_packets::shaper::Setup;
use aqmkit_packets::wire::{Classes, Named};
use aqmkit_sim::Scenario;
use aqmkit_sim::scenario::{Delays, Group};
use aqmkit_transport::Profile;

use crate::error::TestbedError;
use crate::place::On;

/// From the start of the link to that of the scenario: time to set everything up.
pub(crate) const START: Duration = Duration::from_millis(300);

/// The port of the first traffic group; the others use the next ones.
const FIRST_PORT: u16 = 5001;

/// The rate of the reverse direction if the experiment has no link there.
const FREE: BitRate = BitRate::from_mbps(10_000);

/// The port on which the servers of a group listen.
#[must_use]
pub(crate) fn port(group: usize) -> u16 {
    FIRST_PORT.saturating_add(u16::try_from(group).unwrap_or(u16::MAX))
}

/// Converts a time of the scenario to the link's clock.
#[must_use]
pub(crate) fn on_the_clock(at: Instant) -> Instant {
    at + START
}

/// The live link for a scenario, with its queue in this process or inside the kernel.
///
/// # Errors
/// When live links do not support what the scenario needs, or the kernel lacks a congestion control.
pub(crate) fn setup(scenario: &Scenario, on: On) -> Result<LinkSetup, TestbedError> {
    let unfit = |why: String| TestbedError::Unfit { on, why };
    let in_kernel = match on {
        On::Kernel(place) => Some(place),
        On::Simulated | On::Live => None,
    };
    let (down, up, classes) = directions(scenario).map_err(unfit)?;
    if let Some(place) = in_kernel {
        router::wanted(&down, &classes, place).map_err(|e| unfit(e.to_string()))?;
    }
    let plan = measures(scenario, &up.name);
    Ok(LinkSetup {
        down,
        up,
        classes,
        plan: Some(shifted(plan)),
        on_demand: false,
        ecn: Some(ecn(scenario).map_err(unfit)?),
        cc: scenario.groups.first().map(|g| control(&g.profile)).transpose()?,
        mtu: 1500,
        outside: false,
        threads: Threads::One,
        in_kernel,
    })
}

/// The two directions, to the clients and back, and the classes of their packets; or why a live link cannot have them.
fn directions(scenario: &Scenario) -> Result<(Setup, Setup, Classes), String> {
    let Some(measured) = scenario.links.get(scenario.measured) else {
        return Err("it has no measured link".to_owned());
    };
    if !scenario.changes.is_empty() {
        return Err("it has [[changes]], which are only simulated; change a live link with aqmkit ctl set".to_owned());
    }
    if scenario.groups.iter().flat_map(|g| &g.apps).any(|app| app.reads_marks()) {
        let text =
            "some of its calls have ecn, and live hosts do not read the marks of datagrams; set their ecn to \"off\"";
        return Err(text.to_owned());
    }
    if let Some(link) = scenario.links.iter().find(|link| link.driver.is_some()) {
        return Err(format!(
            "{} has a driver, which is only simulated (a live link has a ring where its device has one: ethtool -g); set it to \"none\"",
            link.name
        ));
    }
    let up = way_back(scenario)?;
    let down = Setup {
        trace: measured.trace.clone(),
        wire: measured.wire,
        framing: measured.framing,
        mean_packet: measured.mean_packet,
        seed: scenario.seed,
        ..Setup::new(&measured.name, measured.rate, measured.delay, measured.aqm.clone())
    };
    Ok((down, up, classes(scenario)?))
}

/// The measurement plan of a live run, in the time of the scenario. The links are the two directions.
#[must_use]
pub(crate) fn measures(scenario: &Scenario, back: &str) -> Plan {
    let plan = scenario.plan();
    let unreported = LinkInfo { name: back.to_owned(), report: false, rate: FREE, trace: None, changes: Vec::new() };
    let up = plan.links.iter().find(|l| l.name == back).cloned().unwrap_or(unreported);
    Plan { links: vec![plan.links[plan.measured].clone(), up], measured: 0, ..plan }
}

/// Converts a plan to the time of the link's clock.
fn shifted(plan: Plan) -> Plan {
    let window = |w: WindowSpec| WindowSpec { from: on_the_clock(w.from), to: on_the_clock(w.to), ..w };
    let windows = plan.windows.into_iter().map(window).collect();
    Plan { origin: on_the_clock(plan.origin), windows, ..plan }
}

/// Classification of packets by the port of their group. Packets that the kernel itself sends are in the last class, so
/// that disciplines see the same classes as in the simulator.
fn classes(scenario: &Scenario) -> Result<Classes, String> {
    let one = |(class, name): (usize, &String)| {
        let ports = scenario.groups.iter().enumerate().filter(|(_, g)| g.class.index() == class).map(|(i, _)| port(i));
        let last = (class + 1 == scenario.classes.len()).then(|| "*".to_owned());
        let rules: Vec<String> = ports.map(|p| format!("tcp:{p},udp:{p}")).chain(last).collect();
        if rules.is_empty() {
            return Ok(Named::nothing(name));
        }
        let text = format!("{name}={}", rules.join(","));
        text.parse().map_err(|_| format!("the class name {name} has an invalid character"))
    };
    Ok(Classes::new(scenario.classes.iter().enumerate().map(one).collect::<Result<_, _>>()?))
}

/// The kernel's name for a profile's congestion control.
///
/// # Errors
/// When the kernel does not have it.
pub(crate) fn control(profile: &Profile) -> Result<String, TestbedError> {
    let name = profile.congestion.name();
    // The kernel's reno recovers as NewReno and SACK specify, like all its congestion controls.
    let name = if ["newreno", "sack"].contains(&name) { "reno" } else { name };
    congestion::provide(name).map(|()| name.to_owned()).map_err(TestbedError::Congestion)
}

/// Whether connections use ECN. All must agree, because it is a setting of the namespace.
fn ecn(scenario: &Scenario) -> Result<bool, String> {
    let mut wishes = scenario.groups.iter().map(|g| g.profile.ecn);
    let first = wishes.next().unwrap_or(false);
    if wishes.all(|w| w == first) {
        return Ok(first);
    }
    Err("only some of its traffic uses ECN; a live link has one setting for all".to_owned())
}

/// The direction from the clients to the servers.
fn way_back(scenario: &Scenario) -> Result<Setup, String> {
    let unfit = |text: &str| Err(text.to_owned());
    let routes: Vec<(&Group, &aqmkit_sim::scenario::Route)> =
        scenario.groups.iter().flat_map(|g| g.routes.iter().map(move |r| (g, r))).collect();
    if routes.iter().any(|(_, r)| r.forward != [scenario.measured]) {
        return unfit("its packets cross more than one link towards the clients; remove access and inbound");
    }
    let Some((first, route)) = routes.first() else { return unfit("it has no traffic") };
    let rest = |g: &Group, r: &aqmkit_sim::scenario::Route| {
        constant(&g.delays).map(|d| (r.reverse.clone(), r.reverse_delay + r.forward_delay + d))
    };
    let Some((links, delay)) = rest(first, route) else {
        return unfit("its round-trip times differ; a live link has one delay: set topology.delays to one time");
    };
    if routes.iter().any(|(g, r)| rest(g, r).as_ref() != Some(&(links.clone(), delay))) {
        return unfit("the round-trip times of its traffic differ; a live link has one delay");
    }
    let back = |name: &str, rate, wait, aqm| Setup { seed: scenario.seed, ..Setup::new(name, rate, wait, aqm) };
    match links[..] {
        [] => {
            let long = Spec::named("fifo").ok_or_else(|| "there is no fifo".to_owned())?;
            Ok(back("back", FREE, delay, long))
        }
        [link] => {
            let link = &scenario.links[link];
            let setup = back(&link.name, link.rate, link.delay + delay, link.aqm.clone());
            Ok(Setup {
                trace: link.trace.clone(),
                wire: link.wire,
                framing: link.framing,
                mean_packet: link.mean_packet,
                ..setup
            })
        }
        _ => unfit("its packets cross more than one reverse link"),
    }
}

/// The delay of all connections, if they have the same.
fn constant(delays: &Delays) -> Option<Duration> {
    let same = |mut all: Box<dyn Iterator<Item = Duration> + '_>| {
        let first = all.next()?;
        all.all(|d| d == first).then_some(first)
    };
    match delays {
        Delays::None => Some(Duration::ZERO),
        Delays::Uniform(low, high) => (low == high).then_some(*low),
        Delays::Each(list) => same(Box::new(list.iter().copied())),
        Delays::Matrix(rows) => same(Box::new(rows.iter().flatten().copied())),
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_experiment::{Experiment, Overrides};

    use super::*;

    /// The transmit ring of a real device belongs to its own driver.
    #[test]
    fn a_link_with_a_driver_is_only_simulated() {
        for (link, keys) in [
            ("bottleneck", "driver = { ring = 64 }\nreverse = { rate = \"10mbit\", driver = \"none\" }"),
            ("reverse", "reverse = { rate = \"10mbit\", driver = { ring = 64 } }"),
        ] {
            let topology = format!("[topology]\nrate = \"10mbit\"\n{keys}");
            let text = format!("title = \"Ring\"\nduration = \"1s\"\n{topology}\n[[traffic]]\nkind = \"bulk\"\n");
            let experiment = Experiment::parse("ring.toml", &text, &Overrides::default()).expect("it is read");
            let scenario = experiment.plan()[0].scenario().expect("it can be simulated");
            let Err(TestbedError::Unfit { on, why }) = setup(&scenario, On::Live) else {
                panic!("a live link has no driver")
            };
            assert_eq!(on, On::Live);
            assert!(why.starts_with(link) && why.contains("only simulated"), "{why}");
        }
    }
}
