//! Metrics that a BSD host caches with the route to a peer when a connection ends, and starts the next connection to that peer with.
//!
//! 4.4BSD's routes have room for a round-trip time, its variation and a slow-start threshold (`rt_metrics`; TCP/IP Illustrated volume 2,
//! section 27.9). FreeBSD 2.2 makes every route to a host keep them: each peer gets a host route of its own, whose pipe size is the default
//! send buffer, "to allow TCP more opportunities to save its ssthresh" (`in_rmx.c` 1.26, `in_addroute`). Read in KAME's copy of the
//! 2.2 branch: `tcp_close` in `tcp_subr.c` 1.31.2.4 and `tcp_mss` in `tcp_input.c`.
//!
//! So where some connections lose packets and last for 16 round trips, all the others to that host leave slow start early.
//!
//! Left out: routes never expire (there, an hour after the last use); a connection leaves its values when it has closed, not
//! at the end of TIME-WAIT; and the SYN-ACK keeps its schedule, [`Profile::syn_ack`], where BSD's first wait is the cached timeout.

use aqmkit_base::{Bytes, Duration};

use super::Tcp;
use crate::profile::{Profile, Timer};

/// Round trips measured on a connection from which on its estimates are worth keeping (`tcp_close`).
const ENOUGH_SAMPLES: u8 = 16;
/// Headers without options, which the kept threshold counts with each segment (`sizeof (struct tcpiphdr)`).
const HEADERS: u64 = 40;

/// The metrics of a route to one host. Zero: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    rtt: Duration,
    variation: Duration,
    /// In bytes of packets.
    ssthresh: u64,
}

impl Route {
    /// The slow-start threshold for new connections, in bytes of packets; 0: none is kept.
    #[must_use]
    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// The round-trip time for new connections; zero: none is kept.
    #[must_use]
    pub fn rtt(&self) -> Duration {
        self.rtt
    }
}

impl Tcp {
    /// Initialises a new connection with the cached metrics (`tcp_mss`).
    pub fn begin_with(&mut self, p: &Profile, route: &Route) {
        if let Timer::Tick(tick) = p.timer
            && !route.rtt.is_zero()
        {
            self.rtt.begin(tick, route.rtt, route.variation);
        }
        if route.ssthresh > 0 {
            self.control.window_mut().ssthresh = route.ssthresh.max(2 * p.mss.0);
        }
    }

    /// Saves the estimates of an ended connection (`tcp_close`).
    pub fn leave_with(&self, p: &Profile, route: &mut Route) {
        let Timer::Tick(tick) = p.timer else { return };
        if self.rtt.samples() < ENOUGH_SAMPLES {
            return;
        }
        let (rtt, variation) = self.rtt.estimate(tick);
        route.rtt = half_way(route.rtt, rtt);
        route.variation = half_way(route.variation, variation);
        let ssthresh = self.control.ssthresh();
        // Only a low threshold creates the entry; from then on every one updates it.
        if route.ssthresh > 0 || ssthresh < p.route_pipe.0 / 2 {
            let segments = ((ssthresh + p.mss.0 / 2) / p.mss.0).max(2);
            let now = segments * (p.mss.0 + HEADERS);
            route.ssthresh = if route.ssthresh > 0 { u64::midpoint(route.ssthresh, now) } else { now };
        }
    }
}

/// The mean of the old and the new value, if there are both.
fn half_way(old: Duration, new: Duration) -> Duration {
    if old.is_zero() || new.is_zero() { new } else { (old + new) / 2 }
}

impl Profile {
    /// Whether the routes of these hosts keep metrics.
    #[must_use]
    pub fn keeps_routes(&self) -> bool {
        self.route_pipe > Bytes::ZERO
    }
}
