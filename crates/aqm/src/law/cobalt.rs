//! COBALT: CoDel and BLUE side by side, the algorithm of each queue of Linux's CAKE.
//!
//! Linux, `net/sched/sch_cake.c`; Hoeiland-Joergensen, Taht and Morton 2018, section III.

use aqmkit_base::{BitRate, Bytes, Duration, Instant, Rng};

use super::control::control_law;
use crate::params::{ParamError, in_range, positive_time};
use crate::verdict::{Verdict, Why};

/// The parameters of COBALT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltParams {
    /// Acceptable standing delay; also the minimum time between two steps of BLUE.
    pub target: Duration,
    /// About the longest usual round-trip time.
    pub interval: Duration,
    /// Transmission time of a maximum-size packet; zero if the rate is unknown.
    pub mtu_time: Duration,
    /// Increment of BLUE's probability.
    pub p_inc: f64,
    /// Decrement of BLUE's probability.
    pub p_dec: f64,
}

impl CobaltParams {
    /// Extends target and interval for a link that is slow relative to `mtu`: the target is at least one and a half
    /// transmission times of it, the interval at least two targets.
    #[must_use]
    pub fn for_rate(self, rate: Option<BitRate>, mtu: Bytes) -> Self {
        let mtu_time = rate.map_or(Duration::ZERO, |rate| rate.time_to_send(mtu));
        let target = (mtu_time * 3 / 2).max(self.target);
        let interval = (self.interval + (target - self.target)).max(target * 2);
        CobaltParams { target, interval, mtu_time, ..self }
    }

    /// Rejects zero times and steps that are not probabilities.
    ///
    /// # Errors
    /// When `target` or `interval` is zero, or a step is not from 0 to 1.
    pub fn check(self) -> Result<Self, ParamError> {
        positive_time("target", self.target)?;
        positive_time("interval", self.interval)?;
        in_range("p_inc", self.p_inc, 0.0, 1.0)?;
        in_range("p_dec", self.p_dec, 0.0, 1.0)?;
        Ok(self)
    }
}

/// The decision about a packet taken from the head of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Whether CoDel has marked it.
    pub marked: bool,
    /// Why to drop it, if so: by CoDel ([`Why::Sojourn`]) or by BLUE ([`Why::Early`]).
    pub dropped: Option<Why>,
}

impl Judgement {
    /// The verdict. The last packet of a queue may be marked, but is not dropped.
    #[must_use]
    pub fn verdict(self, last: bool) -> Verdict {
        match self.dropped.filter(|_| !last) {
            Some(why) => Verdict::Drop(why),
            None if self.marked => Verdict::Mark(Why::Sojourn),
            None => Verdict::Pass,
        }
    }
}

/// The packet at the head of a queue, as COBALT sees it.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// How long it has waited.
    pub sojourn: Duration,
    /// Whether a mark is an alternative to a drop.
    pub can_mark: bool,
    /// Number of other flows that share the link: a delay of two packets of each is not a standing queue. Zero if this
    /// is not considered.
    pub bulk_flows: u64,
}

/// COBALT's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Cobalt {
    /// The frequency of CoDel's drops: one per `interval / sqrt(count)`.
    count: u32,
    dropping: bool,
    /// When CoDel's next drop is due; if `count` is zero, until when the queue counts as active.
    drop_next: Instant,
    /// BLUE's probability.
    p_drop: f64,
    /// When it was last changed.
    blue_timer: Option<Instant>,
}

impl Cobalt {
    /// COBALT for a queue that was never used.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Cobalt { count: 0, dropping: false, drop_next: now, p_drop: 0.0, blue_timer: None }
    }

    /// BLUE's probability.
    #[must_use]
    pub fn p_drop(&self) -> f64 {
        self.p_drop
    }

    /// CoDel's count.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether its state has decayed completely.
    #[must_use]
    pub fn at_rest(&self, now: Instant) -> bool {
        self.p_drop == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// Whether BLUE's probability may change again.
    fn blue_is_due(&self, by: &CobaltParams, now: Instant) -> bool {
        self.blue_timer.is_none_or(|last| now.since(last) > by.target)
    }

    /// Decrements CoDel's count, and sets the time of its next drop.
    fn count_down(&mut self, by: &CobaltParams) {
        self.count -= 1;
        self.drop_next = control_law(self.drop_next, by.interval, self.count);
    }

    /// `cobalt_queue_full`: a packet had to be dropped because there was no room.
    pub fn queue_full(&mut self, by: &CobaltParams, now: Instant) {
        if self.blue_is_due(by, now) {
            self.p_drop = (self.p_drop + by.p_inc).min(1.0);
            self.blue_timer = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// `cobalt_queue_empty`: the queue was served and found empty.
    pub fn queue_empty(&mut self, by: &CobaltParams, now: Instant) {
        if self.p_drop > 0.0 && self.blue_is_due(by, now) {
            self.p_drop = (self.p_drop - by.p_dec).max(0.0);
            self.blue_timer = Some(now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count_down(by);
        }
    }

    /// Decreases BLUE's probability while the queue stays empty: one step per `target`.
    pub fn while_empty(&mut self, by: &CobaltParams, now: Instant) {
        if let Some(last) = self.blue_timer.filter(|_| self.p_drop > 0.0) {
            let to_zero = libm::ceil(self.p_drop / by.p_dec) as u64;
            let steps = now.since(last).whole(by.target).min(to_zero);
            self.p_drop = (self.p_drop - steps as f64 * by.p_dec).max(0.0);
            self.blue_timer = Some(last + by.target * steps);
        }
    }

    /// `cobalt_should_drop`: the decision about the packet at the head.
    pub fn judge(&mut self, by: &CobaltParams, head: Head, now: Instant, rng: &mut Rng) -> Judgement {
        let mut judgement = Judgement::default();
        let over_target = head.sojourn > by.target
            && head.sojourn > by.mtu_time * 4
            && head.sojourn > by.mtu_time * (2 * head.bulk_flows);
        // Whether `drop_next` has passed is tested before it is advanced.
        let mut next_due = self.count > 0 && now >= self.drop_next;
        let mut late = now > self.drop_next;
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = control_law(now, by.interval, self.count);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if next_due && self.dropping {
            judgement.marked = head.can_mark;
            judgement.dropped = (!head.can_mark).then_some(Why::Sojourn);
            self.count = self.count.saturating_add(1);
            self.drop_next = control_law(self.drop_next, by.interval, self.count);
            late = now > self.drop_next;
        }
        while next_due && !self.dropping {
            self.count_down(by);
            late = now > self.drop_next;
            next_due = self.count > 0 && now >= self.drop_next;
        }
        // BLUE is for unresponsive flows: it does not mark.
        if self.p_drop > 0.0 && rng.uniform() < self.p_drop {
            judgement.dropped = judgement.dropped.or(Some(Why::Early));
        }
        if self.count == 0 {
            self.drop_next = now + by.interval;
        } else if late && judgement.dropped.is_none() {
            self.drop_next = now;
        }
        judgement
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + MS(ms)
    }

    fn params() -> CobaltParams {
        CobaltParams {
            target: MS(5),
            interval: MS(100),
            mtu_time: Duration::ZERO,
            p_inc: 1.0 / 256.0,
            p_dec: 1.0 / 4096.0,
        }
    }

    /// 1514 bytes at 1 Mbit/s take 12.112 ms: the target is 18.168 ms, the interval 113.168 ms. At 100 kbit/s two targets are longer.
    #[test]
    fn slow_links_get_longer_times() {
        let scaled = |rate| params().for_rate(Some(BitRate::from_bps(rate)), Bytes(1514));
        let slow = scaled(1_000_000);
        assert_eq!((slow.target, slow.interval), (Duration::from_micros(18_168), Duration::from_micros(113_168)));
        let slower = scaled(100_000);
        assert_eq!((slower.target, slower.interval), (Duration::from_micros(181_680), Duration::from_micros(363_360)));
        assert_eq!(scaled(100_000_000).interval, MS(100));
        assert_eq!(params().for_rate(None, Bytes(1514)), params());
    }

    /// Sixteen overflows more than a target apart raise the probability by a sixteenth; one idle target takes a 4096th back.
    #[test]
    fn blue_rises_fast_and_falls_slowly() {
        let (by, mut cobalt) = (params(), Cobalt::new(Instant::ZERO));
        for i in 0..16 {
            cobalt.queue_full(&by, at(6 * i));
            cobalt.queue_full(&by, at(6 * i + 4));
        }
        assert_eq!(cobalt.p_drop(), 1.0 / 16.0, "a step per target only");
        cobalt.queue_empty(&by, at(100));
        assert_eq!(cobalt.p_drop(), 1.0 / 16.0 - 1.0 / 4096.0);
        cobalt.while_empty(&by, at(100 + 5 * 9));
        assert_eq!(cobalt.p_drop(), 1.0 / 16.0 - 10.0 / 4096.0);
        cobalt.while_empty(&by, at(100_000));
        assert_eq!(cobalt.p_drop(), 0.0);
    }

    /// Where everything waits for 50 ms: the first drop after an interval, the next ones 100/sqrt(2), 100/sqrt(3) ms ... later. Once
    /// packets wait no longer the count goes down at the pace at which it rose.
    #[test]
    fn codel_goes_up_and_down_the_same_stairs() {
        let (by, mut cobalt) = (params(), Cobalt::new(Instant::ZERO));
        let mut rng = Rng::stream(1, "cobalt");
        let head = |sojourn| Head { sojourn, can_mark: false, bulk_flows: 0 };
        let mut drops = Vec::new();
        for ms in 0..350 {
            if cobalt.judge(&by, head(MS(50)), at(ms), &mut rng).dropped.is_some() {
                drops.push(ms);
            }
        }
        // 100, then 100 + 70.7, + 57.7, + 50 and + 44.7.
        assert_eq!(drops, [100, 171, 229, 279, 324]);
        assert_eq!(cobalt.count(), 6);
        let mut down = Vec::new();
        for ms in 350..900 {
            let before = cobalt.count();
            assert_eq!(cobalt.judge(&by, head(MS(1)), at(ms), &mut rng), Judgement::default());
            if cobalt.count() < before {
                down.push(cobalt.count());
            }
        }
        assert_eq!(down, [5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn the_last_packet_is_marked_but_not_dropped() {
        let both = Judgement { marked: true, dropped: Some(Why::Early) };
        assert_eq!((both.verdict(false), both.verdict(true)), (Verdict::Drop(Why::Early), Verdict::Mark(Why::Sojourn)));
        let dropped = Judgement { marked: false, dropped: Some(Why::Sojourn) };
        assert_eq!((dropped.verdict(false), dropped.verdict(true)), (Verdict::Drop(Why::Sojourn), Verdict::Pass));
    }
}
