//! noq on simulated links.

use aqmkit_stack::Kind as _;
use aqmkit_stack_bench::aqmkit_sim::scenario::{Loss, Wire};
use aqmkit_stack_bench::{Case, assert_arrives_whole, assert_fails_without_a_way_through, assert_repeats, stack};
use aqmkit_stack_noq::Noq;

#[test]
fn a_transfer_arrives_whole_and_closes_despite_losses_and_reordering() {
    for congestion in Noq::CONTROLS {
        assert_arrives_whole(stack::<Noq>(congestion, false), 60);
    }
}

/// All but `bbr3`, whose generator the stack seeds from the system and lets nobody else seed.
#[test]
fn the_same_seed_gives_the_same_run() {
    for congestion in ["cubic", "newreno"] {
        assert_repeats(&stack::<Noq>(congestion, true));
    }
}

#[test]
fn a_link_without_a_way_through_fails_the_connection() {
    assert_fails_without_a_way_through(stack::<Noq>("cubic", false));
}

/// Without reordering no loss is spurious, and at most those of the last round trips are not yet declared.
#[test]
fn the_packets_that_it_declares_lost_are_those_that_the_queue_dropped() {
    for aqm in [("fifo", r#"{"limit": 66}"#), ("codel", "{}"), ("pie", "{}")] {
        let run = Case::endless(stack::<Noq>("cubic", false), aqm).run();
        let (dropped, declared) = (run.dropped(), run.declared_lost());
        assert!(dropped > 0 && declared <= dropped && dropped - declared <= 3, "{aqm:?}: {declared} of {dropped}");
    }
}

/// RFC 3168: marks replace drops, and keep the queue as short.
#[test]
fn marks_control_it_as_drops_do() {
    let run = |ecn: bool| {
        let parameters = if ecn { r#"{"ecn": true}"# } else { "{}" };
        Case::endless(stack::<Noq>("cubic", ecn), ("codel", parameters)).run()
    };
    let (with, without) = (run(true), run(false));
    assert!(with.dropped() == 0 && with.mark_rate() > 0.0, "{} {}", with.dropped(), with.mark_rate());
    assert!(without.dropped() > 0 && without.mark_rate() == 0.0, "{} {}", without.dropped(), without.mark_rate());
    assert!((with.mbps() / without.mbps() - 1.0).abs() < 0.05, "{} and {} Mbit/s", with.mbps(), without.mbps());
}

/// Mathis et al. 1997: with one of n packets lost, the window is sqrt(3n/2) packets on average, as noq counts bytes.
#[test]
fn newreno_follows_the_law_of_reno() {
    for n in [200, 500, 2000] {
        let wire = Wire { loss: Loss::Every { n, burst: 1 }, ..Wire::default() };
        let endless = Case::endless(stack::<Noq>("newreno", false), ("fifo", r#"{"limit": 1000}"#));
        let got = Case { rate: 100, wire, seconds: 60, ..endless }.run().mbps();
        let law = (1.5 * n as f64).sqrt() * 1422.0 * 8.0 / 0.040 / 1e6;
        assert!((got / law - 1.0).abs() < 0.15, "n = {n}: {got:.2} Mbit/s, the law says {law:.2}");
    }
}
