//! Response times, counted a second time from the list of exchanges.

use aqmkit_base::{BitRate, Duration, Instant};
use aqmkit_sim::output::{ExchangeRecord, Output};
use aqmkit_sim::scenario::{Delays, WindowSpec};
use aqmkit_traffic::{Action, Application, Cx, Event, Exchange};
use aqmkit_transport::Profile;

use super::common::{dumbbell, finish, group, spec};
use super::{at, distribution, summary};

/// Ends an exchange of random duration and size at random times, of either kind.
struct Talk;

impl Application for Talk {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if !matches!(event, Event::Start | Event::Wake) {
            return;
        }
        let took = cx.rng.uniform().powi(6) * cx.now.as_secs_f64();
        let started = Instant::ZERO + Duration::from_secs_f64(cx.now.as_secs_f64() - took);
        let largest = 1 << (4 + cx.rng.below(24));
        let (kind, bytes) = (u8::from(cx.rng.chance(0.3)), cx.rng.below(largest));
        cx.want(Action::Done(Exchange { kind, started, bytes }));
        let gap = Duration::from_secs_f64(0.02 * cx.rng.uniform_open());
        cx.want(Action::WakeAt(cx.now + gap));
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["request", "page"]
    }
}

fn talks(max_exchanges: usize) -> Output {
    let apps = (0..4).map(|_| -> Box<dyn Application> { Box::new(Talk) });
    let all = group("talk", apps.collect(), Profile::rfc(), Delays::None);
    let mut scenario = dumbbell(BitRate::from_mbps(1), spec("fifo", "{}"), vec![all], 2, 18);
    let window = |name: &str, from, to| WindowSpec { name: name.into(), from: at(from), to: at(to) };
    scenario.windows = vec![window("all", 2.0, 20.0), window("part", 5.25, 11.5)];
    scenario.max_exchanges = max_exchanges;
    finish(scenario)
}

fn end_s(e: &ExchangeRecord) -> f64 {
    e.started_s + e.duration_ms / 1e3
}

#[test]
fn response_times_are_those_of_the_exchanges_that_end_in_the_window() {
    let out = talks(1 << 20);
    assert!(out.exchanges.windows(2).all(|e| end_s(&e[0]) <= end_s(&e[1]) + 1e-9) && out.exchanges_dropped == 0);
    for window in &out.windows {
        let inside: Vec<_> =
            out.exchanges.iter().filter(|e| (window.from_s..window.to_s).contains(&end_s(e))).collect();
        let app = &window.apps["talk"];
        assert!(
            app.completed.values().all(|n| *n == 0) || app.jain.is_none(),
            "what was asked for decides the throughputs: {app:?}"
        );
        assert!(inside.len() > 2000);
        for kind in ["request", "page"] {
            let of_kind: Vec<_> = inside.iter().filter(|e| e.kind == kind).collect();
            assert_eq!(app.completed.get(kind).copied().unwrap_or(0), of_kind.len() as u64, "{kind}");
            let took: Vec<f64> = of_kind.iter().map(|e| e.duration_ms).collect();
            let quantity = format!("apps.talk.response_time_ms.{kind}");
            distribution(&out.distributions, &window.name, &quantity, &took);
            // Shares of responses are read from the points: none is further than a tenth of a percent from one, but for the shortest times, many of which
            // are the same.
            let points =
                &out.distributions.iter().find(|d| d.window == window.name && d.quantity == quantity).unwrap().points;
            let step = 0.002 + 1.0 / took.len() as f64;
            let coarse = points.windows(2).find(|p| p[0].1 >= 0.5 && p[1].1 - p[0].1 > step + 1e-9);
            assert!(coarse.is_none(), "{quantity}: {coarse:?}");
            summary(app.response_time_ms.get(kind).copied(), took, kind);
            let grid = out.responses.iter().find(|r| r.window == window.name && r.kind == kind).unwrap();
            assert_eq!(grid.total(), of_kind.len() as u64);
            for (t, s, n) in grid.cells() {
                let (first, last) = (t == 0, s == 0);
                let in_cell = |e: &&&&ExchangeRecord| {
                    let (ms, bytes) = (e.duration_ms, e.bytes as f64);
                    let from_ms = aqmkit_sim::output::Responses::from_ms;
                    let from_bytes = aqmkit_sim::output::Responses::from_bytes;
                    (first || ms >= from_ms(t))
                        && ms < from_ms(t + 1)
                        && (last || bytes >= from_bytes(s))
                        && bytes < from_bytes(s + 1)
                };
                assert_eq!(of_kind.iter().filter(in_cell).count() as u64, n, "{t} {s}");
            }
        }
    }
    for kind in ["request", "page"] {
        let rows: f64 = out.series.columns[&format!("apps.talk.completed.{kind}")].iter().sum();
        assert_eq!(rows, out.exchanges.iter().filter(|e| e.kind == kind).count() as f64, "{kind}");
    }
}

/// If there are more exchanges than can be listed, none is listed, and everything else stays the same.
#[test]
fn a_list_that_would_be_too_long_is_left_out_and_says_so() {
    let (listed, counted) = (talks(1 << 20), talks(1000));
    assert_eq!((counted.exchanges.len(), counted.exchanges_dropped), (0, listed.exchanges.len() as u64));
    assert_eq!(counted.windows, listed.windows);
    assert_eq!(counted.responses, listed.responses);
    let just = talks(listed.exchanges.len());
    assert_eq!((just.exchanges.len(), just.exchanges_dropped), (listed.exchanges.len(), 0));
}
