//! Long transfers against the law of the inverse square root.

use aqmkit_base::{Bytes, Duration, Rng};
use aqmkit_transport::{DelayedAck, Kind, LossDetection, Profile};

use crate::harness::{A, B, Fate, Pair, ms};

/// Goodput in segments per round trip, of a wire that loses data segments at random.
fn window(p: &Profile, loss: f64, seconds: u64) -> f64 {
    let mut pair = Pair::connected(p, 100);
    pair.keep = false;
    let mut rng = Rng::stream(7, "loss");
    pair.script = Box::new(move |_, seg| if seg.len > 0 && rng.chance(loss) { Fate::Drop } else { Fate::Pass });
    pair.write(A, u64::MAX);
    pair.run_until(ms(seconds * 1000));
    pair.ends[B].delivered() as f64 / p.mss.0 as f64 / (seconds as f64 * 10.0)
}

/// Mathis, Semke, Mahdavi and Ott (1997): sqrt(3 / (2 b p)) segments for each round trip, if every b-th
/// segment is acknowledged: 1.22 / sqrt(p) and 0.87 / sqrt(p).
#[test]
fn newreno_sack_and_rack_follow_the_inverse_square_root() {
    let means =
        [(Kind::NewReno, LossDetection::Sack), (Kind::Sack, LossDetection::Sack), (Kind::Sack, LossDetection::Rack)];
    means.iter().for_each(|(congestion, loss_detection)| follows(congestion, *loss_detection));
}

fn follows(congestion: &Kind, loss_detection: LossDetection) {
    for (delayed_ack, b) in [(DelayedAck::None, 1.0), (DelayedAck::After(Duration::from_millis(40)), 2.0)] {
        for (loss, seconds) in [(0.001, 6_000), (0.01, 3_000)] {
            let p = Profile {
                congestion: congestion.clone(),
                loss_detection,
                receive_window: Bytes(1 << 24),
                delayed_ack,
                min_rto: Duration::from_millis(200),
                ..Profile::rfc()
            };
            let seen = window(&p, loss, seconds);
            let law = (1.5 / (b * loss)).sqrt();
            assert!(
                (seen / law - 1.0).abs() < 0.12,
                "{congestion:?} {loss_detection:?}, b {b}, p {loss}: {seen:.2} segments, the law says {law:.2}"
            );
        }
    }
}
