//! Experiments on network models, with expected results.

use aqmkit_base::{Bytes, Duration};
use aqmkit_experiment::{Experiment, Overrides};
use aqmkit_sim::output::Window;
use aqmkit_sim::scenario::{Bql, Driver};
use aqmkit_sim::{Control, run};

/// The only window of the first run of an experiment in `experiments/models`, with these settings.
fn window(name: &str, set: &[&str]) -> Window {
    let path = format!("{}/../../experiments/models/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let set = set.iter().map(ToString::to_string).chain(["repeat=1".to_owned()]).collect();
    let overrides = Overrides { set, scale: aqmkit_experiment::Scale::Quick, ..Overrides::default() };
    let plan = Experiment::load(&path, &overrides).expect(name).plan();
    assert_eq!(plan.len(), 1, "{name}");
    let output = run(plan[0].scenario().expect(name), &mut |_| Control::Continue).expect(name);
    output.windows[0].clone()
}

#[test]
fn each_link_of_a_row_takes_its_share_of_a_flow() {
    let long = |links: &str, aqm: &str| {
        let window = window("chain", &[&format!("links={links}"), &format!("aqm={aqm}")]);
        let used: Vec<f64> = window.links.values().map(|l| l.utilization).collect();
        assert_eq!(used.len(), 5);
        assert!(used.iter().all(|u| *u > 0.95), "every link is congested: {used:?}");
        window.classes["long"].goodput_bps
    };
    let (one, three, five) = (long("1", "red"), long("3", "red"), long("5", "red"));
    // Each link drops about an eighth of all packets.
    assert!(three < 0.9 * one && five < 0.9 * three, "{one} {three} {five}");
    let alike = (five / one).powf(0.25) / (three / one).powf(0.5);
    assert!((alike - 1.0).abs() < 0.05, "every link drops alike: {alike}");
    assert!(one < 972_000.0, "goodput is at most what was sent");
}

#[test]
fn acknowledgements_wait_behind_data_of_the_other_direction() {
    let run = |uplink: &str, mix: &str| window("two-way", &[&format!("uplink={uplink}"), &format!("mix={mix}")]);
    let (alone, both, fair) = (run("fifo", "down"), run("fifo", "down+up"), run("fq-codel", "down+up"));
    let down = |w: &Window| w.classes["down"].goodput_bps;
    assert!(down(&alone) > 9e6 && down(&both) < 0.8 * down(&alone) && down(&fair) > 0.95 * down(&alone));
    assert!(both.classes["up"].goodput_bps > 0.5e6, "uploads cross the other link");
    assert!(both.links["reverse"].utilization > 0.95 && alone.links["reverse"].utilization < 0.5);
}

#[test]
fn a_link_follows_its_trace() {
    let fifo = window("cellular", &["aqm=fifo"]);
    let codel = window("cellular", &["aqm=codel"]);
    let link = |w: &Window| w.links["bottleneck"].clone();
    assert!(link(&fifo).utilization > 0.99 && link(&fifo).utilization < 1.001, "{}", link(&fifo).utilization);
    assert!((link(&fifo).throughput_bps / 5.9184e6 - 1.0).abs() < 0.02, "{}", link(&fifo).throughput_bps);
    let delay = |w: &Window| w.classes["call"].latency_ms.map_or(f64::NAN, |l| l.mean);
    assert!(delay(&fifo) > 500.0 && delay(&codel) < 100.0, "{} {}", delay(&fifo), delay(&codel));
}

#[test]
fn wires_do_the_harm_that_they_say() {
    let run = |wire: &str| window("lossy", &[&format!("wire={wire}")]);
    let rate = |w: &Window| w.classes["bulk"].goodput_bps;
    let clean = run("clean");
    assert!(rate(&clean) > 19e6);
    for wire in ["random", "bursts", "reorder"] {
        let harmed = run(wire);
        assert!(rate(&harmed) < 0.6 * rate(&clean), "{wire}: {}", rate(&harmed));
        assert!(harmed.apps["bulk"].retransmission_rate > 0.001, "{wire}");
    }
    let jitter = run("jitter");
    assert!(rate(&jitter) > 0.95 * rate(&clean), "what keeps its order does no harm");
}

/// With slots of 10 to 20 ms and packets always waiting, the mean wait for the next slot is 7.78 ms (E[X²] / 2 E[X] for
/// X uniform from 10 to 20).
#[test]
fn slots_delay_and_do_not_lose() {
    let text = |keys: &str| {
        format!(
            "title = \"Slots\"\nduration = \"60s\"\nwarmup = \"2s\"\n[topology]\nrate = \"10mbit\"\ndelay = \"50ms\"\n{keys}\n[[traffic]]\nkind = \"cbr\"\n\
             rate = \"1mbit\"\njitter = 0.5\n"
        )
    };
    let run = |keys: &str| {
        let plan = Experiment::parse("slots", &text(keys), &Overrides::default()).unwrap().plan();
        let output = run(plan[0].scenario().unwrap(), &mut |_| Control::Continue).unwrap();
        let class = &output.windows[0].classes["cbr"];
        (class.latency_ms.unwrap().mean, class.goodput_bps)
    };
    let (without, table) = (run(""), run("slot = { min = \"10ms\", max = \"20ms\" }"));
    assert!((table.0 - without.0 - 7.78).abs() < 0.4, "{without:?} {table:?}");
    assert!((table.1 / without.1 - 1.0).abs() < 1e-3, "{without:?} {table:?}");
    assert_eq!(run("slot = \"10ms..20ms\""), table);
}

/// Regression test: with listed links, `mark` and `even` in [topology] were ignored, and `loss` was rejected.
#[test]
fn what_is_of_one_link_is_not_written_for_all_of_a_list() {
    for (key, value) in [("mark", "0.1"), ("even", "true"), ("slot", "\"5ms\""), ("delay", "\"5ms\"")] {
        let text = format!(
            "title = \"t\"\nduration = \"1s\"\n[topology]\n{key} = {value}\n[[topology.links]]\nname = \"a\"\nrate = \"1mbit\"\n[[traffic]]\nkind = \"bulk\"\npath = [\"a\"]\n"
        );
        let problem = Experiment::parse("t", &text, &Overrides::default()).unwrap_err().to_string();
        assert!(problem.contains(&format!("{key} is for a dumbbell")), "{problem}");
    }
}

/// ATM sends 32 cells, 1696 bytes, for a packet of 1500 bytes, and two for an acknowledgement of 52.
#[test]
fn a_link_of_cells_carries_less_and_each_link_may_have_its_own_framing() {
    let text = |keys: &str| {
        format!(
            "title = \"Cells\"\nduration = \"8s\"\nwarmup = \"3s\"\n[topology]\nrate = \"10mbit\"\ndelays = \"20ms\"\naqm = \"codel\"\n{keys}\n[[traffic]]\nkind = \"bulk\"\nflows = 2\n"
        )
    };
    let throughput = |keys: &str| {
        let plan = Experiment::parse("cells.toml", &text(keys), &Overrides::default()).unwrap().plan();
        let output = run(plan[0].scenario().unwrap(), &mut |_| Control::Continue).unwrap();
        output.windows[0].links["bottleneck"].throughput_bps
    };
    let plain = throughput("");
    let cells = throughput("linklayer = \"atm\"");
    assert!((cells / plain - 1500.0 / 1696.0).abs() < 0.01, "{cells} of {plain}");
    let framed = throughput("overhead = \"-60b\"");
    assert!((framed / plain - 1500.0 / 1440.0).abs() < 0.01, "{framed} of {plain}");
    let other = throughput("linklayer = \"atm\"\nreverse = { rate = \"10mbit\", linklayer = \"ethernet\" }");
    assert!((other / plain - 1500.0 / 1696.0).abs() < 0.01, "{other} of {plain}");
}

/// Drivers of the links in a topology with these keys.
fn drivers(topology: &str) -> Vec<Option<Driver>> {
    let text = format!("title = \"Drivers\"\nduration = \"1s\"\n[topology]\n{topology}");
    let plan = Experiment::parse("drivers.toml", &text, &Overrides::default()).expect("it is read").plan();
    plan[0].scenario().expect("it can be simulated").links.iter().map(|link| link.driver).collect()
}

#[test]
fn each_link_has_its_driver_or_that_of_the_topology() {
    let plain = Driver { ring: 256, bql: None, coalesce: Duration::ZERO };
    let bulk = "\n[[traffic]]\nkind = \"bulk\"\n";
    let dumbbell = |keys: &str| drivers(&format!("rate = \"1mbit\"\n{keys}{bulk}"));
    assert_eq!(dumbbell(""), [None]);
    assert_eq!(dumbbell("driver = \"none\""), [None]);
    assert_eq!(dumbbell("driver = {}"), [Some(plain)], "the ring that most cards have");
    assert_eq!(dumbbell("driver = { ring = 64, bql = false }"), [Some(Driver { ring: 64, ..plain })]);
    let usual = Bql { limit_min: Bytes(0), limit_max: Bytes(1_879_048_192), hold_time: Duration::from_secs(1) };
    let coalesce = Duration::from_micros(50);
    assert_eq!(
        dumbbell("driver = { bql = true, coalesce = \"50us\" }"),
        [Some(Driver { bql: Some(usual), coalesce, ..plain })]
    );
    let bounds = "{ limit_min = \"1b\", limit_max = \"3kb\", hold_time = \"10ms\" }";
    let bql = Some(Bql { limit_min: Bytes(1), limit_max: Bytes(3072), hold_time: Duration::from_millis(10) });
    assert_eq!(dumbbell(&format!("driver = {{ bql = {bounds} }}")), [Some(Driver { bql, ..plain })]);
    let four = Some(Driver { ring: 4, ..plain });
    assert_eq!(dumbbell("access = \"1mbit\"\ndriver = { ring = 4 }\nreverse.rate = \"1mbit\""), [None, four, four]);
    assert_eq!(dumbbell("driver = { ring = 4 }\nreverse = { driver = \"none\" }"), [four, None]);
    let links = "links = [{ name = \"a\", rate = \"1mbit\", driver = \"none\" }, { name = \"b\", rate = \"1mbit\" }]";
    let path = "[[traffic]]\nkind = \"bulk\"\npath = [\"a\", \"b\"]\n";
    assert_eq!(drivers(&format!("measured = \"b\"\ndriver = {{ ring = 4 }}\n{links}\n{path}")), [None, four]);
    assert_eq!(dumbbell("driver = { ring = 4 }\nuncongested = true"), [None], "the network of calibrations has none");
}

/// The hosts of the DCN study ran FreeBSD, which sends segments one by one; segmentation offload as in Linux must stay
/// off.
#[test]
fn no_host_of_the_dcn_study_has_segmentation_offload() {
    let ids: Vec<String> =
        aqmkit_experiment::catalogue().into_iter().map(|e| e.id).filter(|id| id.starts_with("dcn/")).collect();
    assert!(ids.len() >= 3, "{ids:?}");
    let mut looked_at = 0;
    for id in ids {
        let experiment = Experiment::load(&id, &Overrides::default()).unwrap_or_else(|e| panic!("{id}: {e}"));
        for spec in experiment.plan() {
            // A run with a load has no users before calibration.
            let Ok(scenario) = spec.scenario() else { continue };
            let offloads = scenario.groups.iter().filter(|g| g.profile.gso_max_size.0 > 0);
            assert_eq!(offloads.count(), 0, "{id}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 0, "no experiment has a number of users of its own");
}

/// The hosts of these studies ran FreeBSD versions of their time: no segmentation offload, and no coalesced
/// acknowledgements as in Linux.
#[test]
fn the_hosts_of_old_studies_send_and_acknowledge_segment_by_segment() {
    for name in ["dcn/comparison", "dcn/traffic", "dcn/unresponsive", "web-ecn/web"] {
        let path = format!("{}/../../experiments/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect(name);
        assert!(text.contains("profile = \"freebsd45\"") && !text.contains("linux"), "{name}");
    }
    let p = aqmkit_transport::Profile::freebsd45();
    assert_eq!((p.gso_max_size.0, p.comp_sack_delay.as_nanos()), (0, 0));
}
