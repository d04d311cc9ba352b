//! The loop that moves packets: two devices, a [`Shaper`] in each direction, one thread.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use aqmkit_aqm::Backlog;
use aqmkit_base::{BitRate, Duration, Instant};
use rustix::event::{PollFd, PollFlags};
use serde::Serialize;

use crate::kernel::queue::KernelQueue;
use crate::port::{Counts, Port};
use crate::timing::{Clock, Granted, wait};
use crate::tun::Tun;
use aqmkit_measure::{DropLog, LinkRecorder, Passed, Plan, Times};
use aqmkit_packets::Buckets;
use aqmkit_packets::frame::{Frame, Reader};
use aqmkit_packets::meter::{Counters, Meter};
use aqmkit_packets::outgoing::Outgoing;
use aqmkit_packets::shaper::{Released, Shaper};

/// Packets read from one device before the other device's turn and before due packets are sent; the last one may be a
/// super-packet, whose segments all count.
const BATCH: usize = 16;

/// The largest number of due packets that are sent before others are looked at.
const MOST_AT_ONCE: usize = 256;

/// At rates from this one on, packets that are due soon after others were sent are sent together.
const GATHERS_FROM: BitRate = BitRate::from_mbps(1000);

/// How soon: the time in which the kernel's `tbf` sends a super-packet of 64 KiB at 10 Gbit/s, and in which network cards
/// gather packets before they interrupt. A packet that is due after a pause is never held back.
const GATHERED: Duration = Duration::from_micros(50);

/// The interval between published snapshots.
const LOOK: Duration = Duration::from_millis(100);

/// One direction: the device that its packets come from, and the bottleneck behind it.
pub struct Direction<D = Tun> {
    /// Its name.
    pub name: String,
    /// The device that its packets come from; packets of the other direction leave there.
    pub device: D,
    /// The bottleneck.
    pub shaper: Shaper<Frame>,
    /// The queue inside the kernel that the device's packets come out of, where the bottleneck is there: it is measured in place of the
    /// shaper, which only delays.
    pub(crate) kernel: Option<KernelQueue>,
}

impl<D> Direction<D> {
    /// The measurements of the bottleneck.
    pub(crate) fn meter(&self) -> &Meter {
        self.kernel.as_ref().map_or_else(|| self.shaper.meter(), KernelQueue::meter)
    }

    /// The same, to add to it.
    pub(crate) fn meter_mut(&mut self) -> &mut Meter {
        match &mut self.kernel {
            Some(queue) => queue.meter_mut(),
            None => self.shaper.meter_mut(),
        }
    }

    /// Has everything happen that is due up to `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.shaper.advance(now);
        if let Some(queue) = &mut self.kernel {
            queue.advance(now);
        }
    }

    /// What waits.
    fn backlog(&self) -> Backlog {
        self.kernel.as_ref().map_or_else(|| self.shaper.backlog(), KernelQueue::backlog)
    }

    /// The discipline's gauges.
    fn gauges(&self) -> Vec<(String, f64)> {
        if let Some(queue) = &self.kernel {
            return queue.gauges().to_vec();
        }
        let mut gauges = Vec::new();
        self.shaper.probe(&mut |name, value| gauges.push((name.to_owned(), value)));
        gauges
    }
}

/// Errors of the machine during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Packets that the outgoing device refused.
    pub refused: u64,
    /// Reads that failed.
    pub failed_reads: u64,
}

/// A snapshot of a running bottleneck.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The time of the snapshot.
    pub at: Instant,
    /// For each direction, the counters since the start, and the backlog.
    pub directions: Vec<(Counters, Backlog)>,
    /// For each direction, the counters by class.
    pub classes: Vec<Vec<Counters>>,
    /// For each direction, the discipline's gauges.
    pub gauges: Vec<Vec<(String, f64)>>,
    /// The largest lateness of a packet.
    pub latest: Duration,
    /// The lateness of all packets.
    pub late: Buckets,
    /// Errors so far.
    pub trouble: Trouble,
    /// For each direction, the packets that its configured wire has lost.
    pub lost: Vec<u64>,
    /// For each direction, the counters of the device that its packets come from.
    pub devices: Vec<Counts>,
}

/// The results of a measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    /// For each direction its name and its windows.
    pub directions: Vec<(String, Vec<Passed>)>,
    /// For each direction, its recorder.
    pub recorders: Vec<LinkRecorder>,
    /// For each direction, its rates, each with its start.
    pub rates: Vec<Vec<(Instant, BitRate)>>,
    /// For each direction, the packets it dropped by connection, if they were listed.
    pub drops: Vec<DropLog>,
    /// Lateness of departures.
    pub late: Times,
    /// Errors.
    pub trouble: Trouble,
    /// For each direction, the packets that its configured wire has lost.
    pub lost: Vec<u64>,
    /// Packets that left a queue inside the kernel, but whose arrival was not observed.
    pub unknown: u64,
    /// For each direction, the counters of the device that its packets come from.
    pub devices: Vec<Counts>,
    /// The real-time properties that the machine granted.
    pub granted: Granted,
    /// The direction whose device disappeared before the end, if one did.
    pub vanished: Option<String>,
    /// The end of the measurement.
    pub end: Instant,
    /// CPU time of the thread.
    pub cpu: Duration,
}

/// A request to a running bottleneck, executed by the thread that moves packets, between two packets.
pub type Request<D> = Box<dyn FnOnce(&mut [Direction<D>; 2], Instant) + Send>;

/// Two directions between two devices.
pub struct Bottleneck<D = Tun> {
    /// The directions; packets of each leave by the device of the other.
    pub directions: [Direction<D>; 2],
    /// Requests to it, checked with each packet and at least ten times a second.
    pub requests: Option<Receiver<Request<D>>>,
    /// Settings for reading packets.
    pub reader: Reader,
    /// The clock of the whole measurement.
    pub clock: Clock,
    /// The place of published snapshots.
    pub look: Arc<Mutex<Look>>,
    /// The plan of the measurement, whose links are the directions, for the time series; `None` for none.
    pub plan: Option<Plan>,
    /// The real-time properties that the machine granted.
    pub granted: Granted,
}

/// The state of a run of the loop.
struct Run {
    late: Times,
    latest: Duration,
    handed_on: Buckets,
    trouble: Trouble,
    next_sample: Instant,
    next_look: Instant,
    vanished: Option<usize>,
    due: Vec<Released<Frame>>,
    /// For each direction, when packets are sent again.
    next_send: [Instant; 2],
}

impl<D: Port> Bottleneck<D> {
    /// Moves packets until `stop` becomes readable, or a device disappears.
    pub fn run(mut self, stop: impl AsFd) -> Measured {
        let mut run = Run {
            late: Times::default(),
            latest: Duration::ZERO,
            handed_on: Buckets::default(),
            trouble: Trouble::default(),
            next_sample: self.plan.as_ref().map_or(Instant::FAR_FUTURE, |plan| plan.origin),
            next_look: Instant::ZERO,
            vanished: None,
            due: Vec::with_capacity(MOST_AT_ONCE),
            next_send: [Instant::ZERO; 2],
        };
        loop {
            self.hand_on(&mut run);
            let came = self.admit(&mut run);
            self.show(&mut run);
            if run.vanished.is_some() || (!came && self.sleep(&mut run, &stop)) {
                break;
            }
            // If packets never end, the loop never sleeps; it must check for the end nevertheless.
            if came && run.next_look <= self.clock.now() && stopped(&stop) {
                break;
            }
        }
        self.finish(run)
    }

    /// Sends due packets to the other side.
    fn hand_on(&mut self, run: &mut Run) {
        for from in 0..2 {
            let now = self.clock.now();
            self.directions[from].shaper.advance(now);
            if now < run.next_send[from] {
                continue;
            }
            loop {
                let shaper = &mut self.directions[from].shaper;
                run.due.extend(std::iter::from_fn(|| shaper.release(now)).take(MOST_AT_ONCE));
                if run.due.is_empty() {
                    break;
                }
                self.send(run, 1 - from);
                let gathers = self.directions[from].shaper.rate() >= GATHERS_FROM;
                run.next_send[from] = if gathers { now + GATHERED } else { now };
            }
        }
    }

    /// Sends the due packets to a side, consecutive segments of a super-packet together.
    fn send(&mut self, run: &mut Run, to: usize) {
        let device = &mut self.directions[to].device;
        let (joins, batch) = (device.joins(), device.batch());
        let mut done = 0;
        while done < run.due.len() {
            let first = done;
            let mut packets = Vec::with_capacity(batch);
            while packets.len() < batch {
                let frames = run.due[done..].iter().map(|released| &released.packet);
                let Some(packet) = Outgoing::first(frames, joins) else { break };
                done += packet.packets;
                packets.push(packet);
            }
            let mut failed = None;
            device.send(&packets, &mut |place, error| {
                // A full or idle device, or a packet that the kernel finds malformed: lost, as on any link.
                run.trouble.refused += packets[place].packets as u64;
                failed = Some(error);
            });
            if failed.is_some_and(|error| device.is_gone(&error)) {
                run.vanished = Some(to);
            }
            let now = self.clock.now();
            for released in &run.due[first..done] {
                let late = now.since(released.due);
                run.late.record(late);
                run.handed_on.record(late);
                run.latest = run.latest.max(late);
            }
        }
        run.due.clear();
    }

    /// Reads packets that have arrived. False if there are none.
    fn admit(&mut self, run: &mut Run) -> bool {
        let mut came = false;
        for side in 0..2 {
            let direction = &mut self.directions[side];
            let mut admitted = 0;
            while admitted < BATCH {
                match direction.device.receive() {
                    Ok(received) => {
                        let now = self.clock.now();
                        let Direction { shaper, kernel, .. } = direction;
                        let at = kernel.as_mut().map_or(now, |queue| queue.departed(received.packet(), now));
                        let segments = self.reader.admit(received, shaper.flow(), |frame| shaper.arrive(frame, at));
                        if segments == 0 {
                            direction.device.count_too_long();
                        }
                        admitted += segments.max(1);
                        came = true;
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) if e.kind() == ErrorKind::InvalidData => direction.device.count_too_long(),
                    Err(e) if direction.device.is_gone(&e) => {
                        run.vanished = Some(side);
                        break;
                    }
                    Err(_) => {
                        run.trouble.failed_reads += 1;
                        break;
                    }
                }
            }
        }
        came
    }

    /// Waits for a packet or for the next event. True when it is time to end.
    fn sleep(&mut self, run: &mut Run, stop: &impl AsFd) -> bool {
        let [a, b] = &self.directions;
        let wakeup = |side: usize| self.directions[side].shaper.wakeup().map(|at| at.max(run.next_send[side]));
        let next = [wakeup(0), wakeup(1), Some(run.next_sample), Some(run.next_look)];
        let until = next.into_iter().flatten().min().unwrap_or(Instant::FAR_FUTURE);
        let mut files = [
            PollFd::from_borrowed_fd(a.device.poll_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(b.device.poll_fd(), PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        if wait(&mut files, &self.clock, until).is_err() {
            run.trouble.failed_reads += 1;
        }
        let wrong = [0, 1].map(|i| files[i].revents().contains(PollFlags::ERR));
        let ended = files[2].revents().contains(PollFlags::IN);
        for (side, direction) in self.directions.iter_mut().enumerate() {
            if wrong[side] && direction.device.look_after() {
                run.vanished = Some(side);
            }
        }
        ended
    }

    /// Publishes a snapshot, and ends an interval of the series, if it is time.
    fn show(&mut self, run: &mut Run) {
        let now = self.clock.now();
        for request in self.requests.iter().flat_map(Receiver::try_iter) {
            request(&mut self.directions, now);
        }
        if now < run.next_look.min(run.next_sample) {
            return;
        }
        let look = self.look_at(now, run);
        if now >= run.next_sample {
            self.end_interval(now, &look.gauges);
            run.next_sample += self.plan.as_ref().map_or(Duration::MAX, |plan| plan.interval);
        }
        run.next_look = now + LOOK;
        // Readers hold the lock only briefly, but this thread never waits: it retries at the next check.
        if let Ok(mut shared) = self.look.try_lock() {
            *shared = look;
        }
    }

    fn end_interval(&mut self, now: Instant, gauges: &[Vec<(String, f64)>]) {
        let Some(plan) = &self.plan else { return };
        for (link, (direction, own)) in self.directions.iter_mut().zip(gauges).enumerate() {
            direction.advance(now);
            let reported = if link == plan.measured { own } else { &[][..] };
            direction.meter_mut().recorder_mut().interval(now, plan, link, reported);
        }
    }

    fn look_at(&mut self, at: Instant, run: &Run) -> Look {
        let devices = self.directions.iter_mut().map(|d| d.device.counts()).collect();
        let each = || self.directions.iter();
        Look {
            at,
            directions: each().map(|d| (d.meter().so_far(), d.backlog())).collect(),
            classes: each().map(|d| d.meter().classes_so_far()).collect(),
            gauges: each().map(Direction::gauges).collect(),
            latest: run.latest,
            late: run.handed_on,
            trouble: run.trouble,
            lost: each().map(|d| d.shaper.lost()).collect(),
            devices,
        }
    }

    fn finish(mut self, run: Run) -> Measured {
        let end = self.clock.now();
        let vanished = run.vanished.map(|side| self.directions[side].name.clone());
        let rates = self.directions.iter().map(|d| d.shaper.rates().to_vec()).collect();
        self.directions.iter_mut().for_each(|d| d.advance(end));
        let unknown = self.directions.iter().filter_map(|d| d.kernel.as_ref()).map(KernelQueue::unknown).sum();
        let devices = self.directions.iter_mut().map(|d| d.device.counts()).collect();
        let lost = self.directions.iter().map(|d| d.shaper.lost()).collect();
        let drops = self.directions.iter_mut().map(|d| d.meter_mut().take_drops()).collect();
        let meters = self.directions.iter_mut().map(|d| (d.name.clone(), d.meter_mut()));
        let one = |(name, meter): (String, &mut Meter)| ((name, meter.windows(end)), meter.take_recorder(end));
        let (directions, recorders) = meters.map(one).unzip();
        Measured {
            directions,
            recorders,
            drops,
            rates,
            late: run.late,
            trouble: run.trouble,
            lost,
            unknown,
            devices,
            granted: self.granted,
            vanished,
            end,
            cpu: crate::timing::cpu_time(),
        }
    }
}

fn stopped(stop: &impl AsFd) -> bool {
    let mut files = [PollFd::new(stop, PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut files, Some(&now)).is_ok_and(|n| n > 0)
}

/// The fraction of packets that the kernel may drop before the devices without invalidating the
/// measurement.
const LOST_BEFORE: f64 = 1e-4;

/// Packets that the kernel may drop in addition: it loses its own first IPv6 packets while a device comes up.
const LOST_AT_FIRST: u64 = 10;

/// Whether the kernel dropped too many packets before the devices to trust the measurement.
#[must_use]
pub fn loses_too_much(dropped_before: u64, came: u64) -> bool {
    dropped_before as f64 > LOST_AT_FIRST as f64 + LOST_BEFORE * came as f64
}

/// The largest acceptable 99th percentile of the lateness: well below the delays that disciplines aim at, and above
/// that of a quiet virtual machine.
pub const LATEST: Duration = Duration::from_millis(1);

/// The mean of the rates of a link between `from` and `to`; each rate has its start.
#[must_use]
pub fn mean_rate(rates: &[(Instant, BitRate)], from: Instant, to: Instant) -> BitRate {
    let ends = rates.iter().skip(1).map(|(at, _)| *at).chain([to]);
    let capacity = |((began, rate), ended): (&(Instant, BitRate), Instant)| {
        u128::from(rate.as_bps()) * u128::from(ended.min(to).since((*began).max(from)).as_nanos())
    };
    let whole: u128 = rates.iter().zip(ends).map(capacity).sum();
    match to.since(from).as_nanos() {
        // For an empty period, the rate at its start.
        0 => rates.first().map(|(_, rate)| *rate).unwrap_or_default(),
        span => BitRate::from_bps(u64::try_from(whole / u128::from(span)).unwrap_or(u64::MAX)),
    }
}

impl Measured {
    /// Why the results are invalid; empty if they are valid. `dropped_before` is the number of packets that the kernel
    /// dropped before the devices, in addition to those that the devices count.
    #[must_use]
    pub fn doubts(&self, dropped_before: u64) -> Vec<String> {
        let dropped_before = dropped_before + self.devices.iter().map(|d| d.overrun).sum::<u64>();
        let late = self.late.summary().map_or(0.0, |s| s.p99);
        let mut doubts = Vec::new();
        if late > LATEST.as_millis_f64() {
            doubts.push(format!("1 % of the packets were {late:.3} ms late or more; at most {LATEST} is acceptable"));
        }
        let came: u64 = self.recorders.iter().map(|r| r.traffic().offered_packets).sum();
        if loses_too_much(dropped_before, came) {
            doubts.push(format!(
                "the kernel dropped {dropped_before} packets before the discipline, which received {came}; at most \
                 one in {:.0} is acceptable",
                1.0 / LOST_BEFORE
            ));
        }
        if loses_too_much(self.unknown, came) {
            let many = self.unknown;
            doubts.push(format!("{many} packets came out of the queue in the kernel that were not seen to go in"));
        }
        doubts.extend(self.vanished.iter().map(|name| format!("the input device of {name} was removed")));
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_is_that_of_all_rates_over_time() {
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let rates = [(at(0), BitRate::from_mbps(20)), (at(2), BitRate::from_mbps(5)), (at(6), BitRate::from_mbps(40))];
        assert_eq!(mean_rate(&rates, at(0), at(10)), BitRate::from_mbps(22));
        assert_eq!(mean_rate(&rates, at(1), at(3)), BitRate::from_bps(12_500_000));
        assert_eq!(mean_rate(&rates, at(3), at(5)), BitRate::from_mbps(5));
        assert_eq!(mean_rate(&rates[..1], at(0), at(10)), BitRate::from_mbps(20));
        assert_eq!(mean_rate(&rates, at(4), at(4)), BitRate::from_mbps(20));
    }

    #[test]
    fn a_few_packets_lost_at_first_are_no_reason_to_doubt() {
        assert!(!loses_too_much(2, 0));
        assert!(!loses_too_much(100, 1_000_000));
        assert!(loses_too_much(111, 1_000_000));
        assert!(loses_too_much(11, 0));
    }
}
