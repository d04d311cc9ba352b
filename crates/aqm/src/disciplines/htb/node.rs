//! One class of the tree: its buckets and its mode.

use aqmkit_base::{Duration, Instant};

use super::feed::Feed;

/// How many priorities there are (`TC_HTB_NUMPRIO`).
pub(super) const PRIORITIES: usize = 8;

/// How many levels there are (`TC_HTB_MAXDEPTH`).
pub(super) const LEVELS: usize = 8;

/// Bounds the time for which tokens come at once, and the debt.
const MBUFFER: Duration = Duration::from_secs(60);

/// Whether a class may send, borrow or neither (`enum htb_cmode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is within its rate.
    CanSend,
    /// It is above its rate, and below its ceiling.
    MayBorrow,
    /// It is above its ceiling.
    CantSend,
}

/// A bucket of tokens for bytes, which may be overdrawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bucket {
    /// Bytes per second.
    pub(super) rate: f64,
    /// Its size in bytes.
    pub(super) burst: f64,
    pub(super) tokens: f64,
}

/// The most that rounding takes away from a sum of many fractions.
const ROUNDING: f64 = 1e-6;

impl Bucket {
    /// A full one.
    pub(super) fn new(rate: f64, burst: f64) -> Self {
        Bucket { rate, burst, tokens: burst }
    }

    fn after(&self, time: Duration) -> f64 {
        self.tokens + time.as_secs_f64() * self.rate
    }

    /// How long until it is no longer overdrawn, from the time of its tokens.
    fn recovered(&self) -> Duration {
        let debt = -self.tokens;
        if debt <= ROUNDING { Duration::ZERO } else { Duration::from_nanos((debt / self.rate * 1e9).ceil() as u64) }
    }

    fn charge(&mut self, time: Duration, bytes: f64) {
        let least = -MBUFFER.as_secs_f64() * self.rate;
        self.tokens = (self.after(time).min(self.burst) - bytes).max(least);
    }

    /// Takes another rate and size; it stays as far from full as it was.
    fn change(&mut self, time: Duration, to: &Bucket) {
        let missing = self.burst - self.after(time).min(self.burst);
        *self = Bucket { tokens: to.burst - missing, ..*to };
    }
}

/// A class. Inner classes have feeds, leaves a priority.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    /// 0 for a leaf; an inner class at the root has the highest.
    pub(super) level: usize,
    pub(super) prio: usize,
    pub(super) quantum: f64,
    pub(super) rate: Bucket,
    pub(super) ceil: Bucket,
    /// When the tokens were counted.
    counted: Instant,
    pub(super) mode: Mode,
    /// Priorities at which it, or a class below that borrows from it, has packets: a bit each.
    pub(super) activity: u8,
    /// The classes below an inner class that borrow from it, by priority; none for a leaf.
    pub(super) feeds: Vec<Feed>,
    /// Bytes that a leaf may still send in its turn, by the level of the lender.
    pub(super) deficits: [f64; LEVELS],
}

impl Node {
    pub(super) fn new(parent: Option<usize>, level: usize, rate: Bucket, ceil: Bucket, now: Instant) -> Self {
        Node {
            parent,
            level,
            prio: 0,
            quantum: 0.0,
            rate,
            ceil,
            counted: now,
            mode: Mode::CanSend,
            activity: 0,
            feeds: if level > 0 { vec![Feed::default(); PRIORITIES] } else { Vec::new() },
            deficits: [0.0; LEVELS],
        }
    }

    fn since(&self, now: Instant) -> Duration {
        now.since(self.counted).min(MBUFFER)
    }

    /// Its mode at this time.
    pub(super) fn mode_at(&self, now: Instant) -> Mode {
        let time = self.since(now);
        if self.ceil.after(time) < -ROUNDING {
            Mode::CantSend
        } else if self.rate.after(time) < -ROUNDING {
            Mode::MayBorrow
        } else {
            Mode::CanSend
        }
    }

    /// No change of its mode by time alone comes before this. Its mode counts [`ROUNDING`] as nothing, which at a low rate is some time.
    pub(super) fn next_mode(&self) -> Instant {
        let bucket = if self.mode == Mode::CantSend { &self.ceil } else { &self.rate };
        let debt = (-bucket.tokens - 2.0 * ROUNDING).max(0.0);
        self.counted + Duration::from_nanos((debt / bucket.rate * 1e9 * (1.0 - 1e-9)) as u64)
    }

    /// From when on it is within its ceiling, and within its rate.
    pub(super) fn recovered(&self) -> (Instant, Instant) {
        (self.counted + self.ceil.recovered(), self.counted + self.rate.recovered())
    }

    /// Charges a packet. Of what it borrows, a class pays only for its ceiling.
    pub(super) fn charge(&mut self, bytes: f64, borrowed: bool, now: Instant) {
        let time = self.since(now);
        if borrowed {
            self.rate.tokens = self.rate.after(time);
        } else {
            self.rate.charge(time, bytes);
        }
        self.ceil.charge(time, bytes);
        self.counted = now;
    }

    /// Takes the parameters of another.
    pub(super) fn change(&mut self, to: &Node, now: Instant) {
        let rates = |node: &Node| [node.rate, node.ceil].map(|bucket| (bucket.rate, bucket.burst));
        if rates(self) != rates(to) {
            let time = self.since(now);
            self.rate.change(time, &to.rate);
            self.ceil.change(time, &to.ceil);
            self.counted = now;
        }
        (self.prio, self.quantum) = (to.prio, to.quantum);
    }
}
