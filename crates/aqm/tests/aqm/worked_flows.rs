//! Small examples worked by hand for the disciplines that look at flows, and for BLUE.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::{Bench, PASS};
use crate::common::{Pkt, link, spec};
use aqmkit_aqm::Why;
use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::{BitRate, Duration, Ecn, Instant};
use serde_json::{Value, json};

fn ect(flow: u64) -> Pkt {
    Pkt { ecn: Ecn::Ect0, ..Pkt::new(0, flow) }
}

fn effective(name: &str, json: &str) -> Value {
    serde_json::to_value(spec(name, json).effective(&link()).unwrap()).unwrap()
}

/// d1 = 1/2, d2 = 1/8, `freeze_time` = 10 ms.
#[test]
fn blue_step_by_step() {
    let mut b = Bench::new(&spec("blue", r#"{"limit": 1, "d1": 0.5, "d2": 0.125, "freeze": "10ms", "ecn": true}"#));
    assert_eq!((b.flow(1), b.gauge("p")), (PASS, 0.0));
    assert_eq!((b.flow(1), b.gauge("p")), (vec![Why::Overflow], 0.5), "nothing is frozen before the first step");
    b.now += Duration::from_millis(10);
    assert_eq!((b.flow(1), b.gauge("p")), (vec![Why::Overflow], 0.5), "10 ms are not more than 10 ms");
    b.now += Duration::from_millis(1);
    assert_eq!((b.flow(1), b.gauge("p")), (vec![Why::Overflow], 1.0));
    assert_eq!((b.take(), b.gauge("p")), (Some(1), 1.0), "an empty queue is not an idle link");
    assert_eq!((b.offer(ect(1)), b.queue.stats().marks()), (vec![Why::Early], 1));
    b.now += Duration::from_millis(11);
    assert_eq!((b.take(), b.take(), b.gauge("p")), (Some(5), None, 0.875));
    b.now += Duration::from_millis(29);
    assert_eq!((b.take(), b.gauge("p")), (None, 0.625), "two more steps after 10 and 20 ms of idleness");
    b.now += Duration::from_secs(3600);
    assert_eq!((b.flow(1), b.gauge("p")), (PASS, 0.0));
}

#[test]
fn blue_steps_up_above_its_trigger() {
    let mut b = Bench::new(&spec("blue", r#"{"limit": 9, "d1": 0.5, "freeze": "0s", "trigger": 1, "ecn": true}"#));
    let mut offer = |ms| {
        b.now += Duration::from_millis(ms);
        b.offer(ect(1));
        b.gauge("p")
    };
    assert_eq!([0, 0, 0].map(&mut offer), [0.0, 0.0, 0.5], "1 is not above 1, 2 is");
    assert_eq!([0, 1, 1].map(&mut offer), [0.5, 1.0, 1.0], "not twice at one time");
}

/// One level of one bin: a BLUE for everybody that steps by half above two packets.
#[test]
fn sfb_step_by_step() {
    let params = r#"{"levels": 1, "bins": 1, "target": 2, "max": 20, "d1": 0.5, "d2": 0.25, "penalty_burst": 2,
                     "penalty_rate": 10, "rehash": "0s"}"#;
    let mut b = Bench::new(&spec("sfb", params));
    assert_eq!([b.offer(ect(1)), b.offer(ect(1)), b.offer(ect(1))], [PASS; 3]);
    assert_eq!(
        (b.gauge("p.max"), b.gauge("bins.over")),
        (0.0, 1.0),
        "on arrival of the third, 2 was not above 2; now 3 is"
    );
    assert_eq!(b.take(), Some(1));
    assert_eq!(b.gauge("bins.over"), 0.0, "2 is not above 2");
    b.offer(ect(1));
    b.offer(ect(1));
    assert_eq!((b.gauge("p.max"), b.gauge("p.mean")), (0.5, 0.5));
    assert_eq!([b.flow(1), b.flow(1), b.flow(1)], [PASS, PASS, vec![Why::Penalty]], "p = 1, a burst of two");
    b.now += Duration::from_millis(100);
    assert_eq!([b.flow(1), b.flow(1)], [PASS, vec![Why::Penalty]], "and 10 in a second");
    b.take_all();
    b.flow(1);
    assert_eq!(b.gauge("p.max"), 0.75, "the bin was empty");
}

/// A flow has one of four bins at each of two levels: where both have stepped to a half, the mean over all eight is an eighth.
#[test]
fn sfbs_gauges_look_at_all_bins() {
    let params = r#"{"levels": 2, "bins": 4, "target": 2, "max": 20, "d1": 0.5, "rehash": "0s"}"#;
    let mut b = Bench::new(&spec("sfb", params));
    (0..4).for_each(|_| _ = b.offer(ect(1)));
    assert_eq!(["p.max", "p.mean", "bins.over"].map(|name| b.gauge(name)), [0.5, 0.125, 2.0]);
}

/// p = 3/4: a half is dropped for certain, a quarter marked where it can be.
#[test]
fn sfb_drops_some_of_what_it_would_mark_above_one_half() {
    let params = r#"{"limit": 20000, "levels": 1, "bins": 1, "target": 0, "max": 20000, "d1": 0.75, "freeze": "1ms"}"#;
    for (packet, marked, dropped) in [(ect(1), 0.25, 0.5), (Pkt::new(0, 1), 0.0, 0.75)] {
        let mut b = Bench::new(&spec("sfb", params));
        assert_eq!(b.offer(packet), PASS);
        b.now += Duration::from_millis(2);
        (0..10_000).for_each(|_| drop(b.offer(packet)));
        let share = |n: u64| (n as f64 / 10_000.0 * 20.0).round() / 20.0;
        assert_eq!((share(b.queue.stats().marks()), share(b.queue.stats().drops())), (marked, dropped));
    }
}

#[test]
fn sfb_never_lets_a_flow_have_more_than_max() {
    let mut b = Bench::new(&spec("sfb", r#"{"target": 2, "d1": 0}"#));
    assert_eq!([b.flow(1), b.flow(1), b.flow(1)], [PASS; 3]);
    assert_eq!(b.flow(1), [Why::Unfair], "5/4 of 2, but above 2");
    let mut alone = Bench::new(&spec("sfb", r#"{"max": 25, "d1": 0}"#));
    assert_eq!((0..99).filter(|_| alone.flow(1).is_empty()).count(), 25);
}

#[test]
fn sfb_derives_target_and_max_as_tc_does() {
    let sizes = |json| {
        let shown = effective("sfb", json);
        (shown["target"].as_u64().unwrap(), shown["max"].as_u64().unwrap())
    };
    assert_eq!(sizes("{}"), (20, 25));
    assert_eq!(sizes(r#"{"target": 20}"#), (20, 25));
    assert_eq!(sizes(r#"{"max": 25}"#), (20, 25));
    assert_eq!((sizes(r#"{"bin_size": 7}"#), sizes(r#"{"bin_size": 6}"#)), ((7, 9), (6, 7)));
    // Rounded down after three fifths are added.
    assert_eq!((sizes(r#"{"max": 23}"#), sizes(r#"{"max": 24}"#)), ((19, 23), (19, 24)));
    assert_eq!((sizes(r#"{"target": 1}"#), sizes(r#"{"max": 1}"#)), ((1, 2), (0, 1)));
}

/// The second set learns a flow of the penalty box before it takes over, and only in the time for it.
#[test]
fn sfb_knows_unresponsive_flows_after_a_rehash() {
    let after_rehash = |db: &str| {
        let params = format!(
            r#"{{"levels": 1, "bins": 1, "target": 1, "max": 9, "d1": 0.5, "rehash": "100ms", "db": "{db}", "penalty_burst": 0}}"#
        );
        let mut b = Bench::new(&spec("sfb", &params));
        for _ in 0..4 {
            b.offer(ect(1));
        }
        b.now += Duration::from_millis(60);
        assert_eq!([b.flow(1), b.flow(1), b.flow(1)].concat(), [Why::Penalty; 3]);
        b.now += Duration::from_millis(40);
        b.queue.on_wakeup(&mut crate::common::cx(b.now, &mut b.rng, &mut b.log));
        b.gauge("p.max")
    };
    assert_eq!((after_rehash("50ms"), after_rehash("40ms"), after_rehash("0s")), (1.0, 0.0, 0.0));
}

/// The state that the second set has learnt of a flow of the penalty box that sends at `seen`, where `rehash` was changed from one
/// to another at `changed`, and the sets change at `due`.
fn sfb_learns([before, after]: [&str; 2], [changed, seen, due]: [u64; 3]) -> bool {
    let params = |rehash: &str| {
        let sizes = r#""levels": 1, "bins": 1, "target": 1, "max": 9, "d1": 0.5, "penalty_burst": 0"#;
        spec("sfb", &format!(r#"{{{sizes}, "db": "60s", "rehash": "{rehash}"}}"#))
    };
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    let mut b = Bench::new(&params(before));
    b.now = at(changed);
    b.queue.reconfigure(&params(after), &link(), &mut crate::common::cx(b.now, &mut b.rng, &mut b.log)).unwrap();
    b.now = at(seen);
    for _ in 0..4 {
        b.offer(ect(1));
    }
    assert_eq!([b.flow(1), b.flow(1), b.flow(1)].concat(), [Why::Penalty; 3]);
    assert_eq!(b.queue.wakeup(), Some(at(due)));
    b.now = at(due);
    b.queue.on_wakeup(&mut crate::common::cx(b.now, &mut b.rng, &mut b.log));
    b.gauge("p.max") > 0.0
}

/// The last minute before the sets change is meant, whatever `rehash` was before.
#[test]
fn sfb_learns_at_the_right_time_after_a_change_of_rehash() {
    assert!(!sfb_learns(["0s", "600s"], [3600, 4130, 4200]), "70 s before");
    assert!(sfb_learns(["0s", "600s"], [3600, 4150, 4200]), "50 s before");
    assert!(!sfb_learns(["600s", "100s"], [530, 531, 600]), "it stays due at 600 s");
    assert!(!sfb_learns(["600s", "100s"], [200, 220, 300]), "80 s before");
    assert!(sfb_learns(["600s", "1000s"], [500, 550, 600]), "it is not put off");
}

/// RED wants a mark for each packet from the third on. Nobody is marked who is then the one to make room.
#[test]
fn sfq_marks_no_packet_that_it_drops() {
    for (headdrop, victim) in [(false, Why::Overflow), (true, Why::Evicted)] {
        let params = format!(
            r#"{{"limit": 6, "redflowlimit": "60000b", "min": "1000b", "max": "1001b", "weight": 1, "ecn": true, "headdrop": {headdrop}}}"#
        );
        let mut b = Bench::new(&spec("sfq", &params));
        assert_eq!([b.offer(ect(1)), b.offer(ect(1))], [PASS; 2], "RED acts from two packets on");
        assert_eq!([b.flow(2), b.flow(2)], [PASS; 2]);
        assert_eq!([b.offer(ect(1)), b.offer(ect(1))], [[Why::Forced], [Why::Forced]]);
        assert_eq!(b.offer(ect(1)), [victim], "its own queue is the longest");
        assert_eq!(b.queue.stats().marks(), 2);
    }
}

/// Flow 2 has the longest queue, so that it makes room and flow 1 is marked.
#[test]
fn sfq_marks_a_packet_for_which_another_made_room() {
    let params = r#"{"limit": 6, "redflowlimit": "60000b", "min": "5000b", "max": "5001b", "weight": 1, "ecn": true}"#;
    let mut b = Bench::new(&spec("sfq", params));
    let large = Pkt { len: 3000, ..ect(1) };
    assert_eq!([b.offer(large), b.offer(large)], [PASS; 2]);
    (0..4).for_each(|_| assert_eq!(b.flow(2), PASS));
    assert_eq!(b.offer(large), [Why::Evicted, Why::Forced]);
}

/// With two queues at a time a third flow finds no room until one of them is empty, and a flow that has a queue always does.
#[test]
fn sfq_has_no_more_queues_than_flows() {
    let mut b = Bench::new(&spec("sfq", r#"{"flows": 2}"#));
    assert_eq!([b.flow(1), b.flow(2), b.flow(1)], [PASS; 3]);
    assert_eq!([b.flow(3), b.flow(4), b.flow(2)], [vec![Why::Overflow], vec![Why::Overflow], PASS]);
    assert_eq!((b.gauge("flows"), b.queue.backlog().packets), (2.0, 4));
    assert_eq!([b.take(), b.take(), b.take()], [Some(1), Some(2), Some(3)], "flow 1 has no more");
    assert_eq!([b.flow(3), b.flow(1)], [PASS, vec![Why::Overflow]]);
}

/// One zombie, a = 1/2.
#[test]
fn sred_step_by_step() {
    let mut b = Bench::new(&spec("sred", r#"{"limit": 60, "zombies": 1, "a": 0.5, "overwrite": 1}"#));
    assert_eq!((b.flow(1), b.gauge("hit_rate"), b.gauge("flows")), (PASS, 0.0, 0.0), "flow 1 becomes the zombie");
    assert_eq!((b.flow(1), b.gauge("hit_rate"), b.gauge("flows")), (PASS, 0.5, 2.0));
    assert_eq!((b.flow(2), b.gauge("hit_rate"), b.gauge("flows")), (PASS, 0.25, 4.0));
    assert_eq!((b.flow(2), b.gauge("hit_rate")), (PASS, 0.625), "flow 2 had taken the place");
    assert_eq!(effective("sred", r#"{"zombies": 500}"#)["weight"], json!(0.002));
}

/// The average is the queue; a match is certain where the queue is of one flow.
#[test]
fn choke_step_by_step() {
    let mut b =
        Bench::new(&spec("choke", r#"{"limit": 9, "min": 2, "max": 4, "weight": 1, "max_p": 0, "draw": "front"}"#));
    assert_eq!([b.flow(1), b.flow(2), b.flow(1)], [PASS; 3], "an average of 2 is not above 2");
    assert_eq!(b.flow(1), [Why::Matched; 2], "packet 1 and the arriving one");
    assert_eq!([b.flow(3), b.flow(3), b.flow(3)], [PASS; 3]);
    assert_eq!(b.flow(3), [Why::Forced], "5 is above 4; the front is of flow 2");
    assert_eq!(b.take_all(), [2, 3, 5, 6, 7]);
}

#[test]
fn choke_drops_every_candidate_that_matches() {
    let params = |draw: &str| {
        format!(r#"{{"limit": 9, "min": 4, "max": 8, "weight": 1, "max_p": 0, "m": 3, "draw": "{draw}"}}"#)
    };
    for (draw, left) in [("front", vec![2, 4, 5]), ("back", vec![1, 2, 4])] {
        let mut b = Bench::new(&spec("choke", &params(draw)));
        assert_eq!([1, 2, 1, 2, 1].map(|flow| b.flow(flow)), [PASS; 5]);
        assert_eq!(b.flow(1), [Why::Matched; 3], "two of the three at the {draw}, and itself");
        assert_eq!(b.take_all(), left);
    }
}

#[test]
fn choke_draws_more_in_higher_regions() {
    let mut b =
        Bench::new(&spec("choke", r#"{"limit": 90, "min": 10, "max": 20, "weight": 1, "max_p": 0, "regions": 5}"#));
    let mut drawn = |flow| {
        b.flow(flow);
        b.gauge("candidates")
    };
    let each: Vec<f64> = (0..25).map(&mut drawn).collect();
    assert_eq!(each[9..], [0., 0., 2., 4., 4., 6., 6., 8., 8., 10., 10., 10., 10., 10., 10., 10.]);
}

/// The average is billions of such regions above `min`.
#[test]
fn choke_has_regions_of_next_to_nothing() {
    let mut b = Bench::new(&spec(
        "choke",
        r#"{"limit": 90, "min": 10, "max": 10.000000001, "weight": 1, "max_p": 0, "regions": 5}"#,
    ));
    (0..13).for_each(|flow| drop(b.flow(flow)));
    assert_eq!(b.gauge("candidates"), 10.0);
}

#[test]
fn choke_marks_above_max_unless_told_otherwise() {
    for (harddrop, marks) in [(false, 1), (true, 0)] {
        let params = format!(r#"{{"limit": 9, "min": 1, "max": 2, "weight": 1, "ecn": true, "harddrop": {harddrop}}}"#);
        let mut b = Bench::new(&spec("choke", &params));
        let whys: Vec<_> = (0..4).flat_map(|flow| b.offer(ect(flow))).collect();
        assert_eq!((whys, b.queue.stats().marks()), (vec![Why::Forced], marks));
    }
}

/// b = 4, s = 1, target 10 of at most 60.
#[test]
fn afd_step_by_step() {
    let mut b = Bench::new(&spec("afd", r#"{"limit": 60, "b": 4, "s": 1, "q_target": 10, "replace": "oldest"}"#));
    assert_eq!(b.gauge("m_fair"), 4.0);
    for flow in [1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1] {
        assert_eq!(b.flow(flow), PASS, "nobody is above the whole sample");
    }
    b.now += Duration::from_micros(6250);
    // 4 + 1.7 (0 - 10) - 1.8 (12 - 10), not below 0.
    b.queue.on_wakeup(&mut crate::common::cx(b.now, &mut b.rng, &mut b.log));
    assert_eq!(b.gauge("m_fair"), 0.0);
    assert_eq!((b.flow(1), b.gauge("flows")), (vec![Why::Unfair], 1.0));
    for _ in 0..11 {
        b.take();
    }
    b.now += Duration::from_micros(6250);
    b.queue.on_wakeup(&mut crate::common::cx(b.now, &mut b.rng, &mut b.log));
    // 0 + 1.7 (12 - 10) - 1.8 (1 - 10) = 19.6, not above 4.
    assert_eq!((b.gauge("m_fair"), b.flow(1)), (4.0, PASS));
    assert_eq!(effective("afd", r#"{"limit": "90kb"}"#)["q_target"], json!("18432b"));
}

/// Weight 1: the averages are what waits.
#[test]
fn rio_step_by_step() {
    let params = r#"{"limit": 9, "in": ["tcp"], "weight": 1, "in_min": 3, "in_max": 3, "out_min": 2, "out_max": 2}"#;
    let (inside, outside) = (Pkt::new(0, 1), Pkt { class: 2, ..Pkt::new(0, 2) });
    let mut b = Bench::new(&spec("rio", params));
    assert_eq!([b.offer(inside), b.offer(inside), b.offer(outside)], [PASS; 3]);
    assert_eq!(b.offer(outside), [Why::Forced], "3 wait, above 2");
    assert_eq!([b.offer(inside), b.offer(inside)], [PASS; 2], "2 and 3 of IN are not above 3");
    assert_eq!(b.offer(inside), [Why::Forced]);
    assert_eq!((b.gauge("avg.in"), b.gauge("avg.out")), (4.0, 5.0));
    let mut apart = Bench::new(&spec("rio", &params.replace("\"limit\"", "\"coupled\": false, \"limit\"")));
    assert_eq!([inside, inside, inside, outside, outside, outside].map(|p| apart.offer(p)), [PASS; 6]);
    assert_eq!(apart.offer(outside), [Why::Forced], "3 of OUT");
}

#[test]
fn wreds_thresholds_are_those_of_the_routers() {
    let names: Vec<String> = (0..9).map(|i| format!("precedence {i}")).collect();
    let classes: Vec<Value> = names.iter().map(|name| json!({ "class": name })).collect();
    let wred = Spec::read("wred", json!({ "classes": classes })).unwrap();
    let shown = wred.effective(&Link { classes: names, ..Link::new(BitRate::from_mbps(10)) }).unwrap();
    let shown = serde_json::to_value(shown).unwrap();
    let mins: Vec<_> = shown["classes"].as_array().unwrap().iter().map(|c| c["min"].as_str().unwrap()).collect();
    assert_eq!(mins, ["20p", "22p", "24p", "26p", "28p", "31p", "33p", "35p", "37p"]);
}

#[test]
fn wred_judges_each_class_by_the_whole_queue() {
    let classes = r#"[{"class": "tcp", "min": 4, "max": 4}, {"class": "*", "min": 2, "max": 2}]"#;
    let mut b = Bench::new(&spec("wred", &format!(r#"{{"weight": 1, "classes": {classes}}}"#)));
    let (tcp, other) = (Pkt::new(0, 1), Pkt { class: 2, ..Pkt::new(0, 2) });
    assert_eq!([tcp, tcp, tcp].map(|p| b.offer(p)), [PASS; 3]);
    assert_eq!(b.offer(other), [Why::Forced]);
    assert_eq!([b.offer(tcp), b.offer(tcp)], [PASS; 2]);
    assert_eq!(b.offer(tcp), [Why::Forced]);
}

/// `L_t` = 2; OUT is dropped from the third packet on.
#[test]
fn rio_ps_step_by_step() {
    let params =
        r#"{"limit": 9, "lt": 2, "slr": 1, "t_u": "50ms", "t_c": "1s", "weight": 1, "out_min": 1, "out_max": 1}"#;
    let mut b = Bench::new(&spec("rio-ps", params));
    assert_eq!([b.flow(1), b.flow(1)], [PASS; 2]);
    assert_eq!((b.flow(1), b.flow(2)), (vec![Why::Forced], PASS), "flow 1 is long now, flow 2 short");
    // With a weight of 1 an average is what waited when the last of its packets came.
    assert_eq!((b.gauge("avg.in"), b.gauge("avg.out")), (2.0, 2.0), "two of short flows, two in all");
    b.now += Duration::from_millis(50);
    assert_eq!(b.flow(1), [Why::Forced], "50 ms are not more than 50 ms");
    b.now += Duration::from_millis(51);
    assert_eq!((b.flow(1), b.gauge("flows")), (PASS, 1.0), "forgotten, and short again");
    b.now += Duration::from_millis(898);
    for _ in 0..3 {
        b.flow(3);
    }
    b.now += Duration::from_millis(1);
    b.queue.on_wakeup(&mut crate::common::cx(b.now, &mut b.rng, &mut b.log));
    assert_eq!(b.gauge("threshold"), 3.0, "no short flow beside a long one");
    b.now += Duration::from_millis(999);
    b.flow(4);
    b.now += Duration::from_millis(1);
    b.queue.on_wakeup(&mut crate::common::cx(b.now, &mut b.rng, &mut b.log));
    assert_eq!(b.gauge("threshold"), 2.0, "one short flow and no long one");
    let shown = effective("rio-ps", r#"{"limit": 200}"#);
    assert_eq!((&shown["in_min"], &shown["out_max"]), (&json!("30p"), &json!("100p")));
}

#[test]
fn rio_ps_remembers_so_many_flows() {
    let mut b = Bench::new(&spec("rio-ps", r#"{"flows": 10}"#));
    for flow in 0..1000 {
        b.flow(flow);
        assert!(b.gauge("flows") <= 10.0);
    }
}

#[test]
fn wrong_parameters_are_told_what_would_be_right() {
    let says = |name, json, parts: &[&str]| {
        let text = spec(name, json).build::<Pkt>(&link(), Instant::ZERO).err().expect("it must be refused").to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{name} {json}: {text}");
    };
    says("blue", r#"{"d1": 2}"#, &["d1 = 2", "from 0 to 1"]);
    says("blue", r#"{"trigger": "9kb"}"#, &["trigger = 9216b", "number of packets"]);
    says("blue", r#"{"limit": 60, "trigger": 61}"#, &["trigger = 61", "0 to 60", "Feng"]);
    says("sfb", r#"{"max": 20, "target": 20}"#, &["max = 20", "target = 20", "tc-sfb"]);
    says("sfb", r#"{"rehash": "1s", "db": "2s"}"#, &["db = 2s", "rehash = 1s"]);
    says("sfb", r#"{"levels": 0}"#, &["levels = 0", "from 1 to 16"]);
    says("sred", r#"{"zombies": 0}"#, &["zombies = 0"]);
    says("sred", r#"{"weight": 0}"#, &["weight = 0"]);
    says("choke", r#"{"candidates": 0}"#, &["candidates = 0", "Pan"]);
    says("choke", r#"{"min": 250, "max": 200}"#, &["min = 250", "max = 200"]);
    says("afd", r#"{"alpha": 2}"#, &["beta = 1.8", "alpha < beta"]);
    says("afd", r#"{"q_target": 300}"#, &["q_target = 300", "from 0 to 240"]);
    says("afd", r#"{"interval": "99us"}"#, &["interval = 99us", "at least 100us"]);
    says("sfb", r#"{"rehash": "1ns", "db": "0s"}"#, &["rehash = 1ns", "at least 100us"]);
    says("rio-ps", r#"{"t_c": "1ns"}"#, &["t_c = 1ns", "at least 100us"]);
    says("rio", r#"{"in": ["tcp", "gold"]}"#, &["in[1] = gold", "tcp, multimedia, other"]);
    says("rio", r#"{"out_min": 16}"#, &["out_min = 16", "max = 15"]);
    says("wred", r#"{"classes": [{"min": 50}]}"#, &["classes[0].min = 50", "max = 40"]);
    says("wred", r#"{"classes": [{"class": "tcp"}]}"#, &["missing: multimedia, other"]);
    says("rio-ps", r#"{"threshold": 0}"#, &["threshold = 0", "L_t"]);
    says("rio-ps", r#"{"in_max": 9}"#, &["in_min = 36", "max = 9"]);
}
