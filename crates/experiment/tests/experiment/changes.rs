//! `[[changes]]`: effects on a run, and rejected changes.

use aqmkit_experiment::{EditableRun, Experiment, Overrides, digest};
use aqmkit_sim::change::Change;
use aqmkit_sim::{Control, Output, Scenario, run};

use super::{parse, with};

const PLAIN: &str = r#"title = "Changes"
duration = "12s"
warmup = "2s"
[topology]
rate = "10mbit"
delay = "5ms"
delays = "20ms"
aqm = "red"
reverse = { rate = "10mbit" }
[[traffic]]
kind = "bulk"
flows = 4
stagger = "0s"
[[traffic]]
name = "blast"
kind = "cbr"
rate = "2mbit"
active = false
[windows]
before = ["0s", "6s"]
after = ["6s", "12s"]
"#;

fn scenario(text: &str) -> Scenario {
    let experiment = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    experiment.plan()[0].scenario().expect("the plan can be simulated")
}

fn output(text: &str) -> Output {
    run(scenario(text), &mut |_| Control::Continue).expect("the run ends")
}

fn changed(changes: &str) -> String {
    format!("{PLAIN}{changes}")
}

#[test]
fn a_change_is_made_at_its_time_and_in_order() {
    let text = changed(
        "[[changes]]\nat = '8s'\ntopology.aqm.max = 40\n[[changes]]\nat = '-1.5s'\ntopology.rate = '5mbit'\ntopology.reverse.delay = '7ms'\n",
    );
    let changes = scenario(&text).changes;
    let times: Vec<f64> = changes.iter().map(|c| c.at.as_secs_f64()).collect();
    assert_eq!(times, [0.5, 0.5, 10.0], "the warm-up is before t = 0");
    let Change::Link { link: 0, to } = &changes[2].change else { panic!("the discipline of the bottleneck") };
    assert_eq!((to.rate.as_bps(), to.aqm.name()), (5_000_000, "red"), "on top of the earlier change");
}

/// Effects on traffic 0 of a change with this line: numbers of applications that continue and that begin.
fn of_traffic(line: &str) -> Vec<(usize, usize)> {
    let changes = scenario(&changed(&format!("[[changes]]\nat = '3s'\n{line}\n"))).changes;
    let kept = changes.iter().filter_map(|c| match &c.change {
        Change::Traffic { keep, begin, .. } => Some((*keep, begin.len())),
        _ => None,
    });
    kept.collect()
}

/// Applications continue if only their number changes; otherwise new ones replace them.
#[test]
fn applications_continue_where_only_their_number_changes() {
    for (line, wanted) in [
        ("traffic.bulk.flows = 6", (4, 2)),
        ("traffic.bulk.flows = 3", (3, 0)),
        ("traffic.bulk.size = '1mb'", (0, 4)),
        ("traffic.bulk.active = false", (0, 0)),
        ("traffic.blast.active = true", (0, 1)),
    ] {
        assert_eq!(of_traffic(line), [wanted], "{line}");
    }
    // A change of the common transport affects all traffic.
    assert_eq!(of_traffic("transport.mss = '1000b'"), [(0, 4), (0, 0)]);
    // Inactive traffic has no applications that could continue.
    assert_eq!(of_traffic("traffic.blast.flows = 3"), [(0, 0)]);
    assert_eq!(of_traffic("topology.rate = '5mbit'"), []);
}

#[test]
fn delays_of_hosts_change_alone() {
    let changes = scenario(&changed("[[changes]]\nat = '3s'\ntopology.delays = '30ms'\n")).changes;
    let groups: Vec<usize> = changes
        .iter()
        .map(|c| match &c.change {
            Change::Delays { group, .. } => *group,
            _ => panic!("nothing else changes"),
        })
        .collect();
    assert_eq!(groups, [0, 1]);
}

/// Without a reverse link, the reverse path has the bottleneck's delay, also after a change.
#[test]
fn the_way_back_changes_with_the_way_there() {
    let text =
        PLAIN.replace("reverse = { rate = \"10mbit\" }\n", "") + "[[changes]]\nat = '3s'\ntopology.delay = '9ms'\n";
    let of = |change: &Change| match change {
        Change::Link { to, .. } => vec![to.delay.as_millis_f64()],
        Change::Delays { routes, .. } => routes.iter().map(|(_, back)| back.as_millis_f64()).collect(),
        Change::Traffic { .. } => panic!("the traffic stays"),
    };
    let changes: Vec<_> = scenario(&text).changes.iter().map(|c| of(&c.change)).collect();
    assert_eq!(changes, [[9.0], [9.0], [9.0]], "the link, and both traffics");
}

#[test]
fn links_stay_during_a_run() {
    let text = PLAIN.replace("reverse = { rate = \"10mbit\" }\n", "");
    let error = parse(&format!("{text}[[changes]]\nat = '3s'\ntopology.reverse.rate = '5mbit'\n")).expect_err("a link");
    assert!(error.in_one_line().contains("links cannot be added or removed during a run"), "{}", error.in_one_line());
}

#[test]
fn dotted_quoted_and_whole_keys_mean_the_same() {
    let hash =
        |changes: &str| parse(&changed(changes)).unwrap_or_else(|e| panic!("{e}\n{changes}")).plan()[0].hash.clone();
    let dotted = hash(
        "[[changes]]\nat = '3s'\ntopology.aqm.max = 40\ntraffic.bulk.flows = 9\ntopology.delays = { uniform = ['1ms', '2ms'] }\n",
    );
    let quoted = "[[changes]]\nat = '3000ms'\n'topology.aqm' = { name = 'red', max = 40 }\n'traffic[0].flows' = 9\n'topology.delays' = { uniform = ['1ms', '2ms'] }\n";
    assert_eq!(hash(quoted), dotted);
    let short = "[[changes]]\nat = '3s'\naqm.max = 40\ntraffic.bulk.flows = 9\nbottleneck.delays = { uniform = ['1ms', '2ms'] }\n";
    assert_eq!(hash(short), dotted);
    assert_ne!(hash(""), dotted);
}

#[test]
fn changed_load_and_capacity_show_in_the_results() {
    let out = output(&changed(
        "[[changes]]\nat = '6s'\ntopology.rate = '2mbit'\n[[changes]]\nat = '9s'\ntraffic.blast.active = true\n",
    ));
    let link = |window: usize| &out.windows[window].links["bottleneck"];
    assert!((link(0).throughput_bps / 1e7 - 1.0).abs() < 0.1, "{:?}", link(0));
    assert!((link(1).throughput_bps / 2e6 - 1.0).abs() < 0.1, "{:?}", link(1));
    assert!(link(1).utilization > 0.9 && link(1).utilization <= 1.001, "of what it could have sent");
    let blast = &out.series.columns["classes.blast.offered_bps"];
    assert!(blast[..9].iter().all(|bps| *bps == 0.0) && blast[10] > 1.9e6, "{blast:?}");
    let joined = output(&changed("[[changes]]\nat = '6s'\ntraffic.bulk.flows = 10\n"));
    assert_eq!(joined.windows[1].apps["bulk"].population, 10);
    assert_eq!(joined.flows.iter().filter(|f| f.traffic == "bulk").count(), 10);
}

#[test]
fn only_the_runs_with_the_discipline_are_changed() {
    let swept = changed("[[changes]]\nat = '3s'\nparams.codel.target = '9ms'\n[sweep]\naqm = ['red', 'codel']\n");
    let changes: Vec<usize> =
        parse(&swept).unwrap().plan().iter().map(|run| run.scenario().unwrap().changes.len()).collect();
    assert_eq!(changes, [0, 1]);
    let moved = with(&swept.replace("at = '3s'", "at = '3s'\nname = 'tuned'"), &["changes.tuned.at=4s"]).unwrap();
    assert_eq!(moved.plan()[1].scenario().unwrap().changes[0].at.as_secs_f64(), 6.0);
}

#[test]
fn the_null_test_changes_no_discipline_that_is_not_there() {
    let text = changed("[[changes]]\nat = '3s'\ntopology.aqm.max = 40\ntopology.rate = '3mbit'\n");
    let overrides = Overrides { without_scheme: true, ..Overrides::default() };
    let without = Experiment::parse("null.toml", &text, &overrides).unwrap();
    let scenario = without.plan()[0].scenario().unwrap();
    let Change::Link { to, .. } = &scenario.changes[0].change else { panic!("the link") };
    assert_eq!((to.aqm.name(), to.rate.as_bps()), ("fifo", 3_000_000));
    assert!(run(scenario, &mut |_| Control::Continue).is_ok());
}

/// Lines of a change at 3 s, and a part of the error message.
const REFUSED: &[(&str, &str)] = &[
    ("topology.aqm = 'codel'", "red cannot be replaced by codel during a run"),
    ("rate = '5mbit'", "rate cannot be changed during a run; write topology.rate"),
    ("duration = '5s'", "duration cannot be changed during a run"),
    ("topolgy.rate = '5mbit'", "did you mean topology?"),
    ("topology.rate = '5'", "rate"),
    ("topology.rate = '0bit'", "the rate of bottleneck is zero"),
    ("topology.rat = '5mbit'", "rat is not a key of [topology]"),
    ("topology.servers = 3", "cannot change during a run"),
    ("topology.driver = { ring = 9 }", "the driver of bottleneck cannot change during a run"),
    ("topology.reverse.aqm = { name = 'fifo', limit = -1 }", "limit"),
    ("params.red.mxa = 3", "did you mean max?"),
    ("params.red.max = -3", "max"),
    ("traffic.bulk.start = '4s'", "start and stop of bulk cannot change"),
    ("traffic.bulk.flow = 4", "did you mean flows?"),
    ("traffic.bulk.class = 'blast'", "traffic cannot be added, removed or renamed during a run"),
    ("traffic.bulk.class = 'fresh'", "traffic cannot be added, removed or renamed during a run"),
    ("traffic.bulk.name = 'other'", "traffic cannot be added, removed or renamed during a run"),
    ("traffic.other.flows = 4", "traffic.other.flows has no element other"),
    ("traffic.bulk.flows = 2000000", "it must be from 1 to 1000000"),
    ("traffic.bulk.transport.congestion = 'tfrk'", "tfrc"),
    ("", "this change changes nothing"),
    ("'a..b' = 3", "is not a valid path"),
];

#[test]
fn what_cannot_change_is_refused_at_its_line() {
    for (key, said) in REFUSED {
        let text = changed(&format!("[[changes]]\nat = '3s'\n{key}\n"));
        let error = parse(&text).expect_err(key);
        assert!(error.in_one_line().contains(said), "{key}: {}", error.in_one_line());
        // Points to the heading if the change has no line, otherwise to the line of the key.
        let wrong = if key.is_empty() { "[[changes]]" } else { key };
        let place = text.lines().position(|line| line == wrong).map(|before| before + 1);
        assert_eq!(error.location().map(|at| at.line), place, "{key}");
    }
    let times = [
        ("at = '13s'", "the change at 13s comes after the end; the duration is 12s"),
        ("at = '-3s'", "the change at -3s comes before the start; the warm-up is 2s"),
        ("at = 3", "this is not a time"),
        ("", "a change has no time"),
    ];
    for (at, said) in times {
        let error = parse(&changed(&format!("[[changes]]\n{at}\ntopology.rate = '5mbit'\n"))).expect_err(at);
        assert!(error.in_one_line().contains(said), "{at}: {}", error.in_one_line());
    }
    for list in ["changes = 3\n", "changes = [3]\n", "[changes]\nat = '3s'\n"] {
        let text = if list.starts_with('[') { format!("{PLAIN}{list}") } else { format!("{list}{PLAIN}") };
        assert!(parse(&text).expect_err(list).in_one_line().contains("changes is not a list of tables"), "{list}");
    }
    // The limit is ten thousand changes; up to it, the first error is that the first change has no time.
    for (count, said) in [(10_000, "a change has no time"), (10_001, "10001 changes are listed")] {
        let error = parse(&changed(&"[[changes]]\n".repeat(count))).expect_err("they change nothing");
        assert!(error.in_one_line().contains(said), "{}", error.in_one_line());
    }
    let queues = changed("[[changes]]\nat = '3s'\ntopology.aqm.flows = 16\n")
        .replace("'red'", "'fq-codel'")
        .replace("\"red\"", "\"fq-codel\"");
    let error = parse(&queues).expect_err("the queues of fq-codel");
    assert!(error.in_one_line().contains("this needs a new queue"), "{}", error.in_one_line());
}

/// With listed classes a traffic keeps its class; traffic with a calibrated population keeps its load and all
/// parameters that the calibration depends on.
#[test]
fn a_traffic_keeps_its_class_and_its_load() {
    let message = |text: &str| parse(text).map(|_| String::new()).unwrap_or_else(|e| e.in_one_line());
    let listed = PLAIN.replace("duration", "classes = ['bulk', 'blast']\nduration");
    let class = message(&format!("{listed}[[changes]]\nat = '3s'\ntraffic.bulk.class = 'blast'\n"));
    assert!(class.contains("the class of bulk cannot change during a run"), "{class}");
    let web = |key: &str| {
        let load = "[[traffic]]\nkind = 'web'\nload = '4mbit'\n";
        message(&format!("{PLAIN}[[changes]]\nat = '3s'\n{key}\n{load}"))
    };
    assert_eq!(web("topology.rate = '5mbit'"), "");
    for key in ["traffic.web.load = '3mbit'", "traffic.web.pages = 9"] {
        assert!(
            web(key).contains("the calibrated population of web cannot change during a run"),
            "{key}: {}",
            web(key)
        );
    }
}

#[test]
fn what_is_refused_by_hand_changes_nothing() {
    let (_, mut held) = EditableRun::open("held.toml", PLAIN, &Overrides::default(), 0).unwrap();
    let before = held.spec().hash.clone();
    let now = scenario(PLAIN).origin;
    for (key, value) in
        [("topology.rate", "0bit"), ("duration", "3s"), ("topology.aqm", "codel"), ("", "1"), ("x", "1")]
    {
        assert!(held.set(now, &[(key.to_owned(), value.to_owned())]).is_err(), "{key}");
    }
    assert_eq!((held.spec().hash.clone(), held.text(None)), (before.clone(), PLAIN.to_owned()));
    let rate = [("topology.rate".to_owned(), "2mbit".to_owned())];
    assert_eq!(held.set(now, &rate).map(|made| (made.now.len(), made.later.len())).ok(), Some((1, 0)));
    assert!(
        held.text(None).ends_with("\n[[changes]]\nat = \"0s\"\ntopology.rate = \"2mbit\"\n"),
        "{}",
        held.text(None)
    );
    assert_ne!(held.spec().hash, before);
    held.revert().unwrap();
    assert_eq!(held.spec().hash, before);
    assert!(EditableRun::open("held.toml", PLAIN, &Overrides::default(), 1).is_err());
}

#[test]
fn an_experiment_written_anew_means_the_same() {
    let set = Overrides { set: vec!["topology.rate=3mbit".into()], seed: Some(9), ..Overrides::default() };
    let timed = changed("[[changes]]\nat = '3s'\ntopology.aqm.max = 40\n");
    let (_, held) = EditableRun::open("held.toml", &timed, &set, 0).unwrap();
    let text = held.text(None);
    let again = Experiment::parse("again.toml", &text, &Overrides::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again.plan()[0].hash, held.spec().hash, "{text}");
    let results =
        |spec: &aqmkit_experiment::RunSpec| digest(&run(spec.scenario().unwrap(), &mut |_| Control::Continue).unwrap());
    assert_eq!(results(&again.plan()[0]), results(held.spec()));
}
