//! sctp-proto on simulated links.

use aqmkit_stack::{Kind as _, Settings};
use aqmkit_stack_bench::aqmkit_sim::scenario::{Loss, Wire};
use aqmkit_stack_bench::{Case, assert_arrives_whole, assert_fails_without_a_way_through, assert_repeats, stack};
use aqmkit_stack_sctp::{Params, Sctp};

#[test]
fn a_transfer_arrives_whole_and_closes_despite_losses_and_reordering() {
    assert_arrives_whole(stack::<Sctp>("reno", false), 600);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    assert_repeats(&stack::<Sctp>("reno", false));
}

/// With the default of eight retransmissions of INIT, this takes five and a half minutes.
#[test]
fn a_link_without_a_way_through_fails_the_connection() {
    let params = Params { init_retransmits: 4, ..Params::default() };
    assert_fails_without_a_way_through(Sctp::factory(&params, &Settings { congestion: "reno", ecn: false }));
}

#[test]
fn look() {
    for aqm in [("fifo", r#"{"limit": 66}"#), ("fifo", r#"{"limit": 1000}"#), ("codel", "{}"), ("pie", "{}")] {
        let run = Case { seconds: 60, ..Case::endless(stack::<Sctp>("reno", false), aqm) }.run();
        println!("{aqm:?} {} {} {} {:?}", run.mbps(), run.dropped(), run.declared_lost(), run.output.flows[0]);
    }
    for n in [200, 500, 2000] {
        let wire = Wire { loss: Loss::Every { n, burst: 1 }, ..Wire::default() };
        let endless = Case::endless(stack::<Sctp>("reno", false), ("fifo", r#"{"limit": 1000}"#));
        let run = Case { rate: 100, wire, seconds: 60, ..endless }.run();
        let law = (1.5 * n as f64).sqrt() * 1200.0 * 8.0 / 0.040 / 1e6;
        println!("{n} {} {law} {:?}", run.mbps(), run.output.flows[0]);
    }
}
