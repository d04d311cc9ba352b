//! str0m on simulated links.

use aqmkit_base::BitRate;
use aqmkit_stack::{Kind as _, Settings};
use aqmkit_stack_bench::{Case, Run, assert_arrives, assert_fails_without_a_way_through, stack};
use aqmkit_stack_str0m::{Params, Str0m};

fn video(rate: u64, aqm: (&'static str, &'static str)) -> Run {
    Case { rate, seconds: 60, ..Case::endless(stack::<Str0m>("gcc", false), aqm) }.run()
}

/// The request and the response are messages on a data channel.
#[test]
fn data_arrives_whole_and_closes_despite_losses_and_reordering() {
    let run = assert_arrives(stack::<Str0m>("gcc", false), 600);
    assert!(run.output.flows[0].packets > 1_000_000 / 1200, "{:?}", run.output.flows[0]);
}

/// All that is measured is equal; how often an end is called may differ by one or two.
#[test]
fn the_same_seed_gives_the_same_run() {
    for aqm in [("fifo", "{}"), ("codel", "{}"), ("dualpi2", "{}")] {
        let once = || {
            let mut run = video(2, aqm);
            let events = std::mem::take(&mut run.output.engine.events);
            (run.digest(), events)
        };
        let ((one, calls), (other, again)) = (once(), once());
        assert!(one == other, "{aqm:?}: two runs with the same seed differ");
        assert!(calls.abs_diff(again) <= 5, "{calls} and {again} events");
    }
}

#[test]
fn a_link_without_a_way_through_fails_the_connection() {
    assert_fails_without_a_way_through(stack::<Str0m>("gcc", false));
}

/// The rate of the video follows the estimate, and the estimate the link, from 300 kbit/s on and up to the largest rate.
#[test]
fn the_video_takes_most_of_the_link() {
    for rate in [1, 2, 3] {
        let run = video(rate, ("codel", "{}"));
        let share = run.mbps() / rate as f64;
        assert!((0.7..0.97).contains(&share), "{rate} Mbit/s: {:.3} Mbit/s", run.mbps());
        assert!(run.dropped() > 0, "{rate} Mbit/s");
    }
    let free = video(20, ("codel", "{}"));
    assert!((3.9..4.0).contains(&free.mbps()) && free.dropped() == 0, "{} {}", free.mbps(), free.dropped());
}

#[test]
fn parameters_that_it_does_not_have_are_refused() {
    let refused = |params: Params, ecn: bool| {
        Str0m::check(&params, &Settings { congestion: "gcc", ecn }).unwrap_err().to_string()
    };
    assert!(refused(Params::default(), true).contains("str0m has no ECN"));
    assert!(refused(Params { share: 1.5, ..Params::default() }, false).contains("share"));
    assert!(refused(Params { min_rate: BitRate::from_mbps(5), ..Params::default() }, false).contains("max_rate"));
    assert!(Str0m::check(&Params::default(), &Settings { congestion: "gcc", ecn: false }).is_ok());
}
