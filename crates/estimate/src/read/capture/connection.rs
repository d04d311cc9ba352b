//! A TCP connection in a capture: bytes, retransmissions and round trips of both directions.

use std::collections::{BTreeMap, VecDeque};

use etherparse::{TcpOptionElement, TcpSlice};

use crate::measurement::{Bin, Counted, Direction, Flow};
use crate::quantile::median;

/// The length of a bin, in seconds.
const BIN: f64 = 0.1;
/// Round trips that follow closer than this are left out, in seconds.
const THIN: f64 = 0.005;
/// The largest number of time stamps and segments that wait for their echo.
const WAITING: usize = 100_000;

/// The two directions: that of the first packet seen, and the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Second,
}

impl Side {
    fn other(self) -> Side {
        if self == Side::First { Side::Second } else { Side::First }
    }
}

/// The fields of a segment that matter here.
pub(super) struct Segment {
    at: f64,
    /// Length of the IP packet.
    length: u32,
    payload: u32,
    seq: u32,
    /// The acknowledgement, if it has one.
    ack: Option<u32>,
    /// Value and echo of the time stamp.
    stamp: Option<(u32, u32)>,
    opens: bool,
}

impl Segment {
    pub(super) fn of(at: f64, length: u32, payload: u32, tcp: &TcpSlice<'_>) -> Segment {
        let stamp = tcp.options_iterator().flatten().find_map(|option| match option {
            TcpOptionElement::Timestamp(value, echo) => Some((value, echo)),
            _ => None,
        });
        let ack = tcp.ack().then(|| tcp.acknowledgment_number());
        Segment { at, length, payload, seq: tcp.sequence_number(), ack, stamp, opens: tcp.syn() }
    }

    /// The sequence number behind it.
    fn end(&self) -> u32 {
        self.seq.wrapping_add(self.payload).wrapping_add(u32::from(self.opens))
    }
}

/// One direction.
#[derive(Default)]
pub(super) struct Half {
    /// Bytes of its IP packets.
    pub(super) bytes: f64,
    /// Bytes of payload.
    pub(super) payload: f64,
    /// Bytes and retransmissions by bin.
    bins: BTreeMap<u64, (f64, f64)>,
    /// The highest sequence number so far.
    highest: Option<u32>,
    /// Time stamps that were not yet echoed, and when each was seen first.
    stamps: VecDeque<(u32, f64)>,
    /// Ends of segments that were not yet acknowledged, and when each was seen.
    unacked: VecDeque<(u32, f64)>,
    /// From the place of capture to the sender of this direction and back: when, and how long.
    trips: Vec<(f64, f64)>,
    has_stamps: bool,
}

/// Both directions.
#[derive(Default)]
pub(super) struct Connection([Half; 2]);

/// Whether `a` is behind `b` in sequence space.
fn is_behind(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Connection {
    pub(super) fn half(&self, side: Side) -> &Half {
        &self.0[side as usize]
    }

    /// A segment of one direction passes.
    pub(super) fn segment(&mut self, from: Side, segment: &Segment) {
        self.echo(from, segment);
        let half = &mut self.0[from as usize];
        half.count(segment);
        half.wait(segment);
    }

    /// Ends the trips of packets of the other direction which this segment answers.
    fn echo(&mut self, from: Side, segment: &Segment) {
        let other = &mut self.0[from.other() as usize];
        let mut sent = None;
        if let Some((_, echo)) = segment.stamp
            && other.stamps.iter().any(|(value, _)| *value == echo)
        {
            while let Some((value, at)) = other.stamps.pop_front() {
                if value == echo {
                    sent = Some(at);
                    break;
                }
            }
        } else if let Some(ack) = segment.ack.filter(|_| !other.has_stamps) {
            while let Some(&(end, at)) = other.unacked.front().filter(|(end, _)| !is_behind(*end, ack)) {
                other.unacked.pop_front();
                sent = (end == ack).then_some(at).or(sent);
            }
        }
        let trips = &mut self.0[from as usize].trips;
        if let Some(sent) = sent
            && trips.last().is_none_or(|(at, _)| segment.at - at >= THIN)
        {
            trips.push((segment.at, segment.at - sent));
        }
    }

    /// The flow of data in this direction.
    pub(super) fn flow(&self, side: Side, name: String, direction: Direction) -> Flow {
        let half = self.half(side);
        let bin = |(n, (bytes, lost)): (&u64, &(f64, f64))| {
            let from = *n as f64 * BIN;
            Bin { from, to: from + BIN, bytes: *bytes, lost: *lost }
        };
        let bins = half.bins.iter().map(bin).collect();
        let rtts = self.round_trips();
        Flow { name, direction, counted: Counted::Packets, bins, rtts, smoothed: false, knows_losses: true }
    }

    /// Whole round trips: those on the side of the place of capture where the queue is, and the shortest on the other side. What varies on the other side is
    /// how long the receiver delays acknowledgements.
    fn round_trips(&self) -> Vec<(f64, f64)> {
        let (first, second) = (&self.half(Side::First).trips, &self.half(Side::Second).trips);
        let (long, short) = if standing(first) >= standing(second) { (first, second) } else { (second, first) };
        let rest = short.iter().map(|(_, rtt)| *rtt).min_by(f64::total_cmp).unwrap_or(0.0);
        long.iter().map(|(at, rtt)| (*at, rtt + rest)).collect()
    }
}

/// How much of the trips is a queue that stands: the shortest of each second, beyond the shortest of all. A delayed acknowledgement makes single trips longer,
/// but never all of a second. Negative without trips.
fn standing(trips: &[(f64, f64)]) -> f64 {
    let mut seconds: BTreeMap<u64, f64> = BTreeMap::new();
    for (at, rtt) in trips {
        let least = seconds.entry(*at as u64).or_insert(*rtt);
        *least = least.min(*rtt);
    }
    let least: Vec<f64> = seconds.into_values().collect();
    let all = least.iter().copied().min_by(f64::total_cmp);
    median(&least).zip(all).map_or(-1.0, |(middle, least)| middle - least)
}

impl Half {
    fn count(&mut self, segment: &Segment) {
        let bin = self.bins.entry((segment.at / BIN) as u64).or_default();
        bin.0 += f64::from(segment.length);
        self.bytes += f64::from(segment.length);
        self.payload += f64::from(segment.payload);
        let is_old = self.highest.is_some_and(|highest| !is_behind(segment.end(), highest));
        if segment.payload > 0 && is_old {
            bin.1 += 1.0;
        }
        if !is_old {
            self.highest = Some(segment.end());
            if segment.payload > 0 && self.unacked.len() < WAITING {
                self.unacked.push_back((segment.end(), segment.at));
            }
        }
    }

    fn wait(&mut self, segment: &Segment) {
        let Some((value, _)) = segment.stamp else { return };
        self.has_stamps = true;
        self.unacked.clear();
        if self.stamps.len() < WAITING && self.stamps.back().is_none_or(|(last, _)| *last != value) {
            self.stamps.push_back((value, segment.at));
        }
    }
}
