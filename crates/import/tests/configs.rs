//! Configurations as people have them (their details are made up): each gives an experiment and remarks, and its queues written as lines of `tc` and read again are the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::fmt::Write as _;
use std::path::Path;

use aqmkit_base::BitRate;
use aqmkit_import::{Imported, Known, export, import};

/// The name of a set-up, its files, and what its user adds.
type Config = (&'static str, &'static [&'static str], Known);

fn configs() -> Vec<Config> {
    let nothing = Known::default;
    let rate = |mbit| Known { rate: Some(BitRate::from_mbps(mbit)), ..Known::default() };
    let site = Known { site: Some("AP_H1".to_owned()), ..Known::default() };
    vec![
        ("cake in both directions, in a script", &["cake-both-ways.sh"], nothing()),
        ("three classes, in a script", &["three-classes.sh"], nothing()),
        ("interactive traffic first, in a script", &["interactive-first.sh"], nothing()),
        ("simple.qos of OpenWrt", &["sqm-simple.uci"], nothing()),
        ("piece_of_cake.qos of OpenWrt", &["sqm-piece-of-cake.uci"], nothing()),
        ("layer_cake.qos of OpenWrt", &["sqm-layer-cake.uci"], nothing()),
        ("simplest_tbf.qos of OpenWrt", &["sqm-tbf.uci"], nothing()),
        ("cake of systemd", &["cake.network"], nothing()),
        ("htb of systemd", &["htb.network"], nothing()),
        ("the disciplines that a kernel attaches", &["laptop.txt"], rate(100)),
        ("cake in both directions, as JSON", &["cake.json"], nothing()),
        ("htb as tc lists it", &["gateway-qdisc.txt", "gateway-class.txt", "gateway-filter.txt"], nothing()),
        ("tbf over fq_codel, in a batch", &["tbf.sh"], nothing()),
        ("prio below tbf", &["prio.sh"], nothing()),
        ("ets and red below htb", &["ets.sh"], nothing()),
        ("fq of a server", &["server-fq.txt"], rate(500)),
        ("fq of a server, as JSON", &["server-fq.json"], rate(500)),
        ("fq of systemd", &["fq.network"], rate(500)),
        ("netem over tbf", &["testbed.sh"], nothing()),
        ("hfsc", &["hfsc.txt"], rate(16)),
        ("pie below tbf", &["pie.sh"], nothing()),
        ("queuingStructure.json of LibreQoS", &["queuingStructure.json"], nothing()),
        ("a site of LibreQoS", &["network.json", "ShapedDevices.csv"], site),
    ]
}

fn text(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configs").join(file)).unwrap()
}

fn imported(files: &[&str], known: &Known) -> Imported {
    let texts: Vec<String> = files.iter().map(|file| text(file)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    import(&files.join(", "), &texts, known).unwrap_or_else(|e| panic!("{files:?}: {e}"))
}

#[test]
fn every_configuration_becomes_an_experiment() {
    let mut all = String::new();
    for (name, files, known) in configs() {
        let found = imported(files, &known);
        let _ = writeln!(all, "### {name}\n");
        for note in &found.notes {
            let place = note.line.map(|line| format!("{}, line {line}: ", files[note.part])).unwrap_or_default();
            let _ = writeln!(all, "note: {place}{}", note.text);
        }
        let _ = writeln!(all, "\n{}", found.experiment);
    }
    insta::assert_snapshot!(all);
}

/// The other way, and back.
#[test]
fn exported_lines_give_the_same_tree() {
    let mut all = String::new();
    for (name, files, known) in configs() {
        for direction in &imported(files, &known).directions {
            let exported = export(&direction.aqm, known.rate, "eth0").unwrap_or_else(|e| panic!("{name}: {e}"));
            let _ = writeln!(
                all,
                "### {name}: {}\n\n{}\n{}\n",
                direction.device,
                exported.lines.join("\n"),
                exported.notes.join("\n")
            );
            let with_rate = Known { rate: Some(BitRate::from_mbps(1000)), ..Known::default() };
            let again =
                import("lines", &[&exported.lines.join("\n")], &with_rate).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(again.directions[0].aqm, direction.aqm, "{name}: {}", exported.lines.join("\n"));
        }
    }
    insta::assert_snapshot!(all);
}

/// Cut anywhere, and with any word left out or doubled, a source gives an experiment or an error.
#[test]
fn damaged_sources_never_panic() {
    for (_, files, known) in configs() {
        for file in files {
            let whole = text(file);
            let step = whole.len() / 60 + 1;
            for at in (0..whole.len()).step_by(step).filter(|at| whole.is_char_boundary(*at)) {
                drop(import("x", &[&whole[..at]], &known));
                drop(import("x", &[&whole[at..]], &known));
            }
            let words: Vec<&str> = whole.split_inclusive([' ', '\n', ',']).collect();
            for at in (0..words.len()).step_by(words.len() / 60 + 1) {
                drop(import("x", &[&[&words[..at], &words[at + 1..]].concat().concat()], &known));
                drop(import("x", &[&[&words[..=at], &words[at..]].concat().concat()], &known));
            }
        }
    }
}

#[test]
fn what_is_missing_is_said() {
    let told = |text: &str, known: &Known| import("x", &[text], known).unwrap_err().to_string();
    let nothing = Known::default();
    assert!(told("Dear router,\n", &nothing).starts_with("this is no configuration of queues"));
    assert!(told("{", &nothing).starts_with("this is not JSON"));
    assert!(told("qdisc noqueue 0: dev lo root\n", &nothing).starts_with("no device has a queue"));
    let one = "qdisc fq_codel 8001: dev eth0 root\n";
    assert_eq!(
        told(one, &nothing),
        "nothing in it limits the rate of eth0: give the rate of its link, for example --rate 100mbit"
    );
    let two = format!("{one}qdisc fq_codel 8002: dev eth1 root\n");
    assert_eq!(told(&two, &nothing), "it has the queues of several devices: choose one with --dev: eth0, eth1");
    let other = Known { device: Some("eth7".to_owned()), ..Known::default() };
    assert_eq!(told(&two, &other), "no device has a queue in it: --dev eth7 is not among eth0, eth1");
    let site = Known { site: Some("Nowhere".to_owned()), ..Known::default() };
    assert_eq!(told(&text("network.json"), &site), "there is no site \"Nowhere\"; there are Hill, AP_H1, AP_H2, Lake");
    assert!(told("{\"Network\": {}}", &nothing).starts_with("there are no circuits in it"));
}

#[test]
fn scripts_are_read_as_far_as_they_need_no_shell() {
    let script = "#!/bin/sh\nIF=${1:-eth0}\nRATE=\"$((8 * 1000))kbit\"\nstart() {\n  sudo tc qdisc add dev ${IF} root tbf rate 5mbit \\\n    burst 10kb latency 30ms 2> /dev/null || exit 1\n\
                  tc qdisc replace dev $LAN root cake bandwidth 9mbit\n  tc class add dev $IF parent 1: htb rate 1mbit; iptables -A FORWARD\n}\nif [ -n \"$2\" ]; then start; fi\n";
    let found = import("x", &[script], &Known::default()).unwrap();
    assert_eq!(found.directions[0].device, "eth0");
    assert_eq!(found.directions[0].aqm["burst"].as_str(), Some("10240b"));
    let told: Vec<(Option<usize>, &str)> = found.notes.iter().map(|note| (note.line, note.text.as_str())).collect();
    assert_eq!(
        told[..5],
        [
            (Some(3), "RATE is not known: \"$((8 * 1000))kbit\" needs a shell to run: write the value instead"),
            (Some(7), "the line is left out: $LAN is not set in this script: write the value instead"),
            (
                Some(8),
                "the line is left out: the command needs a classid and a kind, as in `tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit`"
            ),
            (Some(8), "iptables is not tc, and is left out"),
            (Some(10), "if needs a shell to run: write out the lines of tc that it makes"),
        ]
    );
}

/// A network of `LibreQoS` with a site of this many circuits.
fn network(circuits: u32) -> String {
    let circuit = |i: u32| format!("{{\"circuitID\": \"{i}\", \"maxDownload\": 20, \"maxUpload\": 5}}");
    let circuits: Vec<String> = (0..circuits).map(circuit).collect();
    format!(
        "{{\"Network\": {{\"A\": {{\"downloadBandwidthMbps\": 900, \"uploadBandwidthMbps\": 900, \"circuits\": [{}]}}}}}}",
        circuits.join(",")
    )
}

/// More circuits than there are classes of traffic: each has a client of its own, the same in both directions, and users are at random clients.
#[test]
fn a_network_of_ten_thousand_circuits_is_read() {
    let found = import("x", &[&network(10_000)], &Known::default()).unwrap();
    for direction in &found.directions {
        let classes = direction.aqm["class"].as_array().unwrap();
        assert_eq!(classes.len(), 10_001);
        let matched = |at: usize| (classes[at]["name"].as_str(), classes[at]["match"].as_str());
        assert_eq!((matched(1), matched(10_000)), ((Some("0"), Some("client 0")), (Some("9999"), Some("client 9999"))));
        assert!(classes[0].get("match").is_none(), "a site has no packets of its own");
    }
    assert_eq!(found.experiment["topology"]["clients"].as_integer(), Some(10_000));
    let traffic = found.experiment["traffic"].as_array().unwrap();
    let names: Vec<Option<&str>> = traffic.iter().map(|one| one["name"].as_str()).collect();
    assert_eq!(names, [Some("video down"), Some("pages down"), Some("loads down"), Some("loads up")]);
    assert!(traffic.iter().all(|one| one["scattered"].as_bool() == Some(true)));
    assert!(
        found.notes.iter().any(|note| note.text.starts_with("down has 10000 classes with packets")),
        "{:?}",
        found.notes
    );
}

/// The classes of `drr` are the sharing bands of `ets`; each quantum is without the MAC header that Linux counts.
#[test]
fn drr_with_classes_is_a_tree() {
    let script = "tc qdisc add dev eth0 root handle 1: drr\n\
                  tc class add dev eth0 parent 1: classid 1:10 drr quantum 3028\n\
                  tc class add dev eth0 parent 1: classid 1:20 drr\n\
                  tc qdisc add dev eth0 parent 1:20 fq_codel\n\
                  tc filter add dev eth0 parent 1: protocol ip prio 9 u32 match u32 0 0 flowid 1:20\n";
    let known = Known { rate: Some(BitRate::from_mbps(10)), ..Known::default() };
    let found = import("x", &[script], &known).unwrap();
    let aqm = &found.directions[0].aqm;
    let classes = aqm["class"].as_array().unwrap();
    assert_eq!((aqm["name"].as_str(), aqm["quanta"].as_array().unwrap()[1].as_str()), (Some("ets"), Some("1500b")));
    assert_eq!((classes[0]["name"].as_str(), classes[1]["aqm"]["name"].as_str()), (Some("1:10"), Some("fq-codel")));
    assert_eq!(aqm["priomap"].as_array().unwrap()[0].as_integer(), Some(1));
    assert!(found.notes.iter().all(|note| !note.text.contains("drr")), "{:?}", found.notes);
}

/// An error or remark about a class names its line.
#[test]
fn classes_that_are_left_out_are_named() {
    let script = "tc qdisc add dev eth0 root handle 1: hfsc default 20\n\
                  tc class add dev eth0 parent 1: classid 1:20 hfsc sc rate 5mbit ul rate 9mbit\n\
                  tc qdisc add dev eth0 parent 1:20 fq_codel\n";
    let known = Known { rate: Some(BitRate::from_mbps(10)), ..Known::default() };
    let found = import("x", &[script], &known).unwrap();
    let told: Vec<(Option<usize>, &str)> = found.notes.iter().map(|note| (note.line, note.text.as_str())).collect();
    let at = |line, part: &str| told.iter().any(|(at, text)| *at == Some(line) && text.contains(part));
    assert!(at(1, "hfsc is not simulated"), "{told:?}");
    assert!(at(2, "class 1:20 of hfsc") && at(2, "htb with the rate of its service curve"), "{told:?}");
    assert!(at(3, "fq_codel below class 1:20 of hfsc is left out"), "{told:?}");
}

#[test]
fn a_tree_has_at_most_65535_classes() {
    let told = import("x", &[&network(65_535)], &Known::default()).unwrap_err().to_string();
    assert_eq!(told, "down has 65536 classes, and a tree has at most 65535: choose a part of it with --site NAME");
}

/// `export` refuses disciplines that Linux does not have, and notes each parameter that `tc` cannot set.
#[test]
fn what_tc_cannot_do_is_said() {
    let of = |text: &str| export(&text.parse().unwrap(), Some(BitRate::from_mbps(10)), "eth0");
    assert!(of("name = \"afd\"").unwrap_err().starts_with("Linux's tc has no afd"));
    let red = of("name = \"red\"\nweight = 0.01\nlimit = \"90kb\"\n").unwrap();
    assert_eq!(red.lines, ["tc qdisc add dev eth0 root red limit 92160b"]);
    assert_eq!(red.notes, ["tc cannot set weight of red, which is left out"]);
    let tree = of("name = \"htb\"\ndefault = \"rest\"\n[[class]]\nname = \"call\"\nrate = \"1mbit\"\nmatch = \"dscp ef\"\n[[class]]\nname = \"rest\"\nrate = \"9mbit\"\nmatch = \"video\"\naqm = \"fq-codel\"\n").unwrap();
    assert_eq!(
        tree.lines,
        [
            "tc qdisc add dev eth0 root handle 1: htb default 2",
            "tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit # call",
            "tc class add dev eth0 parent 1: classid 1:2 htb rate 9mbit # rest",
            "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:1",
            "tc filter add dev eth0 parent 1: protocol ipv6 prio 2 u32 match ip6 priority 0xb8 0xfc flowid 1:1",
            "tc qdisc add dev eth0 parent 1:2 fq_codel",
        ]
    );
    assert_eq!(tree.notes, ["packets of video go to 1:2: add a filter that finds them"]);
}
