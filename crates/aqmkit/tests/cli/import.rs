//! `aqmkit import` and `export`: configurations of routers become experiments that run.

use std::path::Path;

use super::Desk;

/// Set-ups that `aqmkit-import` keeps with its tests: files, and what else is typed.
const CONFIGS: &[(&str, &str)] = &[
    ("cake-both-ways.sh", ""),
    ("three-classes.sh", ""),
    ("interactive-first.sh", ""),
    ("sqm-simple.uci", ""),
    ("sqm-piece-of-cake.uci", ""),
    ("sqm-layer-cake.uci", ""),
    ("sqm-tbf.uci", ""),
    ("cake.network", ""),
    ("htb.network", ""),
    ("laptop.txt", "--rate 100mbit"),
    ("cake.json", ""),
    ("gateway-qdisc.txt gateway-class.txt gateway-filter.txt", ""),
    ("tbf.sh", ""),
    ("prio.sh", ""),
    ("ets.sh", ""),
    ("server-fq.txt", "--rate 100mbit"),
    ("testbed.sh", ""),
    ("hfsc.txt", "--rate 16mbit"),
    ("pie.sh", ""),
    ("queuingStructure.json", ""),
    ("network.json ShapedDevices.csv", "--site AP_H1"),
];

#[test]
fn every_configuration_is_imported_run_and_exported() {
    let desk = Desk::new();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/configs");
    for (files, more) in CONFIGS {
        for file in files.split_whitespace() {
            desk.write(file, &std::fs::read_to_string(dir.join(file)).unwrap());
        }
        let told = desk.run(&format!("import {files} {more} --save made.toml"));
        assert!(told.code == 0 && told.out.starts_with("Wrote made.toml."), "{files}: {told:?}");
        let ran = desk.run("run made.toml --set duration=1s --set warmup=500ms --json -q --out out");
        assert_eq!(ran.code, 0, "{files}: {ran:?}\n{}", desk.read("made.toml"));
        let results: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let links = results["runs"][0]["links"].as_object().unwrap();
        assert!(links.values().any(|link| link["packets_per_s"].as_f64().unwrap() > 0.0), "{files}: nothing was sent");
        let exported = desk.run("export made.toml --dev eth0");
        assert!(exported.code == 0 && exported.out.starts_with("tc qdisc add dev eth0 root "), "{files}: {exported:?}");
    }
}

#[test]
fn remarks_are_said_and_kept_at_the_head_of_the_file() {
    let desk = Desk::new();
    desk.write("qos.sh", "tc qdisc add dev eth0 root cake bandwidth 20mbit fwmark 0xf0\nfor i in 1 2; do\n");
    let told = desk.run("import qos.sh");
    let first = "line 1: fwmark 0xf0 of cake has no counterpart, and is left out";
    let second = "line 2: for needs a shell to run: write out the lines of tc that it makes";
    for part in [first, second] {
        assert!(
            told.err.contains(&format!("note: {part}\n")) && told.out.contains(&format!("\n# {part}\n")),
            "{told:?}"
        );
    }
    assert!(told.code == 0 && told.out.contains("bandwidth = \"20mbit\""), "{told:?}");
}

#[test]
fn a_wrong_source_is_refused_with_what_would_be_right() {
    let desk = Desk::new();
    desk.write("letter.txt", "Dear router,\n");
    desk.run("import letter.txt").wrong(&["letter.txt: this is no configuration of queues", "tc qdisc show dev eth0"]);
    desk.run("import missing.txt").wrong(&["missing.txt cannot be read", "--from eth0"]);
    desk.run("import").wrong(&["FILES"]);
    desk.write("fq.txt", "qdisc fq_codel 0: dev eth0 root\n");
    desk.run("import fq.txt").wrong(&["nothing in it limits the rate of eth0", "--rate 100mbit"]);
    desk.run("import fq.txt --dev eth9 --rate 1mbit").wrong(&["--dev eth9 is not among eth0"]);
    desk.write("half.txt", "qdisc fq_codel\n");
    desk.run("import half.txt").wrong(&["line 1", "a kind and a handle"]);
    desk.write("red.sh", "tc qdisc add dev eth0 root red limit 10 min 90000 max 30000\n");
    desk.run("import red.sh --rate 10mbit").wrong(&["red.sh: ", "min"]);
    desk.run("import --from no-such-device").wrong(&["no-such-device"]);
}

#[test]
fn an_experiment_without_a_queue_of_linux_is_not_exported() {
    let desk = Desk::new();
    desk.run("export tiny.toml")
        .wrong(&["tiny.toml: its link has no aqm, or sweeps it", "aqm = \"fq-codel\" in [topology]"]);
    desk.write("afd.toml", "name = \"afd\"\n");
    desk.run("export afd.toml").wrong(&["afd.toml: Linux's tc has no afd"]);
    desk.write("none.toml", "title = \"x\"\n");
    desk.run("export none.toml").wrong(&["no [topology] and no name of a discipline"]);
    desk.write(
        "two.toml",
        "[topology]\nlinks = [{ name = \"a\", aqm = \"fifo\" }, { name = \"b\", aqm = \"codel\" }]\n",
    );
    desk.run("export two.toml").wrong(&["several links: a, b", "--link"]);
    desk.run("export two.toml --link c").wrong(&["no link \"c\"", "a, b"]);
    assert_eq!(desk.run("export two.toml --link b --dev eth3").good(), "tc qdisc add dev eth3 root codel\n");
}

/// A tree that `tc` made is read from the kernel as the script that made it. Skipped, with a message, where there are no namespaces or no `htb`.
#[cfg(target_os = "linux")]
#[test]
#[allow(clippy::print_stderr, reason = "it says why it was skipped")]
fn the_queues_of_a_machine_are_those_of_its_script() {
    let desk = Desk::new();
    let script = "\
tc qdisc add dev d0 root handle 1: htb default 20
tc class add dev d0 parent 1: classid 1:1 htb rate 10mbit ceil 10mbit burst 3000b cburst 3000b
tc class add dev d0 parent 1:1 classid 1:10 htb rate 2mbit ceil 10mbit burst 3000b cburst 3000b prio 0 quantum 3000
tc class add dev d0 parent 1:1 classid 1:20 htb rate 8mbit ceil 10mbit burst 3000b cburst 3000b prio 1 quantum 6000
tc qdisc add dev d0 parent 1:10 handle 10: pfifo limit 50
tc qdisc add dev d0 parent 1:20 handle 20: tbf rate 7mbit burst 4000b limit 60000b
tc filter add dev d0 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
";
    desk.write("made.sh", script);
    let make = format!(
        "ip link add d0 type veth peer name d1 && ip link set d0 up && {}",
        script.trim_end().replace('\n', " && ")
    );
    let aqmkit = assert_cmd::cargo::cargo_bin("aqmkit");
    let whole = format!("{make} || exit 77; {} import --from d0", aqmkit.display());
    let output = std::process::Command::new("unshare").args(["-Urn", "sh", "-c", &whole]).env("NO_COLOR", "1").output();
    let read = match output {
        Ok(output) if output.status.code() == Some(0) => String::from_utf8(output.stdout).unwrap(),
        Ok(output) if output.status.code() == Some(2) => panic!("{output:?}"),
        other => return eprintln!("skipped: {other:?}"),
    };
    let typed = desk.run("import made.sh").out;
    let tree = |text: &str| text.parse::<toml::Table>().unwrap()["topology"]["aqm"].clone();
    let classes = |text: &str| tree(text)["class"].as_array().unwrap().clone();
    assert_eq!(tree(&read)["default"], tree(&typed)["default"]);
    for (found, wanted) in classes(&read).iter().zip(classes(&typed)) {
        for (key, value) in wanted.as_table().unwrap().iter().filter(|(key, _)| *key != "aqm") {
            assert_eq!(&found[key], value, "{key}: {found}");
        }
    }
    let below = |text: &str| classes(text)[2]["aqm"].clone();
    assert_eq!((&below(&read)["name"], &below(&read)["rate"]), (&below(&typed)["name"], &below(&typed)["rate"]));
    assert!(read.contains("match = [\"1:10\", \"dscp ef\"]"), "{read}");
}
