//! Builds the report card from the directories of finished experiments.

use std::collections::BTreeMap;
use std::path::Path;

use aqmkit_results::Results;
use aqmkit_results::card::{Card, Cell, Line, Lines, Picture, Row, Rule, Section, Verdict};
use aqmkit_results::statistics::Stat;
use aqmkit_runs::store::{Runs, Store, StoreError};

use crate::contestant::Contestant;
use crate::evidence::Evidence;
use crate::guide::{self, Guide, Source};
use crate::parameters;
use crate::pictures::Drawing;
use crate::rule;

/// The axis of the disciplines, whose parameters and cost have sections of their own.
const AQM: &str = "aqm";

/// The finished experiments of a card.
#[derive(Debug)]
pub struct Finished {
    /// Results and runs by name of the experiment.
    experiments: BTreeMap<String, (Results, Runs)>,
    /// Nanoseconds per packet of each discipline, by label; empty entries were not measured.
    costs: BTreeMap<String, f64>,
}

impl Finished {
    /// Reads the experiments with these names from their directories below `dir`.
    ///
    /// # Errors
    /// When one is missing or cannot be read.
    pub fn read(dir: &Path, names: &[String], costs: BTreeMap<String, f64>) -> Result<Finished, StoreError> {
        let one = |name: &String| {
            let store = Store::existing(&dir.join(name))?;
            Ok((name.clone(), (store.results()?.results, store.load_list()?)))
        };
        Ok(Finished { experiments: names.iter().map(one).collect::<Result<_, StoreError>>()?, costs })
    }
}

/// How verdicts come about, for the head of a card. Markdown.
const VERDICTS: &str = "A section is *good* where all of its rules hold, *mixed* where some do, *poor* where none does. \
                        Each number is the mean of those of runs with different seeds, ± half of its 95 % interval; where the interval has both sides of a bound that \
                        the verdict depends on, the runs *cannot tell*.";

/// The card of these subjects and references, of which the first `subjects` are under study.
#[must_use]
pub fn card(guide: &Guide, contestants: &[Contestant], subjects: usize, finished: &Finished) -> Card {
    let labels: Vec<String> = contestants.iter().map(|c| c.label().to_owned()).collect();
    let first = |count: usize| labels.iter().take(count).cloned().collect::<Vec<_>>().join(", ");
    let title = if subjects > 4 { format!("{subjects} {}", guide.subjects) } else { first(subjects) };
    Card {
        title,
        source: guide.source.to_owned(),
        about: format!("{} {VERDICTS}", guide.about),
        sections: guide
            .sections
            .iter()
            .map(|section| judged(guide, section, contestants, subjects, finished))
            .collect(),
        elsewhere: guide.elsewhere.iter().map(|(section, why)| ((*section).to_owned(), (*why).to_owned())).collect(),
        facts: facts(guide, finished),
        disciplines: labels,
        subjects,
    }
}

fn facts(guide: &Guide, finished: &Finished) -> Vec<(String, String)> {
    let results = || finished.experiments.values().map(|(results, _)| results);
    let outputs = || finished.experiments.values().flat_map(|(_, runs)| &runs.found).map(|(_, output)| output);
    let (runs, cpu) = (outputs().count(), outputs().map(|output| output.engine.cpu_s).sum::<f64>());
    let of_first = |what: fn(&Results) -> &String| results().next().map(what).cloned().unwrap_or_default();
    [
        ("aqmkit", of_first(|r| &r.version)),
        ("scale", of_first(|r| &r.scale)),
        ("experiments", finished.experiments.len().to_string()),
        ("runs", runs.to_string()),
        ("CPU time", format!("{cpu:.0} s")),
        ("link", guide.path.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Judges all subjects and references in a section.
fn judged(
    guide: &Guide,
    section: &guide::Section,
    contestants: &[Contestant],
    subjects: usize,
    finished: &Finished,
) -> Section {
    let rules: Vec<Rule> = section
        .rules
        .iter()
        .map(|rule| Rule {
            words: rule.words.to_owned(),
            bound: rule.bound.words(rule.unit, guide.reference),
            unit: rule.unit.to_owned(),
            why: rule.why.to_owned(),
        })
        .collect();
    let (rows, picture) = match section.source {
        Source::Experiment(name) => of_experiment(guide, section, name, contestants, finished),
        Source::Parameters => of_parameters(section, contestants, subjects, finished),
        Source::Cost => of_cost(section, contestants, finished),
    };
    let experiment = match section.source {
        Source::Experiment(name) => Some(name),
        _ => None,
    };
    let setting =
        experiment.and_then(|name| finished.experiments.get(name)).map(|(results, _)| results.about.trim().to_owned());
    Section {
        number: section.number.to_owned(),
        title: section.title.to_owned(),
        asks: section.asks.to_owned(),
        setting: setting.unwrap_or_default(),
        experiment: experiment.map(|name| format!("{}/{name}", guide.study)),
        rules,
        rows,
        picture,
    }
}

/// The numbers of a subject in a section: for each repeat, one per rule.
type Numbers = Vec<Vec<Option<f64>>>;

/// The mean of rule `i`'s number over the repeats, and whether it is significantly inside or outside the bound. A
/// single repeat decides by its number; if only one of several repeats has a number, the result is undecided.
fn cell(bound: rule::Bound, i: usize, numbers: &Numbers, reference: &Numbers) -> Cell {
    let number = |of: &Numbers, repeat: usize| of.get(repeat)?.get(i).copied().flatten().filter(|x| x.is_finite());
    let pairs = || (0..numbers.len()).filter_map(|repeat| Some((number(numbers, repeat)?, number(reference, repeat))));
    let value = Stat::of(&pairs().map(|(own, _)| own).collect::<Vec<_>>());
    // The reference was run with the same seeds: the spread of the paired differences counts.
    let margin = Stat::of(&pairs().filter_map(|(own, of_it)| bound.margin(own, of_it)).collect::<Vec<_>>());
    let is_certain = |distance: &Stat| match distance.half_width() {
        // Without any spread the interval is a single point.
        Some(half) => half == 0.0 || distance.mean.abs() > half,
        None => numbers.len() == 1,
    };
    Cell {
        value: value.map(|stat| stat.mean),
        half: value.and_then(|stat| stat.half_width()),
        holds: margin.filter(is_certain).map(|margin| margin.mean >= 0.0),
    }
}

/// Builds a subject's row from its numbers and those of the reference.
fn row(section: &guide::Section, numbers: &Numbers, reference: &Numbers, missing: &str) -> Row {
    let cells: Vec<Cell> =
        section.rules.iter().enumerate().map(|(i, rule)| cell(rule.bound, i, numbers, reference)).collect();
    let verdict = Verdict::of(&cells);
    let note = if verdict == Verdict::NotApplicable { missing.to_owned() } else { String::new() };
    Row { verdict, cells, note }
}

fn of_experiment(
    guide: &Guide,
    section: &guide::Section,
    name: &str,
    contestants: &[Contestant],
    finished: &Finished,
) -> (Vec<Row>, Option<Picture>) {
    let Some((results, runs)) = finished.experiments.get(name) else { return (Vec::new(), None) };
    let evidence = Evidence::new(results, runs.data(), guide.axis);
    let repeats = evidence.repeats();
    let numbers = |aqm: &str| -> Numbers {
        repeats.iter().map(|repeat| section.rules.iter().map(|rule| (rule.of)(repeat, aqm)).collect()).collect()
    };
    let reference = numbers(guide.reference);
    let not_for = |contestant: &Contestant| {
        let of_stack = contestant.is_stack().then(|| guide.not_for_stacks(section)).flatten();
        of_stack.or_else(|| (section.not_for)(&evidence, contestant.label()))
    };
    let of = |contestant: &Contestant| match not_for(contestant) {
        Some(why) => row(section, &Numbers::default(), &reference, why),
        None => row(section, &numbers(contestant.label()), &reference, "nothing could be measured"),
    };
    let disciplines: Vec<String> = contestants.iter().map(|c| c.label().to_owned()).collect();
    let axes: Vec<_> = results.axes.iter().map(|axis| (axis.name.clone(), axis.labels.clone())).collect();
    (contestants.iter().map(of).collect(), section.picture.picture(&evidence, &disciplines, &axes))
}

fn of_parameters(
    section: &guide::Section,
    contestants: &[Contestant],
    subjects: usize,
    finished: &Finished,
) -> (Vec<Row>, Option<Picture>) {
    let of = |contestant: &Contestant| {
        let Some((results, runs)) = finished.experiments.get(&parameters::name_of(contestant)) else {
            let why = if contestant.spec().is_some() {
                "it has no parameters except the limit"
            } else {
                "its parameters are those of its class"
            };
            return row(section, &Numbers::default(), &Numbers::default(), why);
        };
        let of_repeat = |repeat: &Evidence<'_>| match section.number {
            "8.3" => vec![
                parameters::least_use(contestant, repeat).map(|used| 100.0 * used),
                parameters::largest_change(contestant, repeat),
            ],
            _ => vec![parameters::that_matter(contestant, repeat)],
        };
        let numbers: Numbers = Evidence::new(results, runs.data(), AQM).repeats().iter().map(of_repeat).collect();
        row(section, &numbers, &Numbers::default(), "nothing could be measured")
    };
    let rows = contestants.iter().map(of).collect();
    // Disciplines with different parameters cannot share an axis.
    let only = contestants.first().filter(|_| subjects == 1 && matches!(section.picture, Drawing::Parameters));
    (rows, only.and_then(|contestant| knobs(contestant, finished)))
}

/// A plot of the delay with each parameter halved and doubled.
fn knobs(contestant: &Contestant, finished: &Finished) -> Option<Picture> {
    let (results, runs) = finished.experiments.get(&parameters::name_of(contestant))?;
    let changes = parameters::delays(contestant, &Evidence::new(results, runs.data(), AQM));
    let line = |which: usize, name: &str| {
        let points = changes.iter().enumerate().filter_map(|(i, change)| Some((i as f64, change.ratios[which]?)));
        Line { discipline: 0, name: name.to_owned(), points: points.collect() }
    };
    Some(Picture::Bars(Lines {
        x: "parameter".to_owned(),
        y: "queue delay / that with defaults".to_owned(),
        logarithmic: true,
        ticks: changes.iter().map(|change| change.parameter.clone()).collect(),
        lines: vec![line(0, "halved"), line(1, "doubled")],
    }))
}

fn of_cost(section: &guide::Section, contestants: &[Contestant], finished: &Finished) -> (Vec<Row>, Option<Picture>) {
    let cost = |contestant: &Contestant| finished.costs.get(contestant.label()).copied();
    let why = |contestant: &Contestant| match contestant.spec() {
        Some(_) => "it was not measured",
        None => "its cost is that of calling Python",
    };
    let numbers = |contestant: &Contestant| vec![vec![cost(contestant)]];
    let rows = contestants.iter().map(|c| row(section, &numbers(c), &Numbers::default(), why(c))).collect();
    let measured = contestants.iter().enumerate().filter_map(|(i, c)| Some((i, cost(c)?)));
    let lines =
        measured.map(|(discipline, ns)| Line { discipline, name: String::new(), points: vec![(0.0, ns)] }).collect();
    let y = "CPU time of a packet, ns".to_owned();
    (
        rows,
        Some(Picture::Bars(Lines {
            x: String::new(),
            y,
            logarithmic: false,
            ticks: vec!["1000 flows".to_owned()],
            lines,
        })),
    )
}

#[cfg(test)]
mod tests {
    use crate::rule::Bound;

    use super::*;

    /// The numbers of one rule, one per repeat.
    fn numbers(each: &[f64]) -> Numbers {
        each.iter().map(|value| vec![Some(*value)]).collect()
    }

    #[test]
    fn a_value_whose_interval_has_both_sides_of_the_bound_is_not_judged() {
        let judged = |each: &[f64]| cell(Bound::AtMost(10.0), 0, &numbers(each), &Numbers::default()).holds;
        assert_eq!(judged(&[9.0, 9.1, 9.2]), Some(true));
        assert_eq!(judged(&[11.0, 11.1, 11.2]), Some(false));
        assert_eq!(judged(&[8.0, 9.0, 10.5]), None);
        assert_eq!(judged(&[9.9]), Some(true), "of a single run nothing better is known");
        assert_eq!(judged(&[10.0, 10.0, 10.0]), Some(true), "without any spread the bound is reached exactly");
        assert_eq!(judged(&[]), None);
        let once = cell(Bound::AtMost(10.0), 0, &vec![vec![None], vec![Some(9.9)], vec![None]], &Numbers::default());
        assert_eq!((once.value, once.half, once.holds), (Some(9.9), None, None), "one of three repeats has a number");
    }

    #[test]
    fn differences_from_the_reference_are_taken_seed_by_seed() {
        let (wide, half) = (numbers(&[40.0, 80.0, 120.0]), numbers(&[19.0, 39.0, 59.0]));
        let both = cell(Bound::OfReference(0.5), 0, &half, &wide);
        assert_eq!(both.holds, Some(true), "always one less than half, however much both vary");
        assert!(both.half.is_some_and(|width| width > 40.0), "{both:?}");
        assert_eq!(cell(Bound::OfReference(0.5), 0, &half, &numbers(&[120.0, 80.0, 40.0])).holds, None);
    }
}
