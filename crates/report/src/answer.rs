//! The result of a comparison of disciplines, in a sentence.

use crate::columns::names;
use crate::format::{rate_unit, significant};
use crate::grid::{Grid, Row, Table};

/// Disciplines with at least this share of the best goodput are compared by the length of their queues.
const NEARLY_ALL: f64 = 0.97;

/// The delay and the goodput of one row.
pub(crate) struct Outcome<'a> {
    label: &'a str,
    /// The queue delay in milliseconds: mean and 99th percentile.
    pub(crate) mean_ms: f64,
    pub(crate) p99_ms: f64,
    /// The goodput of all classes, in bits per second.
    pub(crate) goodput: f64,
}

/// The discipline with the shortest queue at nearly the best goodput, the delay at the best goodput, and the goodput at
/// a still shorter queue. `None` unless at least two disciplines were compared and measured.
#[must_use]
pub(crate) fn answer(grid: &Grid, table: &Table) -> Option<String> {
    if grid.focus.name != "aqm" || table.rows.len() < 2 {
        return None;
    }
    let paths = grid.paths();
    let (links, classes) = (names(&paths, "links."), names(&paths, "classes."));
    let outcomes: Vec<Outcome<'_>> =
        table.rows.iter().filter_map(|row| outcome(row, links.first()?, &classes)).collect();
    let most = outcomes.iter().map(|o| o.goodput).fold(0.0, f64::max);
    if outcomes.len() < 2 || most <= 0.0 {
        return None;
    }
    sentences(&outcomes, most, &Words::new(&links, most))
}

/// The sentences of [`answer`]; `most` is the highest goodput.
fn sentences(outcomes: &[Outcome<'_>], most: f64, words: &Words) -> Option<String> {
    let by_delay = |a: &&Outcome<'_>, b: &&Outcome<'_>| a.mean_ms.total_cmp(&b.mean_ms);
    let nearly_all = |o: &Outcome<'_>| o.goodput >= NEARLY_ALL * most;
    let best = outcomes.iter().filter(|o| nearly_all(o)).min_by(by_delay)?;
    let (longest, least) = (outcomes.iter().max_by(by_delay)?, outcomes.iter().min_by(by_delay)?);
    let alike = outcomes.iter().filter(|o| nearly_all(o) && ms(o.mean_ms) == ms(best.mean_ms));
    let alike: Vec<&str> = alike.map(|o| o.label).collect();
    let (queue, numbers) = (&words.queue, words.numbers(best));
    if alike.len() == outcomes.len() {
        return Some(format!("All disciplines have the same {queue}: {numbers}."));
    }
    let have = if alike.len() == 1 { "has" } else { "have" };
    let named = listed(&alike);
    let mut text =
        format!("Of those with at least 97 % of the highest goodput, {named} {have} the shortest {queue}: {numbers}.");
    if longest.mean_ms > 1.5 * best.mean_ms {
        text += &format!(" {} has the longest: {} at {}.", longest.label, ms(longest.mean_ms), words.rate(longest));
    }
    if !nearly_all(least) {
        let (delay, rate) = (ms(least.mean_ms), words.rate(least));
        text += &format!(" {} has an even shorter one, {delay}, but only {rate}.", least.label);
    }
    Some(text)
}

/// How the sentences name the queue and the goodput.
struct Words {
    queue: String,
    /// Whose goodput it is: with several links, some of the traffic may not cross the first one.
    whose: &'static str,
    unit: &'static str,
    factor: f64,
}

impl Words {
    fn new(links: &[String], most: f64) -> Self {
        let (unit, factor) = rate_unit(most);
        match links {
            [first, _, ..] => Words { queue: format!("{first} queue"), whose: " of all traffic", unit, factor },
            _ => Words { queue: "queue".to_owned(), whose: "", unit, factor },
        }
    }

    fn rate(&self, outcome: &Outcome<'_>) -> String {
        format!("{} {}", significant(outcome.goodput * self.factor, 3), self.unit)
    }

    fn numbers(&self, outcome: &Outcome<'_>) -> String {
        let (mean, p99, rate) = (ms(outcome.mean_ms), ms(outcome.p99_ms), self.rate(outcome));
        format!("{mean} on average and {p99} at the 99th percentile, at {rate}{}", self.whose)
    }
}

fn ms(value: f64) -> String {
    format!("{} ms", significant(value, 3))
}

/// Names in a sentence: `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.concat(),
    }
}

/// The delay of the queue of `link` and the goodput of a row; `None` if they were not measured.
pub(crate) fn outcome<'a>(row: &'a Row, link: &str, classes: &[String]) -> Option<Outcome<'a>> {
    let delay = |which: &str| Some(row.metrics.get(&format!("links.{link}.queue_delay_ms.{which}"))?.mean);
    let goodputs = || classes.iter().filter_map(|class| row.metrics.get(&format!("classes.{class}.goodput_bps")));
    let mean_ms = delay("mean")?;
    Some(Outcome {
        label: &row.label,
        mean_ms,
        p99_ms: delay("p99").unwrap_or(mean_ms),
        goodput: goodputs().map(|stat| stat.mean).sum(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aqmkit_results::{Axis, Stat};

    use super::*;

    fn row(label: &str, delay: f64, goodput: f64) -> Row {
        let stat = |mean: f64| Stat { mean, ..Stat::default() };
        let metrics = [
            ("links.bottleneck.queue_delay_ms.mean", delay),
            ("links.bottleneck.queue_delay_ms.p99", 2.0 * delay),
            ("classes.tcp.goodput_bps", goodput),
        ];
        let metrics = metrics.map(|(path, mean)| (path.to_owned(), stat(mean)));
        Row { label: label.to_owned(), metrics: BTreeMap::from(metrics), ..Row::default() }
    }

    fn told(rows: Vec<Row>) -> Option<String> {
        let table = Table { window: String::new(), rows };
        let group = crate::grid::Group { labels: Vec::new(), tables: vec![table.clone()] };
        let focus = Axis { name: "aqm".to_owned(), labels: Vec::new() };
        answer(&Grid { focus, groups: vec![group], ..Grid::default() }, &table)
    }

    #[test]
    fn the_shortest_queue_at_nearly_all_goodput_is_named_first() {
        let rows = vec![row("fifo", 200.0, 48e6), row("codel", 4.0, 47.8e6), row("red", 0.6, 40e6)];
        assert_eq!(
            told(rows).unwrap(),
            "Of those with at least 97 % of the highest goodput, codel has the shortest queue: 4 ms on average and 8 ms at the \
             99th percentile, at 47.8 Mbit/s. fifo has the longest: 200 ms at 48 Mbit/s. red has an even shorter one, 0.6 ms, but \
             only 40 Mbit/s."
        );
    }

    #[test]
    fn equal_queues_are_named_together() {
        let numbers = "4 ms on average and 8 ms at the 99th percentile, at 48 Mbit/s.";
        let all = vec![row("fifo", 4.0, 48e6), row("red", 4.0001, 48e6)];
        assert_eq!(told(all).unwrap(), format!("All disciplines have the same queue: {numbers}"));
        let some = vec![row("fifo", 5.0, 48e6), row("red", 4.0, 48e6), row("pie", 4.0, 48e6)];
        let start = "Of those with at least 97 % of the highest goodput, red and pie have the shortest queue";
        assert_eq!(told(some).unwrap(), format!("{start}: {numbers}"));
    }

    #[test]
    fn nothing_is_said_of_one_discipline_or_of_no_goodput() {
        assert_eq!(told(vec![row("fifo", 9.0, 1e6)]), None);
        assert_eq!(told(vec![row("fifo", 9.0, 0.0), row("red", 1.0, 0.0)]), None);
    }
}
