//! The result of a comparison of disciplines, in a few sentences.
//!
//! If there is interactive traffic (telephone calls, video, web pages), its quality decides: a mean delay over all
//! packets favours queues that keep sparse packets short, and ignores the other direction. Otherwise disciplines with
//! nearly all of the best goodput are compared by the delay of their longest queue. A discipline is called better than
//! another one only if the 95 % interval of the difference of paired runs excludes zero and the difference is large
//! enough to matter.

mod measure;

use aqmkit_results::Stat;

use self::measure::{Measure, goodput, longest_queue, qualities};
use crate::columns::names;
use crate::format::significant;
use crate::grid::{Grid, Row, Table};

/// Disciplines with at least this share of the best goodput are compared by queue delay.
const NEARLY_ALL: f64 = 0.97;

/// Introduction to the sentences about single runs.
const ONE_RUN: &str = "One run of each does not tell a difference from chance; --repeat 5 does. In these runs:";

/// The answer for the rows of a table; `None` unless at least two disciplines were compared and measured.
#[must_use]
pub(crate) fn answer(grid: &Grid, table: &Table) -> Option<String> {
    let compared = Compared::of(grid, table)?;
    let qualities = qualities(grid, &table.rows);
    let mut said: Vec<String> = if compared.single() { vec![ONE_RUN.to_owned()] } else { Vec::new() };
    said.extend(if qualities.is_empty() { compared.by_queue()? } else { compared.by_quality(&qualities) });
    Some(said.join(" "))
}

/// The rows of a table, with the measures by which they are compared.
struct Compared<'a> {
    rows: &'a [Row],
    links: Vec<String>,
    queue: Measure,
    goodput: Measure,
    /// Row with the highest goodput.
    most: usize,
}

impl<'a> Compared<'a> {
    fn of(grid: &Grid, table: &'a Table) -> Option<Compared<'a>> {
        let paths = grid.paths();
        let (links, classes) = (names(&paths, "links."), names(&paths, "classes."));
        let (queue, goodput) = (longest_queue(&table.rows, &links), goodput(&table.rows, &classes));
        let most = *goodput.ranked().first()?;
        let comparable = grid.focus.name == "aqm" && queue.ranked().len() > 1 && goodput.mean(most)? > 0.0;
        comparable.then_some(Compared { rows: &table.rows, links, queue, goodput, most })
    }

    /// Whether there is only one run of each discipline.
    fn single(&self) -> bool {
        self.queue.rows.iter().all(|samples| samples.len() < 2)
    }

    /// Start of the sentence for rows that do not differ significantly.
    fn no_difference(&self) -> &'static str {
        if self.single() { "There is no difference" } else { "There is no difference that these runs can show" }
    }

    /// Compares disciplines by their longest queue.
    fn by_queue(&self) -> Option<Vec<String>> {
        let most = self.goodput.mean(self.most)?;
        let nearly_all = |row: &usize| self.goodput.mean(*row).is_some_and(|own| own >= NEARLY_ALL * most);
        let ranked = self.queue.ranked();
        let candidates: Vec<usize> = ranked.iter().copied().filter(nearly_all).collect();
        let leaders = self.queue.leaders(&candidates);
        let (best, longest, least) = (*leaders.first()?, *ranked.last()?, *ranked.first()?);
        if leaders.len() == ranked.len() {
            return Some(vec![format!("{} in the length of the queue: {}.", self.no_difference(), self.numbers(best))]);
        }
        let have = if leaders.len() == 1 { "has" } else { "have" };
        let mut said = vec![format!(
            "Of those with at least 97 % of the highest goodput, {} {have} the shortest queue: {}.",
            self.listed(&leaders),
            self.numbers(best)
        )];
        if self.queue.mean(longest)? > 1.5 * self.queue.mean(best)? {
            let label = &self.rows[longest].label;
            said.push(format!("{label} has the longest: {} at {}.", self.delay(longest), self.goodput.shown(longest)));
        }
        if !nearly_all(&least) && self.queue.is_worse(best, least) {
            let (label, delay, rate) = (&self.rows[least].label, self.delay(least), self.goodput.shown(least));
            said.push(format!("{label} has an even shorter one, {delay}, but only {rate}."));
        }
        Some(said)
    }

    /// Compares disciplines by the quality of interactive traffic, and adds the queues and the cost in goodput.
    fn by_quality(&self, qualities: &[Measure]) -> Vec<String> {
        let all: Vec<usize> = (0..self.rows.len()).collect();
        let leaders: Vec<Vec<usize>> = qualities.iter().map(|measure| measure.leaders(&all)).collect();
        let telling = || qualities.iter().zip(&leaders).filter(|(measure, best)| best.len() < measure.ranked().len());
        let common: Vec<usize> =
            all.iter().copied().filter(|row| leaders.iter().all(|best| best.contains(row))).collect();
        let mut said = Vec::new();
        if telling().next().is_none() {
            let whose: Vec<&str> = qualities.iter().map(|measure| measure.whose).collect();
            said.push(format!("{} for {}.", self.no_difference(), listed(&whose)));
        } else if let Some(best) = common.first() {
            let (whose, values): (Vec<&str>, Vec<String>) =
                telling().map(|(measure, _)| (measure.whose, measure.shown(*best))).unzip();
            let is = if common.len() == 1 { "is" } else { "are" };
            said.push(format!("{} {is} best for {}: {}.", self.listed(&common), listed(&whose), values.join(", ")));
        } else {
            let each = telling().map(|(measure, best)| {
                format!("{} with {} ({})", measure.whose, self.listed(best), measure.shown(best[0]))
            });
            said.push(format!("Best are {}.", each.collect::<Vec<_>>().join("; ")));
        }
        said.extend(self.worst(&telling().map(|(measure, _)| measure).collect::<Vec<_>>()));
        said.push(self.queues());
        said.extend(self.cost(&common));
        said
    }

    /// The discipline that is the worst in most of these measures.
    fn worst(&self, measures: &[&Measure]) -> Option<String> {
        let last: Vec<usize> = measures.iter().filter_map(|measure| measure.ranked().last().copied()).collect();
        let most = *last.iter().max_by_key(|row| last.iter().filter(|other| other == row).count())?;
        let of_row = measures.iter().zip(&last).filter(|(_, row)| **row == most).map(|(measure, _)| measure);
        let values: Vec<String> = of_row.map(|measure| measure.shown(most)).collect();
        Some(format!("{} is worst: {}.", self.rows[most].label, values.join(", ")))
    }

    /// Each row's longest queue; with many rows, only the shortest and the longest of these.
    fn queues(&self) -> String {
        let ranked = self.queue.ranked();
        let shown = match ranked[..] {
            [first, second, .., last] if ranked.len() > 4 => vec![first, second, last],
            _ => ranked,
        };
        let each: Vec<String> =
            shown.iter().map(|row| format!("{} {}", self.rows[*row].label, self.delay(*row))).collect();
        format!("Their longest queues on average: {}.", each.join(", "))
    }

    /// How much less goodput the best rows have than the highest goodput, if it is more than 3 %.
    fn cost(&self, best: &[usize]) -> Option<String> {
        let most = self.goodput.mean(self.most)?;
        let less = |row: &&usize| {
            self.goodput.mean(**row).is_some_and(|own| own < NEARLY_ALL * most)
                && self.goodput.is_worse(**row, self.most)
        };
        let each: Vec<String> = best
            .iter()
            .filter(less)
            .map(|row| format!("{} carries {}", self.rows[*row].label, self.goodput.shown(*row)))
            .collect();
        let (label, rate) = (&self.rows[self.most].label, self.goodput.shown(self.most));
        (!each.is_empty()).then(|| format!("{} of all traffic, {label} {rate}.", each.join(", ")))
    }

    /// Delay of a row's longest queue, with the name of the link if there are several.
    fn delay(&self, row: usize) -> String {
        let of = |link: &&String| self.link_stat(row, link, "mean").map(|stat| stat.mean);
        let longest = self.links.iter().max_by(|a, b| of(a).unwrap_or(-1.0).total_cmp(&of(b).unwrap_or(-1.0)));
        match longest {
            Some(link) if self.links.len() > 1 => format!("{} ({link})", self.queue.shown(row)),
            _ => self.queue.shown(row),
        }
    }

    fn link_stat(&self, row: usize, link: &str, statistic: &str) -> Option<&Stat> {
        self.rows[row].metrics.get(&format!("links.{link}.queue_delay_ms.{statistic}"))
    }

    /// Mean and 99th percentile of the longest queue's delay, and the goodput.
    fn numbers(&self, row: usize) -> String {
        let p99 = self.links.iter().filter_map(|link| self.link_stat(row, link, "p99")).map(|stat| stat.mean);
        let p99 = significant(p99.fold(0.0, f64::max), 3);
        let whose = if self.links.len() > 1 { " of all traffic" } else { "" };
        let (mean, rate) = (self.delay(row), self.goodput.shown(row));
        format!("{mean} on average and {p99} ms at the 99th percentile, at {rate}{whose}")
    }

    fn listed(&self, rows: &[usize]) -> String {
        listed(&rows.iter().map(|row| self.rows[*row].label.as_str()).collect::<Vec<_>>())
    }
}

/// Joins names for a sentence: `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.concat(),
    }
}

#[cfg(test)]
mod tests;
