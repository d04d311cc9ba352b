//! HTB worked by hand.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::Bench;
use crate::common::{Pkt, cx, link, spec};
use aqmkit_aqm::registry::Spec;
use aqmkit_aqm::{Cx, Dequeued, Discard, Ends, Link, Packet, Why};
use aqmkit_base::{BitRate, ClassId, Duration, Ecn, FlowKey, Instant, Rng};
use serde_json::json;

/// Keeps the queues of these classes of the link full for so long, on a link that is asked whenever it may; gives the bytes that each sent.
fn sent(table: serde_json::Value, classes: &[u8], time: Duration) -> [f64; 3] {
    let mut b = Bench::new(&Spec::read("htb", table).unwrap());
    let (end, mut bytes) = (Instant::ZERO + time, [0.0; 3]);
    let mut waiting = [0; 3];
    while b.now < end {
        for &class in classes {
            while waiting[usize::from(class)] < 5 {
                b.offer(Pkt { class, ..Pkt::new(0, class.into()) });
                waiting[usize::from(class)] += 1;
            }
        }
        match b.queue.dequeue(&mut cx(b.now, &mut b.rng, &mut b.log)) {
            Dequeued::Packet(p) => {
                bytes[usize::from(p.class)] += 1000.0;
                waiting[usize::from(p.class)] -= 1;
            }
            Dequeued::NotBefore(at) => b.now = at,
            Dequeued::Empty => panic!("packets wait"),
        }
    }
    bytes
}

/// A root of 8 Mbit/s with three leaves, for the three classes of the link.
fn tree(rates: [u32; 3], ceil: u32, more: [serde_json::Value; 3]) -> serde_json::Value {
    let mut classes = vec![json!({"name": "all", "rate": "8mbit"})];
    for ((name, rate), others) in ["tcp", "multimedia", "other"].into_iter().zip(rates).zip(more) {
        let mut class =
            json!({"name": name, "parent": "all", "rate": format!("{rate}kbit"), "ceil": format!("{ceil}kbit")});
        for (key, value) in others.as_object().unwrap() {
            class[key] = value.clone();
        }
        classes.push(class);
    }
    json!({ "class": classes })
}

fn close(found: [f64; 3], wanted: [f64; 3]) {
    for (bytes, right) in found.into_iter().zip(wanted) {
        assert!((bytes - right).abs() <= 0.01 * right + 4000.0, "{bytes} bytes, not {right}");
    }
}

const SECONDS: Duration = Duration::from_secs(20);

/// 8 Mbit/s are 20 MB in 20 s.
#[test]
fn rates_are_kept_when_all_want_more() {
    let plain = [json!({}), json!({}), json!({})];
    let found = sent(tree([5000, 2000, 1000], 8000, plain), &[0, 1, 2], SECONDS);
    close(found, [12.5e6, 5e6, 2.5e6]);
}

/// Bandwidth above the guaranteed rates is shared by quanta, and an idle class lends its rate.
#[test]
fn what_is_left_is_borrowed_by_quanta() {
    let quanta = [json!({"quantum": "3000b"}), json!({"quantum": "1000b"}), json!({})];
    // 6 Mbit/s are left of 8, three to one.
    let found = sent(tree([1000, 1000, 4000], 8000, quanta), &[0, 1], SECONDS);
    close(found, [2.5e6 + 11.25e6, 2.5e6 + 3.75e6, 0.0]);
}

#[test]
fn what_is_left_goes_to_the_first_priority() {
    let prios = [json!({"prio": 1}), json!({"prio": 0}), json!({"prio": 2})];
    let found = sent(tree([1000, 1000, 1000], 8000, prios), &[0, 1, 2], SECONDS);
    close(found, [2.5e6, 15e6, 2.5e6]);
}

#[test]
fn nobody_sends_above_its_ceiling() {
    let plain = [json!({}), json!({}), json!({})];
    let found = sent(tree([1000, 1000, 1000], 2000, plain), &[0, 1], SECONDS);
    close(found, [5e6, 5e6, 0.0]);
}

/// A class with a burst of 4000 bytes sends five packets of 1000 at once, and is then in debt by one; a ceiling's burst bounds it likewise.
#[test]
fn a_burst_leaves_at_once() {
    for (burst, cburst, first) in [("4000b", "9000b", 5), ("9000b", "2000b", 3)] {
        let table =
            json!({"default": "a", "class": [{"name": "a", "rate": "8mbit", "burst": burst, "cburst": cburst}]});
        let mut b = Bench::new(&Spec::read("htb", table).unwrap());
        (0..10).for_each(|_| _ = b.flow(1));
        assert_eq!((0..first).filter(|_| b.take().is_some()).count(), first);
        let held = b.queue.dequeue(&mut cx(b.now, &mut b.rng, &mut b.log));
        assert_eq!(held, Dequeued::NotBefore(Instant::ZERO + Duration::from_millis(1)));
    }
}

/// Packets that no class takes are not limited, and go first; with a default they are of that.
#[test]
fn what_no_class_takes_goes_direct() {
    let classes = json!([{"name": "multimedia", "rate": "8kbit"}]);
    let mut b = Bench::new(&Spec::read("htb", json!({"direct_qlen": 2, "class": classes})).unwrap());
    b.offer(Pkt { class: 1, ..Pkt::new(0, 1) });
    let drops: Vec<Vec<Why>> = (0..3).map(|_| b.flow(0)).collect();
    assert_eq!(drops, [vec![], vec![], vec![Why::Overflow]]);
    assert_eq!(b.gauge("queue.direct"), 2.0);
    assert_eq!(b.take_all(), [2, 3, 1]);
    let mut other = Bench::new(&Spec::read("htb", json!({"default": "multimedia", "class": classes})).unwrap());
    (0..3).for_each(|_| _ = other.flow(0));
    assert_eq!((other.gauge("queue.direct"), other.gauge("queue.multimedia")), (0.0, 3.0));
}

/// A shaper in a leaf holds that leaf back, and nobody else.
#[test]
fn a_leaf_that_holds_its_packets_lets_others_borrow() {
    let shaper = json!({"aqm": {"name": "tbf", "rate": "1mbit", "burst": "2000b"}});
    let found = sent(tree([4000, 2000, 2000], 8000, [shaper, json!({}), json!({})]), &[0, 1, 2], SECONDS);
    close(found, [2.5e6, 8.75e6, 8.75e6]);
}

#[test]
fn an_htb_says_what_is_wrong_with_it() {
    let class = |more: serde_json::Value| {
        let mut class = json!({"name": "a", "rate": "1mbit"});
        more.as_object().unwrap().iter().for_each(|(key, value)| class[key] = value.clone());
        json!({ "class": [class] })
    };
    let parts = |first: serde_json::Value| json!({"class": [first, {"name": "b", "rate": "1mbit", "parent": "a"}]});
    let deep: Vec<serde_json::Value> = (0..10)
        .map(|i| json!({"name": i.to_string(), "rate": "1mbit", "parent": (i > 0).then(|| (i - 1).to_string())}))
        .collect();
    for (table, part) in [
        (json!({"class": [{"name": "a"}]}), "classes[0].rate"),
        (json!({"class": [{"rate": "1mbit"}]}), "each class needs a name"),
        (class(json!({"prio": 8})), "classes[0].prio = 8"),
        (class(json!({"parent": "b"})), "the name of another class"),
        (class(json!({"parent": "a"})), "the name of another class"),
        (class(json!({"match": "vioce"})), "a class of the link"),
        (class(json!({"aqm": {"name": "red", "max_p": 2}})), "classes[0].aqm.max_p"),
        (json!({"default": "x", "class": [{"name": "a", "rate": "1mbit"}]}), "a class without parts: a"),
        (parts(json!({"name": "a", "rate": "1mbit", "aqm": "codel"})), "classes[0].aqm"),
        (parts(json!({"name": "a", "rate": "1mbit", "match": "*"})), "classes[0].match"),
        (parts(json!({"name": "b", "rate": "1mbit"})), "a name of its own"),
        (
            json!({"class": [{"name": "a", "rate": "1mbit", "parent": "b"}, {"name": "b", "rate": "1mbit", "parent": "a"}]}),
            "no circles",
        ),
        (json!({ "class": deep }), "eight levels"),
        (json!({"r2q": 0}), "r2q = 0"),
    ] {
        let text = Spec::read("htb", table.clone()).unwrap().effective(&link()).unwrap_err().to_string();
        assert!(text.contains(part), "{table}: {text}");
    }
}

#[test]
fn an_htb_doubts_what_will_not_be() {
    let doubts = |table: serde_json::Value| Spec::read("htb", table).unwrap().doubts(&link()).join("\n");
    let plain = json!([{"name": "all", "rate": "8mbit"}, {"name": "tcp", "parent": "all", "rate": "4mbit", "ceil": "8mbit"},
        {"name": "rest", "parent": "all", "rate": "4mbit"}]);
    assert_eq!(doubts(json!({"default": "rest", "class": plain})), "");
    assert!(doubts(json!({ "class": plain })).contains("no packets go to rest"));
    for (class, part) in [
        (json!({"rate": "20mbit"}), "rate of tcp, 20mbit, is above the 10mbit of the link"),
        (json!({"rate": "1mbit", "ceil": "11mbit"}), "ceil of tcp, 11mbit"),
        (json!({"rate": "2mbit", "ceil": "1mbit"}), "is below its rate"),
        (json!({"rate": "1mbit", "quantum": "500b"}), "less than a full packet"),
        (json!({"rate": "10kbit"}), "the quantum of tcp would be 125b"),
    ] {
        let mut class = class;
        class["name"] = json!("tcp");
        let text = doubts(json!({ "class": [class] }));
        assert!(text.contains(part), "{class}: {text}");
    }
    let much = json!([{"name": "all", "rate": "3mbit"}, {"name": "tcp", "parent": "all", "rate": "2mbit"},
        {"name": "other", "parent": "all", "rate": "2mbit"}]);
    assert!(doubts(json!({ "class": much })).contains("4mbit in total, above its own of 3mbit"));
}

/// The queue of a leaf sees its ceiling as its link, and what is left open in it is filled in.
#[test]
fn what_is_left_open_is_filled_in() {
    let table = r#"{"class": [{"name": "tcp", "rate": "1mbit", "ceil": "2mbit", "aqm": "red"}]}"#;
    let htb = spec("htb", table);
    let full = serde_json::to_value(htb.effective(&link()).unwrap()).unwrap();
    let leaf = &full["classes"][0];
    assert_eq!(
        (&leaf["quantum"], &leaf["burst"], &leaf["aqm"]["name"]),
        (&json!("12500b"), &json!("1600b"), &json!("red"))
    );
    assert_eq!(htb.inner(&link())[0].link.rate.as_bps(), 2_000_000);
}

/// A packet to a client of a simulation.
struct To(u32, u32);

impl Packet for To {
    fn len(&self) -> u32 {
        1000
    }
    fn flow(&self) -> FlowKey {
        FlowKey(self.0.into())
    }
    fn class(&self) -> ClassId {
        ClassId(0)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn ends(&self) -> Ends {
        Ends { source: 1, destination: Ends::of_client(self.0) }
    }
    fn set_ce(&mut self) {}
}

/// Two sites with two points of two homes each, and a farm at each point.
fn sites(each: u32) -> serde_json::Value {
    json!({"class": [
        {"name": "site", "each": 2, "rate": "40mbit"},
        {"name": "point", "parent": "site", "each": 2, "rate": "20mbit"},
        {"name": "home", "parent": "point", "each": each, "rate": "1mbit", "ceil": "8mbit", "match": "client *"},
        {"name": "farm", "parent": "point", "rate": "1mbit", "match": "client *"},
    ]})
}

#[test]
fn an_entry_stands_for_a_class_below_each_of_its_parents() {
    let circuits = spec("htb", &sites(2).to_string()).circuits(&link());
    let found: Vec<(&str, &str, &[u32])> =
        circuits.iter().map(|c| (c.name.as_str(), c.above.as_str(), c.clients.as_slice())).collect();
    assert_eq!(found.len(), 12);
    assert_eq!(found[0], ("site-1.point-1.home-1", "site-1.point-1", &[0_u32][..]));
    assert_eq!(found[5], ("site-2.point-1.home-2", "site-2.point-1", &[5][..]));
    assert_eq!(found[10], ("site-2.point-1.farm", "site-2.point-1", &[10][..]));
    assert_eq!((circuits[5].plan.as_bps(), circuits[10].plan.as_bps()), (8_000_000, 1_000_000));
}

#[test]
fn too_many_classes_are_refused() {
    let tree = json!({"class": [
        {"name": "a", "each": 60000, "rate": "1mbit"}, {"name": "b", "parent": "a", "each": 60000, "rate": "1mbit"}]});
    let wrong = Spec::read("htb", tree).unwrap().effective(&link()).unwrap_err().to_string();
    assert!(wrong.contains("3600060000 classes") && wrong.contains("65535"), "{wrong}");
    let default = json!({"default": "a", "class": [{"name": "a", "each": 2, "rate": "1mbit"}]});
    let several = Spec::read("htb", default).unwrap().build::<Pkt>(&link(), Instant::ZERO).err().unwrap().to_string();
    assert!(several.contains("give the name of one"), "{several}");
}

/// In a tree of 10,000 leaves, a point of 20 Mbit/s shares it among the four of its homes that have packets, and one of another site gets its ceiling.
#[test]
fn ten_thousand_leaves_get_what_a_few_do() {
    let mut table = sites(2499);
    table["class"][1]["ceil"] = json!("20mbit");
    table["class"][0]["ceil"] = json!("40mbit");
    let wide = Link::new(BitRate::from_mbps(1000));
    let mut queue = Spec::read("htb", table).unwrap().build::<To>(&wide, Instant::ZERO).unwrap();
    let (mut rng, mut now) = (Rng::stream(1, "queue"), Instant::ZERO);
    let clients = [0, 700, 1300, 2498, 9000];
    let mut bytes = [0_u64; 5];
    for client in 0..5 {
        let mut cx = Cx { now, rng: &mut rng, sink: &mut Discard };
        (0..5).for_each(|_| queue.enqueue(To(clients[client as usize], client), &mut cx));
    }
    while now < Instant::ZERO + SECONDS {
        let mut cx = Cx { now, rng: &mut rng, sink: &mut Discard };
        match queue.dequeue(&mut cx) {
            Dequeued::Packet(To(client, at)) => {
                bytes[at as usize] += 1000;
                queue.enqueue(To(client, at), &mut cx);
                assert_eq!(queue.backlog().packets, 25);
            }
            Dequeued::NotBefore(at) => now = at,
            Dequeued::Empty => panic!("packets wait"),
        }
    }
    for (found, mbit) in bytes.into_iter().zip([5.0, 5.0, 5.0, 5.0, 8.0]) {
        let right = mbit * 1e6 / 8.0 * 20.0;
        assert!((found as f64 - right).abs() < 0.02 * right, "{bytes:?}");
    }
}
