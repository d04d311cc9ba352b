//! The rules, one file for each cause.

mod cake;
mod codel;
mod ecn;
mod elsewhere;
mod fifo;
mod htb;
mod overflow;
mod red;
mod works;

use super::finding::Finding;
use super::queue::Queue;

/// A rule looks at a queue and says what it found, if anything.
type Rule = fn(&Queue<'_>) -> Option<Finding>;

const RULES: &[Rule] = &[
    overflow::limit,
    overflow::memory,
    fifo::fills,
    fifo::inside_tbf,
    elsewhere::shaper_never_holds,
    elsewhere::nothing_waits,
    htb::unclassified,
    codel::target_below_a_packet,
    codel::interval_below_the_round_trip,
    codel::quantum,
    cake::misplaced,
    cake::no_classes,
    cake::overhead,
    cake::waiting,
    ecn::senders_do_not_use_it,
    ecn::switched_off,
    red::forced,
    works::share,
];

pub(crate) fn apply(queue: &Queue<'_>) -> Vec<Finding> {
    RULES.iter().filter_map(|rule| rule(queue)).collect()
}

/// Whether a discipline drops or marks early, by delay or by length.
fn manages(kind: &str) -> bool {
    matches!(
        kind,
        "fq_codel" | "codel" | "fq_pie" | "pie" | "cake" | "cake_mq" | "dualpi2" | "red" | "choke" | "sfb" | "gred"
    )
}

/// `dev eth0 root` or `dev eth0 parent 1:10`: the place in a line of `tc`.
fn place(queue: &Queue<'_>) -> String {
    let place = match &queue.qdisc.parent {
        aqmkit_tc::Parent::Class(class) => format!("parent {class}"),
        _ => "root".to_owned(),
    };
    format!("{}{place}", queue.dev)
}
