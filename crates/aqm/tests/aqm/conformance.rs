//! The contract of a queue, for every discipline of the catalogue and its options, under random
//! operations.

use crate::common::catalogue::{defaults, options};
use crate::common::driver::{Op, Play};
use crate::common::slow::slowed;
use crate::common::{Event, Log, Pkt, cx, link};
use aqmkit_aqm::ParamError;
use aqmkit_aqm::registry::Spec;
use aqmkit_base::{Duration, Ecn, Instant, Rng};
use proptest::prelude::*;

fn all() -> Vec<Spec> {
    [defaults(), options()].concat()
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(any::<[u8; 4]>().prop_map(Op::from), 0..400)
}

/// Floyd-Fall's restricted class with leave to borrow. Without it the class is held to a measured rate, in whole bits a second and whole
/// nanoseconds, and is owed at most 3000 bytes: whether a third packet of 1000 may leave at once is then decided by rounding, which is not the
/// same at half the speed.
fn borrowing(spec: Spec) -> Spec {
    if spec.name() != "floyd-fall" {
        return spec;
    }
    let mut parameters = serde_json::to_value(&spec).expect("parameters are plain data");
    parameters["borrow"] = true.into();
    Spec::read("floyd-fall", parameters).expect("borrow is a parameter of floyd-fall")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Conservation, backlog, limits, order, marks: checked by the driver after every step.
    #[test]
    fn the_contract_holds(ops in ops(), seed in any::<u64>()) {
        for spec in all() {
            Play { seed, ..Play::new(&spec, link()) }.run(&ops);
        }
    }

    #[test]
    fn the_same_seed_decides_the_same(ops in ops(), seed in any::<u64>()) {
        for spec in all() {
            let play = Play { seed, ..Play::new(&spec, link()) };
            prop_assert_eq!(play.run(&ops), play.run(&ops));
        }
    }

    /// Fails where a time of zero means "none".
    #[test]
    fn the_start_of_time_does_not_matter(ops in ops()) {
        for spec in all() {
            let play = Play::new(&spec, link());
            let late = Play { origin: Instant::ZERO + Duration::from_secs(1_000_000_000), ..play.clone() };
            prop_assert_eq!(play.run(&ops), late.run(&ops), "{:?}", spec);
        }
    }

    /// Fails where a length of time hides in the code, or the page gives a parameter another unit than it has.
    #[test]
    fn a_link_half_as_fast_is_the_same_in_slow_motion(ops in ops()) {
        for spec in all().into_iter().map(borrowing) {
            let play = Play::new(&spec, link());
            let slowed = slowed(&spec, &play.link);
            let slow = Play { spec: &slowed, ..play.clone() }.slow();
            prop_assert_eq!(play.run(&ops), slow.run(&ops), "{:?}", spec);
        }
    }

    #[test]
    fn more_wakeups_change_nothing(ops in ops()) {
        for spec in all() {
            let play = Play::new(&spec, link());
            let nudged = Play { nudge: true, ..play.clone() };
            prop_assert_eq!(play.run(&ops), nudged.run(&ops), "{:?}", spec);
        }
    }

    /// Fails where ticks that are left out would have changed something.
    #[test]
    fn late_timers_change_nothing(mut ops in ops(), more in ops(), idle in 1_u64..30) {
        ops.push(Op::Advance(Duration::from_secs(idle)));
        ops.extend(more);
        for spec in all() {
            let play = Play::new(&spec, link());
            let punctual = Play { punctual: true, ..play.clone() };
            prop_assert_eq!(play.run(&ops), punctual.run(&ops), "{:?}", spec);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Fails where a change forgets what the queue has learnt, or draws, although nothing about it is another.
    #[test]
    fn parameters_set_to_what_they_are_change_nothing(ops in ops()) {
        let ops: Vec<Op> = ops.into_iter().filter(|op| !matches!(op, Op::Reconfigure(_))).collect();
        let differs = |spec: &Spec| {
            let play = Play::new(spec, link());
            play.run(&ops) != Play { renewed: true, ..play.clone() }.run(&ops)
        };
        let wrong: Vec<Spec> = all().into_iter().filter(differs).collect();
        prop_assert!(wrong.is_empty(), "{:?}", wrong);
    }
}

/// Fails, by never ending, where a timer catches up with idle time tick by tick.
#[test]
fn ten_years_of_idleness_pass_at_once() {
    let busy = [Op::Burst { packets: 255, flow: 1, class: 1 }, Op::Advance(Duration::from_millis(50))];
    let drain = [Op::Dequeue { times: 255 }; 2];
    let years = Op::Advance(Duration::from_secs(10 * 365 * 86_400));
    let ops = [&busy[..], &busy, &drain, &[years, Op::Wakeup], &busy, &drain].concat();
    for spec in all() {
        Play::new(&spec, link()).run(&ops);
    }
}

#[test]
fn a_full_queue_an_empty_one_and_an_hour_of_idleness_are_survived() {
    let fill = Op::Burst { packets: 255, flow: 1, class: 1 };
    let others = Op::Enqueue { len: 1500, flow: 2, class: 0, ecn: Ecn::Ect0 };
    let drain = [Op::Dequeue { times: 255 }; 5];
    let hour = Op::Advance(Duration::from_secs(3600));
    let once = [&[fill, fill, others, fill, others][..], &drain, &[hour, Op::Wakeup]].concat();
    for spec in all() {
        let events = Play::new(&spec, link()).run(&[once.clone(), once.clone(), once.clone()].concat());
        let delivered = events.iter().filter(|e| matches!(e, Event::Out(_))).count();
        assert!(delivered >= 6, "{spec:?} delivered {delivered}");
    }
}

/// A class that may not borrow is held back on an idle link, and drains all the same.
#[test]
fn a_class_that_may_not_borrow_keeps_the_contract() {
    let spec = crate::common::spec(
        "cbq",
        r#"{"classes": [{"class": "tcp", "share": 0.1, "borrow": false}, {"class": "*", "share": 0.2, "borrow": false, "parent": "g"}]}"#,
    );
    let ops = [[0, 90, 0, 0], [110, 20, 1, 4], [195, 9, 0, 0], [205, 250, 0, 0], [110, 20, 2, 0], [195, 30, 0, 0]];
    let events = Play::new(&spec, link()).run(&ops.map(Op::from));
    assert!(events.contains(&Event::Held));
}

#[test]
fn a_queue_does_not_become_another_discipline() {
    for (i, spec) in defaults().iter().enumerate() {
        let mut queue = spec.build::<Pkt>(&link(), Instant::ZERO).unwrap();
        let other = &defaults()[(i + 1) % defaults().len()];
        let (mut rng, mut log) = (Rng::stream(1, "test"), Log::default());
        let error: ParamError =
            queue.reconfigure(other, &link(), &mut cx(Instant::ZERO, &mut rng, &mut log)).unwrap_err();
        assert_eq!((error.field.as_str(), error.got.as_str()), ("name", other.name()));
    }
}
