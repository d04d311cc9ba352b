//! sctp-proto on simulated links.

use aqmkit_base::Bytes;
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

/// Without reordering no packet is sent again that the queue did not drop, and at most those of the last round trips are still to come.
#[test]
fn the_packets_that_it_sends_again_are_those_that_the_queue_dropped() {
    for aqm in [("fifo", r#"{"limit": 66}"#), ("codel", "{}"), ("pie", "{}")] {
        let run = Case::endless(stack::<Sctp>("reno", false), aqm).run();
        let (dropped, repeated) = (run.dropped(), run.declared_lost());
        assert!(dropped > 0 && repeated <= dropped && dropped - repeated <= 3, "{aqm:?}: {repeated} of {dropped}");
    }
}

/// Mathis et al. 1997: with one of n packets lost, the window is sqrt(3n/2) packets on average.
#[test]
fn it_follows_the_law_of_reno() {
    for n in [200, 500, 2000] {
        let wire = Wire { loss: Loss::Every { n, burst: 1 }, ..Wire::default() };
        let endless = Case::endless(stack::<Sctp>("reno", false), ("fifo", r#"{"limit": 1000}"#));
        let got = Case { rate: 100, wire, seconds: 60, ..endless }.run().mbps();
        let law = (1.5 * n as f64).sqrt() * 1200.0 * 8.0 / 0.040 / 1e6;
        assert!((got / law - 1.0).abs() < 0.1, "n = {n}: {got:.2} Mbit/s, the law says {law:.2}");
    }
}

#[test]
fn parameters_that_it_does_not_have_are_refused() {
    let refused = |params: Params, ecn: bool| {
        Sctp::check(&params, &Settings { congestion: "reno", ecn }).unwrap_err().to_string()
    };
    assert!(refused(Params::default(), true).contains("sctp-proto has no ECN"));
    assert!(refused(Params { mtu: 1500, ..Params::default() }, false).contains("mtu"));
    let small = Params { receive_buffer: Bytes(20_000), ..Params::default() };
    assert!(refused(small, false).contains("twice the size of a message"));
    assert!(Sctp::check(&Params::default(), &Settings { congestion: "reno", ecn: false }).is_ok());
}
