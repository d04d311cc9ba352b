use std::collections::BTreeMap;
use std::path::Path;

use aqmkit_runs::run::Notes;

use super::*;

fn request(target: &str, harm: &str, budget: usize, out: &Path) -> Request {
    Request {
        target: target.to_owned(),
        harm: harm.to_owned(),
        queues: None,
        buffer: None,
        budget,
        fresh: 4,
        seed: None,
        jobs: 2,
        out: Some(out.to_owned()),
    }
}

fn attacked(request: &Request) -> Attacked {
    let catalogues = Catalogues::default();
    let attack = Attack::of(request, &catalogues).unwrap();
    attack.attack(&Notes::default(), &AtomicBool::new(false)).unwrap()
}

/// The formula of a test, such as `n["flows.throughput_bps.min"] / n["flows.throughput_bps.mean"]`.
fn computed(formula: &str, numbers: &BTreeMap<String, f64>) -> f64 {
    let term = |term: &str| match term.strip_prefix("n[\"").and_then(|term| term.strip_suffix("\"]")) {
        Some(path) => *numbers.get(path).unwrap_or_else(|| panic!("{path} is not among {numbers:?}")),
        None => term.parse().unwrap(),
    };
    formula.split(" / ").map(term).reduce(|a, b| a / b).unwrap()
}

/// The mean of a formula over the runs of the target in the experiment that an attack has left.
fn run_again(attacked: &Attacked, axis: &str, formula: &str) -> f64 {
    let experiment = Experiment::load(attacked.file.to_str().unwrap(), &Overrides::default()).unwrap();
    let plan = experiment.plan();
    let own: Vec<&RunSpec> = plan.iter().filter(|run| run.labels[axis] == attacked.target).collect();
    assert_eq!((own.len(), plan.len()), (4, 8), "both under four seeds");
    let value = |run: &&RunSpec| {
        let output = aqmkit_sim::run(run.scenario().unwrap(), &mut |_| aqmkit_sim::Control::Continue).unwrap();
        let entry = aqmkit_results::Entry::of(&run.labels, &output.windows[0], output.engine);
        computed(formula, &aqmkit_results::flatten(&entry))
    };
    own.iter().map(value).sum::<f64>() / own.len() as f64
}

/// The least budget finds that BBR does not heed the losses of a shallow buffer, and repeating the hunt runs nothing.
#[test]
fn a_hunt_ends_in_an_experiment_and_a_test_and_is_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let request = Request {
        queues: Some(vec!["fifo".to_owned()]),
        buffer: Some("0.1..1.5".to_owned()),
        ..request("bbr", "loss", LEAST, dir.path())
    };
    let first = attacked(&request);
    assert!(first.failed.is_empty(), "{:?}", first.failed);
    assert!(first.small.value > 0.05 && first.small.value > 3.0 * first.reference.value, "{first:?}");
    assert!(first.confirmed && first.flows <= 5, "{first:?}");
    let count = || std::fs::read_dir(dir.path().join("runs")).unwrap().count();
    let before = count();
    let again = attacked(&request);
    assert_eq!((again.small.written, count()), (first.small.written.clone(), before));

    let test = std::fs::read_to_string(&first.test).unwrap();
    assert!(test.contains("fn bbr_loss()") && test.contains(r#"run.labels["control"] == "bbr""#), "{test}");
    let formula = test.split_once("values.push(").and_then(|(_, rest)| rest.split_once(");")).unwrap().0;
    let value = run_again(&first, "control", formula);
    assert!((value / first.small.value - 1.0).abs() < 1e-9, "{value} {first:?}");
    assert!(first.play.as_ref().is_some_and(|fragment| fragment.starts_with("#e=")), "{:?}", first.play);
}

/// Each harm by the formula of its test is the harm that the hunt has measured.
#[test]
fn tests_measure_the_harm_of_the_hunt() {
    let dir = tempfile::tempdir().unwrap();
    let catalogues = Catalogues::default();
    for target in ["bbr", "fifo"] {
        for (harm, name) in Harm::ALL {
            let request = request(target, name, LEAST, &dir.path().join(format!("{target}-{name}")));
            let attack = Attack::of(&request, &catalogues).unwrap();
            let mut place = [0.0; AXES];
            // A flow of another control beside one, in a short time.
            place[6] = 0.6;
            let scenario = Scenario { seconds: 5, ..attack.space.at(&place) };
            let run = attack.experiment(&scenario, "x", 1, 1).unwrap().plan().remove(0);
            let output = aqmkit_sim::run(run.scenario().unwrap(), &mut |_| aqmkit_sim::Control::Continue).unwrap();
            let entry = aqmkit_results::Entry::of(&run.labels, &output.windows[0], output.engine);
            let numbers = aqmkit_results::flatten(&entry);
            let value = harm.value(attack.space.target, scenario.others(), &numbers).unwrap();
            let again = computed(&harm.formula(attack.space.target, scenario.others()), &numbers);
            assert!((value - again).abs() < 1e-9, "{target}, {name}: {value} and {again}");
        }
    }
}

/// Known of a discipline or a control.
struct Known {
    target: &'static str,
    harm: &'static str,
    /// The discipline and the buffer behind which it is known.
    behind: Option<(&'static str, &'static str)>,
    /// How much of the harm counts as found.
    enough: f64,
}

const KNOWN: [Known; 5] = [
    // BBRv1 does not heed the losses of shallow buffers: RFC 9743 names those below 1.5 BDP.
    Known { target: "bbr", harm: "loss", behind: Some(("fifo", "0.1..1.5")), enough: 0.1 },
    // Reno is unfair to long round trips.
    Known { target: "newreno", harm: "unfairness", behind: None, enough: 0.7 },
    // Drop-tail locks flows out.
    Known { target: "fifo", harm: "starvation", behind: None, enough: 0.2 },
    // A burst passes CoDel.
    Known { target: "codel", harm: "bufferbloat", behind: None, enough: 200.0 },
    // CUBIC starves beside Prague in a single queue.
    Known { target: "prague", harm: "starvation", behind: None, enough: 0.4 },
];

fn find_again(known: &Known, budget: usize, fresh: u32) -> Attacked {
    let dir = tempfile::tempdir().unwrap();
    let asked = request(known.target, known.harm, budget, dir.path());
    let found = attacked(&Request {
        queues: known.behind.map(|(queue, _)| vec![queue.to_owned()]),
        buffer: known.behind.map(|(_, buffer)| buffer.to_owned()),
        fresh,
        ..asked
    });
    let harm = Harm::find(known.harm).unwrap();
    assert!(harm.score(found.small.value) >= harm.score(known.enough), "{found:?}");
    assert!(found.flows <= 5 && found.cpu_s < 3600.0, "{found:?}");
    found
}

/// Two of the five with the least budget.
#[test]
fn known_pathologies_are_found_again() {
    find_again(&KNOWN[1], LEAST, 4);
    find_again(&KNOWN[3], LEAST, 4);
}

/// All five with the default budget: minutes of CPU time.
#[test]
#[ignore = "minutes of CPU time; the guide has the command"]
#[expect(clippy::print_stdout, reason = "the answers are for the guide")]
fn all_known_pathologies_are_found_again() {
    for known in &KNOWN {
        let found = find_again(known, BUDGET, FRESH);
        println!("{found:#?}");
        assert!(found.confirmed, "{found:?}");
    }
}
