//! Runs that are changed while they are simulated, and the experiments that they are saved as.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use aqmkit_base::{Duration, Instant};
use aqmkit_experiment::{EditableRun, Experiment, Overrides, RunSpec, Scale};

use super::{SMALL, parse};

const PLAIN: &str = r#"title = "Held"
# A comment.
duration = "12s"
warmup = "2s"
[topology]
rate = "10mbit"
aqm = "red"
[[traffic]]
kind = "bulk"
flows = 4
[[traffic]]
name = "blast"
kind = "cbr"
start = "9s"
stop = "11s"
[windows]
before = ["0s", "6s"]
after = ["6s", "12s"]
[[changes]]
at = "4s"
topology.rate = "5mbit"
[[changes]]
at = "8s"
topology.rate = "2mbit"
"#;

fn open(text: &str) -> EditableRun {
    EditableRun::open("held.toml", text, &Overrides::default(), 0).unwrap_or_else(|e| panic!("{e}\n{text}")).1
}

/// The instant `seconds` after the warm-up of 2 s.
fn at(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(2.0 + seconds)
}

fn setting(path: &str, value: &str) -> Vec<(String, String)> {
    vec![(path.to_owned(), value.to_owned())]
}

/// Each run of a plan can be opened, and is saved as an experiment with this run only.
#[test]
fn every_run_of_a_plan_is_one_of_its_own() {
    let plan = parse(SMALL).unwrap().plan();
    for (index, wanted) in plan.iter().enumerate() {
        let (_, run) = EditableRun::open("experiments/small.toml", SMALL, &Overrides::default(), index).unwrap();
        assert_eq!((&run.spec().hash, &run.spec().labels), (&wanted.hash, &wanted.labels));
        let again = Experiment::parse("again.toml", &run.text(None), &Overrides::default()).unwrap().plan();
        let own = again.iter().filter(|other| other.hash == wanted.hash).count();
        assert!(own == 1 && again.len() == wanted.labels["repeat"].parse::<usize>().unwrap(), "{index}");
    }
    let refused = EditableRun::open("x.toml", SMALL, &Overrides::default(), 8).map(|_| ()).unwrap_err();
    assert!(refused.in_one_line().contains("there are 8, counted from 0"), "{}", refused.in_one_line());
    // The only run, but with a setting that the text does not have.
    let set = Overrides { set: vec!["topology.rate=7mbit".to_owned()], ..Overrides::default() };
    let (_, run) = EditableRun::open("held.toml", PLAIN, &set, 0).unwrap();
    assert_eq!(parse(&run.text(None)).unwrap().plan()[0].hash, run.spec().hash);
    assert_eq!(open(PLAIN).text(None), PLAIN, "unchanged, with its comments");
}

/// A portable experiment has the same runs without its directory and without the keys for results; one that reads other
/// files is rejected.
#[test]
fn an_experiment_is_taken_from_its_directory() {
    let same = |overrides: &Overrides| {
        let experiment = Experiment::parse("small.toml", SMALL, overrides).unwrap();
        let taken = experiment.portable().unwrap();
        let again = Overrides { set: taken.set.clone(), ..Overrides::default() };
        let (plan, other) = (experiment.plan(), Experiment::parse("x.toml", &taken.text, &again).unwrap().plan());
        let runs = |of: &[RunSpec]| of.iter().map(|run| (run.hash.clone(), run.labels.clone())).collect::<Vec<_>>();
        assert_eq!(runs(&plan), runs(&other));
        (taken.text == SMALL, plan.len())
    };
    assert_eq!(same(&Overrides::default()), (true, 8));
    let set = ["topology.rate=7mbit", "aqm=red"].map(str::to_owned).to_vec();
    assert_eq!(same(&Overrides { set, ..Overrides::default() }), (true, 4));
    let (seed, repeat, scale) = (Some(7), Some(3), Scale::Quick);
    assert_eq!(same(&Overrides { seed, repeat, scale, ..Overrides::default() }), (false, 12));

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("ms"), "10\n20\n30\n").unwrap();
    let text =
        PLAIN.replace("rate = \"10mbit\"", "rate = { trace = \"ms\" }").replace("topology.rate", "topology.loss");
    let text = text.replace("\"5mbit\"", "0.1").replace("\"2mbit\"", "0.2");
    let traced = Experiment::parse(dir.path().join("x.toml").to_str().unwrap(), &text, &Overrides::default()).unwrap();
    assert!(traced.portable().unwrap_err().in_one_line().contains("ms"));
}

/// A run of an experiment with seeds per cell is saved with its own seed.
#[test]
fn a_run_of_an_experiment_with_seeds_for_each_cell_is_written_with_its_own() {
    let text = SMALL.replacen("[topology]", "seeds = \"per-cell\"\n[topology]", 1);
    for index in [0, 5] {
        let (_, run) = EditableRun::open("small.toml", &text, &Overrides::default(), index).unwrap();
        let again = parse(&run.text(None)).unwrap().plan();
        assert!(again.iter().any(|other| other.hash == run.spec().hash), "{}", run.text(None));
    }
    let experiment = parse(&text).unwrap();
    let quick = Overrides { scale: Scale::Quick, ..Overrides::default() };
    let quick = Experiment::parse("small.toml", &text, &quick).unwrap();
    for taken in [&experiment, &quick] {
        let portable = taken.portable().unwrap();
        let again = Experiment::parse("x.toml", &portable.text, &Overrides::default()).unwrap();
        assert_eq!(again.hash(), taken.hash());
    }
}

/// If the file has only this run and there are no other settings, its text is kept and changes are appended.
#[test]
fn the_text_is_kept_where_it_is_that_of_the_run() {
    let mut run = open(PLAIN);
    assert_eq!(run.text(None).trim_end(), PLAIN.trim_end());
    run.set(at(9.5), &setting("topology.delay", "7ms")).unwrap();
    let wanted = format!("{PLAIN}\n[[changes]]\nat = \"9.5s\"\ntopology.delay = \"7ms\"\n");
    assert_eq!(run.text(None), wanted);
    assert_eq!(open(&wanted).spec().hash, run.spec().hash);
    run.revert().unwrap();
    assert_eq!((run.text(None).trim_end(), &run.spec().hash), (PLAIN.trim_end(), &open(PLAIN).spec().hash));
    let comment = |text: &str, overrides: &Overrides| {
        EditableRun::open("held.toml", text, overrides, 0).unwrap().1.text(None).contains("A comment")
    };
    let set = Overrides { set: vec!["topology.rate=3mbit".into()], ..Overrides::default() };
    let seed = Overrides { seed: Some(7), ..Overrides::default() };
    let twice = PLAIN.replace("duration", "repeat = 2\nduration");
    assert!(comment(PLAIN, &Overrides::default()));
    assert_eq!([comment(PLAIN, &set), comment(PLAIN, &seed), comment(&twice, &Overrides::default())], [false; 3]);
}

/// Values are saved as they were given: numbers, text with or without quotes, tables, lists.
#[test]
fn values_set_by_hand_are_written_as_toml() {
    for (path, given, written) in [
        ("topology.aqm.max", "40", "topology.aqm.max = 40"),
        ("topology.rate", "7mbit", "topology.rate = \"7mbit\""),
        ("topology.rate", "\"7mbit\"", "topology.rate = \"7mbit\""),
        ("topology.loss", "0.125", "topology.loss = 0.125"),
        ("topology.delays", "{ each = [\"1ms\", \"2ms\"] }", "topology.delays = { each = [\"1ms\", \"2ms\"] }"),
        ("traffic[0].flows", "6", "\"traffic[0].flows\" = 6"),
    ] {
        let mut run = open(PLAIN);
        run.set(at(9.0), &setting(path, given)).unwrap_or_else(|e| panic!("{path} {given}: {e}"));
        let wanted = format!("{PLAIN}\n[[changes]]\nat = \"9s\"\n{written}\n");
        assert_eq!(run.text(None), wanted);
        assert_eq!(open(&wanted).spec().hash, run.spec().hash, "{written}");
    }
}

/// A text to whose end no changes can be appended is generated anew.
#[test]
fn a_text_that_would_be_no_experiment_is_written_anew() {
    let (head, _) = PLAIN.split_once("[[changes]]").unwrap();
    let inline = format!("changes = [{{ at = \"4s\", topology.rate = \"5mbit\" }}]\n{head}");
    let mut run = open(&inline);
    assert_eq!(run.text(None).trim_end(), inline.trim_end());
    run.set(at(9.0), &setting("topology.delay", "7ms")).unwrap();
    let text = run.text(None);
    assert!(!text.contains("# A comment."), "{text}");
    assert_eq!(open(&text).spec().hash, run.spec().hash, "{text}");
}

/// From a change on, the outline shows the changed run.
#[test]
fn the_outline_is_that_of_an_instant() {
    let mut run = open(PLAIN);
    let rates = |of: &EditableRun| {
        [-2.0, 3.999, 4.0, 7.999, 8.0, 11.0].map(|t| of.outline_at(at(t)).links[0].rate.as_bps() / 1_000_000)
    };
    assert!(run.has_changes());
    assert_eq!(rates(&run), [10, 10, 5, 5, 2, 2]);
    // A manual change at 5 s holds until the file's change of the same key at 8 s.
    let applied = run.set(at(5.0), &setting("topology.rate", "7mbit")).unwrap();
    assert_eq!((applied.now.len(), applied.later.len()), (1, 1));
    assert_eq!(applied.later[0].at, at(8.0));
    assert_eq!(rates(&run), [10, 10, 5, 7, 2, 2]);
    // At the time of a change in the file, the manual change takes precedence.
    let again = run.set(at(8.0), &setting("topology.rate", "3mbit")).unwrap();
    assert_eq!((again.now.len(), again.later.len()), (1, 0));
    assert_eq!(rates(&run), [10, 10, 5, 7, 3, 3]);
    run.revert().unwrap();
    assert_eq!(rates(&run), [10, 10, 5, 5, 2, 2]);
    let still = open(&PLAIN[..PLAIN.find("[[changes]]").unwrap()]);
    assert!(!still.has_changes());
}

/// A run that ends early has only the windows and changes before its end, and no traffic that would start later.
#[test]
fn an_earlier_end_cuts_what_comes_after_it() {
    let run = open(PLAIN);
    let ended = |seconds: f64| run.text(Some(at(seconds))).parse::<toml::Table>().unwrap();
    let spans = |table: &toml::Table| {
        let windows = table["windows"].as_table().unwrap();
        windows
            .iter()
            .map(|(name, span)| format!("{name} {} {}", span[0].as_str().unwrap(), span[1].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let times = |table: &toml::Table| {
        let changes = table["changes"].as_array().unwrap();
        changes.iter().map(|change| change["at"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let begins = |table: &toml::Table| {
        let blast = table["traffic"][1].as_table().unwrap();
        (blast.get("start").is_some(), blast.get("stop").is_some(), blast.get("active").is_some())
    };
    let ten = ended(10.0);
    assert_eq!(
        (ten["duration"].as_str(), spans(&ten)),
        (Some("10s"), vec!["after 6s 10s".to_owned(), "before 0s 6s".to_owned()])
    );
    assert_eq!((times(&ten), begins(&ten)), (vec!["4s".to_owned(), "8s".to_owned()], (true, true, false)));
    let eight = ended(8.0);
    assert_eq!(
        (spans(&eight), times(&eight)),
        (vec!["after 6s 8s".to_owned(), "before 0s 6s".to_owned()], vec!["4s".to_owned(), "8s".to_owned()])
    );
    assert_eq!(begins(&eight), (false, false, true));
    assert_eq!(begins(&ended(9.0)), (false, false, true), "it would begin at the end");
    let six = ended(6.0);
    assert_eq!((spans(&six), times(&six)), (vec!["before 0s 6s".to_owned()], vec!["4s".to_owned()]));
    for seconds in [10.0, 8.0, 6.0, 3.5, 0.5] {
        let text = run.text(Some(at(seconds)));
        assert!(parse(&text).is_ok(), "{text}");
    }
    // During the warm-up nothing has been measured: the run is saved with its full length.
    for seconds in [0.0, -1.0] {
        assert_eq!(ended(seconds)["duration"].as_str(), Some("12s"), "{seconds}");
    }
}
