//! The result of the search, with candidates compared on paired seeds that the search did not use.

use aqmkit_results::advice::{Advice, Factor, Finalist, Goal as Shown, Role, Tried, Value};
use aqmkit_results::statistics::{self, paired};
use aqmkit_results::{Stat, advice};

use crate::goals::{Goal, Goals};
use crate::install::{Rates, install};
use crate::quantity::Better;
use crate::search::{Found, Sample};
use crate::space::{Candidate, Space};

/// Disciplines whose defaults every advice shows: drop-tail, the default of many Linux distributions, and the usual
/// choice for home links.
pub const REFERENCES: [&str; 3] = ["fifo", "fq-codel", "cake"];

/// Maximum number of candidates that are run with fresh seeds: the choice and the runner-up of the search, their
/// defaults, one that `tc` does not have, and the references.
pub const MOST_CONTENDERS: usize = 5 + REFERENCES.len();

/// A candidate to run with fresh seeds, and why.
#[derive(Clone, Debug)]
pub struct Contender {
    /// The candidate run again.
    pub candidate: Candidate,
    /// Why it was run again.
    pub role: Role,
}

/// Selects the candidates to run with fresh seeds: the choice, the best of another discipline that reached the last
/// round, the defaults of both and of the references, and, if searched, the best of those that `tc` does not have.
/// `spaces` are those of the search.
#[must_use]
pub fn contenders(found: &Found, spaces: &[Space], references: &[Space], beyond: Option<&Candidate>) -> Vec<Contender> {
    let mut all: Vec<Contender> = Vec::new();
    let mut add = |candidate: Candidate, role: Role| {
        if !all.iter().any(|before| before.candidate.label == candidate.label) {
            all.push(Contender { candidate, role });
        }
    };
    for (i, finalist) in found.finalists.iter().take(2).enumerate() {
        add(finalist.clone(), if i == 0 { Role::Choice } else { Role::RunnerUp });
    }
    let of_finalists = found
        .finalists
        .iter()
        .take(2)
        .filter_map(|finalist| spaces.iter().find(|space| space.discipline() == finalist.discipline));
    for space in of_finalists.chain(references) {
        add(space.defaults(), Role::Defaults);
    }
    if let Some(beyond) = beyond {
        add(beyond.clone(), Role::Beyond);
    }
    all
}

/// The order of the contenders by their fresh seeds; the first one is advised. It is the one with the lowest cost,
/// including penalties for missed bounds. Among those that are not significantly worse and meet as many bounds, the one
/// with the fewest parameters comes first, because a parameter without benefit can be harmful elsewhere. A discipline
/// that `tc` does not have is never advised.
#[must_use]
pub fn ordered(contenders: &[Contender], samples: &[Vec<Sample>], goals: &Goals) -> Vec<usize> {
    let missed = |i: usize| {
        let runs: Vec<&[Option<f64>]> = samples[i].iter().map(|sample| sample.values.as_slice()).collect();
        goals.misses(&goals.means(&runs))
    };
    let costs = |i: usize| samples[i].iter().map(|sample| goals.cost(&sample.values)).collect::<Vec<f64>>();
    let total = |i: usize| missed(i) + statistics::mean(&costs(i));
    let typed: Vec<usize> = (0..contenders.len()).filter(|i| contenders[*i].role != Role::Beyond).collect();
    let Some(best) = typed.iter().copied().min_by(|a, b| total(*a).total_cmp(&total(*b))) else {
        return (0..contenders.len()).collect();
    };
    let as_good = |i: &usize| {
        missed(*i) <= missed(best)
            && paired(&costs(best), &costs(*i)).is_some_and(|d| d.mean <= 0.0 || !d.is_certain())
            && samples[*i].len() > 1
    };
    let fewest = |i: &usize| (contenders[*i].candidate.searched.len(), usize::from(*i != best));
    let advised = typed.iter().copied().filter(|i| *i == best || as_good(i)).min_by_key(fewest).unwrap_or(best);
    std::iter::once(advised).chain((0..contenders.len()).filter(|i| *i != advised)).collect()
}

/// Descriptions for the advice.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Description of the link.
    pub link: String,
    /// Description of the traffic.
    pub traffic: String,
    /// The wish as written.
    pub wish: String,
    /// Sentences on how the advised candidate performs at other link rates.
    pub elsewhere: Vec<String>,
    /// How the search was done, as name and value.
    pub facts: Vec<(String, String)>,
}

/// A sentence on how the advised candidate performs at another link rate, compared with other candidates. `samples` has
/// one list per name, the advised one first, with the same order of seeds. `link` is the beginning of the sentence: `On
/// a link 30 % slower`.
#[must_use]
pub fn elsewhere(link: &str, goals: &Goals, names: &[String], samples: &[Vec<Sample>]) -> String {
    let Some((choice, others)) = samples.split_first() else { return String::new() };
    let runs: Vec<&[Option<f64>]> = choice.iter().map(|sample| sample.values.as_slice()).collect();
    let means = goals.means(&runs);
    let one = |(goal, mean): (&Goal, &Option<f64>)| {
        let mean = (*mean)?;
        let shown = format!("{} {} {}", goal.words(), short(goal.quantity.scaled(mean)), goal.quantity.unit.shown().1);
        let bound =
            goal.bound.map(|_| if goal.holds(Some(mean)) { " (within its bound)" } else { " (outside its bound)" });
        Some(format!("{}{}", shown.trim_end(), bound.unwrap_or_default()))
    };
    let values: Vec<String> = goals.all.iter().zip(&means).filter_map(one).collect();
    let beside = names.iter().skip(1).zip(others).filter_map(|(name, own)| {
        let worse = factor(own, choice, goals)?;
        Some(match (worse.is_certain(), worse.mean > 1.0) {
            (false, _) => format!("{name} does as well"),
            (true, true) => format!("{name} is {:.0} % worse", 100.0 * (worse.mean - 1.0)),
            (true, false) => format!("{name} is {:.0} % better", 100.0 * (1.0 / worse.mean - 1.0)),
        })
    });
    let all: Vec<String> = values.into_iter().chain(beside).collect();
    format!("{link}: {}.", all.join("; "))
}

/// The factor by which `own` scores worse than `choice`, over paired runs.
fn factor(own: &[Sample], choice: &[Sample], goals: &Goals) -> Option<Factor> {
    let costs = |of: &[Sample]| of.iter().map(|sample| goals.cost(&sample.values)).collect::<Vec<f64>>();
    let difference = paired(&costs(choice), &costs(own))?;
    let interval = difference.interval()?;
    Some(Factor { mean: difference.mean.exp(), low: interval.low.exp(), high: interval.high.exp() })
}

/// Builds the advice. `samples` has those of the contenders, the choice first, all with the same fresh seeds in the
/// same order.
#[must_use]
pub fn advise(
    words: Words,
    goals: &Goals,
    contenders: &[Contender],
    samples: &[Vec<Sample>],
    found: &Found,
    rates: Rates,
) -> Advice {
    let finalists: Vec<Finalist> = contenders
        .iter()
        .zip(samples)
        .map(|(contender, own)| finalist(contender, own, samples.first(), goals))
        .collect();
    let meets = finalists.first().is_some_and(|choice| choice.values.iter().all(|value| value.holds != Some(false)));
    let goals_shown: Vec<Shown> = goals.all.iter().map(shown).collect();
    let choice = contenders.first().map(|first| &first.candidate);
    let summary = choice.map(|choice| summary(choice, &finalists, &goals_shown, meets)).unwrap_or_default();
    let nothing = || advice::Install { with: String::new(), note: String::new(), lines: Vec::new() };
    let mut disciplines: Vec<String> = Vec::new();
    for tried in &found.tried {
        if !disciplines.contains(&tried.candidate.discipline) {
            disciplines.push(tried.candidate.discipline.clone());
        }
    }
    Advice {
        link: words.link,
        traffic: words.traffic,
        wish: words.wish,
        goals: goals_shown,
        meets,
        summary,
        tried: tried(found, &disciplines),
        disciplines,
        finalists,
        install: choice.map_or_else(nothing, |choice| install(choice, rates)),
        rounds: found.rounds.iter().map(|round| (round.words.clone(), round.disciplines, round.runs)).collect(),
        elsewhere: words.elsewhere,
        facts: words.facts,
    }
}

fn shown(goal: &Goal) -> Shown {
    let sign = if goal.quantity.better == Better::Less { "<" } else { ">" };
    Shown {
        words: goal.words(),
        unit: goal.quantity.unit.shown().1.to_owned(),
        bound: goal.bound.map(|bound| format!("{sign} {}", short(goal.quantity.scaled(bound)))),
        less: goal.quantity.better == Better::Less,
        weight: goal.weight,
    }
}

/// Formats a number with three significant digits.
fn short(value: f64) -> String {
    let digits: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    format!("{digits}")
}

fn finalist(contender: &Contender, own: &[Sample], choice: Option<&Vec<Sample>>, goals: &Goals) -> Finalist {
    let value = |(i, goal): (usize, &Goal)| {
        let values: Option<Vec<f64>> = own.iter().map(|sample| sample.values.get(i).copied().flatten()).collect();
        let stat = values.as_deref().and_then(Stat::of);
        let within = stat.as_ref().and_then(Stat::half_width);
        let mean = stat.map(|stat| stat.mean);
        let holds = goal.bound.map(|_| goal.holds(mean));
        let ends = mean.zip(within).map(|(mean, within)| [mean - within, mean + within]);
        let certain = ends.is_some_and(|ends| ends.iter().all(|end| Some(goal.holds(Some(*end))) == holds));
        Value {
            mean: mean.map(|mean| goal.quantity.scaled(mean)),
            within: within.map(|within| goal.quantity.scaled(within)),
            holds,
            certain,
        }
    };
    let worse = choice.filter(|_| contender.role != Role::Choice).and_then(|choice| factor(own, choice, goals));
    Finalist {
        label: contender.candidate.label.clone(),
        role: contender.role,
        discipline: contender.candidate.discipline.clone(),
        parameters: contender.candidate.searched.clone(),
        values: goals.all.iter().enumerate().map(value).collect(),
        worse,
    }
}

/// The conclusion: whether the wish is met, which other candidates meet it, and how certain the choice is.
fn summary(choice: &Candidate, finalists: &[Finalist], goals: &[Shown], meets: bool) -> Vec<String> {
    let name = |candidate: &str, parameters: &[(String, String)]| match parameters {
        [] => format!("{candidate} with its defaults"),
        list => format!(
            "{candidate} with {}",
            list.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
        ),
    };
    let mut all = Vec::new();
    let advised = name(&choice.discipline, &choice.searched);
    let bounded = goals.iter().any(|goal| goal.bound.is_some());
    let first = finalists.first();
    let missed: Vec<String> = first.map(|first| missed(first, goals)).unwrap_or_default();
    let certain = first.is_some_and(|first| first.values.iter().all(|value| value.holds.is_none() || value.certain));
    all.push(match (bounded, meets) {
        (false, _) => format!("{advised} serves the wish best."),
        (true, true) if certain => format!("{advised} meets the wish, with 95 % confidence for each bound."),
        (true, true) => format!(
            "{advised} meets the wish in the mean; seeds differ so much that it is not certain for every bound."
        ),
        (true, false) => {
            format!("Nothing in the table meets the wish. {advised} comes nearest: {}.", missed.join("; "))
        }
    });
    if choice.searched.is_empty() {
        all[0].push_str(" No other parameters were better by more than chance.");
    }
    for other in finalists.iter().skip(1) {
        let text = against(other, &name(&other.discipline, &other.parameters), goals);
        let beyond = other.role == Role::Beyond;
        all.extend(text.map(|text| {
            if beyond { format!("With aqmkit on the path, which tc does not need: {text}") } else { text }
        }));
    }
    all
}

/// Descriptions of the bounds that a finalist misses.
fn missed(finalist: &Finalist, goals: &[Shown]) -> Vec<String> {
    let outside = |(value, goal): (&Value, &Shown)| {
        (value.holds == Some(false)).then(|| {
            let mean = value
                .mean
                .map_or("not measured".to_owned(), |mean| format!("{} {}", short(mean), goal.unit).trim().to_owned());
            format!("{} {mean} ({} {})", goal.words, goal.bound.clone().unwrap_or_default(), goal.unit)
                .replace(" )", ")")
        })
    };
    finalist.values.iter().zip(goals).filter_map(outside).collect()
}

/// Describes the cost of choosing another candidate.
fn against(other: &Finalist, name: &str, goals: &[Shown]) -> Option<String> {
    let worse = other.worse?;
    let percent = |factor: f64| format!("{:.0} %", 100.0 * (factor - 1.0));
    let mut text = if !worse.is_certain() {
        format!(
            "{name}: no difference that chance would not explain ({} to {}).",
            percent(worse.low),
            percent(worse.high)
        )
    } else if worse.mean > 1.0 {
        format!("{name}: {} worse (95 %: {} to {}).", percent(worse.mean), percent(worse.low), percent(worse.high))
    } else {
        format!(
            "{name}: {} better by the aims (95 %: {} to {}).",
            percent(2.0 - worse.mean),
            percent(2.0 - worse.high),
            percent(2.0 - worse.low)
        )
    };
    let outside = missed(other, goals);
    if !outside.is_empty() {
        text.push_str(&format!(" Misses {}.", outside.join("; ")));
    }
    Some(text)
}

/// All candidates of the search with their means, and whether they are on the Pareto fronts.
fn tried(found: &Found, disciplines: &[String]) -> Vec<Tried> {
    let mean = |samples: &[&Sample], of: fn(&Sample) -> Option<f64>| {
        let values: Option<Vec<f64>> = samples.iter().map(|sample| of(sample)).collect();
        values.as_deref().and_then(Stat::of).map(|stat| stat.mean)
    };
    let one = |tried: &crate::search::Tried| {
        let samples: Vec<&Sample> = tried.samples.values().collect();
        Tried {
            discipline: disciplines.iter().position(|name| *name == tried.candidate.discipline).unwrap_or(0),
            label: tried.candidate.label.clone(),
            runs: samples.len(),
            delay_ms: mean(&samples, |sample| sample.outline.delay_ms),
            goodput_bps: mean(&samples, |sample| sample.outline.goodput_bps),
            page_ms: mean(&samples, |sample| sample.outline.page_ms),
            best_goodput: false,
            best_page: false,
        }
    };
    let mut all: Vec<Tried> = found.tried.iter().filter(|tried| !tried.samples.is_empty()).map(one).collect();
    let goodput = front(&all, |tried| Some((tried.delay_ms?, -tried.goodput_bps?)));
    let page = front(&all, |tried| Some((tried.delay_ms?, tried.page_ms?)));
    for (i, tried) in all.iter_mut().enumerate() {
        (tried.best_goodput, tried.best_page) = (goodput[i], page[i]);
    }
    all
}

/// The Pareto front: candidates that no other one matches in both respects and beats in one.
fn front(all: &[Tried], of: impl Fn(&Tried) -> Option<(f64, f64)>) -> Vec<bool> {
    let points: Vec<Option<(f64, f64)>> = all.iter().map(of).collect();
    let dominated = |(x, y): (f64, f64)| points.iter().flatten().any(|(a, b)| *a <= x && *b <= y && (*a < x || *b < y));
    points.iter().map(|point| point.is_some_and(|point| !dominated(point))).collect()
}

#[cfg(test)]
mod tests {
    use aqmkit_base::BitRate;

    use super::*;
    use crate::search::Round;
    use crate::wish::Wish;

    fn sample(delay: f64, goodput: f64) -> Sample {
        let outline = crate::search::Outline { delay_ms: Some(delay), goodput_bps: Some(goodput), page_ms: None };
        Sample { values: vec![Some(delay), Some(goodput)], outline }
    }

    fn spaces() -> Vec<Space> {
        ["fifo", "codel"].iter().filter_map(|name| Space::of(name, "1000p", false, &[BitRate::from_mbps(50)])).collect()
    }

    fn advised(wish: &str, choice: [f64; 3]) -> Advice {
        let spaces = spaces();
        let best = spaces[1].at(&[0.3, 0.0]).map(|(candidate, _)| candidate).unwrap();
        let found = Found {
            finalists: vec![best],
            tried: Vec::new(),
            rounds: vec![Round { words: "r".to_owned(), disciplines: 2, runs: 9 }],
        };
        let goals = Goals::of(&Wish::read(wish).unwrap(), &[]).unwrap();
        let contenders = contenders(&found, &spaces, &spaces[..1], None);
        let of = |delays: [f64; 3]| delays.map(|delay| sample(delay, 4e7)).to_vec();
        let samples = [of(choice), of([19.0, 20.0, 21.0]), of([99.0, 100.0, 101.0])];
        let rates = Rates { down: BitRate::from_mbps(50), up: None };
        advise(Words::default(), &goals, &contenders, &samples, &found, rates)
    }

    #[test]
    fn the_choice_is_compared_with_its_defaults_and_the_references_on_paired_seeds() {
        let advice = advised("delay < 12ms, min delay, max goodput", [9.0, 10.0, 11.0]);
        let roles: Vec<(&str, Role)> = advice.finalists.iter().map(|f| (f.label.as_str(), f.role)).collect();
        assert_eq!(
            roles,
            [("codel target=10ms interval=100ms", Role::Choice), ("codel", Role::Defaults), ("fifo", Role::Defaults)]
        );
        // Each delay is one millisecond longer; goodput is equal and has half of the weight.
        let worse = advice.finalists[1].worse.unwrap();
        let by_hand = ((20.0_f64 / 10.0).ln() + (21.0_f64 / 11.0).ln() + (22.0_f64 / 12.0).ln()) / 6.0;
        assert!((worse.mean - by_hand.exp()).abs() < 1e-9 && worse.low < worse.mean && worse.is_certain(), "{worse:?}");
        // The interval of 9, 10 and 11 is 10 ± 4.303 / sqrt(3).
        let value = advice.finalists[0].values[0];
        assert!((value.within.unwrap() - 4.302_652_7 / 3.0_f64.sqrt()).abs() < 1e-6, "{value:?}");
        assert_eq!((value.holds, value.certain, advice.meets), (Some(true), false, true));
        assert!(
            advice.summary[0].starts_with("codel with target 10ms, interval 100ms meets the wish in the mean"),
            "{:?}",
            advice.summary
        );
        assert!(advice.summary[2].contains("Misses queue delay 100 ms (< 12 ms)"), "{:?}", advice.summary);
        assert_eq!(advice.install.with, "tc");
    }

    #[test]
    fn it_says_when_nothing_meets_the_wish() {
        let advice = advised("delay < 2ms, max goodput", [9.0, 10.0, 11.0]);
        assert!(!advice.meets);
        assert!(advice.summary[0].starts_with("Nothing in the table meets the wish."), "{:?}", advice.summary);
        assert!(advice.summary[0].ends_with("comes nearest: queue delay 10 ms (< 2 ms)."), "{:?}", advice.summary);
    }

    #[test]
    fn the_front_has_what_nothing_dominates() {
        let point = |delay: f64, goodput: f64| Tried {
            discipline: 0,
            label: String::new(),
            runs: 1,
            delay_ms: Some(delay),
            goodput_bps: Some(goodput),
            page_ms: None,
            best_goodput: false,
            best_page: false,
        };
        let all = [point(1.0, 1.0), point(2.0, 3.0), point(3.0, 2.0), point(2.0, 3.0)];
        assert_eq!(
            front(&all, |t| Some((t.delay_ms?, -t.goodput_bps?))),
            [true, true, false, true],
            "equal ones both stay"
        );
        assert_eq!(front(&all, |t| t.page_ms.map(|page| (page, page))), [false; 4]);
    }
}
