//! `compare`: an experiment from the command line. It is written as TOML and runs like any other.

use std::collections::BTreeSet;

use aqmkit_aqm::registry;
use aqmkit_base::Amount;
use aqmkit_base::near::closest;
use aqmkit_experiment::{Experiment, Overrides, Problem};
use aqmkit_files::put;
use aqmkit_results::{Entry, Results};
use aqmkit_runs::run;
use aqmkit_transport::{Profile, profile, registry as transports};
use toml::{Table, Value};

use super::args;
use super::describe::literal;
use super::fail::{Failure, wrong};
use super::perform::{directory, jobs, perform, show};
use super::progress::Talk;
use super::say;
/// What every queue of a comparison may hold unless the command line says otherwise: the limit that Linux gives `pfifo` and, through
/// the transmit queue length of a device, most of its other queues. With the defaults of the disciplines, which are those of their
/// papers (60 to 10,240 packets), a comparison would be one of buffers.
pub const LIMIT: Amount = Amount::Packets(1000.0);

/// Bits per second that one web user offers, with the calibration of `http-mah`: 8.81 Mb/s of 3000.
const USER_BPS: f64 = 2940.0;

/// `aqmkit compare`.
///
/// # Errors
/// When a discipline or an amount of traffic is wrong, and as `run`.
pub fn compare(args: &args::Compare, talk: Talk) -> Result<(), Failure> {
    let text = written_out(args)?;
    let overrides = Overrides { seed: args.how.seed, repeat: args.how.repeat, ..Overrides::default() };
    let exp = Experiment::parse("compare", &text, &overrides).map_err(|problem| blamed(problem, args))?;
    let dir = directory(args.how.out.as_deref(), &format!("compare/{}", short_name(args, &text)));
    let performed = perform(&exp, &dir, jobs(args.how.jobs), talk)?;
    put(&dir.join("experiment.toml"), &text)?;
    if let Some(warning) = idle(&performed.results) {
        say::tell(&format!("warning: {warning}"));
    }
    show(&performed, &dir, args.how.json)
}

/// The name of a comparison's own directory: its disciplines, and the start of the hash of all that it consists of. The same command finds
/// its finished runs there.
fn short_name(args: &args::Compare, text: &str) -> String {
    let names: Vec<&str> = args.disciplines.iter().map(|d| d.split(':').next().unwrap_or(d)).collect();
    let all = names.join("-");
    let readable = if all.len() <= 40 { all } else { format!("{}-and-{}-more", names[0], names.len() - 1) };
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("{readable}-{}", &hash[..6])
}

/// What is wrong in the words of who wrote the arguments: the text of the experiment is not theirs.
fn blamed(problem: Problem, args: &args::Compare) -> Problem {
    let alone = |discipline: &&String| {
        let text = experiment(std::slice::from_ref(*discipline), args).map(|file| file.to_string());
        text.is_ok_and(|text| Experiment::parse("compare", &text, &Overrides::default()).is_err())
    };
    let wrong: Vec<&String> = args.disciplines.iter().filter(alone).collect();
    match wrong.first() {
        // What is wrong with each is not the fault of one.
        Some(discipline) if wrong.len() < args.disciplines.len() || discipline.contains(':') => {
            problem.without_place(&format!("{discipline}: "))
        }
        _ => problem.without_place(""),
    }
}

/// What to tell of runs in whose measured time no packet passed any link: their numbers are zeros that say nothing of the
/// disciplines.
#[must_use]
pub fn idle(results: &Results) -> Option<String> {
    let name = |entry: &Entry| {
        let mut labels = entry.labels.clone();
        labels.retain(|key, _| !["window", "seed"].contains(&key.as_str()));
        run::name(&labels)
    };
    let passed = |entry: &Entry| entry.links.values().any(|link| link.packets_per_s > 0.0);
    let all: BTreeSet<String> = results.runs.iter().map(name).collect();
    // One window in which something passed is enough: another may be quiet on purpose.
    let busy: BTreeSet<String> = results.runs.iter().filter(|entry| passed(entry)).map(name).collect();
    let idle: Vec<&str> = all.difference(&busy).map(String::as_str).collect();
    let first = idle.first()?;
    let which = if idle.len() == 1 { (*first).to_owned() } else { format!("{first} and {} more", idle.len() - 1) };
    Some(format!(
        "no packet passed in the measured time of {} of {} runs ({which}): their results are meaningless. Traffic \
         may have started later (bulk flows start at random within 10 s), or all packets were dropped; try a longer \
         warmup or duration",
        idle.len(),
        all.len()
    ))
}

/// The experiment that the arguments ask for, as the text of its file.
///
/// # Errors
/// When a discipline or an amount of traffic is wrong.
pub fn written_out(args: &args::Compare) -> Result<String, Failure> {
    Ok(experiment(&args.disciplines, args)?.to_string())
}

fn string(text: impl std::fmt::Display) -> Value {
    Value::String(text.to_string())
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

/// The experiment that the arguments ask for, with these disciplines.
fn experiment(disciplines: &[String], args: &args::Compare) -> Result<Table, Failure> {
    if let Some((_, twice)) = disciplines.iter().enumerate().find(|(i, d)| disciplines[..*i].contains(d)) {
        return wrong(
            format!("{twice} is given twice"),
            format!("give it once, or with different parameters: {twice}:limit=50"),
        );
    }
    if let Some(name) = args.transport.as_deref().filter(|name| Profile::named(name).is_none()) {
        return no_profile(name);
    }
    let queues = disciplines.iter().map(|d| discipline(d, args)).collect::<Result<Vec<_>, _>>()?;
    let traffic = traffic(args)?;
    // A title is for a glance: of many names it tells how many.
    let names = match disciplines.len() {
        many if many > 8 => format!("{many} disciplines"),
        _ => disciplines.join(", "),
    };
    let mut file = table([
        ("title", string(format!("{names} on a link of {}", args.rate))),
        ("about", string(format!("One link of {}, round trips of {}.", args.rate, args.rtt))),
        ("duration", string(args.duration)),
        ("warmup", string(args.warmup)),
        ("topology", Value::Table(table([("rate", string(args.rate)), ("delays", string(args.rtt))]))),
        ("sweep", Value::Table(table([("aqm", Value::Array(queues))]))),
        ("traffic", Value::Array(traffic)),
    ]);
    if let Some(profile) = &args.transport {
        file.insert("transport".to_owned(), Value::Table(table([("profile", string(profile))])));
    }
    Ok(file)
}

/// Says that there is no such profile, and what else may have been meant.
fn no_profile<T>(name: &str) -> Result<T, Failure> {
    let known = profile::NAMES.join(", ");
    if transports::find(name).is_some() {
        let help = format!(
            "profiles are {known}. A congestion control is transport.congestion of an experiment: aqmkit run \
             results/compare/experiment.toml --set transport.congestion={name} runs the last comparison with it"
        );
        return wrong(format!("{name} is a congestion control, and --transport takes a profile"), help);
    }
    let near = closest(name, profile::NAMES.iter().copied()).map(|n| format!("did you mean {n}? ")).unwrap_or_default();
    wrong(format!("no profile of TCP is called {name:?}"), format!("{near}Known are {known}"))
}

/// `red:min=5,max=40` as an entry of the sweep.
fn discipline(text: &str, args: &args::Compare) -> Result<Value, Failure> {
    let (name, parameters) = written(text)?;
    let mut entry = table([("name", string(name)), ("label", string(text))]);
    entry.extend(limited(name, args.limit.unwrap_or(LIMIT)));
    entry.extend(parameters);
    Ok(Value::Table(entry))
}

/// The parameter that gives a discipline room for `limit`; nothing for one that has no limit for all that it queues (`cbq` has one for each
/// class).
fn limited(name: &str, limit: Amount) -> Table {
    let parameters = table([("limit", literal(&limit.to_string()))]);
    let takes = serde_json::to_value(&parameters).is_ok_and(|values| registry::Spec::read(name, values).is_ok());
    if takes { parameters } else { Table::new() }
}

/// `red:min=5,max=40` as the name of a discipline and its parameters.
pub(super) fn written(text: &str) -> Result<(&str, Table), Failure> {
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    if registry::find(name).is_none() {
        let names = || registry::ALL.iter().map(|e| e.name);
        let known = names().collect::<Vec<_>>().join(", ");
        let near = closest(name, names()).map(|n| format!("did you mean {n}? ")).unwrap_or_default();
        return wrong(format!("there is no discipline {name:?}"), format!("{near}Known are {known}"));
    }
    let mut entry = Table::new();
    for parameter in split(parameters) {
        let Some((key, value)) = parameter.split_once('=') else {
            return wrong(format!("{parameter:?} in {text:?} has no value"), format!("for example {name}:limit=100"));
        };
        entry.insert(key.trim().to_owned(), literal(value.trim()));
    }
    Ok((name, entry))
}

/// The parts between commas that are not inside brackets or quotes.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0_i32, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts.retain(|p| !p.trim().is_empty());
    parts
}

fn traffic(args: &args::Compare) -> Result<Vec<Value>, Failure> {
    let asked = args.bulk.is_some()
        || args.http.is_some()
        || args.cbr.is_some()
        || args.mpeg.is_some()
        || args.videoconf.is_some();
    let bulk = if asked { args.bulk } else { Some(20) };
    let users = args.http.map(|fraction| users(fraction, args)).transpose()?;
    let groups = [
        bulk.map(|n| ("bulk", "tcp", "flows", Value::Integer(n.into()))),
        users.map(|n| ("http-mah", "tcp", "users", Value::Integer(n))),
        args.mpeg.map(|n| ("mpeg", "multimedia", "flows", Value::Integer(n.into()))),
        args.videoconf.map(|n| ("videoconf", "multimedia", "flows", Value::Integer(n.into()))),
        args.cbr.map(|rate| ("cbr", "other", "rate", string(rate))),
    ];
    let written = groups.into_iter().flatten().map(|(kind, class, key, value)| {
        Value::Table(table([("kind", string(kind)), ("class", string(class)), (key, value)]))
    });
    Ok(written.collect())
}

/// The number of web users that offer this fraction of the link.
fn users(fraction: f64, args: &args::Compare) -> Result<i64, Failure> {
    if !(fraction > 0.0 && fraction <= 2.0) {
        return wrong(
            format!("--http {fraction} is not a load"),
            "write the fraction of the link's rate that the web offers, above 0 and at most 2, such as 0.9",
        );
    }
    Ok(((fraction * args.rate.as_bps() as f64 / USER_BPS).round() as i64).max(1))
}

#[cfg(test)]
mod tests {
    use aqmkit_sim::output::LinkStats;
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Command};

    fn written(line: &str) -> Result<String, Failure> {
        let cli = Cli::try_parse_from(format!("aqmkit compare {line}").split(' ')).unwrap();
        let Command::Compare(args) = cli.command else { panic!("not compare") };
        experiment(&args.disciplines, &args).map(|t| t.to_string())
    }

    #[test]
    fn arguments_become_an_experiment() {
        insta::assert_snapshot!(
            written("fifo red:min=5,max=40 --rate 20mbit --rtt 30ms --bulk 3 --http 0.9 --cbr 10mbit --limit 90")
                .unwrap()
        );
    }

    #[test]
    fn every_queue_has_room_for_the_same() {
        let limits = |line: &str| -> Vec<Option<String>> {
            let file: Table = written(line).unwrap().parse().unwrap();
            let queues = file["sweep"]["aqm"].as_array().unwrap().clone();
            queues.iter().map(|queue| queue.get("limit").map(ToString::to_string)).collect()
        };
        let of = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect::<Vec<_>>();
        assert_eq!(limits("fifo fq-codel csfq"), of(&["\"1000p\""; 3]));
        assert_eq!(limits("fifo red:limit=50 --limit 90kb"), of(&["\"92160b\"", "50"]));
        assert_eq!(limits("cbq"), [None], "it has one limit for each class");
    }

    #[test]
    fn other_comparisons_go_elsewhere() {
        let name = |line: &str| {
            let cli = Cli::try_parse_from(format!("aqmkit compare {line}").split(' ')).unwrap();
            let Command::Compare(args) = cli.command else { panic!("not compare") };
            short_name(&args, &written_out(&args).unwrap())
        };
        assert!(name("fifo red:min=5").starts_with("fifo-red-"), "{}", name("fifo red:min=5"));
        assert_eq!(name("fifo red --jobs 2"), name("fifo red"), "the same runs");
        let different = ["fifo red", "fifo red --rate 11mbit", "fifo red:min=6", "red fifo", "fifo red --bulk 3"];
        let names: BTreeSet<String> = different.map(name).into();
        assert_eq!(names.len(), different.len());
        let many = "fifo red pie codel blue rem pi afd sfb choke dualpi2 fq-codel";
        assert!(name(many).starts_with("fifo-and-11-more-"), "{}", name(many));
    }

    #[test]
    fn without_traffic_there_is_bulk() {
        assert!(written("fifo").unwrap().contains("kind = \"bulk\""));
        assert!(!written("fifo --http 0.5").unwrap().contains("bulk"));
    }

    #[test]
    fn parameters_may_hold_commas() {
        assert_eq!(split("a=1,b=[1, 2],c={ x = \"y,z\" }"), ["a=1", "b=[1, 2]", "c={ x = \"y,z\" }"]);
        assert!(split("").is_empty());
    }

    fn entry(aqm: &str, window: &str, packets_per_s: f64) -> Entry {
        let link = LinkStats { packets_per_s, ..LinkStats::default() };
        let labels = [("aqm", aqm), ("repeat", "1"), ("window", window)];
        Entry {
            labels: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            links: [("bottleneck".to_owned(), link)].into(),
            ..Entry::default()
        }
    }

    #[test]
    fn runs_without_a_packet_are_told_of() {
        let of = |runs: &[Entry]| idle(&Results { runs: runs.to_vec(), ..Results::default() });
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[entry("red", "all", 9.0)]), None);
        assert_eq!(of(&[entry("red", "quiet", 0.0), entry("red", "blast", 9.0)]), None);
        let one = of(&[entry("red", "all", 0.0), entry("fifo", "all", 9.0)]).unwrap();
        assert!(one.contains("1 of 2 runs (aqm=red repeat=1)"), "{one}");
        let both = of(&[entry("red", "all", 0.0), entry("fifo", "all", 0.0)]).unwrap();
        assert!(both.contains("2 of 2 runs (aqm=fifo repeat=1 and 1 more)"), "{both}");
    }

    #[test]
    fn wrong_arguments_are_named() {
        let text = |line| written(line).unwrap_err().text().unwrap_or_default();
        assert!(text("rde").contains("did you mean red?"));
        assert!(text("red:min").contains("has no value"));
        assert!(text("red --http 90").contains("not a load"));
        assert!(text("red red").contains("red is given twice"));
        assert!(text("red --transport cubic").contains("transport.congestion=cubic"));
        assert!(text("red --transport bsd4").contains("did you mean bsd44?"));
    }

    #[test]
    fn what_is_wrong_is_told_of_the_argument() {
        let told = |line: &str| {
            let cli = Cli::try_parse_from(format!("aqmkit compare {line}").split(' ')).unwrap();
            let Command::Compare(args) = cli.command else { panic!("not compare") };
            let text = written_out(&args).unwrap();
            let problem = Experiment::parse("compare", &text, &Overrides::default()).unwrap_err();
            let problem = blamed(problem, &args);
            assert_eq!(problem.location(), None);
            problem.to_string()
        };
        assert!(
            told("fifo red:minn=5").starts_with("red:minn=5: minn is not a parameter of red"),
            "{}",
            told("fifo red:minn=5")
        );
        assert!(told("fifo --bulk 9999999").starts_with("flows"), "{}", told("fifo --bulk 9999999"));
    }
}
