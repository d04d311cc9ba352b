//! Rounds with made-up runs.

use std::convert::Infallible;

use aqmkit_measure::output::{Output, Series, Window};
use aqmkit_runs::run::Done;

use super::*;

const OPTIONS: Options = Options {
    warmup: "--warmup",
    duration: "--duration",
    repeat: |seeds| format!("--repeat {seeds}"),
    precision: |share| format!("--precision {}%", percent(share)),
};

/// Precise enough from 16 seeds on.
fn from_sixteen(results: &Results, _share: f64) -> Vec<Known> {
    vec![known("fifo", "queue delay, mean", 4.0 / (results.planned as f64).sqrt())]
}

/// Two columns that never get precise enough, and one that is.
fn never(_results: &Results, _share: f64) -> Vec<Known> {
    vec![
        known("fifo", "queue delay, p99", 3.0),
        known("red", "drops", 2.0),
        known("red", "queue delay, p99", 1.5),
        known("red", "goodput", 0.5),
    ]
}

fn known(row: &str, column: &str, excess: f64) -> Known {
    Known { row: row.to_owned(), column: column.to_owned(), value: "45 ±9 ms".to_owned(), excess }
}

fn rules(judge: fn(&Results, f64) -> Vec<Known>, lengthen: bool) -> Rules {
    Rules {
        aim: Aim { share: 0.05, seeds: (5, 40) },
        warmup: Duration::from_secs(10),
        lengthen,
        judge,
        options: OPTIONS,
    }
}

/// Simulates a queue that fills until `settled` seconds after the start, and records the requested rounds.
struct Fake {
    settled: f64,
    asked: Vec<(u32, Option<Duration>, String)>,
}

impl Fake {
    fn settled_after(seconds: f64) -> Fake {
        Fake { settled: seconds, asked: Vec::new() }
    }

    /// A run with a warm-up of 10 s, or of `warmup`, and a measurement of 100 s.
    fn run(&self, seed: u32, warmup: Option<Duration>) -> Done {
        let from = warmup.map_or(10.0, Duration::as_secs_f64);
        let noise = |t: u32| [0.3, -0.8, 1.0, -0.1, 0.6, -1.0, 0.2][((t + 3 * seed) % 7) as usize];
        let delay = |t: u32| f64::from(t).min(self.settled) + noise(t);
        let values = (0..from as u32 + 100).map(delay).collect();
        let window = Window { from_s: from, to_s: from + 100.0, ..Window::default() };
        let series = Series { interval_s: 1.0, columns: [("links.b.queue_delay_ms.mean".to_owned(), values)].into() };
        let labels = [("aqm".to_owned(), "fifo".to_owned()), ("seed".to_owned(), seed.to_string())];
        Done { labels: labels.into(), output: Output { windows: vec![window], series, ..Output::default() } }
    }
}

/// Runs the rounds; each round's experiment is its number.
fn run(rules: Rules, fake: &mut Fake) -> Rounds<usize> {
    let perform = |round: Round<'_>, before: Option<usize>| -> Result<Ran<usize>, Infallible> {
        assert_eq!(before.unwrap_or(0), fake.asked.len());
        fake.asked.push((round.seeds, round.warmup, round.why.to_owned()));
        let done = (0..round.seeds).map(|seed| fake.run(seed, round.warmup)).collect();
        let results =
            Results { planned: round.seeds as usize, notes: vec!["A note.".to_owned()], ..Results::default() };
        Ok(Ran { experiment: fake.asked.len(), results, outcome: Outcome { done, ..Outcome::default() } })
    };
    let Ok(rounds) = rules.run(perform);
    rounds
}

#[test]
fn rounds_end_when_the_means_are_known() {
    let mut fake = Fake::settled_after(8.0);
    let rounds = run(rules(from_sixteen, true), &mut fake);
    let seeds: Vec<u32> = fake.asked.iter().map(|(seeds, ..)| *seeds).collect();
    assert_eq!(seeds, [5, 10, 16], "at most twice as many, then as many as the interval asks for");
    assert_eq!((rounds.seeds, rounds.last.outcome.done.len(), rounds.warmup), (16, 16, None));
    assert_eq!(rounds.last.results.notes, ["A note."], "there is nothing to say of the rounds");
    assert_eq!(fake.asked[0].2, "");
    assert_eq!(fake.asked[1].2, "queue delay, mean of fifo is 45 ±9 ms (aim ±5 %), ");
}

#[test]
fn rounds_end_when_the_budget_is_spent_and_name_what_is_unknown() {
    let mut fake = Fake::settled_after(8.0);
    let rounds = run(rules(never, true), &mut fake);
    assert_eq!(rounds.seeds, 40);
    let said = "After 40 seeds these are known less well than to ±5 %: queue delay, p99, drops. The widest is queue delay, p99 of \
                fifo: 45 ±9 ms. For closer ones: about --repeat 360, a longer --duration, or a wider aim such as --precision 10%.";
    assert_eq!(rounds.last.results.notes, [said, "A note."]);
}

#[test]
fn a_warm_up_that_is_too_short_is_lengthened_once() {
    let mut fake = Fake::settled_after(30.0);
    let rounds = run(rules(from_sixteen, true), &mut fake);
    let longer = rounds.warmup.unwrap();
    assert!((25.0..=35.0).contains(&longer.as_secs_f64()), "{longer}");
    let asked: Vec<(u32, Option<Duration>)> = fake.asked.iter().map(|(seeds, warmup, _)| (*seeds, *warmup)).collect();
    assert_eq!(asked, [(5, None), (5, Some(longer)), (10, Some(longer)), (16, Some(longer))]);
    assert_eq!(fake.asked[1].2, "with a longer warm-up, ");
    let said = format!("The warm-up is {longer}: before, the links had not settled (--warmup sets it).");
    assert_eq!(rounds.last.results.notes, [said.as_str(), "A note."]);
}

#[test]
fn a_warm_up_that_the_user_set_is_only_told_of() {
    let mut fake = Fake::settled_after(30.0);
    let rounds = run(rules(from_sixteen, false), &mut fake);
    assert!(rounds.warmup.is_none() && fake.asked.iter().all(|(_, warmup, _)| warmup.is_none()), "{:?}", fake.asked);
    let said = &rounds.last.results.notes[0];
    assert!(said.starts_with("The b queue delay of aqm=fifo still settles in the first "), "{said}");
    assert!(said.ends_with("A longer --warmup or --duration helps."), "{said}");
}

#[test]
fn an_error_ends_the_rounds() {
    let mut rounds = 0;
    let failed = rules(never, true).run(|round, _before: Option<()>| {
        rounds += 1;
        if round.seeds > 5 { Err("stopped") } else { Ok(ran(round.seeds)) }
    });
    assert_eq!((failed.map(|_| ()), rounds), (Err("stopped"), 2));
}

/// A round without runs.
fn ran(seeds: u32) -> Ran<()> {
    let results = Results { planned: seeds as usize, ..Results::default() };
    Ran { experiment: (), results, outcome: Outcome::default() }
}
