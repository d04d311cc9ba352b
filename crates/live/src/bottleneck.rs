//! The forwarding loop: for each direction, reads packets from a device, queues them in a [`Shaper`] and sends them at
//! an outlet.
//!
//! A bottleneck has two directions, served by one thread together or by a thread each.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use aqmkit_aqm::Backlog;
use aqmkit_base::{BitRate, Duration, Instant};
use rustix::event::{PollFd, PollFlags};

use crate::kernel::queue::KernelQueue;
use crate::measured::{DirectionSnapshot, Measured, Snapshot, Trouble};
use crate::port::{Outlet, Port};
use crate::timing::{Clock, Granted, wait};
use crate::tun::Tun;
use aqmkit_measure::{Plan, Times};
use aqmkit_packets::Buckets;
use aqmkit_packets::frame::{Frame, Reader};
use aqmkit_packets::meter::Meter;
use aqmkit_packets::outgoing::Outgoing;
use aqmkit_packets::shaper::{Released, Shaper};

/// Packets read from one device before the next device is polled and due packets are sent. A GSO super-packet counts as
/// its segments, so the last read may exceed this.
const BATCH: usize = 16;

/// Maximum number of packets taken from the shaper at a time.
const MOST_AT_ONCE: usize = 256;

/// From this rate on, packets due within [`GATHERED`] of the previous send are batched.
const GATHERS_FROM: BitRate = BitRate::from_mbps(1000);

/// Batching window: the time in which `tbf` sends a 64 KiB super-packet at 10 Gbit/s, and typical of NIC interrupt
/// coalescing. A packet due after an idle period is never held back.
const GATHERED: Duration = Duration::from_micros(50);

/// Maximum number of directions per thread.
const MOST_DIRECTIONS: usize = 2;

/// Interval between published snapshots. All threads publish at the same multiples of it.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(100);

/// One direction: input device, bottleneck, output.
pub struct Direction<D: Port = Tun> {
    /// The direction's name in reports: `down`, `egress`.
    pub name: String,
    /// The input device.
    pub device: D,
    /// The output.
    pub outlet: D::Outlet,
    /// The bottleneck: discipline, rate and delay.
    pub shaper: Shaper<Frame>,
    /// The in-kernel queue whose output is the input device, when the discipline runs inside the kernel. Measurements
    /// are then of this queue; the shaper only adds delay.
    pub(crate) kernel: Option<KernelQueue>,
}

impl<D: Port> Direction<D> {
    /// The meter of the bottleneck queue.
    pub(crate) fn meter(&self) -> &Meter {
        self.kernel.as_ref().map_or_else(|| self.shaper.meter(), KernelQueue::meter)
    }

    /// As [`Direction::meter`], mutable.
    pub(crate) fn meter_mut(&mut self) -> &mut Meter {
        match &mut self.kernel {
            Some(queue) => queue.meter_mut(),
            None => self.shaper.meter_mut(),
        }
    }

    /// Processes all events due by `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.shaper.advance(now);
        if let Some(queue) = &mut self.kernel {
            queue.advance(now);
        }
    }

    /// The bottleneck queue's backlog.
    fn backlog(&self) -> Backlog {
        self.kernel.as_ref().map_or_else(|| self.shaper.backlog(), KernelQueue::backlog)
    }

    /// The input device, for error messages.
    fn input(&self) -> String {
        format!("the input device of {}", self.name)
    }

    /// A snapshot of counters, backlog and gauges.
    pub(crate) fn snapshot(&mut self) -> DirectionSnapshot {
        DirectionSnapshot {
            counters: self.meter().so_far(),
            backlog: self.backlog(),
            classes: self.meter().classes_so_far(),
            gauges: self.gauges(),
            lost: self.shaper.lost(),
            device: self.device.counts(),
        }
    }

    fn gauges(&self) -> Vec<(String, f64)> {
        if let Some(queue) = &self.kernel {
            return queue.gauges().to_vec();
        }
        let mut gauges = Vec::new();
        self.shaper.probe(&mut |name, value| gauges.push((name.to_owned(), value)));
        gauges
    }
}

/// A closure run on a thread's directions by that thread, between two packets.
pub type Request<D> = Box<dyn FnOnce(&mut [Direction<D>], Instant) + Send>;

/// The directions served by one thread.
pub struct Bottleneck<D: Port = Tun> {
    /// At most two directions.
    pub directions: Vec<Direction<D>>,
    /// The number of directions of earlier threads: the index of the first one here.
    pub before: usize,
    /// Requests from other threads, checked after each batch of packets and at least ten times a second.
    pub requests: Receiver<Request<D>>,
    /// Encapsulation, classes and flow-key salt used when parsing packets.
    pub reader: Reader,
    /// The clock shared by all directions.
    pub clock: Clock,
    /// Where snapshots are published.
    pub snapshot: Arc<Mutex<Snapshot>>,
    /// The measurement plan of the time series, whose links are the directions; `None` to record no time series.
    pub plan: Option<Plan>,
    /// The real-time properties that the thread obtained.
    pub granted: Granted,
}

/// State of the running loop.
struct Run {
    late: Times,
    latest: Duration,
    late_histogram: Buckets,
    trouble: Trouble,
    next_sample: Instant,
    next_snapshot: Instant,
    vanished: Option<String>,
    due: Vec<Released<Frame>>,
    /// Per direction, the earliest time of the next send ([`GATHERED`]).
    next_send: [Instant; MOST_DIRECTIONS],
}

impl Run {
    /// Sends the due packets, joining consecutive segments of a super-packet. Returns true if the device is gone for
    /// good.
    fn send(&mut self, outlet: &mut impl Outlet, clock: &Clock) -> bool {
        let (joins, batch) = (outlet.joins(), outlet.batch());
        let mut done = 0;
        let mut gone = false;
        while done < self.due.len() {
            let first = done;
            let mut packets = Vec::with_capacity(batch);
            while packets.len() < batch {
                let frames = self.due[done..].iter().map(|released| &released.packet);
                let Some(packet) = Outgoing::first(frames, joins) else { break };
                done += packet.packets;
                packets.push(packet);
            }
            let mut failed = None;
            outlet.send(&packets, &mut |place, error| {
                // The device is full, down, or rejects the packet as malformed: the packet is lost.
                self.trouble.refused += packets[place].packets as u64;
                failed = Some(error);
            });
            gone |= failed.is_some_and(|error| outlet.is_gone(&error));
            let now = clock.now();
            for released in &self.due[first..done] {
                let late = now.since(released.due);
                self.late.record(late);
                self.late_histogram.record(late);
                self.latest = self.latest.max(late);
            }
        }
        self.due.clear();
        gone
    }
}

impl<D: Port> Bottleneck<D> {
    /// Forwards packets until `stop` becomes readable or a device disappears.
    pub fn run(mut self, stop: impl AsFd) -> Measured {
        let mut run = Run {
            late: Times::default(),
            latest: Duration::ZERO,
            late_histogram: Buckets::default(),
            trouble: Trouble::default(),
            next_sample: self.plan.as_ref().map_or(Instant::FAR_FUTURE, |plan| plan.origin),
            next_snapshot: Instant::ZERO,
            vanished: None,
            due: Vec::with_capacity(MOST_AT_ONCE),
            next_send: [Instant::ZERO; MOST_DIRECTIONS],
        };
        loop {
            self.send_due(&mut run);
            let received_any = self.receive(&mut run);
            let published = self.publish(&mut run);
            if run.vanished.is_some() || (!received_any && self.sleep(&mut run, &stop)) {
                break;
            }
            // Under continuous arrivals the loop never sleeps, so `stop` is also checked at every snapshot.
            if received_any && published && stopped(&stop) {
                break;
            }
        }
        self.finish(run)
    }

    fn send_due(&mut self, run: &mut Run) {
        for (place, direction) in self.directions.iter_mut().enumerate() {
            let now = self.clock.now();
            let Direction { name, shaper, outlet, .. } = direction;
            shaper.advance(now);
            if now < run.next_send[place] {
                continue;
            }
            loop {
                run.due.extend(std::iter::from_fn(|| shaper.release(now)).take(MOST_AT_ONCE));
                if run.due.is_empty() {
                    break;
                }
                if run.send(outlet, &self.clock) {
                    run.vanished = Some(format!("the output device of {name}"));
                }
                run.next_send[place] = if shaper.rate() >= GATHERS_FROM { now + GATHERED } else { now };
            }
        }
    }

    /// Reads arrived packets. Returns false if there were none.
    fn receive(&mut self, run: &mut Run) -> bool {
        let mut received_any = false;
        for direction in &mut self.directions {
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
                        received_any = true;
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) if e.kind() == ErrorKind::InvalidData => direction.device.count_too_long(),
                    Err(e) if direction.device.is_gone(&e) => {
                        run.vanished = Some(direction.input());
                        break;
                    }
                    Err(_) => {
                        run.trouble.failed_reads += 1;
                        break;
                    }
                }
            }
        }
        received_any
    }

    /// Waits for a packet or the next timer. Returns true when `stop` is readable.
    fn sleep(&mut self, run: &mut Run, stop: &impl AsFd) -> bool {
        let sends = self.directions.iter().zip(run.next_send);
        let wakeups = sends.filter_map(|(direction, next)| direction.shaper.wakeup().map(|at| at.max(next)));
        let until = wakeups.min().unwrap_or(Instant::FAR_FUTURE).min(run.next_sample).min(run.next_snapshot);
        let mut files = [(); MOST_DIRECTIONS + 1].map(|()| PollFd::new(stop, PollFlags::IN));
        for (file, direction) in files[1..].iter_mut().zip(&self.directions) {
            *file = PollFd::from_borrowed_fd(direction.device.poll_fd(), PollFlags::IN);
        }
        if wait(&mut files[..=self.directions.len()], &self.clock, until).is_err() {
            run.trouble.failed_reads += 1;
        }
        let ended = files[0].revents().contains(PollFlags::IN);
        let events = [files[1].revents(), files[2].revents()];
        for (direction, event) in self.directions.iter_mut().zip(events) {
            if event.contains(PollFlags::ERR) && direction.device.on_poll_error() {
                run.vanished = Some(direction.input());
            }
        }
        ended
    }

    /// Runs pending requests. When due, ends a time-series interval and publishes a snapshot; returns true if it did.
    fn publish(&mut self, run: &mut Run) -> bool {
        let now = self.clock.now();
        for request in self.requests.try_iter() {
            request(&mut self.directions, now);
        }
        if now < run.next_snapshot.min(run.next_sample) {
            return false;
        }
        let snapshot = self.snapshot(now, run);
        if now >= run.next_sample {
            self.end_interval(now, &snapshot.directions);
            run.next_sample += self.plan.as_ref().map_or(Duration::MAX, |plan| plan.interval);
        }
        let intervals = now.since(Instant::ZERO).whole(SNAPSHOT_INTERVAL);
        run.next_snapshot = Instant::from_nanos((intervals + 1) * SNAPSHOT_INTERVAL.as_nanos());
        // Readers hold the lock briefly, but this thread must not block: on contention the next iteration retries.
        if let Ok(mut shared) = self.snapshot.try_lock() {
            *shared = snapshot;
        }
        true
    }

    fn end_interval(&mut self, now: Instant, snapshots: &[DirectionSnapshot]) {
        let Some(plan) = &self.plan else { return };
        for (place, (direction, snapshot)) in self.directions.iter_mut().zip(snapshots).enumerate() {
            direction.advance(now);
            let link = self.before + place;
            let reported = if link == plan.measured { &snapshot.gauges[..] } else { &[][..] };
            direction.meter_mut().recorder_mut().interval(now, plan, link, reported);
        }
    }

    fn snapshot(&mut self, at: Instant, run: &Run) -> Snapshot {
        Snapshot {
            at,
            directions: self.directions.iter_mut().map(Direction::snapshot).collect(),
            latest: run.latest,
            late: run.late_histogram,
            trouble: run.trouble,
        }
    }

    fn finish(mut self, run: Run) -> Measured {
        let end = self.clock.now();
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
            vanished: run.vanished,
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
