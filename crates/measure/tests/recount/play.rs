//! A random run of a bottleneck that feeds a recorder and keeps a log.

use std::collections::{BTreeMap, VecDeque};

use aqmkit_aqm::Why;
use aqmkit_base::{BitRate, ClassId, Duration, Instant, Rng, Transmission};
use aqmkit_measure::{FinishedExchange, GroupInfo, LinkInfo, Output, Plan, Recorder, Seen, Traffic, WindowSpec};

pub(crate) const MS: u64 = 1_000_000;
/// The end of the run.
pub(crate) const END: u64 = 3_000 * MS;
/// Time zero of the output.
pub(crate) const ORIGIN: u64 = 50 * MS;
pub(crate) const INTERVAL: u64 = 100 * MS;
pub(crate) const SERIES_FROM: u64 = 100 * MS;
/// When an application joins the first group.
pub(crate) const JOINS: u64 = 1_450 * MS;
/// The windows: two that overlap, and one until the end.
pub(crate) const WINDOWS: [(&str, u64, u64); 3] =
    [("early", 200 * MS, 1_200 * MS), ("late", 800 * MS, 2_500 * MS), ("last", 2_500 * MS, END)];
/// The link's initial rate, and its changes.
pub(crate) const RATES: [(u64, u64); 4] =
    [(0, 2_000_000), (500 * MS, 1_000_000), (900 * MS, 4_000_000), (2_600 * MS, 1_500_000)];
pub(crate) const COUNTERS: &[&str] =
    &["frames_received", "frames_playable", "i_frames", "i_bytes", "played_s", "stalled_s", "stalls"];
/// The measured link. The link before it is not reported; the link after it has the same traffic.
pub(crate) const MEASURED: usize = 1;
/// Maximum number of listed exchanges.
pub(crate) const LISTED: usize = 60;

pub(crate) fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// A model's counters at this time.
pub(crate) fn counted(ns: u64) -> Vec<f64> {
    (0..COUNTERS.len()).map(|i| (i + 2) as f64 * ns as f64 / 1e8).collect()
}

fn counters(ns: u64) -> Vec<Vec<f64>> {
    vec![counted(ns), Vec::new()]
}

pub(crate) fn plan() -> Plan {
    let link = |name: &str, report| LinkInfo {
        name: name.to_owned(),
        report,
        rate: BitRate::from_bps(RATES[0].1),
        trace: None,
        changes: Vec::new(),
    };
    let group = |name: &str, class, apps| GroupInfo { name: name.to_owned(), class, apps, ..GroupInfo::default() };
    let window = |(name, from, to): (&str, u64, u64)| WindowSpec { name: name.to_owned(), from: at(from), to: at(to) };
    Plan {
        origin: at(ORIGIN),
        interval: Duration::from_nanos(INTERVAL),
        max_exchanges: LISTED,
        links: vec![link("hidden", false), link("b", true), link("other", true)],
        measured: MEASURED,
        classes: vec!["x".to_owned(), "y".to_owned()],
        groups: vec![
            GroupInfo { exchange_kinds: &["page", "object"], counters: COUNTERS, ..group("web", 0, 0..2) },
            group("bulk", 1, 2..5),
        ],
        windows: WINDOWS.map(window).to_vec(),
    }
}

/// A packet and its fate.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// The third class is not measured.
    pub(crate) class: usize,
    pub(crate) app: u32,
    pub(crate) len: u32,
    pub(crate) payload: u32,
    pub(crate) arrived: u64,
    pub(crate) dropped: Option<Why>,
    pub(crate) marked: Option<Why>,
    /// When it left the queue for the link.
    pub(crate) left: Option<u64>,
    /// Pieces of its transmission: start, end, share of the packet.
    pub(crate) pieces: Vec<(u64, u64, f64)>,
}

/// Increments of an application's counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) at: u64,
    pub(crate) app: u32,
    pub(crate) again: bool,
    pub(crate) timeout: bool,
    pub(crate) opens: bool,
}

/// All events of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) packets: Vec<Packet>,
    /// Numbers of waiting packets: time and new number.
    pub(crate) lengths: Vec<(u64, u64)>,
    pub(crate) sendings: Vec<Sending>,
    /// Time, application, class, bytes, one-way delay.
    pub(crate) deliveries: Vec<(u64, u32, usize, u64, u64)>,
    /// Time of completion, and the exchange.
    pub(crate) exchanges: Vec<(u64, FinishedExchange)>,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    Arrive,
    Done,
    Deliver { app: u32, class: usize, bytes: u64, latency: u64 },
    Exchange(FinishedExchange),
    Open(usize),
    Close(usize),
    Interval,
    Rate(u64),
    Join,
    Look,
}

/// The run in progress.
pub(crate) struct Play {
    pub(crate) log: Log,
    recorder: Recorder,
    rng: Rng,
    now: u64,
    agenda: BTreeMap<(u64, u64), Due>,
    count: u64,
    rate: u64,
    waiting: VecDeque<usize>,
    /// The packet in transmission, and the key of its end in the agenda.
    on_link: Option<(usize, (u64, u64))>,
    /// Outputs taken during the run.
    looks: Vec<(u64, Output)>,
}

/// A run with this seed: log, output, and the outputs taken during the run at the times `looks`.
pub(crate) fn play(seed: u64, looks: &[u64]) -> (Log, Output, Vec<(u64, Output)>) {
    let mut play = Play {
        log: Log::default(),
        recorder: Recorder::new(plan()),
        rng: Rng::stream(seed, "play"),
        now: 0,
        agenda: BTreeMap::new(),
        count: 0,
        rate: RATES[0].1,
        waiting: VecDeque::new(),
        on_link: None,
        looks: Vec::new(),
    };
    for (i, (_, from, to)) in WINDOWS.into_iter().enumerate() {
        play.schedule(to, Due::Close(i));
        play.schedule(from, Due::Open(i));
    }
    (SERIES_FROM..=END).step_by(INTERVAL as usize).for_each(|ns| _ = play.schedule(ns, Due::Interval));
    RATES[1..].iter().for_each(|(ns, rate)| _ = play.schedule(*ns, Due::Rate(*rate)));
    looks.iter().for_each(|ns| _ = play.schedule(*ns, Due::Look));
    play.schedule(JOINS, Due::Join);
    play.schedule(1, Due::Arrive);
    while let Some(((ns, _), what)) = play.agenda.pop_first().filter(|((ns, _), _)| *ns <= END) {
        play.now = ns;
        play.process(what);
    }
    // A link that is not reported counts nothing; the others count everything.
    assert_eq!(*play.recorder.passed(0), Traffic::default());
    assert!(play.recorder.passed_bytes(0, at(END)) == 0.0);
    let left: Vec<&Packet> = play.log.packets.iter().filter(|p| p.left.is_some()).collect();
    let done = |(from, until, share): &(u64, u64, f64)| share * (END.min(*until) - from) as f64 / (until - from) as f64;
    let passed: f64 = left.iter().map(|p| f64::from(p.len) * p.pieces.iter().map(done).sum::<f64>()).sum();
    for link in 1..3 {
        assert_eq!(play.recorder.passed(link).sent_packets, left.len() as u64);
        assert!((play.recorder.passed_bytes(link, at(END)) - passed).abs() < 1e-6);
    }
    (play.log, play.recorder.output(at(END)), play.looks)
}

impl Play {
    fn schedule(&mut self, ns: u64, what: Due) -> (u64, u64) {
        self.count += 1;
        self.agenda.insert((ns, self.count), what);
        (ns, self.count)
    }

    /// A random future time at an odd nanosecond; windows start and end at even ones.
    fn soon(&mut self, mean: f64) -> u64 {
        (self.now + (-libm::log(self.rng.uniform_open()) * mean) as u64 + 1) | 1
    }

    fn seen(&self, i: usize) -> Seen {
        let p = &self.log.packets[i];
        Seen { class: ClassId(p.class as u8), len: p.len, payload: p.payload }
    }

    fn process(&mut self, what: Due) {
        let now = at(self.now);
        match what {
            Due::Arrive => self.arrive(),
            Due::Done => {
                self.on_link = None;
                self.transmit();
            }
            Due::Deliver { app, class, bytes, latency } => {
                self.recorder.arrived(class, Duration::from_nanos(latency));
                self.recorder.delivered(app, class, bytes);
                self.log.deliveries.push((self.now, app, class, bytes, latency));
            }
            Due::Exchange(ended) => {
                let (plan, hosts) = self.recorder.hosts();
                hosts.exchange(plan, ended, now);
                self.log.exchanges.push((self.now, ended));
            }
            Due::Open(window) => self.recorder.open(window, now, counters(self.now)),
            Due::Close(window) => self.recorder.close(window, now, counters(self.now)),
            Due::Interval => {
                let gauge = [("avg".to_owned(), self.now as f64 / 1e9)];
                self.recorder.interval(now, counters(self.now), &gauge);
            }
            Due::Rate(rate) => self.change(rate),
            Due::Join => assert_eq!(self.recorder.join(0), 5),
            Due::Look => self.looks.push((self.now, self.recorder.output_so_far(now, &counters(self.now)))),
        }
    }

    fn arrive(&mut self) {
        let class = self.rng.below(20) as usize % 10;
        let class = if class == 9 { 2 } else { class % 2 };
        let app = match class {
            0 if self.now > JOINS && self.rng.chance(0.5) => 5,
            0 => self.rng.below(2) as u32,
            // The last application of the group sends nothing.
            _ => 2 + self.rng.below(2) as u32,
        };
        let payload = self.rng.below(1000) as u32;
        let i = self.log.packets.len();
        let (len, arrived) = (payload + 40, self.now);
        let nothing = (None, None, None);
        let (dropped, marked, left) = nothing;
        self.log.packets.push(Packet { class, app, len, payload, arrived, dropped, marked, left, pieces: vec![] });
        (0..3).for_each(|link| self.recorder.offered(link, self.seen(i)));
        if class != 2 {
            self.send(app);
        }
        if self.rng.chance(0.1) {
            let why = if self.rng.chance(0.5) { Why::Overflow } else { Why::Early };
            self.drop(i, why);
        } else {
            if self.rng.chance(0.1) {
                self.mark(i, Why::Early);
            }
            self.waiting.push_back(i);
            self.length();
            self.transmit();
        }
        // On average slightly more than the link can send, in bursts with pauses.
        let mean = if self.rng.chance(0.02) { 60e6 } else { 1.5e6 };
        let next = self.soon(mean);
        self.schedule(next, Due::Arrive);
    }

    fn send(&mut self, app: u32) {
        let mut chance = |p| self.rng.chance(p);
        let sending = Sending { at: self.now, app, again: chance(0.2), timeout: chance(0.05), opens: chance(0.1) };
        let sent = self.recorder.sent(app);
        sent.packets += 1;
        sent.retransmissions += u32::from(sending.again);
        sent.timeouts += u32::from(sending.timeout);
        sent.connections += u32::from(sending.opens);
        self.log.sendings.push(sending);
    }

    fn drop(&mut self, i: usize, why: Why) {
        let (seen, app, arrived) = (self.seen(i), self.log.packets[i].app, self.log.packets[i].arrived);
        // The drop counts once for the application: the other links count only their own traffic.
        self.recorder.dropped(MEASURED, app, seen, why, at(arrived));
        self.recorder.dropped(0, 4, seen, why, at(arrived));
        self.recorder.dropped(2, 4, seen, why, at(arrived));
        self.log.packets[i].dropped = Some(why);
    }

    fn mark(&mut self, i: usize, why: Why) {
        let (seen, arrived) = (self.seen(i), self.log.packets[i].arrived);
        (0..3).for_each(|link| self.recorder.marked(link, seen, why, at(arrived)));
        self.log.packets[i].marked = Some(why);
    }

    fn length(&mut self) {
        let length = self.waiting.len() as u64;
        (0..3).for_each(|link| self.recorder.queue(link, length, at(self.now)));
        self.log.lengths.push((self.now, length));
    }

    /// Sends the next packet, unless it is dropped at the head of the queue.
    fn transmit(&mut self) {
        while self.on_link.is_none() {
            let Some(i) = self.waiting.pop_front() else { return };
            self.length();
            if self.rng.chance(0.08) {
                let why = if self.rng.chance(0.5) { Why::Early } else { Why::Overload };
                self.drop(i, why);
                continue;
            }
            if self.log.packets[i].marked.is_none() && self.rng.chance(0.08) {
                self.mark(i, Why::Forced);
            }
            let until = (self.now + u64::from(self.log.packets[i].len) * 8 * 1_000_000_000 / self.rate) | 1;
            let waited = Duration::from_nanos(self.now - self.log.packets[i].arrived);
            for link in 0..3 {
                self.recorder.departed(link, self.seen(i), waited, Transmission::even(at(self.now), at(until)));
            }
            let packet = &mut self.log.packets[i];
            packet.left = Some(self.now);
            packet.pieces.push((self.now, until, 1.0));
            let key = self.schedule(until, Due::Done);
            self.on_link = Some((i, key));
            self.follow(i, until);
        }
    }

    /// Delivers a packet to its receiver.
    fn follow(&mut self, i: usize, until: u64) {
        let Packet { class, app, payload, arrived, .. } = self.log.packets[i].clone();
        if class == 2 {
            return;
        }
        let then = (until + self.rng.below(20 * MS)) | 1;
        let latency = then - arrived;
        self.schedule(then, Due::Deliver { app, class, bytes: payload.into(), latency });
        if class == 0 && self.rng.chance(0.3) {
            let kind = self.rng.below(2) as usize;
            let ended = FinishedExchange { group: 0, kind, started: at(arrived), bytes: payload.into() };
            self.schedule(then, Due::Exchange(ended));
        }
    }

    /// The rest of the packet in transmission is sent at the new rate.
    fn change(&mut self, rate: u64) {
        self.rate = rate;
        (0..3).for_each(|link| self.recorder.rate(link, BitRate::from_bps(rate), at(self.now)));
        let Some((i, key)) = self.on_link else { return };
        self.agenda.remove(&key);
        let packet = &mut self.log.packets[i];
        let (from, until, share) = packet.pieces.pop().expect("it is being transmitted");
        let rest = share * (until - self.now) as f64 / (until - from) as f64;
        let ends = (self.now + (rest * f64::from(packet.len) * 8e9 / rate as f64) as u64) | 1;
        packet.pieces.extend([(from, self.now, share - rest), (self.now, ends, rest)]);
        (0..3).for_each(|link| self.recorder.continued(link, at(self.now), at(ends)));
        self.on_link = Some((i, self.schedule(ends, Due::Done)));
    }
}
