//! `aqmkit explain`: outputs of `tc` from files and standard input.

use super::Desk;

const BEFORE: &str = "\
qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 100p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn
 Sent 15140000 bytes 10000 pkt (dropped 5000, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  maxpacket 1514 drop_overlimit 4900 new_flow_count 31 ecn_mark 5
  new_flows_len 0 old_flows_len 0
";

#[test]
fn the_answer_is_the_first_sentence() {
    let desk = Desk::new();
    desk.write("tc.txt", BEFORE);
    let told = desk.run("explain tc.txt").good();
    assert!(
        told.starts_with("fq_codel overflows: 4,900 of its 5,000 drops were at its limit of 100 packets"),
        "{told}"
    );
    assert!(told.contains("\n  mend      tc qdisc change dev eth0 root fq_codel limit 10240\n"), "{told}");
}

#[test]
fn between_two_samples_only_their_difference_counts() {
    let desk = Desk::new();
    desk.write("before.txt", BEFORE);
    let later = BEFORE.replace("15140000 bytes 10000 pkt (dropped 5000", "30280000 bytes 20000 pkt (dropped 5000");
    desk.write("now.txt", &later.replace("ecn_mark 5", "ecn_mark 105"));
    let told = desk.run("explain now.txt --earlier before.txt --between 10s").good();
    assert!(
        told.starts_with(
            "fq_codel holds the queue here: of 10,000 packets at 12.1mbit it dropped 0 % and marked 1.0 %."
        ),
        "{told}"
    );
    desk.run("explain now.txt --earlier before.txt").wrong(&["--between"]);
}

#[test]
fn json_has_every_finding() {
    let desk = Desk::new();
    desk.write("tc.txt", BEFORE);
    let told: serde_json::Value = serde_json::from_str(&desk.run("explain tc.txt --json").good()).unwrap();
    assert_eq!(told[0]["device"], "eth0");
    assert_eq!(told[0]["findings"][0]["weight"], "cause");
    assert_eq!(told[0]["answer"], told[0]["findings"][0]["sentence"]);
}

#[test]
fn other_inputs_are_refused_with_what_would_be_right() {
    let desk = Desk::new();
    desk.write("letter.txt", "Dear router,\n");
    desk.run("explain letter.txt").wrong(&["no line that begins with `qdisc`", "tc -s qdisc show"]);
    desk.run("explain missing.txt").wrong(&["missing.txt cannot be read"]);
    desk.write("half.txt", "qdisc fq_codel\n");
    desk.run("explain half.txt").wrong(&["line 1", "a kind and a handle"]);
    desk.write("empty.txt", "qdisc noqueue 0: dev lo root refcnt 2\n");
    desk.run("explain empty.txt").wrong(&["no queue discipline in it keeps packets"]);
}
