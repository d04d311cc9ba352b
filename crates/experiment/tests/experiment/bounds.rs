//! Largest accepted values, smallest rejected values, and defaults of omitted keys.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use aqmkit_base::Duration;
use aqmkit_experiment::{Experiment, Overrides, RunSpec, digest, schema};
use aqmkit_sim::scenario::{Loss, Scenario};
use aqmkit_sim::{Control, run};

use super::{SMALL, parse, rendered, with};

const PLAIN: &str = "title = \"Plain\"\nduration = \"5s\"\n[topology]\nrate = \"10mbit\"\ndelay = \"5ms\"\n";
const BULK: &str = "[[traffic]]\nkind = \"bulk\"\n";

/// The error message for an experiment; empty if there is none.
fn message(text: &str) -> String {
    parse(text).map(|_| String::new()).unwrap_or_else(|e| e.in_one_line())
}

/// The only run of an experiment with these lines in its topology.
fn planned(topology: &str) -> RunSpec {
    let text = format!("{PLAIN}{topology}\n{BULK}");
    parse(&text).unwrap_or_else(|e| panic!("{}", rendered(&e))).plan().remove(0)
}

fn scenario(topology: &str) -> Scenario {
    planned(topology).scenario().unwrap()
}

/// A list of tables must not be a number, a list of numbers or a single table; the error points to it.
#[test]
fn lists_of_tables_are_nothing_else() {
    for key in ["traffic", "expect", "expect_table", "predict", "figure", "changes"] {
        let traffic = if key == "traffic" { "" } else { BULK };
        let number = |value: &str| format!("{key} = {value}\n{PLAIN}{traffic}");
        for text in [number("3"), number("[3]"), number("\"x\""), format!("{PLAIN}{traffic}[{key}]\nname = \"x\"\n")] {
            let problem = parse(&text).expect_err(key);
            let said = problem.in_one_line();
            assert!(said.starts_with(&format!("{key} is not a list of tables; ")), "{said}");
            assert!(said.contains(&format!("write [[{key}]] for each")), "{said}");
            let line = problem.location().unwrap().line;
            assert!(text.lines().nth(line - 1).unwrap().contains(key), "line {line} of\n{text}");
        }
    }
    for skip in ["3", "[3]", "{ aqm = \"red\" }"] {
        let text = format!("{PLAIN}{BULK}[sweep]\naqm = [\"red\", \"fifo\"]\nskip = {skip}\n");
        assert!(message(&text).starts_with("skip is not a list of tables; write skip = "), "{}", message(&text));
    }
    for (table, said) in [
        ("[[quick]]\nrepeat = 1\n", "quick is not a table"),
        ("[[sweep]]\naqm = [\"red\"]\n", "sweep is not a table"),
        ("[null]\n", "null is not a table of changes"),
        ("[quick]\nquick.repeat = 2\n", "quick cannot be changed by [quick]"),
        ("[quick]\nexpect = []\n", "expect cannot be changed by [quick]"),
    ] {
        assert!(
            message(&format!("{PLAIN}{BULK}{table}")).contains(said),
            "{table}: {}",
            message(&format!("{PLAIN}{BULK}{table}"))
        );
    }
}

/// The largest accepted value of each key, and the next larger one.
#[test]
fn the_largest_values_are_allowed_and_larger_ones_are_not() {
    let reverse = |keys: &str| format!("reverse = {{ {keys} }}");
    let both: [(String, String, &str); 8] = [
        ("overhead = \"-64b\"".into(), "overhead = \"-65b\"".into(), "between -64b and 256b"),
        (reverse("rate = \"10tbit\""), reverse("rate = \"11tbit\""), "is too fast for reverse"),
        (reverse("rate = \"1bit\""), reverse("rate = \"0bit\""), "the rate of reverse is zero"),
        (reverse("delay = \"60min\""), reverse("delay = \"3601s\""), "is too long for a network delay"),
        (reverse("mean_packet = \"1b\""), reverse("mean_packet = \"0b\""), "mean_packet is zero"),
        (
            "delays = { each = [\"60min\", \"1ms\"] }".into(),
            "delays = { each = [\"3601s\", \"1ms\"] }".into(),
            "too long",
        ),
        (
            "delays = { uniform = [\"60min\", \"60min\"] }".into(),
            "delays = { uniform = [\"1ms\", \"3601s\"] }".into(),
            "too long",
        ),
        ("access = \"10tbit\"".into(), "access = \"11tbit\"".into(), "is too fast for access.0"),
    ];
    for (right, wrong, said) in both {
        let text = |topology: &str| message(&format!("{PLAIN}{topology}\n{BULK}"));
        assert_eq!(text(&right), "", "{right}");
        assert!(text(&wrong).contains(said), "{wrong}: {}", text(&wrong));
    }
    let bottleneck = |from: &str, to: &str| message(&format!("{PLAIN}{BULK}").replace(from, to));
    assert_eq!((bottleneck("10mbit", "10tbit"), bottleneck("\"5ms\"", "\"60min\"")), (String::new(), String::new()));
    assert!(
        bottleneck("10mbit", "10001gbit").contains("too fast")
            && bottleneck("\"5ms\"", "\"3601s\"").contains("too long")
    );
}

/// `none` is the same as omitting a key; by default a burst of losses has one packet, and the bad state loses all
/// packets.
#[test]
fn what_is_left_out_has_its_default() {
    let plain = planned("").hash;
    for same in [
        "access = \"none\"",
        "inbound = \"none\"",
        "servers = 1",
        "clients = 1",
        "mean_packet = \"1000b\"",
        "loss = 0.0",
        "even = false",
    ] {
        assert_eq!(planned(same).hash, plain, "{same}");
    }
    assert_ne!(planned("inbound = \"20mbit\"").hash, plain);
    let loss = |text: &str| scenario(text).links[0].wire.loss;
    assert_eq!(loss("loss = { every = 100 }"), Loss::Every { n: 100, burst: 1 });
    assert_eq!(loss("loss = { p = 0.1, r = 0.2 }"), Loss::GilbertElliott { p: 0.1, r: 0.2, bad: 1.0, good: 0.0 });
    // Packets have 1000 bytes unless another size is given.
    let link = |text: &str| scenario(text).links[0].mean_packet.0;
    assert_eq!((link(""), link("mean_packet = \"700b\"")), (1000, 700));
    let back = |text: &str| scenario(text).links[1].clone();
    assert_eq!(back("reverse = { }").rate, scenario("").links[0].rate, "as the bottleneck");
    assert_eq!(back("reverse = { }").delay, scenario("").links[0].delay);
    let wire = back("reverse = { loss = { every = 100 }, jitter = \"2ms\" }").wire;
    assert_eq!((wire.loss, wire.jitter), (Loss::Every { n: 100, burst: 1 }, Duration::from_millis(2)));
    assert_eq!(scenario("reverse = { loss = { every = 100 } }").links[0].wire, scenario("").links[0].wire);
}

/// By default the reverse path has the delay of the forward path, once: on the reverse link if there is one.
#[test]
fn the_way_back_takes_as_long_as_the_way_there() {
    let delays = |text: &str| {
        let scenario = scenario(text);
        let route = scenario.groups[0].routes[0].clone();
        let of = |links: &[usize]| links.iter().map(|&i| scenario.links[i].delay.as_millis_f64()).sum::<f64>();
        (of(&route.forward), of(&route.reverse) + route.reverse_delay.as_millis_f64())
    };
    assert_eq!(delays(""), (5.0, 5.0));
    assert_eq!(delays("reverse = { rate = \"10mbit\" }"), (5.0, 5.0));
    assert_eq!(delays("reverse = { rate = \"10mbit\", delay = \"9ms\" }"), (5.0, 9.0));
}

/// List elements are addressed by index, from zero, or by name.
#[test]
fn elements_of_lists_are_numbers_or_names() {
    let flows = |path: &str| {
        with(SMALL, &[&format!("traffic.{path}.flows=9"), "mix=both"]).map(|e| {
            let scenario = e.plan()[0].scenario().unwrap();
            scenario.groups.iter().map(|g| g.apps.len()).collect::<Vec<_>>()
        })
    };
    assert_eq!(
        (flows("0").unwrap(), flows("bulk").unwrap(), flows("1").unwrap()),
        (vec![9, 1], vec![9, 1], vec![4, 9])
    );
    let refused = flows("2").unwrap_err().in_one_line();
    assert!(refused.contains("traffic.2.flows has no element 2"), "{refused}");
    assert!(refused.contains("bulk") && refused.contains("blast"), "{refused}");
}

/// An axis can be written as a path or as nested tables, but only once.
#[test]
fn an_axis_is_written_once() {
    let sweep = |text: &str| format!("{PLAIN}{BULK}{text}");
    let twice = message(&sweep("[sweep]\n\"topology.rate\" = [\"1mbit\"]\n[sweep.topology]\nrate = [\"2mbit\"]\n"));
    assert!(twice.contains("the axis topology.rate is defined twice"), "{twice}");
    // A label is the name of a value and not a key of it.
    let labelled = "[sweep]\n\"topology.delays\" = [{ label = \"near\", uniform = [\"1ms\", \"2ms\"] }, \"40ms\"]\n";
    let labels: Vec<_> =
        parse(&sweep(labelled)).unwrap().plan().iter().map(|r| r.labels["topology.delays"].clone()).collect();
    assert_eq!(labels, ["near", "40ms"]);
}

/// A warning that applies to several combinations is given once.
#[test]
fn a_warning_is_given_once() {
    let warnings =
        |text: &str| parse(&text.replacen("[topology]", "warmup = \"10s\"\n[topology]", 1)).unwrap().warnings;
    let rate = format!("{PLAIN}delays = \"20ms\"\n{BULK}[sweep]\naqm = [\"fifo\", \"red\", \"codel\"]\n")
        .replace("10mbit", "10mbps");
    assert_eq!(warnings(&rate).len(), 1, "{:?}", warnings(&rate));
    // A threshold above the limit, in each of three combinations.
    let red = "aqm = { name = \"red\", limit = 50, min = 60, max = 90 }\ndelays = \"20ms\"\n";
    let threshold = format!("{PLAIN}{red}{BULK}[sweep]\n\"topology.delay\" = [\"1ms\", \"2ms\", \"3ms\"]\n");
    let message = warnings(&threshold);
    assert!(message.len() == 1 && message[0].in_one_line().contains("above the limit of 50"), "{message:?}");
}

/// The schema for editors has a title, and every parameter of every discipline.
#[test]
fn the_schema_has_every_parameter() {
    let schema = schema();
    assert_eq!((schema["title"].as_str(), schema["type"].as_str()), (Some("aqmkit experiment"), Some("object")));
    assert_eq!(schema["$schema"].as_str(), Some("http://json-schema.org/draft-07/schema#"));
    let required: Vec<_> = schema["required"].as_array().unwrap().iter().filter_map(|key| key.as_str()).collect();
    assert_eq!(required, ["title"], "all else has a default, or is needed by some experiments only");
    let params = &schema["properties"]["params"]["properties"];
    for entry in aqmkit_aqm::registry::ALL {
        let spec = aqmkit_aqm::registry::Spec::read(entry.name, toml::Table::new()).unwrap();
        let listed = params[entry.name]["properties"].as_object().unwrap_or_else(|| panic!("{}: {params}", entry.name));
        for name in toml::Table::try_from(&spec).unwrap().keys() {
            assert!(listed.contains_key(name), "{name} of {}: {:?}", entry.name, listed.keys().collect::<Vec<_>>());
        }
    }
}

/// A digest has sixteen digits and depends only on measurements.
#[test]
fn a_digest_is_of_what_was_measured() {
    let output = |topology: &str| run(scenario(topology), &mut |_| Control::Continue).unwrap();
    let (mut one, other) = (output(""), output("loss = 0.01"));
    let own = digest(&one);
    assert!(own.len() == 16 && own.chars().all(|c| c.is_ascii_hexdigit()), "{own}");
    assert_ne!(own, digest(&other));
    one.engine.cpu_s += 1.0;
    assert_eq!(own, digest(&one), "what it cost is not part of it");
    one.engine.packets += 1;
    assert_ne!(own, digest(&one));
}

/// Traffic that sends datagrams has neither ECN of a transport nor a congestion control.
#[test]
fn an_outline_tells_what_the_transport_is_of() {
    let text = format!(
        "{PLAIN}[transport]\necn = true\n{BULK}[[traffic]]\nname = \"blast\"\nkind = \"cbr\"\nrate = \"1mbit\"\n"
    );
    let outline = Experiment::parse("x.toml", &text, &Overrides::default()).unwrap().plan()[0].outline();
    let shown: Vec<_> =
        outline.groups.iter().map(|g| (g.ecn, g.control.is_some(), g.rate.map(aqmkit_base::BitRate::as_bps))).collect();
    assert_eq!(shown, [(true, true, None), (false, false, Some(1_000_000))]);
}
