//! `bench`: the speed of the engine and the disciplines.

use aqmkit_aqm::Catalogue;
use aqmkit_aqm::registry::{self, Entry};
use aqmkit_lab::bench::{engine, speed};
use aqmkit_lab::parameters::known;
use aqmkit_report::format::thousands;
use serde::Serialize;

use super::args;
use super::fail::{Failure, wrong};
use super::progress::Talk;
use super::say;

#[derive(Clone, Debug, Serialize)]
struct DisciplineSpeed {
    name: &'static str,
    flows: u64,
    ns_per_packet: Option<f64>,
    /// Why the discipline was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl DisciplineSpeed {
    fn of(entry: &Entry, packets: u64, flows: u64) -> Self {
        let (ns_per_packet, reason) = match speed(entry.name, packets, flows) {
            Ok(ns) => (Some(ns), None),
            Err(why) => (None, Some(why)),
        };
        DisciplineSpeed { name: entry.name, flows, ns_per_packet, reason }
    }
}

/// `aqmkit bench`.
///
/// # Errors
/// When there are more flows than packets, or the scenario cannot be run.
pub(super) fn bench(args: &args::Bench, talk: Talk) -> Result<(), Failure> {
    if let Some(flows) = args.flows.iter().find(|flows| **flows > args.packets) {
        let what = format!("{} packets are too few for {} flows", thousands(args.packets), thousands(*flows));
        return wrong(what, "use fewer --flows or more --packets");
    }
    args.disciplines.iter().try_for_each(|name| known(name, &Catalogue::default()))?;
    let tell = |text: &str| {
        if talk != Talk::Quiet {
            say::message(text);
        }
    };
    tell("measuring the engine …");
    if args.profile {
        let profiles: Result<Vec<_>, _> =
            args.scenarios.iter().map(|scenario| engine::profile(*scenario, args.duration)).collect();
        let profiles = profiles?;
        let text = match args.json {
            true => serde_json::to_string_pretty(&serde_json::json!({ "profiles": profiles }))?,
            false => profiles.iter().map(engine::Profiled::table).collect::<Vec<_>>().join("\n"),
        };
        return Ok(say::print(&text)?);
    }
    let speeds_of = args.scenarios.iter().map(|scenario| engine::speed(*scenario, args.duration));
    let engines: Vec<engine::Speed> = speeds_of.collect::<Result<_, _>>()?;
    tell("measuring the disciplines …");
    let of = |entry: &&Entry| args.disciplines.is_empty() || args.disciplines.iter().any(|name| name == entry.name);
    let each = |e| args.flows.iter().map(move |flows| DisciplineSpeed::of(e, args.packets, *flows));
    let speeds: Vec<_> = registry::ALL.iter().filter(of).flat_map(each).collect();
    if args.json {
        let all = serde_json::json!({ "engine": engines.first(), "engines": engines, "disciplines": speeds });
        return Ok(say::print(&serde_json::to_string_pretty(&all)?)?);
    }
    let line = |engine: &engine::Speed| {
        format!(
            "Engine, dumbbell {}: {:.0} packets per CPU second ({} packets in {:.2} s)\n",
            engine.scenario, engine.packets_per_cpu_s, engine.packets, engine.cpu_s
        )
    };
    let lines: String = engines.iter().map(line).collect();
    Ok(say::print(&format!("{lines}\n{}", table(&args.flows, &speeds)))?)
}

/// Formats a line for each discipline, and a column for each number of flows.
fn table(flows: &[u64], speeds: &[DisciplineSpeed]) -> String {
    let mut text = format!("Disciplines, enqueue and dequeue, ns per packet:\n{:14}", "");
    for n in flows {
        text.push_str(&format!(" {:>14}", format!("{} flow{}", thousands(*n), if *n == 1 { "" } else { "s" })));
    }
    for of_one in speeds.chunk_by(|a, b| a.name == b.name) {
        text.push_str(&format!("\n  {:12}", of_one.first().map_or("", |s| s.name)));
        match of_one.iter().find_map(|s| s.reason.as_ref()) {
            Some(why) => text.push_str(&format!(" not measured: {why}")),
            None => of_one.iter().filter_map(|s| s.ns_per_packet).for_each(|ns| text.push_str(&format!(" {ns:14.1}"))),
        }
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disciplines_are_measured() {
        for entry in registry::ALL {
            for flows in [1, 1000, 1_000_000] {
                let measured = DisciplineSpeed::of(entry, 1600, flows);
                assert!(measured.ns_per_packet.is_some_and(|ns| ns > 0.0), "{measured:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_measured_says_why() {
        let why = speed("fido", 1600, 1).unwrap_err();
        let speeds = [
            DisciplineSpeed { name: "red", flows: 1, ns_per_packet: Some(12.34), reason: None },
            DisciplineSpeed { name: "red", flows: 1000, ns_per_packet: Some(56.78), reason: None },
            DisciplineSpeed { name: "fido", flows: 1, ns_per_packet: None, reason: Some(why.clone()) },
            DisciplineSpeed { name: "fido", flows: 1000, ns_per_packet: None, reason: Some(why.clone()) },
        ];
        let text = table(&[1, 1000], &speeds);
        let lines: Vec<String> =
            text.lines().skip(1).map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines, ["1 flow 1 000 flows", "red 12.3 56.8", &format!("fido not measured: {why}")]);
    }
}
