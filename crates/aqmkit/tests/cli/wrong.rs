use super::{Desk, TINY};

/// Runs the tiny experiment with one text replaced by another.
#[track_caller]
fn changed(from: &str, to: &str) -> super::Told {
    assert!(TINY.contains(from));
    let desk = Desk::new();
    desk.write("bad.toml", &TINY.replace(from, to));
    desk.run("run bad.toml")
}

#[test]
fn an_unknown_key() {
    changed("flows = 3", "flow = 3").wrong(&["flow", "bad.toml:", "flows"]);
    changed("rate = \"2mbit\"", "rat = \"2mbit\"").wrong(&["rat", "did you mean rate?"]);
}

#[test]
fn a_wrong_unit() {
    changed("\"2mbit\"", "\"2ms\"").wrong(&["\"2ms\" is not a rate", "bad.toml:"]);
    changed("\"2mbit\"", "2").wrong(&["unit"]);
    Desk::new().run("compare fifo --rate 10ms").wrong(&["'10ms'", "is not a rate"]);
    Desk::new().run("compare fifo --bulk -1").wrong(&["'-1'", "--bulk"]);
    Desk::new().run("compare fifo --duration 10").wrong(&["needs a unit"]);
}

#[test]
fn a_negative_rate() {
    changed("\"2mbit\"", "\"-2mbit\"").wrong(&["negative"]);
    Desk::new().run("compare fifo --rate=-2mbit").wrong(&["negative"]);
    Desk::new().run("describe red --rate 0mbit").wrong(&["the rate cannot be 0"]);
}

#[test]
fn thresholds_the_wrong_way_round() {
    changed("min = 5, max = 15", "min = 15, max = 5").wrong(&["max"]);
    Desk::new().run("compare red:min=15,max=5").wrong(&["max"]);
    Desk::new().run("describe red --set min=15 --set max=5").wrong(&["max"]);
}

#[test]
fn shares_above_all_there_is() {
    let classes = r#"{ name = "cbq", classes = [{ class = "tcp", share = 0.8 }, { class = "other", share = 0.4 }] }"#;
    changed(r#"{ name = "red", min = 5, max = 15 }"#, classes).wrong(&["share"]);
    Desk::new().run("compare fifo --http 90").wrong(&["--http 90", "fraction"]);
}

#[test]
fn what_does_not_exist() {
    let desk = Desk::new();
    desk.run("run missing.toml").wrong(&["missing.toml cannot be read"]);
    desk.run("run cbt/blats").wrong(&["no experiment is called \"cbt/blats\"", "the closest are cbt/blast"]);
    let told = desk.run("play nosuch --no-open");
    told.wrong(&["no experiment is called \"nosuch\"", "the closest are ", "`aqmkit list experiments` lists them"]);
    assert!(told.err.lines().count() < 6, "{}", told.err);
    desk.run("reproduce cbt/blats").wrong(&["no experiment is called"]);
    desk.run("compare fifo rde").wrong(&["there is no discipline \"rde\"", "did you mean red?"]);
    desk.run("describe rde").wrong(&["nothing is called \"rde\"", "did you mean red?"]);
    desk.run("describe RED").wrong(&["nothing is called \"RED\"", "did you mean red?"]);
    desk.run("compare fifo fifo").wrong(&["fifo is given twice"]);
    desk.run("compare fifo --transport cubic").wrong(&["cubic is a congestion control", "--cc cubic"]);
    desk.run("compare fifo --transport linux9").wrong(&["linux9"]);
    desk.run("report .").wrong(&["results.json", "give a directory"]);
    desk.run("fly").wrong(&["'fly'"]);
    changed("\"fifo\",", "\"fifa\",").wrong(&["fifa", "did you mean fifo?"]);
    changed("kind = \"bulk\"", "kind = \"bulq\"").wrong(&["bulq"]);
}

#[test]
fn a_bad_setting() {
    let desk = Desk::new();
    desk.run("run tiny.toml --set topology.rate").wrong(&["--set"]);
    desk.run("run tiny.toml --set topology.rat=2mbit").wrong(&["rat"]);
    desk.run("run tiny.toml --set topology.rate=fast").wrong(&["fast"]);
    desk.run("describe red --set min").wrong(&["has no value"]);
    desk.run("run tiny.toml --jobs 0").wrong(&["--jobs"]);
    desk.run("run tiny.toml --repeat 0").wrong(&["--repeat"]);
}

#[test]
fn a_directory_that_cannot_be_written() {
    let desk = Desk::new();
    desk.write("file", "x");
    desk.run("run tiny.toml --out file").wrong(&["cannot write to file", "--out"]);
    desk.run("compare fifo --out file/below").wrong(&["cannot write to file/below"]);
}

#[test]
fn wrong_claims() {
    let desk = Desk::new();
    let claim = |id: &str, rest: &str| format!("{TINY}\n[[expect]]\nid = \"{id}\"\n{rest}");
    desk.write("experiments/published.csv", "id,source,where,what,unit,low,high,kind\nA,P,T,w,ms,1,1,value\n");
    desk.write("a.toml", &claim("B", "where = { class = \"tcp\" }\nmetric = \"goodput_bps\""));
    desk.run("run a.toml").wrong(&["[[expect]] B", "no such row"]);
    desk.write("a.toml", &claim("A", "where = { class = \"tcp\" }\nmetric = \"goodput_bps\""));
    desk.run("run a.toml").wrong(&["a rate cannot be given in ms"]);
    desk.write("a.toml", &claim("A", "formula = \"queue-latncy\""));
    desk.run("run a.toml").wrong(&["there is no formula \"queue-latncy\""]);
    desk.write("a.toml", &claim("A", "formula = \"queue-latency\"\nargs = { queue = 1 }"));
    desk.run("run a.toml").wrong(&["missing field"]);
    desk.write("experiments/published.csv", "id,source\nA,P\n");
    desk.run("run a.toml").wrong(&["published.csv"]);
}

/// Invalid parameters of `red`, and parts of the message, which is the same wherever they are written.
const WRONG_PARAMETERS: [(&str, &[&str]); 8] = [
    ("quantum=4", &["quantum is not a parameter of red", "nown are limit, min, max"]),
    ("mxa=4", &["mxa is not a parameter of red", "did you mean max?"]),
    ("gentle=4", &["gentle of red is integer 4", "it must be true or false"]),
    ("max_p=1.5", &["max_p of red cannot be 1.5", "it must be from 0 to 1"]),
    ("max=5ms", &["max of red: \"5ms\" is not a queue length", "the unit \"ms\""]),
    ("minimum=4", &["minimum is not a parameter of red", "did you mean min?"]),
    ("flow=\"hosts\"", &["flow of red: the discipline does not distinguish flows", "remove flow", "fq-codel"]),
    ("max=5kb", &["max of red cannot be 5kb", "it must be a number of packets such as 60, as limit is"]),
];

#[test]
fn every_reader_of_parameters_tells_the_same() {
    let desk = Desk::new();
    for (parameter, told) in WRONG_PARAMETERS {
        let (key, value) = parameter.split_once('=').unwrap();
        let quoted = if value.starts_with('5') { format!("\"{value}\"") } else { value.to_owned() };
        changed("min = 5, max = 15", &format!("{key} = {quoted}")).wrong(told);
        desk.run(&format!("compare fifo red:{parameter}")).wrong(told);
        desk.run(&format!("describe red --set {parameter}")).wrong(told);
        desk.run(&format!("replay none.pcap --rate 10mbit --aqm red:{parameter}")).wrong(told);
        #[cfg(target_os = "linux")]
        for line in ["link --rate 10mbit --aqm", "bridge a b --rate 10mbit --aqm"] {
            desk.run(&format!("{line} red:{parameter}")).wrong(told);
        }
    }
}

#[test]
fn a_flow_where_there_are_none_is_told_where_it_is_written() {
    changed("min = 5, max = 15", "flow = \"hosts\"").wrong(&[
        "bad.toml:",
        "{ name = \"red\", flow = \"hosts\" }",
        "remove flow",
    ]);
}

#[test]
fn a_kind_of_delays_that_does_not_exist() {
    let told = changed("delays = \"20ms\"", "delays = { unifrom = [\"1ms\", \"2ms\"] }");
    told.wrong(&["\"unifrom\" is not a kind of delays", "did you mean uniform?", "nown are uniform, each, matrix"]);
}

#[test]
fn no_letter_is_suggested_for_another() {
    for told in [
        Desk::new().run("describe pi --set q=1"),
        changed("rate = \"2mbit\"", "rate = \"2mbit\"\nloss = { q = 0.1, r = 0.2 }"),
    ] {
        told.wrong(&["q is not a", "nown are"]);
        assert!(!told.err.contains("did you mean"), "{}", told.err);
    }
}

/// Arguments that are rejected before the kernel is asked.
#[cfg(target_os = "linux")]
#[test]
fn words_of_the_kernel_command() {
    let desk = Desk::new();
    desk.run("kernel install dnc dev lo rate 10mbit").wrong(&["there is no discipline \"dnc\"", "did you mean dcn?"]);
    desk.run("kernel install fq-codel dev lo rate 10mbit").wrong(&[
        "fq-codel does not run in the kernel",
        "several queues",
        "dcn",
    ]);
    desk.run("kernel install dcn rate 10mbit").wrong(&["no interface is given", "dev eth0"]);
    desk.run("kernel install dcn dev lo").wrong(&["no rate is given", "rate 40mbit"]);
    desk.run("kernel install dcn dev lo rate").wrong(&["nothing follows rate"]);
    desk.run("kernel install dcn dev lo rate 10ms").wrong(&["10ms"]);
    desk.run("kernel install dcn dev lo rate 0mbit").wrong(&["the rate cannot be 0"]);
    desk.run("kernel install dcn dev lo rate 10mbit q_reff=3").wrong(&["q_reff", "q_ref"]);
    desk.run("kernel install dcn dev lo rate 10mbit faster").wrong(&["\"faster\" is not understood", "NAME=VALUE"]);
    desk.run("kernel install dcn dev lo rate 10mbit sb_slots=100000").wrong(&["sb_slots", "16384"]);
    desk.run("kernel install red dev lo rate 10mbit min=9 max=3").wrong(&["min"]);
    desk.run("kernel install cbt dev lo rate 10mbit class").wrong(&["nothing follows class", "udp:5004"]);
    desk.run("kernel install cbt dev lo rate 10mbit class web=tcp:x").wrong(&["\"x\" is not a port"]);
    desk.run("kernel install cbt dev lo rate 10mbit class lan=net:10.0.0.0/8").wrong(&["networks", "use protocols"]);
    desk.run("kernel install fred dev lo rate 10mbit limit=5000").wrong(&["limit", "4096"]);
    desk.run("kernel set dev lo class web=tcp").wrong(&["classes cannot change", "remove the discipline"]);
    desk.run("kernel set dev lo").wrong(&["nothing is set"]);
    desk.run("kernel remove").wrong(&["WORDS"]);
    desk.run("kernel show dev lo min=4").wrong(&["this takes an interface only"]);
}

#[test]
fn attacks_that_cannot_be() {
    let desk = Desk::new();
    let attack = |line: &str, parts: &[&str]| desk.run(&format!("attack {line}")).wrong(parts);
    attack("cubik --harm loss", &["\"cubik\" is neither a discipline nor a congestion control", "did you mean cubic?"]);
    attack("fifo --harm los", &["--harm: \"los\" is not a harm", "did you mean loss?"]);
    attack("fifo", &["--harm"]);
    attack("fifo --harm loss --budget 9", &["--budget 9 is too small", "at least 200"]);
    attack("fifo --harm loss --fresh 1", &["--fresh", "1 is not in 2..=1000"]);
    attack("bbr --harm loss --queue fifa", &["--queue: there is no discipline \"fifa\"", "did you mean fifo?"]);
    attack("bbr --harm loss --queue fifo,", &["--queue: there is no discipline \"\""]);
    attack("codel --harm loss --queue fifo", &["--queue: codel is attacked as the queue itself", "leave it out"]);
    attack("quinn:bbr --harm loss", &["no transport stack is called \"quinn\"", "aqmkit-stacks", "stacks/"]);
    attack(
        "bbr --harm loss --buffer 1ms",
        &["--buffer: \"1ms\" is not a number of bandwidth-delay products", "0.1..1.5"],
    );
    attack(
        "bbr --harm loss --queue codel --buffer 1",
        &["--buffer: there is no fifo here, only codel", "leave it out"],
    );
}
