//! Metrics that the routes of a BSD host keep from one connection to the next.

use aqmkit_base::{Bytes, Duration};
use aqmkit_transport::{Profile, Route};

use crate::harness::{A, Pair, ms};

const MSS: u64 = 1448;

fn keeps() -> Profile {
    Profile { route_pipe: Bytes(16_384), ..Profile::bsd44() }
}

/// A transfer from A over a new connection that begins with the route, and leaves its estimates with it.
fn transfer(profile: &Profile, segments: u64, lost: &'static [u64], route: &mut Route) -> Pair {
    let mut pair = Pair::new(profile, 100);
    pair.ends[A].begin_with(profile, route);
    pair.lose_data(lost);
    pair.connect();
    pair.write(A, segments * MSS);
    pair.run();
    pair.ends[A].leave_with(profile, route);
    pair
}

/// The threshold is kept in whole segments, with 40 bytes of headers each, as `tcp_close` has it; later ones count half.
#[test]
fn a_threshold_below_half_of_the_pipe_is_kept() {
    let (profile, mut route) = (keeps(), Route::default());
    let pair = transfer(&profile, 200, &[60], &mut route);
    let first = pair.ends[A].ssthresh();
    assert!((2 * MSS..8192).contains(&first), "{first}");
    let kept = (first + MSS / 2) / MSS * (MSS + 40);
    assert_eq!(route.ssthresh(), kept);
    // The next connection ends slow start there. Without a loss it leaves what it began with.
    let next = transfer(&profile, 200, &[], &mut route);
    assert_eq!(next.ends[A].ssthresh(), kept);
    let again = (kept + MSS / 2) / MSS * (MSS + 40);
    assert_eq!(route.ssthresh(), kept.midpoint(again));
}

#[test]
fn good_news_alone_is_not_kept() {
    let (profile, mut route) = (keeps(), Route::default());
    transfer(&profile, 200, &[], &mut route);
    assert_eq!(route.ssthresh(), 0);
    // The round trip of a fifth of a tick is.
    assert!((Duration::from_millis(20)..Duration::from_millis(300)).contains(&route.rtt()), "{}", route.rtt());
}

#[test]
fn short_connections_leave_nothing() {
    let (profile, mut route) = (keeps(), Route::default());
    transfer(&profile, 12, &[4], &mut route);
    assert_eq!(route, Route::default());
}

/// The first timeout follows from what the route has kept, in place of the 6 s of a host that knows nothing.
#[test]
fn the_first_timeout_is_that_of_the_route() {
    let (profile, mut route) = (keeps(), Route::default());
    transfer(&profile, 200, &[], &mut route);
    let mut pair = Pair::new(&profile, 100);
    assert_eq!(pair.ends[A].rto(&profile), Duration::from_secs(6));
    pair.ends[A].begin_with(&profile, &route);
    // Four round trips of 100 ms, and eight deviations, which are a part of a tick: some measure none and some one.
    let rto = pair.ends[A].rto(&profile);
    assert!((route.rtt() * 4..=route.rtt() * 4 + Duration::from_secs(4)).contains(&rto), "{rto}");
    // The handshake keeps its schedule.
    pair.script = crate::harness::lose_flag(A, aqmkit_transport::Flags::SYN, &[0]);
    pair.connect();
    pair.run();
    assert_eq!(pair.times(A, aqmkit_transport::Flags::SYN), [ms(0), ms(6000)]);
}

#[test]
fn routes_keep_ticks() {
    let error = Profile { route_pipe: Bytes(16_384), ..Profile::rfc() }.check().unwrap_err().to_string();
    assert!(error.starts_with("route_pipe"), "{error}");
}
