use serde_json::Value;

use super::Desk;

/// Small users on a small link, so that trials are short; in both directions.
const LOADS: &str = r#"
title = "Loads"
duration = "20s"
warmup = "5s"
[topology]
rate = "2mbit"
delays = { uniform = ["10ms", "50ms"] }
reverse = { rate = "1mbit" }
servers = 2
[sweep]
aqm = ["fifo", { name = "red", min = 5, max = 15 }]
[[traffic]]
name = "there"
kind = "short-flows"
class = "tcp"
size_max = "20kb"
interval = "1s"
load = "60%"
[[traffic]]
name = "back"
kind = "short-flows"
class = "tcp"
size_max = "20kb"
interval = "1s"
direction = "reverse"
load = "500kbit"
"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("loads.toml", LOADS);
    desk
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn populations_offer_the_loads_in_their_directions() {
    let desk = desk();
    let found = json(&desk.run("calibrate loads.toml --json").good());
    // One per traffic group, since disciplines make no difference.
    let loads = found.as_array().unwrap();
    assert_eq!(loads.len(), 2);
    for (load, (name, bps)) in loads.iter().zip([("there", 1.2e6), ("back", 5e5)]) {
        assert_eq!((load["traffic"].as_str(), load["parameter"].as_str()), (Some(name), Some("sources")));
        assert_eq!(load["wanted_bps"].as_f64(), Some(bps));
        assert!((load["offered_bps"].as_f64().unwrap() / bps - 1.0).abs() <= 0.05, "{load}");
    }
    assert!(loads[0]["value"].as_f64() > loads[1]["value"].as_f64());
    let text = desk.run("calibrate loads.toml").good();
    assert!(text.contains("there: sources = ") && text.contains(" of the load 60% ("), "{text}");
}

#[test]
fn run_uses_what_calibrate_found_and_neither_does_it_twice() {
    let desk = desk();
    let first = desk.run("calibrate loads.toml --json --jobs 1").good();
    let trials: u64 = json(&first).as_array().unwrap().iter().map(|l| l["trials"].as_u64().unwrap()).sum();
    let run = desk.run("-v run loads.toml --json --jobs 2");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(run.err.matches("found in the store").count() as u64, trials, "{}", run.err);
    assert_eq!(run.err.matches(": done").count(), 2, "{}", run.err);
    assert_eq!(desk.run("calibrate loads.toml --json").good(), first);
    // All disciplines met the same users, and the reverse link had its own load.
    let results = json(&run.out);
    for entry in results["runs"].as_array().unwrap() {
        let back = entry["links"]["reverse"]["throughput_bps"].as_f64().unwrap();
        assert!(back > 4e5, "{back}: data and acknowledgements");
    }
    // Given as numbers, the same populations give the same results.
    let value = |i: usize| json(&first)[i]["value"].as_f64().unwrap();
    let numbers = LOADS
        .replace("load = \"60%\"", &format!("sources = {}", value(0)))
        .replace("load = \"500kbit\"", &format!("sources = {}", value(1)));
    desk.write("numbers.toml", &numbers);
    let again = json(&desk.run("run numbers.toml --json").good());
    let apps = |r: &Value| r["runs"].as_array().unwrap().iter().map(|e| e["apps"].clone()).collect::<Vec<_>>();
    assert_eq!(apps(&again), apps(&results));
}

#[test]
fn a_population_is_told_with_the_labels_on_which_it_depends() {
    let desk = Desk::new();
    let swept = LOADS.replace("[sweep]\n", "[sweep]\n\"traffic.there.load\" = [\"50%\", \"60%\"]\n");
    desk.write("loads.toml", &swept);
    let found = json(&desk.run("calibrate loads.toml --json").good());
    let places: Vec<&Value> = found.as_array().unwrap().iter().map(|load| &load["where"]).collect();
    let at = |load: &str| serde_json::json!({ "traffic.there.load": [load] });
    assert_eq!(places, [&at("50%"), &serde_json::json!({}), &at("60%")]);
    let text = desk.run("calibrate loads.toml").good();
    assert!(
        text.contains("there (traffic.there.load 50%): sources = ") && text.contains("\nback: sources = "),
        "{text}"
    );
}

#[test]
fn what_cannot_be_calibrated_is_told_with_its_place() {
    let wrong = |from: &str, to: &str| {
        let desk = Desk::new();
        desk.write("loads.toml", &LOADS.replacen(from, to, 1));
        let told = desk.run("calibrate loads.toml");
        assert_eq!(told.code, 2, "{}", told.err);
        told.err.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(wrong("60%", "much").contains("\"much\" is not a load"));
    assert!(wrong("60%", "0%").contains("is not a load"));
    assert!(wrong("60%", "900%").contains("at most 500%"));
    assert!(wrong("load = \"60%\"", "load = \"60%\"\nsources = 3").contains("both load and sources"));
    let model = "kind = \"short-flows\"\nclass = \"tcp\"\nsize_max = \"20kb\"\ninterval = \"1s\"";
    let bulk = wrong(model, "kind = \"bulk\"\nclass = \"tcp\"");
    assert!(bulk.contains("bulk has no population to calibrate"), "{bulk}");
    assert!(wrong("reverse = { rate = \"1mbit\" }", "").contains("has no reverse link"));
    assert!(wrong("direction = \"reverse\"", "direction = \"back\"").contains("\"back\" is not a known value"));
    let least = wrong(model, "kind = \"cbr\"\nrate = \"4mbit\"");
    assert!(least.contains("no population of there offers 60%") && least.contains("flows = 1 offers"), "{least}");
}

#[test]
fn an_experiment_without_loads_says_so() {
    let told = Desk::new().run("calibrate tiny.toml");
    assert_eq!(told.code, 2);
    assert!(told.err.contains("no traffic of tiny has a `load`"), "{}", told.err);
}
