//! smoltcp on simulated links.

use aqmkit_stack::{Kind as _, Settings};
use aqmkit_stack_bench::aqmkit_sim::scenario::{Loss, Wire};
use aqmkit_stack_bench::{Case, assert_arrives_whole, assert_fails_without_a_way_through, assert_repeats, stack};
use aqmkit_stack_smoltcp::{Params, Smoltcp};

/// Without congestion control the connection fails: the intervals of its timeouts double up to that after which it is given up.
#[test]
fn a_transfer_arrives_whole_and_closes_despite_losses_and_reordering() {
    for congestion in ["cubic", "reno"] {
        assert_arrives_whole(stack::<Smoltcp>(congestion, false), 600);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for congestion in Smoltcp::CONTROLS {
        assert_repeats(&stack::<Smoltcp>(congestion, false));
    }
}

#[test]
fn a_link_without_a_way_through_fails_the_connection() {
    assert_fails_without_a_way_through(stack::<Smoltcp>("cubic", false));
}

/// Its segments are sent again only for what the queue dropped, except for those that go back to the first loss after a timeout.
#[test]
fn reno_repeats_little_more_than_the_queue_drops() {
    let run = Case::endless(stack::<Smoltcp>("reno", false), ("codel", "{}")).run();
    let (dropped, repeated) = (run.dropped(), run.declared_lost());
    assert!(dropped > 5 && repeated >= dropped && repeated < 2 * dropped, "{repeated} for {dropped}");
}

/// Mathis et al. 1997: with one of n packets lost, the window is sqrt(3n/2) packets on average.
#[test]
fn reno_follows_the_law_of_reno() {
    for n in [500, 2000] {
        let wire = Wire { loss: Loss::Every { n, burst: 1 }, ..Wire::default() };
        let endless = Case::endless(stack::<Smoltcp>("reno", false), ("fifo", r#"{"limit": 1000}"#));
        let got = Case { rate: 100, wire, seconds: 60, ..endless }.run().mbps();
        let law = (1.5 * n as f64).sqrt() * 1460.0 * 8.0 / 0.040 / 1e6;
        assert!(got / law > 0.6 && got / law < 1.1, "n = {n}: {got:.2} Mbit/s, the law says {law:.2}");
    }
}

#[test]
fn parameters_that_it_does_not_have_are_refused() {
    let refused = |params: Params, ecn: bool| {
        Smoltcp::check(&params, &Settings { congestion: "reno", ecn }).unwrap_err().to_string()
    };
    assert!(refused(Params::default(), true).contains("smoltcp has no ECN"));
    assert!(refused(Params { mtu: 100, ..Params::default() }, false).contains("mtu"));
    assert!(Smoltcp::check(&Params::default(), &Settings { congestion: "reno", ecn: false }).is_ok());
}
