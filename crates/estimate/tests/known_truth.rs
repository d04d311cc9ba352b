//! Estimates on links whose truth is known: a small part of `examples/known_truth`, with links up to 20 Mbit/s.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(dead_code, reason = "the example uses more")]

#[path = "../examples/known_truth/files.rs"]
mod files;
#[path = "../examples/known_truth/scene.rs"]
mod scene;
#[path = "../examples/known_truth/score.rs"]
mod score;

use rayon::prelude::*;
use score::{Mark, Scored, count, scored};

/// Forty-three links: one for each discipline, and four more with a FIFO.
#[test]
fn most_estimates_are_right_and_few_are_wrong() {
    let cases = scene::cases(3, 1, 20.0, 20.0);
    let all: Vec<Scored> =
        cases.par_iter().flat_map_iter(|case| scored(&scene::record(case).unwrap()).unwrap()).collect();
    let wrong: Vec<String> = all.iter().filter(|one| one.rate == Mark::Wrong).map(Scored::line).collect();
    for set in ["irtt, iperf3", "ping -D, iperf3", "flent", "ping, pcap"] {
        let share = |of: fn(&Scored) -> Mark| {
            let [right, off, unseen] = count(&all, set, of).map(|n| n as f64);
            [right / (right + off), right / (right + off + unseen)]
        };
        let rate = share(|one| one.rate);
        assert!(rate[0] >= 0.95 && rate[1] >= 0.85, "{set}: {wrong:?}");
        assert!(share(|one| one.rtt)[1] >= 0.9, "{set}: base round trip");
        let fair = share(|one| one.fair);
        assert!(fair[0] >= 0.93 && fair[1] >= 0.75, "{set}: fair queueing {fair:?}");
    }
    // Where nothing counts the packets that the bulk flows lose, a full buffer is seldom seen.
    let buffers = count(&all, "irtt, iperf3", |one| one.buffer);
    assert!(buffers[0] >= 2 && buffers[1] <= 1, "right, wrong and unseen buffers: {buffers:?}");
}

/// An estimate beside the truth of a faster link is wrong.
#[test]
fn a_wrong_truth_is_found() {
    let mut case = scene::cases(3, 1, 20.0, 20.0).swap_remove(0);
    let recording = scene::record(&case).unwrap();
    case.rate_bps *= 1.5;
    let other = scene::Recording { case, ..recording };
    // The capture is of the link as it is now.
    let scored = scored(&other).unwrap();
    assert!(scored.iter().filter(|one| one.set != "ping, pcap").all(|one| one.rate != Mark::Right));
}
