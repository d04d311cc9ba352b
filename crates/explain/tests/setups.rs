//! Outputs of `tc -s` of set-ups as users have them, and the cause that the first sentence must name. The outputs and sentences were written before the rules.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use aqmkit_base::{BitRate, Duration};
use aqmkit_explain::{Explained, Known, Sample, Weight, explain};

fn explained(text: &str, known: Known) -> Vec<Explained> {
    let listing = aqmkit_tc::read(text).unwrap();
    explain(Sample { now: &listing, earlier: None }, &known)
}

fn mbit(rate: u64) -> Option<BitRate> {
    Some(BitRate::from_mbps(rate))
}

/// A file, what its user adds, how the answer begins, and a line that mends it.
type Setup = (&'static str, &'static str, Known, &'static str, &'static str);

const NOTHING: Known = Known { rate: None, rtt: None };

fn setups() -> Vec<Setup> {
    let satellite = Known { rate: None, rtt: Some(Duration::from_millis(600)) };
    vec![
        (
            "fq_codel on a fast port in front of a modem",
            include_str!("setups/modem.txt"),
            Known { rate: mbit(20), rtt: None },
            "No queue builds up at fq_codel: it dropped and marked none of 6,183,221 packets",
            "tc qdisc replace dev eth0 root cake bandwidth 19mbit",
        ),
        (
            "CAKE with a rate above that of the line",
            include_str!("setups/shaper-too-fast.txt"),
            Known { rate: mbit(50), rtt: None },
            "The shaper is not the bottleneck: cake at 100mbit held back 2,110 packets of 6,001,411",
            "tc qdisc replace dev eth1 root cake bandwidth 47.5mbit",
        ),
        (
            "the kernel's FIFO at the bottleneck",
            include_str!("setups/fifo.txt"),
            Known { rate: mbit(10), rtt: None },
            "pfifo_fast holds packets until it is full: it dropped 18,211 of 1,749,411 packets",
            "tc qdisc replace dev eth0 root fq_codel",
        ),
        (
            "fq_codel with a limit of 100 packets",
            include_str!("setups/limit.txt"),
            NOTHING,
            "fq_codel overflows: 90,112 of its 91,822 drops were at its limit of 100 packets",
            "tc qdisc change dev ifb0 parent 1:10 fq_codel limit 10240",
        ),
        (
            "the default target on a line of 768 kbit/s",
            include_str!("setups/slow-line.txt"),
            NOTHING,
            "The target of 5 ms is shorter than one packet: at 768kbit a full-sized packet takes 15.8 ms",
            "tc qdisc change dev pppoe-wan parent 1:10 fq_codel target 23.7ms interval 473ms",
        ),
        (
            "the default interval on a satellite",
            include_str!("setups/satellite.txt"),
            satellite,
            "The interval of 100 ms is shorter than the round trip of 600 ms",
            "tc qdisc change root codel target 30ms interval 600ms",
        ),
        (
            "HTB without its default class",
            include_str!("setups/unclassified.txt"),
            NOTHING,
            "HTB does not shape 1,203,441 packets of 2,431,320",
            "tc class add dev eth1 parent 1: classid 1:30 htb rate RATE",
        ),
        (
            "bulk traffic with the DSCP of calls",
            include_str!("setups/voice.txt"),
            NOTHING,
            "Bulk traffic is in the Voice tin: 93 % of all bytes",
            "tc qdisc change dev eth0 root cake besteffort",
        ),
        (
            "CAKE out of memory",
            include_str!("setups/memory.txt"),
            NOTHING,
            "cake ran out of memory: its 4 MB were full",
            "tc qdisc change dev eth0.2 root cake memlimit 16mb",
        ),
        (
            "tbf with its own FIFO",
            include_str!("setups/tbf.txt"),
            NOTHING,
            "tbf delays packets by up to 400 ms: its own queue is a FIFO",
            "tc qdisc add dev eth0 parent 8002:1 fq_codel",
        ),
        (
            "RED whose average stays above max",
            include_str!("setups/red.txt"),
            NOTHING,
            "RED works as a FIFO: 52,088 packets",
            "adaptive",
        ),
    ]
}

#[test]
fn the_first_sentence_names_the_cause() {
    let mut wrong = Vec::new();
    for (name, text, known, answer, line) in setups() {
        let devices = explained(text, known);
        let [device] = devices.as_slice() else { panic!("{name}: {} devices", devices.len()) };
        let first = &device.findings[0];
        if !device.answer.starts_with(answer) || first.weight != Weight::Cause {
            wrong.push(format!("{name}: {:?} {}", first.weight, device.answer));
        }
        if !first.mend.iter().any(|mend| mend.contains(line)) {
            wrong.push(format!("{name}: mended by {:?}", first.mend));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_queue_that_works_is_called_so() {
    let devices = explained(include_str!("setups/healthy.txt"), NOTHING);
    assert_eq!(
        devices[0].answer,
        "cake holds the queue here: of 41,516,253 packets it dropped 0.03 % and marked 0.10 %."
    );
    assert_eq!(devices[0].findings.len(), 1);
}

/// Each cause disappears when its number does: a rule must be able to stay silent.
#[test]
fn a_mended_set_up_has_no_such_finding() {
    let silent = |text: &str, known: Known, sentence: &str| {
        let devices = explained(text, known);
        let found =
            devices.iter().flat_map(|device| &device.findings).find(|finding| finding.sentence.contains(sentence));
        assert!(found.is_none(), "{found:?}");
    };
    silent(
        &include_str!("setups/limit.txt").replace("drop_overlimit 90112", "drop_overlimit 12"),
        NOTHING,
        "overflows",
    );
    silent(
        &include_str!("setups/slow-line.txt").replace("target 5ms", "target 24ms"),
        NOTHING,
        "shorter than one packet",
    );
    let satellite = Known { rtt: Some(Duration::from_millis(120)), ..NOTHING };
    silent(include_str!("setups/satellite.txt"), satellite, "The interval");
    silent(&include_str!("setups/unclassified.txt").replace("stat 1203441", "stat 31"), NOTHING, "HTB does not shape");
    silent(&include_str!("setups/memory.txt").replace("used: 4Mb", "used: 2Mb"), NOTHING, "out of memory");
    silent(
        &include_str!("setups/red.txt").replace("early 9312 pdrop 52088", "early 60000 pdrop 1400"),
        NOTHING,
        "FIFO",
    );
    silent(
        &include_str!("setups/shaper-too-fast.txt").replace("overlimits 2110", "overlimits 4002110"),
        NOTHING,
        "not the bottleneck",
    );
    silent(&include_str!("setups/modem.txt").replace("ecn_mark 0", "ecn_mark 900"), NOTHING, "No queue builds up");
}

/// Between two samples only what happened in that time counts.
#[test]
fn two_samples_count_the_time_between_them() {
    let before = include_str!("setups/limit.txt");
    let after = before
        .replace("Sent 9214156203 bytes 7231200 pkt (dropped 91822", "Sent 9226656203 bytes 7251200 pkt (dropped 91922")
        .replace("drop_overlimit 90112", "drop_overlimit 90114");
    let (before, after) = (aqmkit_tc::read(before).unwrap(), aqmkit_tc::read(&after).unwrap());
    let sample = Sample { now: &after, earlier: Some((&before, Duration::from_secs(10))) };
    let devices = explain(sample, &NOTHING);
    assert!(
        !devices[0].findings.iter().any(|finding| finding.sentence.contains("overflows")),
        "{:?}",
        devices[0].findings
    );
    let works = devices[0].findings.iter().find(|finding| finding.weight == Weight::Fine).unwrap();
    assert!(
        works.sentence.starts_with("fq_codel holds the queue here: of 20,100 packets at 10mbit it dropped 0.50 %"),
        "{}",
        works.sentence
    );
}

/// Counters of classes, shapers and tins are differences as well.
#[test]
fn a_fault_of_the_past_is_none_between_two_samples() {
    let silent = |before: &str, changes: [(&str, &str); 2], sentence: &str| {
        let after = changes.iter().fold(before.to_owned(), |text, (from, to)| text.replace(from, to));
        let (earlier, now) = (aqmkit_tc::read(before).unwrap(), aqmkit_tc::read(&after).unwrap());
        let sample = Sample { now: &now, earlier: Some((&earlier, Duration::from_secs(60))) };
        let devices = explain(sample, &NOTHING);
        let found = devices.iter().flat_map(|device| &device.findings).find(|found| found.sentence.contains(sentence));
        assert!(found.is_none(), "{found:?}");
    };
    let unclassified = include_str!("setups/unclassified.txt");
    silent(
        unclassified,
        [("2431200 pkt", "2531200 pkt"), ("overlimits 801200", "overlimits 811200")],
        "HTB does not shape",
    );
    let voice = include_str!("setups/voice.txt");
    silent(voice, [("8104121 pkt", "8204121 pkt"), ("1723021", "1823021")], "Bulk traffic");

    let fast = include_str!("setups/shaper-too-fast.txt");
    let (slow, later) = (
        fast.replace("overlimits 2110", "overlimits 900000"),
        fast.replace("overlimits 2110", "overlimits 900010").replace("6001411 pkt", "6101411 pkt"),
    );
    let (earlier, now) = (aqmkit_tc::read(&slow).unwrap(), aqmkit_tc::read(&later).unwrap());
    let devices = explain(Sample { now: &now, earlier: Some((&earlier, Duration::from_secs(60))) }, &NOTHING);
    assert!(
        devices[0]
            .answer
            .starts_with("The shaper is not the bottleneck: cake at 100mbit held back 10 packets of 100,000")
    );
}
