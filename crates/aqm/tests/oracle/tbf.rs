//! `tbf_dequeue` of `sch_tbf.c`, in whole nanoseconds: tokens are time at the rate.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, START, assert_seen, compare};

struct Tbf {
    q: Vec<Pkt>,
    limit: u64,
    max_size: u32,
    /// Nanoseconds for a byte.
    rate: i64,
    buffer: i64,
    tokens: i64,
    /// The same of the peak rate, where there is one.
    peak: Option<i64>,
    mtu: i64,
    ptokens: i64,
    t_c: Instant,
}

impl Oracle for Tbf {
    fn arriving(&mut self, p: Pkt, _now: Instant, _rng: &mut Rng) -> bool {
        let backlog: u64 = self.q.iter().map(|waiting| u64::from(waiting.len)).sum();
        let fits = p.len <= self.max_size && backlog + u64::from(p.len) <= self.limit;
        if fits {
            self.q.push(p);
        }
        fits
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        let len = i64::from(self.q.first()?.len);
        let mut toks = (now.since(self.t_c).as_nanos() as i64).min(self.buffer);
        let mut ptoks = 0;
        if let Some(peak) = self.peak {
            ptoks = (toks + self.ptokens).min(self.mtu) - len * peak;
        }
        toks = (toks + self.tokens).min(self.buffer) - len * self.rate;
        if toks < 0 || ptoks < 0 {
            return None;
        }
        (self.t_c, self.tokens, self.ptokens) = (now, toks, ptoks);
        Some(self.q.remove(0))
    }
}

fn oracle(burst: i64, peak: Option<(i64, i64)>) -> Tbf {
    let buffer = burst * 1000;
    let (rate, minburst) = peak.unwrap_or((0, burst));
    let mtu = minburst * rate;
    Tbf {
        q: Vec::new(),
        limit: 20_000,
        max_size: burst.min(minburst) as u32,
        rate: 1000,
        buffer,
        tokens: buffer,
        peak: peak.map(|_| rate),
        mtu,
        ptokens: mtu,
        t_c: START,
    }
}

/// A byte takes a microsecond.
#[test]
fn tbf_is_sch_tbf() {
    let one = spec("tbf", r#"{"rate": "8mbit", "burst": "3000b", "limit": "20000b"}"#);
    let stats = compare(&one, &link(), 9, || oracle(3000, None));
    assert_seen(&stats, &[Why::Overflow]);
}

/// At the peak rate it takes half as long. Every thirtieth packet is longer than the smaller bucket.
#[test]
fn tbf_with_a_peak_rate_is_sch_tbf() {
    let table = r#"{"rate": "8mbit", "burst": "9000b", "limit": "20000b", "peakrate": "16mbit", "minburst": "1450b"}"#;
    let stats = compare(&spec("tbf", table), &link(), 9, || oracle(9000, Some((500, 1450))));
    assert_seen(&stats, &[Why::Overflow]);
}
