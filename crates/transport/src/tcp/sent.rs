//! Per-segment state of the data in flight: for time-based loss detection (RFC 8985) and for controls that measure the
//! delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).
//!
//! Kept only if one of the two needs it. Every operation takes constant time per segment sent, acknowledged or lost,
//! plus a binary search per SACK block.

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};

use super::ranges::Range;

/// The presumed fate of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    InFlight,
    Lost,
    Sacked,
}

/// An unacknowledged segment, as it was last sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its first sequence number.
    pub(crate) seq: u64,
    /// Its length in sequence numbers, including a FIN.
    pub(crate) len: u32,
    place: Place,
    /// Whether it was sent more than once.
    pub(crate) resent: bool,
    /// Whether there was nothing more to send when it was sent (`P.is_app_limited`).
    pub(crate) app_limited: bool,
    /// The serial number of this transmission on the connection. It orders transmissions (`RACK_sent_after` of RFC
    /// 8985), even those sent at the same time.
    pub(crate) number: u64,
    /// When it was sent last (`P.sent_time`).
    pub(crate) sent: Instant,
    /// [`Rate::delivered`] when it was sent (`P.delivered`).
    pub(crate) delivered: u64,
    /// [`Rate::delivered_at`] when it was sent (`P.delivered_time`).
    pub(crate) delivered_at: Instant,
    /// [`Rate::first_sent`] when it was sent (`P.first_sent_time`).
    pub(crate) first_sent: Instant,
    /// [`Sent::in_flight`] when it was sent, itself included (`P.tx_in_flight`).
    pub(crate) tx_in_flight: u32,
    /// The low bits of [`Rate::lost`] when it was sent (`P.lost`).
    lost: u32,
}

impl Entry {
    /// Above its last sequence number.
    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }

    /// Sequence numbers marked as lost since it was sent.
    pub(crate) fn lost_since(&self, rate: &Rate) -> u64 {
        u64::from((rate.lost as u32).wrapping_sub(self.lost))
    }
}

/// A segment that was just found to be lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// As it was sent.
    pub(crate) entry: Entry,
    /// Bytes lost since it was sent, itself included (`RS.lost` of draft-ietf-ccwg-bbr).
    pub(crate) since: u64,
}

/// The connection's delivery counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Sequence numbers acknowledged or SACKed so far (`C.delivered`).
    pub(crate) delivered: u64,
    /// When that last grew, or when sending resumed after an idle period (`C.delivered_time`).
    pub(crate) delivered_at: Instant,
    /// When the most recently delivered segment was sent, or when sending resumed after an idle period
    /// (`C.first_sent_time`).
    pub(crate) first_sent: Instant,
    /// Samples are app-limited until this much is delivered (`C.app_limited`); 0 if they are not.
    pub(crate) app_limited: u64,
    /// Sequence numbers marked as lost so far (`C.lost`).
    pub(crate) lost: u64,
}

/// The effect of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct News {
    /// Sequence numbers delivered.
    pub(crate) delivered: u64,
    /// Sequence numbers marked as lost.
    pub(crate) lost: u64,
    /// The most recently sent of the segments delivered, as it was sent: the start of the rate sample.
    pub(crate) newest: Option<Entry>,
}

/// The record.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// In sequence order, without gaps.
    entries: VecDeque<Entry>,
    /// How many entries have been removed at the front: entry `i` has the serial number `gone + i`.
    gone: u64,
    /// Transmissions in order: serial number of the entry, and number of the transmission. Stale ones (retransmitted,
    /// lost, delivered) are skipped when they reach the front. Empty without RACK.
    order: VecDeque<(u64, u64)>,
    keeps_order: bool,
    /// How many transmissions there were.
    transmissions: u64,
    /// Serial numbers of lost segments, in the order detected; those since repaired or delivered are skipped.
    lost: VecDeque<u64>,
    in_flight: u64,
    /// How many entries are SACKed.
    sacked: usize,
    rate: Rate,
    news: News,
    /// Segments last marked as lost, where the congestion control examines each.
    losses: Option<Vec<Loss>>,
}

impl Sent {
    /// Nothing in flight. `keeps_order` is for RACK, `keeps_losses` for controls that look at each lost segment.
    pub(crate) fn new(keeps_order: bool, keeps_losses: bool, now: Instant) -> Self {
        Sent {
            entries: VecDeque::new(),
            gone: 0,
            order: VecDeque::new(),
            keeps_order,
            transmissions: 0,
            lost: VecDeque::new(),
            in_flight: 0,
            sacked: 0,
            rate: Rate { delivered: 0, delivered_at: now, first_sent: now, app_limited: 0, lost: 0 },
            news: News::default(),
            losses: keeps_losses.then(Vec::new),
        }
    }

    /// Sequence numbers in the network: sent, and neither delivered nor lost since.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// When the first unacknowledged segment was last sent.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.entries.front().map(|entry| entry.sent)
    }

    /// How many segments are SACKed.
    pub(super) fn sacked(&self) -> usize {
        self.sacked
    }

    pub(crate) fn rate(&self) -> &Rate {
        &self.rate
    }

    /// The effect of the acknowledgement being processed, so far.
    pub(crate) fn news(&self) -> &News {
        &self.news
    }

    /// The segments found by the last loss detection, in the order found.
    pub(crate) fn losses(&self) -> &[Loss] {
        self.losses.as_deref().unwrap_or_default()
    }

    /// Another look for losses.
    fn begin_losses(&mut self) {
        if let Some(losses) = &mut self.losses {
            losses.clear();
        }
    }

    /// Begins to process another acknowledgement.
    pub(crate) fn begin_ack(&mut self) {
        self.news = News::default();
    }

    /// There was less to send than allowed.
    pub(crate) fn note_app_limited(&mut self) {
        self.rate.app_limited = (self.rate.delivered + self.in_flight).max(1);
    }

    /// A range of the stream is sent: new, retransmitted, or both.
    pub(crate) fn on_sent(&mut self, piece: Range, now: Instant) {
        if self.in_flight == 0 {
            (self.rate.first_sent, self.rate.delivered_at) = (now, now);
        }
        let known = self.entries.back().map_or(piece.start, Entry::end).max(piece.start);
        let mut i = self.entries.partition_point(|e| e.end() <= piece.start);
        while let Some(entry) = self.entries.get_mut(i).filter(|e| e.seq < piece.end) {
            if entry.place == Place::Lost {
                self.in_flight += u64::from(entry.len);
            }
            // SACKed segments are never retransmitted.
            if entry.place != Place::Sacked {
                self.transmissions += 1;
                let again = Self::snapshot(&self.rate, entry.seq, entry.len, self.transmissions, self.in_flight, now);
                *entry = Entry { resent: true, ..again };
                self.note_order(i);
            }
            i += 1;
        }
        if piece.end > known {
            let len = (piece.end - known) as u32;
            self.transmissions += 1;
            self.in_flight += u64::from(len);
            self.entries.push_back(Self::snapshot(&self.rate, known, len, self.transmissions, self.in_flight, now));
            self.note_order(self.entries.len() - 1);
        }
    }

    fn snapshot(rate: &Rate, seq: u64, len: u32, number: u64, in_flight: u64, now: Instant) -> Entry {
        Entry {
            seq,
            len,
            place: Place::InFlight,
            resent: false,
            app_limited: rate.app_limited != 0,
            number,
            sent: now,
            delivered: rate.delivered,
            delivered_at: rate.delivered_at,
            first_sent: rate.first_sent,
            tx_in_flight: in_flight.min(u64::from(u32::MAX)) as u32,
            lost: rate.lost as u32,
        }
    }

    fn note_order(&mut self, i: usize) {
        if self.keeps_order {
            self.order.push_back((self.gone + i as u64, self.transmissions));
        }
    }

    /// Everything below `ack` is acknowledged. Calls `each` for every segment that was not SACKed before.
    pub(crate) fn on_acked(&mut self, ack: u64, now: Instant, mut each: impl FnMut(&Entry)) {
        while let Some(entry) = self.entries.front_mut().filter(|e| e.seq < ack) {
            let whole = entry.end() <= ack;
            let part = Entry { len: (ack.min(entry.end()) - entry.seq) as u32, ..*entry };
            if whole {
                self.entries.pop_front();
                self.gone += 1;
            } else {
                (entry.seq, entry.len) = (ack, entry.len - part.len);
            }
            if part.place != Place::Sacked {
                self.deliver(&part, now);
                each(&part);
            } else if whole {
                self.sacked -= 1;
            }
            if !whole {
                break;
            }
        }
    }

    /// The peer reports this range as received. Calls `each` for every segment in it that was not SACKed before.
    pub(crate) fn on_sacked(&mut self, range: Range, now: Instant, mut each: impl FnMut(&Entry)) {
        let mut i = self.entries.partition_point(|e| e.seq < range.start);
        while let Some(entry) = self.entries.get_mut(i).filter(|e| e.end() <= range.end) {
            if entry.place != Place::Sacked {
                let before = *entry;
                entry.place = Place::Sacked;
                self.sacked += 1;
                self.deliver(&before, now);
                each(&before);
            }
            i += 1;
        }
    }

    /// `UpdateRateSample` of the draft, as far as it concerns the record.
    fn deliver(&mut self, entry: &Entry, now: Instant) {
        let len = u64::from(entry.len);
        if entry.place == Place::InFlight {
            self.in_flight -= len;
        }
        self.rate.delivered += len;
        self.rate.delivered_at = now;
        self.news.delivered += len;
        if self.news.newest.is_none_or(|n| entry.number > n.number) {
            self.news.newest = Some(*entry);
            self.rate.first_sent = entry.sent;
        }
        if self.rate.app_limited != 0 && self.rate.delivered > self.rate.app_limited {
            self.rate.app_limited = 0;
        }
    }

    /// RFC 8985 section 6.2 step 5: marks as lost everything sent before the transmission `newest` that has been in
    /// flight for `patience`. Returns how long until the next is due, if there is one.
    pub(crate) fn lose_before(&mut self, newest: u64, patience: Duration, now: Instant) -> Option<Duration> {
        self.begin_losses();
        while let Some(&(serial, number)) = self.order.front() {
            let i = serial.checked_sub(self.gone).map(|i| i as usize);
            let entry =
                i.and_then(|i| self.entries.get(i)).filter(|e| e.number == number && e.place == Place::InFlight);
            if let Some(entry) = entry {
                if number >= newest {
                    return None;
                }
                let due = entry.sent + patience;
                if due > now {
                    return Some(due.since(now));
                }
                self.lose(serial);
            }
            self.order.pop_front();
        }
        None
    }

    /// RFC 8985 section 6.3: after a timeout the first segment is lost, and all that have been in flight for
    /// `patience`.
    pub(crate) fn lose_after_timeout(&mut self, patience: Duration, now: Instant) {
        self.begin_losses();
        // Those lost before are retransmitted too, in sequence order.
        self.lost.clear();
        for i in 0..self.entries.len() {
            let entry = &self.entries[i];
            match entry.place {
                Place::InFlight if i == 0 || entry.sent + patience <= now => self.lose(self.gone + i as u64),
                Place::Lost => self.lost.push_back(self.gone + i as u64),
                _ => {}
            }
        }
    }

    fn lose(&mut self, serial: u64) {
        let entry = &mut self.entries[(serial - self.gone) as usize];
        entry.place = Place::Lost;
        let len = u64::from(entry.len);
        self.in_flight -= len;
        self.rate.lost += len;
        self.news.lost += len;
        self.lost.push_back(serial);
        if let Some(losses) = &mut self.losses {
            let entry = *entry;
            losses.push(Loss { entry, since: entry.lost_since(&self.rate) });
        }
    }

    /// Nothing was lost: segments marked as lost are in flight.
    pub(super) fn find_all(&mut self) {
        for entry in self.entries.iter_mut().filter(|e| e.place == Place::Lost) {
            entry.place = Place::InFlight;
            self.in_flight += u64::from(entry.len);
        }
        self.lost.clear();
        if self.keeps_order {
            let in_flight = self.entries.iter().enumerate().filter(|(_, e)| e.place == Place::InFlight);
            self.order = in_flight.map(|(i, e)| (self.gone + i as u64, e.number)).collect();
            self.order.make_contiguous().sort_unstable_by_key(|&(_, number)| number);
        }
    }

    /// The next segment to repair: lost, and not retransmitted since.
    pub(crate) fn next_lost(&mut self) -> Option<Range> {
        while let Some(&serial) = self.lost.front() {
            let i = serial.checked_sub(self.gone).map(|i| i as usize);
            if let Some(entry) = i.and_then(|i| self.entries.get(i)).filter(|e| e.place == Place::Lost) {
                return Some(Range { start: entry.seq, end: entry.end() });
            }
            self.lost.pop_front();
        }
        None
    }

    /// The entry with the highest sequence numbers.
    pub(super) fn last(&self) -> Option<&Entry> {
        self.entries.back()
    }
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    const fn piece(n: u64) -> Range {
        Range { start: n * 100, end: n * 100 + 100 }
    }

    /// Segments 0, 1, … of 100 bytes sent at 0, 1, … ms.
    fn sent(count: u64) -> Sent {
        let mut sent = Sent::new(true, true, ms(0));
        (0..count).for_each(|n| sent.on_sent(piece(n), ms(n)));
        sent
    }

    #[test]
    fn what_is_delivered_once_counts_once() {
        let mut sent = sent(5);
        assert_eq!(sent.in_flight(), 500);
        sent.on_sacked(Range { start: 200, end: 400 }, ms(10), |_| ());
        sent.on_sacked(Range { start: 200, end: 400 }, ms(11), |_| panic!("again"));
        assert_eq!((sent.in_flight(), sent.rate().delivered), (300, 200));
        assert_eq!(sent.news().newest.map(|e| (e.seq, e.sent)), Some((300, ms(3))));
        let mut seen = Vec::new();
        sent.on_acked(450, ms(12), |e| seen.push((e.seq, e.len)));
        assert_eq!(seen, [(0, 100), (100, 100), (400, 50)]);
        assert_eq!((sent.in_flight(), sent.rate().delivered, sent.rate().delivered_at), (50, 450, ms(12)));
    }

    /// Which copy came last is known by these numbers.
    #[test]
    fn every_transmission_has_a_number_of_its_own() {
        let mut sent = sent(3);
        let numbers = |list: &Sent| list.entries.iter().map(|e| e.number).collect::<Vec<_>>();
        assert_eq!(numbers(&sent), [1, 2, 3]);
        sent.on_sent(piece(0), ms(10));
        sent.on_sent(piece(3), ms(11));
        sent.on_sent(piece(1), ms(12));
        assert_eq!(numbers(&sent), [4, 6, 3, 5]);
        // SACKed segments are not retransmitted, and a longer range counts as several transmissions.
        sent.on_sacked(piece(1), ms(20), |_| ());
        sent.on_sent(Range { start: 0, end: 500 }, ms(21));
        assert_eq!(numbers(&sent), [7, 6, 8, 9, 10]);
    }

    #[test]
    fn the_older_are_lost_when_patience_ends() {
        let mut sent = sent(5);
        sent.on_sacked(piece(3), ms(10), |_| ());
        // Segment 0 has waited for 10 ms, 1 for 9 ms; 4 was sent after 3.
        assert_eq!(sent.lose_before(4, Duration::from_millis(10), ms(10)), Some(Duration::from_millis(1)));
        assert_eq!((sent.in_flight(), sent.next_lost()), (300, Some(piece(0))));
        assert_eq!(sent.lose_before(4, Duration::from_millis(10), ms(12)), None);
        assert_eq!((sent.in_flight(), sent.news().lost), (100, 300));
        let losses: Vec<_> = sent.losses().iter().map(|l| (l.entry.seq, l.entry.tx_in_flight, l.since)).collect();
        assert_eq!(losses, [(100, 200, 200), (200, 300, 300)]);
        sent.on_sent(piece(0), ms(12));
        assert_eq!((sent.in_flight(), sent.next_lost()), (200, Some(piece(1))));
        // The second copy of 0 (transmission 6) is lost in its turn, behind 4.
        sent.on_sacked(piece(4), ms(20), |_| ());
        sent.on_sent(piece(5), ms(20));
        sent.on_sacked(piece(5), ms(30), |_| ());
        assert_eq!(sent.lose_before(7, Duration::from_millis(10), ms(30)), None);
        assert_eq!(sent.in_flight(), 0);
    }

    #[test]
    fn a_timeout_loses_the_first_and_the_old() {
        let mut sent = sent(4);
        sent.on_sacked(piece(1), ms(5), |_| ());
        sent.lose_after_timeout(Duration::from_millis(8), ms(10));
        // 2 was sent at 2 ms, 3 at 3 ms.
        assert_eq!((sent.in_flight(), sent.next_lost()), (100, Some(piece(0))));
        sent.on_sent(piece(0), ms(10));
        assert_eq!(sent.next_lost(), Some(piece(2)));
        sent.on_sent(piece(2), ms(10));
        assert_eq!(sent.next_lost(), None);
    }

    /// A retransmission may have other boundaries than the original.
    #[test]
    fn pieces_may_be_cut_anew() {
        let mut sent = sent(2);
        sent.on_sent(Range { start: 0, end: 250 }, ms(9));
        assert_eq!(sent.in_flight(), 250);
        assert_eq!(
            (sent.entries.front().map(|e| e.resent), sent.last().map(|e| (e.seq, e.len))),
            (Some(true), Some((200, 50)))
        );
    }

    #[test]
    fn silence_starts_the_rate_anew() {
        let mut sent = sent(1);
        sent.on_acked(100, ms(5), |_| ());
        sent.note_app_limited();
        sent.on_sent(piece(1), ms(50));
        let last = *sent.last().unwrap();
        assert_eq!((last.delivered, last.delivered_at, last.first_sent, last.app_limited), (100, ms(50), ms(50), true));
        sent.begin_ack();
        sent.on_acked(200, ms(60), |_| ());
        assert_eq!((sent.rate().app_limited, sent.rate().first_sent), (0, ms(50)));
    }
}
