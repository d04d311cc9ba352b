use aqmkit_experiment::{Experiment, Overrides, RunSpec};
use serde_json::Value;

use super::{Desk, TINY};

/// The results without the cost of the runs, which is not reproducible, and without the checksum.
fn results(text: &str) -> Value {
    let mut json: Value = serde_json::from_str(text).unwrap();
    json.as_object_mut().unwrap().remove("checksum");
    for run in json["runs"].as_array_mut().unwrap() {
        let engine = run["engine"].as_object_mut().unwrap();
        engine.retain(|key, _| key == "packets" || key == "events");
    }
    json
}

#[test]
fn run_leaves_everything_and_says_where() {
    let desk = Desk::new();
    let out = desk.run("run tiny.toml").good();
    assert!(out.contains("fifo") && out.contains("red") && out.contains("Report: results/tiny/report.html"), "{out}");
    for file in [
        "results.json",
        "report.html",
        "summary.csv",
        "runs.csv",
        "series.parquet",
        "flows.parquet",
        "responses.parquet",
    ] {
        assert!(desk.path().join("results/tiny").join(file).is_file(), "{file}");
    }
    let json = results(&desk.read("results/tiny/results.json"));
    assert_eq!(json["runs"].as_array().unwrap().len(), 4);
    assert_eq!(json["planned"], 4);
}

/// The digests in the output of a command.
fn digests(text: &str) -> Vec<String> {
    let of = |line: &str| Some(line.strip_prefix("Digest: ")?.split_whitespace().next()?.to_owned());
    text.lines().filter_map(of).collect()
}

#[test]
fn a_run_has_the_digest_that_the_library_computes() {
    let desk = Desk::new();
    let experiment = Experiment::load(&desk.path().join("tiny.toml").to_string_lossy(), &Overrides::default()).unwrap();
    let simulate =
        |spec: RunSpec| aqmkit_sim::run(spec.scenario().unwrap(), &mut |_| aqmkit_sim::Control::Continue).unwrap();
    let computed: Vec<String> =
        experiment.plan().into_iter().map(|s| aqmkit_experiment::digest(&simulate(s))).collect();

    assert_eq!(digests(&desk.run("run tiny.toml --digests").good()), computed);
    assert_eq!(digests(&desk.run("run tiny.toml --digests").good()), computed, "read from the store");
    assert_eq!(digests(&desk.run("run tiny.toml").good()), [""; 0], "four runs: only on request");
    let one = desk.run("run tiny.toml --set aqm=red --repeat 1 --out one").good();
    assert_eq!(digests(&one).len(), 1, "{one}");
    assert!(computed.contains(&digests(&one)[0]), "{one} {computed:?}");
    desk.run("run tiny.toml --digests --json").wrong(&["--digests", "--json"]);
}

#[test]
fn any_number_of_jobs_gives_the_same_results() {
    let desk = Desk::new();
    let one = desk.run("run tiny.toml --json --jobs 1 --out a").good();
    let two = desk.run("run tiny.toml --json --jobs 2 --out b").good();
    assert_eq!(results(&one), results(&two));
    assert_eq!(results(&one), results(&desk.read("a/results.json")));
    let other = desk.run("run tiny.toml --json --seed 2 --out c").good();
    assert_ne!(results(&one)["runs"], results(&other)["runs"]);
}

#[test]
fn what_was_done_is_not_done_again() {
    let desk = Desk::new();
    let first = desk.run("run tiny.toml --json").good();
    // The cost is equal too, so nothing was run again.
    assert_eq!(desk.run("run tiny.toml --json").good(), first);
    let more = desk.run("-v run tiny.toml --repeat 3");
    assert_eq!(more.code, 0);
    assert_eq!(more.err.matches("found in the store").count(), 4, "{}", more.err);
    assert_eq!(more.err.matches(": done").count(), 2, "{}", more.err);
}

#[test]
fn a_damaged_run_is_told_and_run_again() {
    let desk = Desk::new();
    desk.run("run tiny.toml").good();
    let runs = std::fs::read_dir(desk.path().join("results/tiny/runs")).unwrap();
    let mut kept = runs.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "zst"));
    std::fs::write(kept.next().unwrap(), "x").unwrap();
    let told = desk.run("run tiny.toml");
    assert_eq!(told.code, 0);
    assert_eq!(told.err.matches("it is run again").count(), 1, "{}", told.err);
    assert_eq!(desk.run("-q run tiny.toml").good(), told.out);
}

#[test]
fn settings_change_the_experiment() {
    let desk = Desk::new();
    let out = desk.run("run tiny.toml --set topology.rate=4mbit --set repeat=1 --json").good();
    let json = results(&out);
    assert_eq!(json["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn compare_writes_an_experiment_that_runs_by_itself() {
    let desk = Desk::new();
    let line = "compare fifo red:min=5,max=15 --rate 2mbit --rtt 20ms --bulk 3 --cbr 500kbit --duration 2s --warmup 1s";
    let out = desk.run(&format!("{line} --json --out c")).good();
    let json = results(&out);
    assert_eq!(json["axes"][0]["labels"], serde_json::json!(["fifo", "red:min=5,max=15"]));
    let again = results(&desk.run("run c/experiment.toml --json --out d").good());
    assert_eq!(json["runs"], again["runs"]);
    let table = desk.run(&format!("{line} --out c")).good();
    assert!(table.contains("red:min=5,max=15") && table.contains("Report: c/report.html"), "{table}");
}

/// 16 KiB per round trip of 20 ms plus the delays of segments and acknowledgements is 5 to 6.5 Mbit/s, on a link of 50:
/// the receive window is the limit, and the note names the key that changes it.
#[test]
fn what_held_the_senders_is_said() {
    let desk = Desk::new();
    let line = "compare fifo --rate 50mbit --rtt 20ms --bulk 1 --duration 2s --warmup 2s --repeat 1 --out c";
    desk.run(&format!("{line} --save c.toml")).good();
    let set = "--set transport.receive_window=16384b --out e";
    let out = desk.run(&format!("run c.toml {set}")).good().replace('\n', " ");
    assert!(out.contains("the receive window (16 KiB) held bulk at 5."), "{out}");
    assert!(out.contains("for 100 % of the time; transport.receive_window"), "{out}");
    // Its timers have a granularity of 500 ms, so there is no round-trip time to compute a rate from.
    let bsd = desk.run(&format!("{line} --transport bsd44")).good().replace('\n', " ");
    assert!(bsd.contains("the receive window (16 KiB) held bulk for 100 % of the time"), "{bsd}");
    let free =
        desk.run("compare fifo --rate 5mbit --rtt 20ms --bulk 1 --duration 2s --warmup 8s --repeat 1 --out d").good();
    assert!(!free.contains("held bulk"), "{free}");
}

#[test]
fn report_is_built_again() {
    let desk = Desk::new();
    desk.run("run tiny.toml --out r").good();
    let before = desk.read("r/report.html");
    std::fs::remove_file(desk.path().join("r/report.html")).unwrap();
    assert_eq!(desk.run("report r").good(), "Report: r/report.html\n");
    assert_eq!(desk.read("r/report.html"), before);
}

/// A class that is silent until the middle of the second window, so that many means have no samples.
const SILENT: &str = r#"
[[traffic]]
kind = "cbr"
class = "other"
rate = "500kbit"
start = "1500ms"
[[traffic]]
kind = "mpeg"
class = "multimedia"
flows = 1
start = "1900ms"
[windows]
first = ["0s", "1s"]
second = ["1s", "2s"]
[[predict]]
quantity = "classes.tcp.throughput_bps"
label = "an equal part"
where = { aqm = "red" }
formula = "equal-share"
args = { rate = "2mbit", flows = 2 }
points = [{ t = "0s", flows = 1 }, { t = "1500ms" }]
"#;

#[test]
fn a_report_of_a_class_without_packets_is_built_again() {
    let desk = Desk::new();
    desk.write("silent.toml", &format!("{TINY}{SILENT}"));
    let out = desk.run("run silent.toml --out r --json").good();
    let first = results(&out)["runs"].as_array().unwrap().iter().find(|r| r["labels"]["window"] == "first").cloned();
    let other = &first.unwrap()["classes"]["other"];
    assert_eq!((&other["drop_rate"], &other["latency_ms"]), (&0.0.into(), &Value::Null), "{other}");
    assert_eq!(results(&out)["overlays"][0]["points"], serde_json::json!([[0.0, 2e6], [1.5, 1e6]]));
    // Missing values are left out rather than null, so that results can be read again.
    let numbers: Vec<_> =
        desk.read("r/results.json").lines().filter(|l| l.contains("null")).map(str::to_owned).collect();
    assert!(numbers.is_empty(), "{numbers:?}");
    let before = desk.read("r/report.html");
    assert!(before.contains("an equal part"));
    std::fs::remove_file(desk.path().join("r/report.html")).unwrap();
    desk.run("report r").good();
    assert_eq!(desk.read("r/report.html"), before);
}

const PUBLISHED: &str = "id,source,where,what,unit,low,high,kind\n\
    TH,Paper,Table 1,a threshold,packets,39.07,39.07,equation\n\
    USED,Paper,Table 2,use of the link,%,95,100,value\n\
    ORDER,Paper,section 3,throughput,Mb/s,,,order\n";

const CLAIMS: &str = r#"
[[expect]]
id = "TH"
formula = "cbt-threshold"
args = { bandwidth = "575kibps", packet = "1507b", latency = "100ms" }
[[expect]]
id = "USED"
where = { aqm = "fifo", link = "bottleneck" }
metric = "utilization"
[[expect]]
id = "ORDER"
where = { class = "tcp" }
metric = "throughput_bps"
order = "fifo > red"
"#;

#[test]
fn reproduce_judges_what_was_published() {
    let desk = Desk::new();
    desk.write("experiments/published.csv", PUBLISHED);
    desk.write("experiments/p/tiny.toml", &format!("{TINY}{CLAIMS}"));
    let out = desk.run("reproduce p/tiny").good();
    assert!(out.contains("p/tiny: Tiny") && out.contains("39.07") && out.contains("fifo > red"), "{out}");
    assert_eq!(desk.run("reproduce p/tiny --explain").good(), out, "few values are listed without being asked for");
    let json: Value = serde_json::from_str(&desk.run("reproduce p/tiny --json").good()).unwrap();
    let passes: Vec<_> = json[0]["expectations"].as_array().unwrap().iter().map(|e| e["pass"].clone()).collect();
    // Two runs are not enough to tell which of the two carries more.
    assert_eq!(passes, [Value::Bool(true), Value::Bool(true), Value::Null]);
    desk.write("experiments/p/tiny.toml", &format!("{TINY}{}", CLAIMS.replace("fifo > red", "red >> fifo")));
    let told = desk.run("reproduce p/tiny");
    assert_eq!((told.code, told.err.as_str()), (1, ""), "{told:?}");
}

/// Published values beside an experiment are added to the built-in ones.
#[test]
fn published_values_may_lie_beside_an_experiment() {
    let desk = Desk::new();
    desk.write("mine/published.csv", PUBLISHED);
    desk.write("mine/tiny.toml", &format!("{TINY}{CLAIMS}"));
    let json: Value = serde_json::from_str(&desk.run("run mine/tiny.toml --json").good()).unwrap();
    assert_eq!(json["expectations"].as_array().unwrap().len(), 3);
    desk.write("experiments/published.csv", PUBLISHED);
    desk.run("run cbt/equations").good();
    desk.write("mine/published.csv", "id\nx\n");
    let told = desk.run("run mine/tiny.toml");
    assert!(told.code == 2 && told.err.contains("mine/published.csv: "), "{told:?}");
}

/// Two experiments with the same name: the second reports what it replaces.
#[test]
fn what_is_replaced_is_told() {
    let desk = Desk::new();
    desk.write("other/tiny.toml", &TINY.replace("Tiny", "Another"));
    desk.run("run tiny.toml").good();
    let told = desk.run("run other/tiny.toml");
    assert!(told.code == 0 && told.err.contains("results/tiny contains results of \"Tiny\""), "{told:?}");
    assert!(!desk.run("run other/tiny.toml").err.contains("contains results"));
}

#[test]
fn packets_are_not_written_over_the_experiment() {
    let desk = Desk::new();
    let told = desk.run("run tiny.toml --pcap ./tiny.toml");
    assert!(told.code == 2 && told.err.contains("is the experiment itself"), "{told:?}");
    assert!(desk.read("tiny.toml").contains("Tiny"));
}

/// `reproduce` reads the published web users from the directory in the environment, and reports errors in it; verdicts
/// based on them are not stored.
#[test]
fn reproduce_takes_published_web_users() {
    let desk = Desk::new();
    let web = "title = \"Web\"\nduration = \"2s\"\n[topology]\nrate = \"2mbit\"\n[[traffic]]\nkind = \"http-unc\"\nusers = 5\n";
    desk.write("web.toml", web);
    let reproduce = |line: &str, unc: &str| {
        let mut command = assert_cmd::Command::cargo_bin("aqmkit").unwrap();
        command
            .current_dir(desk.path())
            .env_remove("AQMKIT_EXPERIMENTS")
            .env("AQMKIT_UNC_DATA", unc)
            .env("NO_COLOR", "1");
        let output = command.args(line.split(' ')).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (missing, complaint) = reproduce("-q reproduce web.toml --out r", "nowhere");
    assert!(missing != Some(0) && complaint.contains("AQMKIT_UNC_DATA = nowhere is not a directory"), "{complaint}");
    let files = ["top_responses", "embedded_responses", "top_requests", "embedded_requests", "objects", "think_times"];
    for name in files {
        desk.write(&format!("unc/{name}.cdf"), "100 0.5\n200 1\n");
    }
    let (code, told) = reproduce("-q reproduce web.toml --out r", "unc");
    assert_eq!(code, Some(0), "{told}");
    let results = std::fs::read_dir(desk.path().join("r")).unwrap().map(|e| e.unwrap().path().join("results.json"));
    let text: String = results.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    assert!(text.contains("with the distributions in /") && text.contains("/unc"), "{text}");
    desk.write("out/published.csv", "id,source,where,what,unit,low,high,kind\n");
    let (recorded, refusal) = reproduce("-q reproduce web.toml --out r --record out", "unc");
    assert!(recorded != Some(0) && refusal.contains("cannot be recorded"), "{refusal}");
}

/// The name of a study selects each of its experiments once.
#[test]
fn reproduce_takes_a_study() {
    let desk = Desk::new();
    for name in ["p/one", "p/two", "q/three"] {
        desk.write(&format!("experiments/{name}.toml"), TINY);
    }
    let json: Value = serde_json::from_str(&desk.run("reproduce p/two p/ q/three --json").good()).unwrap();
    let done: Vec<_> = json.as_array().unwrap().iter().map(|e| e["experiment"].as_str().unwrap()).collect();
    assert_eq!(done, ["p/two", "p/one", "q/three"]);
}

#[test]
fn list_names_everything() {
    let desk = Desk::new();
    desk.write("experiments/mine.toml", TINY);
    let all = desk.run("list").good();
    for name in ["red", "bsd44", "bulk", "mine", "Tiny"] {
        assert!(all.contains(name), "{name}: {all}");
    }
    let json: Value = serde_json::from_str(&desk.run("list disciplines --json").good()).unwrap();
    assert!(json.as_array().unwrap().iter().any(|e| e["name"] == "red" && e["kind"] == "discipline"));
}

#[test]
fn describe_knows_every_kind_of_thing() {
    let desk = Desk::new();
    let red = desk.run("describe red --set limit=99").good();
    assert!(
        red.contains("On a link of 10mbit") && red.contains("limit = \"99p\"") && red.contains("Gauges: avg\n"),
        "{red}"
    );
    assert!(desk.run("describe red --set adaptive=true").good().contains("Gauges: avg, max_p\n"));
    assert!(desk.run("describe bulk").good().contains("flows = 20"));
    assert!(desk.run("describe bsd44").good().contains("mss = \"1448b\""));
    assert!(desk.run("describe cbt-threshold").good().contains("Arguments: bandwidth, packet, latency"));
    assert!(desk.run("describe tiny.toml").good().contains("runs: 4"));
    assert!(desk.run("describe cbt").good().contains("class"));
}

#[test]
fn bench_measures() {
    let told = Desk::new().run("bench --json --duration 1s --packets 10000 -q");
    let json: Value = serde_json::from_str(&told.good()).unwrap();
    assert!(json["engine"]["packets_per_cpu_s"].as_f64().unwrap() > 0.0);
    let disciplines = json["disciplines"].as_array().unwrap();
    assert!(disciplines.len() >= 4 && disciplines.iter().all(|d| d["flows"] == 1000 && d["ns_per_packet"].is_number()));
    let table = Desk::new().run("bench --duration 1s --packets 1000 --flows 1,1000 -q").good();
    assert!(table.lines().any(|l| l.starts_with("  cbt ") && l.split_whitespace().count() == 3), "{table}");
    Desk::new().run("bench --packets 1000 --flows 1,1001").wrong(&["1 000 packets are too few for 1 001 flows"]);
}

#[test]
fn what_an_attack_finds_can_be_run_again() {
    let desk = Desk::new();
    let line = "attack bbr --harm loss --queue fifo --buffer 0.1..1.5 --budget 200 --fresh 4 --quiet";
    let out = desk.run(line).good();
    for part in
        ["loss by bbr, in ", "With cubic in its place: ", "Fresh seeds confirm it.", "aqmkit run ", "play.html#e="]
    {
        assert!(out.contains(part), "{part} is not in:\n{out}");
    }
    let json: Value = serde_json::from_str(&desk.run(&format!("{line} --json")).good()).unwrap();
    assert!(desk.read("results/attack/bbr-loss/attack.rs").contains("fn bbr_loss()"));

    desk.run("run results/attack/bbr-loss/attack.toml --out again").good();
    let again = results(&desk.read("again/results.json"));
    let lost = |control: &str| {
        let of = again["runs"].as_array().unwrap().iter().filter(|run| run["labels"]["control"] == control);
        let all: Vec<f64> = of.map(|run| run["classes"]["own"]["drop_rate"].as_f64().unwrap()).collect();
        assert_eq!(all.len(), 4);
        all.iter().sum::<f64>() / 4.0
    };
    let value = json["small"]["value"].as_f64().unwrap();
    assert!((lost("bbr") / value - 1.0).abs() < 1e-9 && lost("cubic") < value / 2.0, "{json}");
}
