//! `kernel`: installs and changes disciplines inside the kernel, on an interface.

use aqmkit_aqm::{Catalogue, registry};
use aqmkit_base::near::suggest;
use aqmkit_base::units::{doubtful_rate, parse_rate};
use aqmkit_base::{BitRate, Bytes};
use aqmkit_kernel::CLASSIFIERS;
use aqmkit_lab::parameters::{misfit, parameters, settings};
use aqmkit_live::kernel::{Installed, Place, Statistics, Wanted, everywhere, install, installed, remove};
use serde::Serialize;
use toml::Table;

use super::args::kernel::{Kernel, KernelCommand};
use super::fail::{Failure, wrong};
use super::say;

/// `aqmkit kernel`.
///
/// # Errors
/// When the arguments are wrong, the interface or the kernel lacks support, or a parameter is invalid.
pub(super) fn kernel(args: &Kernel) -> Result<(), Failure> {
    match &args.what {
        KernelCommand::Install { discipline, words, json } => {
            let words = Words::read(discipline, words)?;
            let wanted = wanted(discipline, &words)?;
            let device = words.device("install dcn dev eth0 rate 40mbit")?;
            usable(&wanted, &words.table)?;
            show(&[install(device, &wanted)?], *json)
        }
        KernelCommand::Show { words, json } => {
            let words = Words::read("", words)?;
            words.only_device("show dev eth0")?;
            match &words.device {
                Some(device) => show(&[installed(device)?], *json),
                None => show(&everywhere()?, *json),
            }
        }
        KernelCommand::Set { words } => set(&Words::read("", words)?),
        KernelCommand::Remove { words } => {
            let words = Words::read("", words)?;
            words.only_device("remove dev eth0")?;
            Ok(remove(words.device("remove dev eth0")?)?)
        }
    }
}

/// Arguments in the syntax of `tc`.
#[derive(Debug, Default)]
struct Words {
    device: Option<String>,
    rate: Option<BitRate>,
    /// Class definitions as given; empty if none are.
    classes: Vec<String>,
    place: Place,
    table: Table,
}

impl Words {
    /// Parses arguments. `discipline` is empty if they do not name one.
    fn read(discipline: &str, words: &[String]) -> Result<Words, Failure> {
        let (mut read, mut given) = (Words::default(), Vec::new());
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.next() {
            let mut value = |name: &str, example: &str| match rest.next() {
                Some(value) => Ok(value.clone()),
                None => wrong(format!("nothing follows {name}"), format!("for example {name} {example}")),
            };
            match word.as_str() {
                "dev" => read.device = Some(value("dev", "eth0")?),
                "rate" => read.rate = Some(rate(&value("rate", "40mbit")?)?),
                "class" => read.classes.push(value("class", "video=udp:5004-5010")?),
                "queue" => read.place = Place::Queue,
                "ecn" | "noecn" => given.push(format!("ecn={}", word == "ecn")),
                _ if word.contains('=') => given.push(word.clone()),
                // As in tc: limit 400000 min 30000.
                _ => match rest.next_if(|next| is_value(next)) {
                    Some(next) => given.push(format!("{word}={}", in_tc(discipline, word, next))),
                    None => {
                        return wrong(
                            format!("{word:?} is not understood"),
                            "words are dev IF, rate RATE, class NAME=RULES, ecn, queue, and NAME VALUE or NAME=VALUE for a parameter",
                        );
                    }
                },
            }
        }
        read.table = settings(&given)?;
        Ok(read)
    }

    fn device(&self, example: &str) -> Result<&str, Failure> {
        match &self.device {
            Some(device) => Ok(device),
            None => wrong("no interface is given", format!("for example aqmkit kernel {example}")),
        }
    }

    fn only_device(&self, example: &str) -> Result<(), Failure> {
        if self.rate.is_none() && self.table.is_empty() && self.classes.is_empty() && self.place == Place::default() {
            return Ok(());
        }
        wrong("this takes an interface only", format!("for example aqmkit kernel {example}"))
    }
}

/// Whether a word is a value rather than a name.
fn is_value(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || ["true", "false"].contains(&word)
}

/// Converts a value to its meaning in `tc`, where RED's queue lengths are in bytes.
fn in_tc(discipline: &str, parameter: &str, value: &str) -> String {
    let bytes = ["red", "gred"].contains(&discipline) && ["limit", "min", "max"].contains(&parameter);
    let bare = value.chars().all(|c| c.is_ascii_digit());
    if bytes && bare { format!("{value}b") } else { value.to_owned() }
}

fn rate(text: &str) -> Result<BitRate, Failure> {
    if let Some(doubt) = doubtful_rate(text) {
        say::message(&format!("warning: {doubt}"));
    }
    match parse_rate(text) {
        Ok(rate) if rate != BitRate::default() => Ok(rate),
        Ok(_) => wrong("the rate cannot be 0bit", "it must be above zero, for example 20mbit"),
        Err(e) => wrong(format!("rate {text}: {e}"), "for example rate 40mbit"),
    }
}

/// The discipline, its parameters and where to install it.
fn wanted(discipline: &str, words: &Words) -> Result<Wanted, Failure> {
    let Some(entry) = registry::find(discipline) else {
        let all = registry::ALL.iter().map(|e| e.name);
        return wrong(format!("there is no discipline {discipline:?}"), suggest(discipline, all));
    };
    if let Err(why) = registry::runs_in_kernel(entry.name) {
        let names: Vec<&str> = CLASSIFIERS.iter().map(|c| c.name).collect();
        return wrong(
            format!("{} does not run in the kernel: {why}", entry.name),
            format!("those that do are {}; aqmkit bridge runs every discipline", names.join(", ")),
        );
    }
    let Some(rate) = words.rate else {
        return wrong("no rate is given", "the rate of the link, for example rate 40mbit");
    };
    let spec = parameters(entry.name, &words.table, &Catalogue::default())?;
    let classes = super::queue::classes(&words.classes)?;
    Ok(Wanted { spec, rate, mean_packet: Bytes(1000), classes, place: words.place })
}

/// Checks the parameters on the link; errors show them as the user wrote them.
fn usable(wanted: &Wanted, table: &Table) -> Result<(), Failure> {
    wanted.settings(1).map(|_| ()).map_err(|e| misfit(wanted.spec.name(), table, e).into())
}

fn set(words: &Words) -> Result<(), Failure> {
    let device = words.device("set dev eth0 q_ref=40")?;
    if !words.classes.is_empty() {
        return wrong(
            "classes cannot change while packets wait",
            "remove the discipline, and install it with other classes",
        );
    }
    if words.place != Place::default() {
        return wrong("a discipline cannot move while packets wait", "remove it, and install it with the word queue");
    }
    if words.table.is_empty() && words.rate.is_none() {
        return wrong("nothing is set", "give a name and a value, for example q_ref=40, or rate 20mbit");
    }
    let mut found = installed(device)?;
    let before = found.wanted()?;
    // Earlier parameters are kept unless they are given again.
    let mut table = Table::try_from(&before.spec).unwrap_or_default();
    table.extend(words.table.clone());
    let spec = parameters(before.spec.name(), &table, &Catalogue::default())?;
    let wanted = Wanted { spec, rate: words.rate.unwrap_or(before.rate), ..before };
    usable(&wanted, &table)?;
    found.change(&wanted)?;
    show(&[found], false)
}

/// The state of a discipline on an interface.
#[derive(Serialize)]
struct State {
    device: String,
    discipline: &'static str,
    /// Where the law runs: in a classifier, or in a qdisc.
    place: Place,
    rate_bps: u64,
    /// The traffic classes, for disciplines that distinguish them.
    classes: Vec<String>,
    /// Mean run time of the program per packet, if the kernel measures it (`kernel.bpf_stats_enabled`).
    mean_run_ns: Option<f64>,
    /// All parameters, including derived ones.
    parameters: serde_json::Value,
    statistics: Statistics,
}

fn state(found: &Installed) -> Result<State, Failure> {
    let wanted = found.wanted()?;
    let effective = wanted.spec.effective(&wanted.link()).unwrap_or_else(|_| wanted.spec.clone());
    let statistics = found.statistics()?;
    Ok(State {
        mean_run_ns: found.mean_run(),
        device: found.device().to_owned(),
        discipline: wanted.spec.name(),
        place: wanted.place,
        rate_bps: wanted.rate.as_bps(),
        classes: wanted.classes.names().to_vec(),
        parameters: serde_json::to_value(&effective)?,
        statistics,
    })
}

fn show(found: &[Installed], json: bool) -> Result<(), Failure> {
    let all: Vec<State> = found.iter().map(state).collect::<Result<_, _>>()?;
    if json {
        return Ok(say::print(&serde_json::to_string_pretty(&all)?)?);
    }
    if all.is_empty() {
        return Ok(say::print("no interface has a discipline of aqmkit")?);
    }
    Ok(say::print(&all.iter().map(text).collect::<Vec<_>>().join("\n"))?)
}

fn text(state: &State) -> String {
    let parameters = state.parameters.as_object().cloned().unwrap_or_default();
    let one = |(k, v): (&String, &serde_json::Value)| {
        format!("{k}={}", v.as_str().map_or_else(|| v.to_string(), str::to_owned))
    };
    let set: Vec<String> = parameters.iter().filter(|(_, v)| !v.is_null()).map(one).collect();
    let s = &state.statistics;
    let reasons = |by: &std::collections::BTreeMap<&str, u64>| {
        if by.is_empty() {
            return "none".to_owned();
        }
        by.iter().map(|(why, n)| format!("{n} {why}")).collect::<Vec<_>>().join(", ")
    };
    let gauges: Vec<String> = s.gauges.iter().map(|(name, value)| format!("{name}={value:.4}")).collect();
    let options = textwrap::Options::new(100).subsequent_indent("              ");
    let (where_it_runs, when) = match state.place {
        Place::Classifier => ("a classifier before tbf", "when the last packet came"),
        Place::Queue => ("a queue discipline", "now"),
    };
    let mut lines = vec![
        format!("{}: {} rate {}, {where_it_runs}", state.device, state.discipline, BitRate::from_bps(state.rate_bps)),
        textwrap::fill(&format!("  parameters  {}", set.join(" ")), options),
        format!("  arrived     {} packets, {} bytes", s.packets, s.bytes),
        format!("  passed      {} packets", s.passed),
        format!("  marked      {}", reasons(&s.marks)),
        format!("  dropped     {}", reasons(&s.drops)),
        format!(
            "  mean wait   {}",
            s.mean_wait_s.map_or_else(|| "no packet yet".to_owned(), |wait| format!("{:.2} ms", wait * 1e3))
        ),
        format!("  waiting     {} packets, {} bytes, {when}", s.waiting_packets, s.waiting_bytes),
        format!("  state       {}", gauges.join(" ")),
    ];
    if s.undecided > 0 {
        lines.insert(
            6,
            format!("  undecided   {} packets, let through because another processor was late", s.undecided),
        );
    }
    lines.extend(state.mean_run_ns.map(|ns| format!("  program     {ns:.0} ns a packet")));
    lines.join("\n") + "\n"
}
