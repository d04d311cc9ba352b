//! The record against one that counts everything anew from a list of segments, over random histories of a sender.

use aqmkit_base::Rng;

use super::*;

/// A segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Segment {
    seq: u64,
    end: u64,
    place: Place,
    resent: bool,
    number: u64,
    sent: Instant,
    /// The counters when it was sent: delivered, when that last grew, when the last of them was sent, lost.
    counters: Counters,
    app_limited: bool,
    tx_in_flight: u64,
    /// Which loss it was, of all.
    found: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Counters {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    lost: u64,
}

struct Model {
    segments: Vec<Segment>,
    counters: Counters,
    app_limited: u64,
    transmissions: u64,
    found: u64,
    /// The last acknowledgement: bytes delivered and lost, and the segments delivered.
    delivered: u64,
    lost: u64,
    brought: Vec<Segment>,
    /// The last loss detection: start of each lost segment, and bytes lost since it was sent.
    losses: Vec<(u64, u64)>,
}

impl Model {
    fn in_flight(&self) -> u64 {
        self.segments.iter().filter(|s| s.place == Place::InFlight).map(|s| s.end - s.seq).sum()
    }

    fn next_lost(&self) -> Option<(u64, u64)> {
        let lost = self.segments.iter().filter(|s| s.place == Place::Lost);
        lost.min_by_key(|s| s.found).map(|s| (s.seq, s.end))
    }

    /// Sends one segment: the one that begins there, or a new one.
    fn send(&mut self, seq: u64, end: u64, now: Instant) {
        if self.in_flight() == 0 {
            (self.counters.first_sent, self.counters.delivered_at) = (now, now);
        }
        self.transmissions += 1;
        let again = self.segments.iter().position(|s| s.seq == seq);
        let at = again.unwrap_or(self.segments.len());
        let segment = Segment {
            seq,
            end,
            place: Place::InFlight,
            resent: again.is_some(),
            number: self.transmissions,
            sent: now,
            counters: self.counters,
            app_limited: self.app_limited > 0,
            tx_in_flight: 0,
            found: 0,
        };
        self.segments.splice(at..(at + 1).min(self.segments.len()), [segment]);
        self.segments[at].tx_in_flight = self.in_flight();
    }

    /// This segment, or part of it, has arrived.
    fn deliver(&mut self, segment: Segment, now: Instant) {
        let len = segment.end - segment.seq;
        self.counters.delivered += len;
        self.counters.delivered_at = now;
        self.delivered += len;
        self.brought.push(segment);
        if let Some(newest) = self.newest() {
            self.counters.first_sent = newest.sent;
        }
        if self.counters.delivered > self.app_limited {
            self.app_limited = 0;
        }
    }

    /// The most recently sent segment that the last acknowledgement covered.
    fn newest(&self) -> Option<&Segment> {
        self.brought.iter().max_by_key(|s| s.number)
    }

    fn acked(&mut self, ack: u64, now: Instant) {
        while let Some(first) = self.segments.first().copied().filter(|s| s.seq < ack) {
            let end = first.end.min(ack);
            if first.end <= ack {
                self.segments.remove(0);
            } else {
                self.segments[0].seq = ack;
            }
            if first.place != Place::Sacked {
                self.deliver(Segment { end, ..first }, now);
            }
        }
    }

    fn sacked(&mut self, at: usize, now: Instant) {
        let segment = self.segments[at];
        if segment.place != Place::Sacked {
            self.segments[at].place = Place::Sacked;
            self.deliver(segment, now);
        }
    }

    fn lose(&mut self, at: usize) {
        let len = self.segments[at].end - self.segments[at].seq;
        self.counters.lost += len;
        self.lost += len;
        self.found += 1;
        (self.segments[at].place, self.segments[at].found) = (Place::Lost, self.found);
        self.losses.push((self.segments[at].seq, self.counters.lost - self.segments[at].counters.lost));
    }

    /// In the order in which they were sent.
    fn lose_before(&mut self, newest: u64, patience: Duration, now: Instant) -> Option<Duration> {
        self.losses.clear();
        let mut order: Vec<usize> =
            (0..self.segments.len()).filter(|i| self.segments[*i].place == Place::InFlight).collect();
        order.sort_by_key(|i| self.segments[*i].number);
        for at in order.into_iter().filter(|i| self.segments[*i].number < newest).collect::<Vec<_>>() {
            let due = self.segments[at].sent + patience;
            if due > now {
                return Some(due.since(now));
            }
            self.lose(at);
        }
        None
    }

    /// In the order of sequence, with those that were lost before.
    fn lose_after_timeout(&mut self, patience: Duration, now: Instant) {
        self.losses.clear();
        for at in 0..self.segments.len() {
            match self.segments[at].place {
                Place::InFlight if at == 0 || self.segments[at].sent + patience <= now => self.lose(at),
                Place::Lost => {
                    self.found += 1;
                    self.segments[at].found = self.found;
                }
                _ => {}
            }
        }
    }

    fn find_all(&mut self) {
        for segment in self.segments.iter_mut().filter(|s| s.place == Place::Lost) {
            segment.place = Place::InFlight;
        }
    }
}

/// A sender, its record, and the model.
struct Both {
    rng: Rng,
    now: Instant,
    record: Sent,
    model: Model,
    next: u64,
}

impl Both {
    fn new(seed: u64) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        let counters = Counters { delivered: 0, delivered_at: now, first_sent: now, lost: 0 };
        let model = Model {
            segments: Vec::new(),
            counters,
            app_limited: 0,
            transmissions: 0,
            found: 0,
            delivered: 0,
            lost: 0,
            brought: Vec::new(),
            losses: Vec::new(),
        };
        Both { rng: Rng::stream(seed, "record"), now, record: Sent::new(true, true, now), model, next: 0 }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.rng.below(n.max(1))
    }

    fn send(&mut self, seq: u64, end: u64) {
        self.record.on_sent(Range { start: seq, end }, self.now);
        self.model.send(seq, end, self.now);
    }

    /// Retransmits lost data before it sends new data, as senders do.
    fn send_some(&mut self) {
        if let Some((seq, end)) = self.model.next_lost() {
            self.send(seq, end);
        } else {
            let end = self.next + 1 + self.below(100);
            self.send(self.next, end);
            self.next = end;
        }
    }

    fn acknowledge(&mut self) {
        self.record.begin_ack();
        let model = &mut self.model;
        (model.delivered, model.lost) = (0, 0);
        model.brought.clear();
        let first = model.segments.first().map_or(self.next, |s| s.seq);
        if self.rng.chance(0.4) {
            let ack = first + self.rng.below(self.next - first + 1).min(250);
            let mut seen = Vec::new();
            self.record.on_acked(ack, self.now, |e| seen.push(e.number));
            self.model.acked(ack, self.now);
            assert_eq!(seen, self.model.brought.iter().map(|s| s.number).collect::<Vec<_>>());
        }
        for _ in 0..self.below(4) {
            let count = self.model.segments.len() as u64;
            let from = self.below(count) as usize;
            let to = (from + 1 + self.below(3) as usize).min(self.model.segments.len());
            if from < to {
                let range = Range { start: self.model.segments[from].seq, end: self.model.segments[to - 1].end };
                self.record.on_sacked(range, self.now, |_| ());
                (from..to).for_each(|at| self.model.sacked(at, self.now));
            }
        }
    }

    fn step(&mut self) {
        let passed = self.below(5);
        self.now += Duration::from_millis(passed);
        let patience = Duration::from_millis(self.below(30));
        match self.below(20) {
            0..=9 => self.send_some(),
            10..=14 => self.acknowledge(),
            15..=16 => {
                let numbers = self.model.transmissions + 2;
                let newest = self.below(numbers);
                let wait = self.record.lose_before(newest, patience, self.now);
                assert_eq!(wait, self.model.lose_before(newest, patience, self.now));
            }
            17 => {
                self.record.lose_after_timeout(patience, self.now);
                self.model.lose_after_timeout(patience, self.now);
            }
            18 => {
                self.record.find_all();
                self.model.find_all();
            }
            _ => {
                self.record.note_app_limited();
                self.model.app_limited = (self.model.counters.delivered + self.model.in_flight()).max(1);
            }
        }
    }

    fn compare(&mut self) {
        let (record, model) = (&mut self.record, &self.model);
        assert_eq!(record.in_flight(), model.in_flight());
        let sacked = model.segments.iter().filter(|s| s.place == Place::Sacked).count();
        assert_eq!((record.sacked(), record.oldest()), (sacked, model.segments.first().map(|s| s.sent)));
        let rate = record.rate();
        let counters = Counters {
            delivered: rate.delivered,
            delivered_at: rate.delivered_at,
            first_sent: rate.first_sent,
            lost: rate.lost,
        };
        assert_eq!((counters, rate.app_limited), (model.counters, model.app_limited));
        let news = record.news();
        assert_eq!((news.delivered, news.lost), (model.delivered, model.lost));
        assert_eq!(news.newest.map(|e| e.number), model.newest().map(|s| s.number));
        let losses: Vec<_> = record.losses().iter().map(|loss| (loss.entry.seq, loss.since)).collect();
        assert_eq!(losses, model.losses);
        assert_eq!(record.next_lost().map(|r| (r.start, r.end)), model.next_lost());
        for (entry, segment) in record.entries.iter().zip(&model.segments) {
            let sent = Counters {
                delivered: entry.delivered,
                delivered_at: entry.delivered_at,
                first_sent: entry.first_sent,
                lost: entry.lost.into(),
            };
            assert_eq!((entry.seq, entry.end(), entry.place), (segment.seq, segment.end, segment.place));
            assert_eq!((entry.number, entry.sent, entry.resent), (segment.number, segment.sent, segment.resent));
            assert_eq!((sent, entry.app_limited), (segment.counters, segment.app_limited));
            assert_eq!(u64::from(entry.tx_in_flight), segment.tx_in_flight);
        }
        assert_eq!(record.entries.len(), model.segments.len());
    }
}

#[test]
fn the_record_is_what_counting_anew_gives() {
    let mut lost = 0;
    for seed in 0..200 {
        let mut both = Both::new(seed);
        for _ in 0..300 {
            both.step();
            both.compare();
        }
        lost += both.model.found;
    }
    assert!(lost > 1_000, "{lost} losses try little");
}
