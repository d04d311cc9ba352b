#![allow(clippy::shadow_unrelated, reason = "one name for the result of each step")]

use std::sync::atomic::AtomicU64;

use aqmkit_base::Instant;
use tempfile::TempDir;

use super::*;

/// A run that outputs its number, counts its executions, and can fail.
struct Fake<'a> {
    labels: BTreeMap<String, String>,
    hash: String,
    number: u64,
    done: &'a AtomicU64,
    cancel: &'a AtomicBool,
}

impl Work for Fake<'_> {
    fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    fn hash(&self) -> &str {
        &self.hash
    }

    fn run(&self, on_progress: &mut dyn FnMut(Progress) -> Control) -> Result<Output, Stop> {
        assert!(self.number != 13, "unlucky");
        let end = Instant::from_nanos(10);
        for t in 0..10 {
            if on_progress(Progress { now: Instant::from_nanos(t), end }) == Control::Stop {
                return Err(Stop::Cancelled);
            }
        }
        if self.number == 99 {
            return Err(Stop::Failed("no such link".to_owned()));
        }
        if self.number == 50 {
            self.cancel.store(true, Ordering::Relaxed);
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        Ok(Output { exchanges_dropped: self.number, ..Output::default() })
    }
}

struct Bench {
    _dir: TempDir,
    store: Store,
    notes: Notes,
    cancel: AtomicBool,
    done: AtomicU64,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        Bench { _dir: dir, store, notes: Notes::default(), cancel: AtomicBool::new(false), done: AtomicU64::new(0) }
    }

    /// Runs these numbers; returns those of the finished runs.
    fn run(&self, numbers: &[u64], jobs: usize) -> (Vec<u64>, Outcome) {
        let fake = |n: &u64| Fake {
            labels: [("n".to_owned(), n.to_string())].into(),
            hash: format!("h{n}"),
            number: *n,
            done: &self.done,
            cancel: &self.cancel,
        };
        let work: Vec<_> = numbers.iter().map(fake).collect();
        let options = RunOptions { jobs, store: &self.store, watch: &self.notes, cancel: &self.cancel };
        let outcome = execute(&work, options).unwrap();
        (outcome.done.iter().map(|d| d.output.exchanges_dropped).collect(), outcome)
    }

    fn ran(&self) -> u64 {
        self.done.swap(0, Ordering::Relaxed)
    }
}

#[test]
fn results_stand_in_the_order_of_the_plan() {
    let numbers: Vec<u64> = (200..240).collect();
    for jobs in [1, 2, 7] {
        assert_eq!(Bench::new().run(&numbers, jobs).0, numbers);
    }
    assert_eq!(Bench::new().run(&[], 2).0, [0_u64; 0]);
}

#[test]
fn a_finished_run_is_not_done_again() {
    let bench = Bench::new();
    bench.run(&[1, 2], 1);
    assert_eq!(bench.ran(), 2);
    assert_eq!(bench.run(&[2, 3], 1).0, [2, 3]);
    assert_eq!(bench.ran(), 1);
    assert_eq!(bench.store.load_list().unwrap().found.len(), 2);
}

#[test]
fn a_stopped_plan_goes_on_where_it_stopped() {
    let bench = Bench::new();
    let (done, outcome) = bench.run(&[50, 51, 52], 1);
    assert_eq!((done, outcome.cancelled), (vec![50], true));
    assert_eq!(bench.ran(), 1);
    bench.cancel.store(false, Ordering::Relaxed);
    let (done, outcome) = bench.run(&[50, 51, 52], 1);
    assert_eq!((done, outcome.cancelled), (vec![50, 51, 52], false));
    assert_eq!(bench.ran(), 2);
}

#[test]
fn a_run_fails_alone() {
    let (done, outcome) = Bench::new().run(&[1, 13, 99, 2], 2);
    assert_eq!((done, outcome.cancelled), (vec![1, 2], false));
    assert_eq!(outcome.failed.len(), 2);
    assert!(outcome.failed[0].starts_with("n=13: internal error: unlucky ("), "{:?}", outcome.failed);
    assert_eq!(outcome.failed[1], "n=99: no such link");
}

#[test]
fn a_damaged_result_is_run_again_and_told() {
    let bench = Bench::new();
    bench.run(&[1], 1);
    std::fs::write(bench.store.dir().join("runs/h1.cbor.zst"), "x").unwrap();
    assert_eq!(bench.run(&[1], 1).0, [1]);
    assert_eq!(bench.ran(), 2);
    assert!(bench.notes.texts()[0].starts_with("n=1: its stored result cannot be read"));
}
