//! Compressed acknowledgements: while data is missing, the acknowledgements that report data above the hole wait for
//! each other.
//!
//! The first three for a hole are sent at once, so that the sender's fast retransmit is not delayed; the others wait a
//! twentieth of the round trip, at most [`Profile::comp_sack_delay`], and one acknowledgement then reports everything
//! (`__tcp_ack_snd_check` in Linux's `net/ipv4/tcp_input.c`, since 4.18). Also sent at once are an acknowledgement that
//! advances by more than a segment or fills the last hole, that of the 45th waiting segment, and that of a segment that
//! neither begins nor extends one of the two blocks reported last (`tcp_sack_new_ofo_skb`). In the latter case Linux
//! sends the held acknowledgement without that segment, and another later; here the segment is included.

use aqmkit_base::Duration;

use crate::profile::Profile;

/// Acknowledgements for a hole that are sent at once (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u8 = 3;

/// Maximum number that wait for each other (`tcp_comp_sack_nr`).
const MOST: u8 = 44;

/// Number of first-reported blocks that may grow while an acknowledgement waits (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS: u8 = 2;

/// The delay in round trips: a twentieth.
const SHARE: u64 = 20;

/// Slack of the timer; an idle host uses all of it (`tcp_comp_sack_slack_ns`).
const SLACK: Duration = Duration::from_micros(100);

/// The acknowledgements for the current hole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compression {
    /// Start of the hole.
    hole: u64,
    /// Acknowledgements for it that were sent at once.
    gone: u8,
    /// Acknowledgements that wait.
    pub(super) held: u8,
    /// Index, among the blocks as last reported, of the block that the last segment extended; their number if it began
    /// a new one.
    pub(super) place: u8,
}

impl Compression {
    /// Whether the acknowledgement of a segment above the hole at `next` should wait.
    pub(super) fn holds(&mut self, next: u64) -> bool {
        if self.hole != next {
            (self.hole, self.gone) = (next, 0);
        }
        if self.gone < AT_ONCE {
            self.gone += 1;
            return false;
        }
        let waits = self.held < MOST && self.place < BLOCKS;
        self.held += u8::from(waits);
        waits
    }
}

/// How long the acknowledgements wait.
pub(super) fn wait(p: &Profile, rtt: Option<Duration>) -> Duration {
    (rtt.unwrap_or_default() / SHARE).min(p.comp_sack_delay) + SLACK
}

#[cfg(test)]
mod tests {
    use aqmkit_base::Instant;
    use proptest::prelude::*;

    use super::super::clock::Clock;
    use super::super::receive::Receiver;
    use super::*;
    use crate::segment::{Flags, Segment};

    const LEN: u32 = 1000;
    const RTT: Duration = Duration::from_millis(10);
    /// A twentieth of the round trip, and the timer's slack.
    const WAIT: u64 = 600;

    const fn us(n: u64) -> Instant {
        Instant::from_nanos(n * 1000)
    }

    /// A receiver, and when it sent acknowledgements, in us.
    struct Host {
        receiver: Receiver,
        profile: Profile,
        acks: Vec<u64>,
    }

    impl Host {
        fn new() -> Self {
            let profile = Profile { mss: aqmkit_base::Bytes(u64::from(LEN)), quick_acks: 0, ..Profile::linux_6() };
            let mut receiver = Receiver::new();
            receiver.on_syn(&Segment { flags: Flags::SYN, ..Segment::default() });
            receiver.on_sent();
            Host { receiver, profile, acks: Vec::new() }
        }

        fn send_if_owed(&mut self, at: u64) {
            if self.receiver.owes_ack_at_once() {
                self.acks.push(at);
                let _ = self.receiver.sack_blocks(true);
                self.receiver.on_sent();
            }
        }

        /// Until `at` nothing comes.
        fn pass(&mut self, at: u64) {
            while let Some(due) = self.receiver.alarm().time().filter(|due| *due <= us(at)) {
                self.receiver.on_deadline(due);
                self.send_if_owed(due.as_nanos() / 1000);
            }
        }

        /// The n-th segment arrives.
        fn arrives(&mut self, n: u64, at: u64) {
            self.pass(at);
            let seg = Segment { seq: 1 + n * u64::from(LEN), len: LEN, flags: Flags::ACK, ..Segment::default() };
            self.receiver.on_data(&self.profile, &seg, &Clock::new(Duration::ZERO), us(at));
            if seg.seq > self.receiver.next() && !self.profile.comp_sack_delay.is_zero() {
                self.receiver.compress(&self.profile, Some(RTT), us(at));
            }
            self.send_if_owed(at);
        }
    }

    /// Segment 0 is missing and 1 to 9 arrive every 200 us: the first three are acknowledged at once, the fourth (at
    /// 800) waits 600 us for the next two, the seventh (at 1400) for the last two. A segment that fills the hole is
    /// acknowledged at once.
    #[test]
    fn from_the_fourth_on_they_wait_for_each_other() {
        let mut host = Host::new();
        (1..10).for_each(|n| host.arrives(n, 200 * n));
        host.pass(1999);
        assert_eq!(host.acks, [200, 400, 600, 1400]);
        host.arrives(0, 5000);
        assert_eq!(host.acks, [200, 400, 600, 1400, 2000, 5000]);
    }

    /// Each hole has three immediate acknowledgements, and an advance by a segment ends the wait.
    #[test]
    fn each_hole_begins_anew() {
        let mut host = Host::new();
        [1, 3, 4, 5, 6].iter().zip(1..).for_each(|(&n, i)| host.arrives(n, 10 * i));
        assert_eq!(host.acks, [10, 20, 30]);
        host.arrives(0, 60);
        (7..11).zip(7..).for_each(|(n, i)| host.arrives(n, 10 * i));
        assert_eq!(host.acks, [10, 20, 30, 60, 70, 80, 90], "2 is missing now");
    }

    /// At most 44 wait, however fast they arrive.
    #[test]
    fn the_forty_fifth_goes_at_once() {
        let mut host = Host::new();
        (1..60).for_each(|n| host.arrives(n, n));
        assert_eq!(host.acks, [1, 2, 3, 48], "4 to 47 wait");
    }

    /// Three blocks: a segment that extends the third reported block is acknowledged at once, one that extends the
    /// first two waits.
    #[test]
    fn a_third_block_goes_at_once() {
        let mut host = Host::new();
        [1, 5, 10].iter().zip(1..).for_each(|(&n, i)| host.arrives(n, i));
        assert_eq!(host.acks, [1, 2, 3], "at once in any case, as the first three");
        host.arrives(11, 4);
        host.arrives(6, 5);
        assert_eq!(host.acks, [1, 2, 3], "the first and the second");
        host.arrives(2, 6);
        assert_eq!(host.acks, [1, 2, 3, 6], "the third");
        host.arrives(20, 7);
        assert_eq!(host.acks, [1, 2, 3, 6, 7], "a fourth");
    }

    /// `min(rtt / 20, comp_sack_delay)` and 100 us of slack.
    #[test]
    fn the_wait_is_a_twentieth_of_the_round_trip_up_to_the_limit() {
        let p = Profile::linux_6();
        for (rtt, us) in [(None, 100), (Some(4), 300), (Some(10), WAIT), (Some(20), 1100), (Some(400), 1100)] {
            assert_eq!(wait(&p, rtt.map(Duration::from_millis)), Duration::from_micros(us), "{rtt:?}");
        }
    }

    proptest! {
        /// For any arrivals in any order: data above a hole is reported within the delay, in no more acknowledgements
        /// than without compression, and in the end everything is in order.
        #[test]
        fn nothing_waits_longer_than_it_may(order in prop::collection::vec((0..40_u64, 0..900_u64), 1..120)) {
            let (mut host, mut plain) = (Host::new(), Host::new());
            plain.profile.comp_sack_delay = Duration::ZERO;
            let mut at = 0;
            let all = order.iter().copied().chain((0..40).map(|n| (n, 1)));
            for (n, after) in all {
                at += after;
                host.pass(at);
                let before = host.acks.len();
                host.arrives(n, at);
                plain.arrives(n, at);
                if host.receiver.next() < 1 + n * u64::from(LEN) {
                    let due = host.receiver.alarm().time();
                    let sent = host.acks.len() > before;
                    prop_assert!(sent || due.is_some_and(|due| due <= us(at + WAIT)), "segment {n} at {at}: {due:?}");
                }
            }
            host.pass(at + 1_000_000);
            plain.pass(at + 1_000_000);
            prop_assert_eq!(host.receiver.next(), 1 + 40 * u64::from(LEN));
            prop_assert!(host.acks.len() <= plain.acks.len(), "{} and {}", host.acks.len(), plain.acks.len());
        }
    }
}
