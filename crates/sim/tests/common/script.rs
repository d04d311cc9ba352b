//! Datagrams at times that a test chooses, and when they came.

use std::sync::{Arc, Mutex};

use aqmkit_base::{BitRate, Duration, Ecn, Instant, Rng};
use aqmkit_sim::Scenario;
use aqmkit_sim::scenario::{Delays, Group};
use aqmkit_traffic::{Action, Application, Cx, Event};
use aqmkit_transport::Profile;

use super::{dumbbell, group, spec};

/// Arrivals: number of the datagram, and time.
pub type Arrivals = Arc<Mutex<Vec<(u64, Instant)>>>;

/// Sends datagrams of given lengths at given times, and writes down what arrives.
pub struct Script {
    sends: Vec<(Instant, u32)>,
    next: usize,
    ecn: Ecn,
    arrivals: Arrivals,
}

impl Application for Script {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if !matches!(event, Event::Start | Event::Wake) {
            return;
        }
        while let Some((_, len)) = self.sends.get(self.next).filter(|(at, _)| *at <= cx.now) {
            cx.want(Action::Datagram { len: *len, tag: self.next as u64, ecn: self.ecn });
            self.next += 1;
        }
        if let Some((at, _)) = self.sends.get(self.next) {
            cx.want(Action::WakeAt(*at));
        }
    }

    fn on_datagram(&mut self, tag: u64, _len: u32, _sent: Instant, now: Instant) {
        self.arrivals.lock().unwrap().push((tag, now));
    }
}

/// A group of scripts, one for each list, that send without headers; and what arrives of each.
pub fn scripts(name: &str, ecn: Ecn, lists: &[Vec<(Instant, u32)>]) -> (Group, Vec<Arrivals>) {
    let arrivals: Vec<Arrivals> = lists.iter().map(|_| Arrivals::default()).collect();
    let script = |(sends, come): (&Vec<(Instant, u32)>, &Arrivals)| -> Box<dyn Application> {
        Box::new(Script { sends: sends.clone(), next: 0, ecn, arrivals: Arc::clone(come) })
    };
    let apps = lists.iter().zip(&arrivals).map(script).collect();
    let all = Group { datagram_overhead: 0, ..group(name, apps, Profile::rfc(), Delays::None) };
    (all, arrivals)
}

/// A link of 10 Mb/s without a limit, measured for 20 s, and one script on it.
pub fn scripted(sends: &[(Instant, u32)]) -> (Scenario, Arrivals) {
    let (all, mut arrivals) = scripts("script", Ecn::NotEct, &[sends.to_vec()]);
    let fifo = spec("fifo", r#"{"limit": 100000}"#);
    (dumbbell(BitRate::from_mbps(10), fifo, vec![all], 0, 20), arrivals.remove(0))
}

/// Datagrams of 40 to 1500 bytes at random times, about `per_s` per second.
pub fn random_sends(seed: u64, per_s: f64, seconds: f64) -> Vec<(Instant, u32)> {
    let mut rng = Rng::stream(seed, "sends");
    let mut at = 0.0;
    std::iter::from_fn(|| {
        at += 2.0 * rng.uniform() / per_s;
        let len = 40 + rng.below(1461) as u32;
        (at < seconds).then(|| (Instant::ZERO + Duration::from_secs_f64(at), len))
    })
    .collect()
}
