//! The loop that moves packets: a device, a [`Shaper`] and an outlet for each of its directions.
//!
//! A bottleneck has two directions. One thread works on both of them, or two threads work on one each.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use aqmkit_aqm::Backlog;
use aqmkit_base::{BitRate, Duration, Instant};
use rustix::event::{PollFd, PollFlags};

use crate::kernel::queue::KernelQueue;
use crate::measured::{DirectionLook, Look, Measured, Trouble};
use crate::port::{Outlet, Port};
use crate::timing::{Clock, Granted, wait};
use crate::tun::Tun;
use aqmkit_measure::{Plan, Times};
use aqmkit_packets::Buckets;
use aqmkit_packets::frame::{Frame, Reader};
use aqmkit_packets::meter::Meter;
use aqmkit_packets::outgoing::Outgoing;
use aqmkit_packets::shaper::{Released, Shaper};

/// Packets read from one device before the next device's turn and before due packets are sent; the last one may be a
/// super-packet, whose segments all count.
const BATCH: usize = 16;

/// The largest number of due packets that are sent before others are looked at.
const MOST_AT_ONCE: usize = 256;

/// At rates from this one on, packets that are due soon after others were sent are sent together.
const GATHERS_FROM: BitRate = BitRate::from_mbps(1000);

/// How soon: the time in which the kernel's `tbf` sends a super-packet of 64 KiB at 10 Gbit/s, and in which network cards
/// gather packets before they interrupt. A packet that is due after a pause is never held back.
const GATHERED: Duration = Duration::from_micros(50);

/// The most directions that a thread has.
const MOST_DIRECTIONS: usize = 2;

/// The interval between published snapshots. Threads publish theirs at the same multiples of it.
const LOOK: Duration = Duration::from_millis(100);

/// One direction: the device that its packets come from, the bottleneck behind it, and where they leave.
pub struct Direction<D: Port = Tun> {
    /// Its name.
    pub name: String,
    /// The device that its packets come from.
    pub device: D,
    /// Where its packets leave.
    pub outlet: D::Outlet,
    /// The bottleneck.
    pub shaper: Shaper<Frame>,
    /// The queue inside the kernel that the device's packets come out of, where the bottleneck is there: it is measured in place of the
    /// shaper, which only delays.
    pub(crate) kernel: Option<KernelQueue>,
}

impl<D: Port> Direction<D> {
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

    /// The device that its packets come from, in words.
    fn input(&self) -> String {
        format!("the input device of {}", self.name)
    }

    /// Its present state.
    pub(crate) fn look(&mut self) -> DirectionLook {
        DirectionLook {
            counters: self.meter().so_far(),
            backlog: self.backlog(),
            classes: self.meter().classes_so_far(),
            gauges: self.gauges(),
            lost: self.shaper.lost(),
            device: self.device.counts(),
        }
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

/// A request to the directions of a thread, executed by that thread between two packets.
pub type Request<D> = Box<dyn FnOnce(&mut [Direction<D>], Instant) + Send>;

/// The directions of a thread.
pub struct Bottleneck<D: Port = Tun> {
    /// The directions, at most two.
    pub directions: Vec<Direction<D>>,
    /// The number of directions that come before these, in other threads.
    pub before: usize,
    /// Requests to it, checked with each packet and at least ten times a second.
    pub requests: Receiver<Request<D>>,
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
    vanished: Option<String>,
    due: Vec<Released<Frame>>,
    /// For each direction, when packets are sent again.
    next_send: [Instant; MOST_DIRECTIONS],
}

impl Run {
    /// Sends the due packets, consecutive segments of a super-packet together. True if the device is gone for good.
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
                // A full or idle device, or a packet that the kernel finds malformed: lost, as on any link.
                self.trouble.refused += packets[place].packets as u64;
                failed = Some(error);
            });
            gone |= failed.is_some_and(|error| outlet.is_gone(&error));
            let now = clock.now();
            for released in &self.due[first..done] {
                let late = now.since(released.due);
                self.late.record(late);
                self.handed_on.record(late);
                self.latest = self.latest.max(late);
            }
        }
        self.due.clear();
        gone
    }
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
            next_send: [Instant::ZERO; MOST_DIRECTIONS],
        };
        loop {
            self.hand_on(&mut run);
            let came = self.admit(&mut run);
            let shown = self.show(&mut run);
            if run.vanished.is_some() || (!came && self.sleep(&mut run, &stop)) {
                break;
            }
            // If packets never end, the loop never sleeps; it must check for the end nevertheless.
            if came && shown && stopped(&stop) {
                break;
            }
        }
        self.finish(run)
    }

    /// Sends due packets.
    fn hand_on(&mut self, run: &mut Run) {
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

    /// Reads packets that have arrived. False if there are none.
    fn admit(&mut self, run: &mut Run) -> bool {
        let mut came = false;
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
                        came = true;
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
        came
    }

    /// Waits for a packet or for the next event. True when it is time to end.
    fn sleep(&mut self, run: &mut Run, stop: &impl AsFd) -> bool {
        let sends = self.directions.iter().zip(run.next_send);
        let wakeups = sends.filter_map(|(direction, next)| direction.shaper.wakeup().map(|at| at.max(next)));
        let until = wakeups.min().unwrap_or(Instant::FAR_FUTURE).min(run.next_sample).min(run.next_look);
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
            if event.contains(PollFlags::ERR) && direction.device.look_after() {
                run.vanished = Some(direction.input());
            }
        }
        ended
    }

    /// Executes requests. If it is time, ends an interval of the series and publishes a snapshot; then it returns true.
    fn show(&mut self, run: &mut Run) -> bool {
        let now = self.clock.now();
        for request in self.requests.try_iter() {
            request(&mut self.directions, now);
        }
        if now < run.next_look.min(run.next_sample) {
            return false;
        }
        let look = self.look_at(now, run);
        if now >= run.next_sample {
            self.end_interval(now, &look.directions);
            run.next_sample += self.plan.as_ref().map_or(Duration::MAX, |plan| plan.interval);
        }
        let looks = now.since(Instant::ZERO).whole(LOOK);
        run.next_look = Instant::from_nanos((looks + 1) * LOOK.as_nanos());
        // Readers hold the lock only briefly, but this thread never waits: it retries at the next check.
        if let Ok(mut shared) = self.look.try_lock() {
            *shared = look;
        }
        true
    }

    fn end_interval(&mut self, now: Instant, looks: &[DirectionLook]) {
        let Some(plan) = &self.plan else { return };
        for (place, (direction, look)) in self.directions.iter_mut().zip(looks).enumerate() {
            direction.advance(now);
            let link = self.before + place;
            let reported = if link == plan.measured { &look.gauges[..] } else { &[][..] };
            direction.meter_mut().recorder_mut().interval(now, plan, link, reported);
        }
    }

    fn look_at(&mut self, at: Instant, run: &Run) -> Look {
        Look {
            at,
            directions: self.directions.iter_mut().map(Direction::look).collect(),
            latest: run.latest,
            late: run.handed_on,
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
