//! A script against an endpoint.

use std::collections::VecDeque;
use std::fmt::Write;

use aqmkit_base::{Duration, Ecn, Instant};
use aqmkit_transport::{Event, Flags, Options, Output, Profile, Segment, Tcp};

use super::{Act, Form, Quantity, Script, Step, Value, Words};

type Result<T> = std::result::Result<T, String>;

/// The receive window of the script's side until it says another: no limit.
const WINDOW: u32 = 1 << 30;
/// More than any script needs; an endpoint that asks to be called so often does not come to rest.
const MOST_CALLS: usize = 100_000;

/// Plays a script.
///
/// # Errors
/// The number of the first line that was not met, and what happened instead.
pub(super) fn play(script: &Script) -> Result<()> {
    let mut player = Player {
        profile: &script.profile,
        tcp: Tcp::new(&script.profile, Duration::ZERO),
        now: Instant::ZERO,
        calls: 0,
        sent: VecDeque::new(),
        told: VecDeque::new(),
        next: 1,
        acked: 1,
        window: WINDOW,
    };
    for step in &script.steps {
        player.step(step).map_err(|why| format!("line {}: {why}", step.line))?;
    }
    Ok(())
}

/// The endpoint, and the script's side of the connection.
struct Player<'a> {
    profile: &'a Profile,
    tcp: Tcp,
    now: Instant,
    calls: usize,
    /// Segments sent by the endpoint that no line has consumed yet.
    sent: VecDeque<(Instant, Segment)>,
    /// Events of the endpoint, except for deliveries.
    told: VecDeque<(Instant, Event)>,
    /// After the highest sequence number that has arrived in data.
    next: u64,
    /// The last acknowledgement.
    acked: u64,
    /// The receive window that was last said.
    window: u32,
}

impl Player<'_> {
    fn step(&mut self, step: &Step) -> Result<()> {
        let at = step.at;
        self.wait_until(at)?;
        match &step.act {
            Act::Sends(words) => return self.expect(words, at),
            Act::Tells(event) => return self.expect_told(*event, at),
            Act::State(wanted) => return wanted.iter().try_for_each(|(quantity, value)| self.check(*quantity, *value)),
            Act::End => while self.fire(|deadline| deadline <= at)? {},
            _ => {}
        }
        if let Some((when, segment)) = self.sent.front() {
            return Err(format!("before this, at {}, the endpoint sent {}", seconds(*when), describe(segment)));
        }
        self.now = at;
        match &step.act {
            Act::Connect => self.call(Tcp::connect),
            Act::Write(bytes) => self.call(|tcp, p, now, out| tcp.write(p, *bytes, now, out)),
            Act::Close => self.call(Tcp::close),
            Act::Arrives(words) => {
                let segment = self.segment(words)?;
                self.call(|tcp, p, now, out| tcp.on_segment(p, &segment, now, out));
            }
            Act::End => {
                let failed = self.told.iter().find(|(_, event)| *event == Event::Failed);
                return failed.map_or(Ok(()), |(when, _)| Err(format!("the connection failed at {}", seconds(*when))));
            }
            Act::Sends(_) | Act::Tells(_) | Act::State(_) => {}
        }
        Ok(())
    }

    fn call(&mut self, f: impl FnOnce(&mut Tcp, &Profile, Instant, &mut Output<'_>)) {
        let (mut segments, mut events) = (Vec::new(), Vec::new());
        f(&mut self.tcp, self.profile, self.now, &mut Output { segments: &mut segments, events: &mut events });
        let now = self.now;
        self.sent.extend(segments.into_iter().map(|segment| (now, segment)));
        self.told.extend(events.into_iter().filter(|event| *event != Event::Delivered).map(|event| (now, event)));
    }

    /// Fires the timer, if it is due. Returns whether it was.
    fn fire(&mut self, due: impl Fn(Instant) -> bool) -> Result<bool> {
        let Some(deadline) = self.tcp.deadline().filter(|deadline| due(*deadline)) else { return Ok(false) };
        self.calls += 1;
        if self.calls > MOST_CALLS {
            return Err(format!("the timer does not come to rest; it is due at {}", seconds(deadline)));
        }
        self.now = self.now.max(deadline);
        self.call(Tcp::on_deadline);
        Ok(true)
    }

    /// Fires what is due before a time.
    fn wait_until(&mut self, at: Instant) -> Result<()> {
        while self.fire(|deadline| deadline < at)? {}
        Ok(())
    }

    /// The segment that a line describes.
    fn segment(&mut self, words: &Words) -> Result<Segment> {
        self.acked = words.ack.unwrap_or(self.acked);
        self.window = words.window.unwrap_or(self.window);
        let (ack, mut flags, mut options) = (self.acked, Flags::ACK, Options::default());
        let (mut seq, mut len) = (self.next, 0);
        match words.form {
            Form::Syn => (seq, flags) = (0, Flags::SYN),
            Form::SynAck => (seq, flags) = (0, Flags::SYN.and(Flags::ACK)),
            Form::Ack => {}
            Form::Reset => flags = Flags::RST,
            Form::Data { start, end } => {
                (seq, len) = (start, u32::try_from(end - start).map_err(|_| "too much data for a segment")?);
                self.next = self.next.max(end);
            }
        }
        if flags.has(Flags::SYN) && self.profile.wants_sack() && !words.no_sack {
            options = Options::sack_permitted();
        }
        if let Some((start, end)) = words.dsack {
            options.push_duplicate(ack, start, end);
        }
        for &(start, end) in &words.sack {
            if !options.push_block(ack, start, end) {
                return Err(format!("the block {start}-{end} does not lie above {ack}, or is one too many"));
            }
        }
        for (set, flag) in [(words.ece, Flags::ECE), (words.cwr, Flags::CWR)] {
            flags = if set { flags.and(flag) } else { flags };
        }
        let (ts_val, ts_ecr) = words.timestamps.unwrap_or_default();
        let ecn = words.ecn.unwrap_or(Ecn::NotEct);
        let window = self.window;
        Ok(Segment { seq, ack, len, window, ts_val, ts_ecr, options, flags, ecn, retransmission: false })
    }

    /// Checks that the segment sent next, at this time, matches a line.
    fn expect(&mut self, words: &Words, at: Instant) -> Result<()> {
        let (mut from, to) = match words.form {
            Form::Data { start, end } => (start, end),
            _ => (0, 1),
        };
        while from < to {
            while self.sent.is_empty() && self.fire(|deadline| deadline <= at)? {}
            let Some((when, segment)) = self.sent.pop_front() else {
                let due = self
                    .tcp
                    .deadline()
                    .map_or("no timer runs".to_owned(), |d| format!("its timer fires at {}", seconds(d)));
                return Err(format!("the endpoint sends nothing more; {due}"));
            };
            if when != at {
                return Err(format!(
                    "at {}, not {}, the endpoint sent {}",
                    seconds(when),
                    seconds(at),
                    describe(&segment)
                ));
            }
            let full = (to - from).min(self.profile.mss.0);
            if !fits(words, &segment, from, full) {
                return Err(format!("the endpoint sent {}", describe(&segment)));
            }
            from += u64::from(segment.len).max(1);
        }
        Ok(())
    }

    fn expect_told(&mut self, event: Event, at: Instant) -> Result<()> {
        while !self.told.iter().any(|told| told.1 == event) && self.fire(|deadline| deadline <= at)? {}
        let found = self.told.iter().position(|told| *told == (at, event));
        match found {
            Some(i) => {
                self.told.remove(i);
                Ok(())
            }
            None => Err(format!("the endpoint did not tell this; it told {:?}", self.told)),
        }
    }

    fn check(&self, quantity: Quantity, value: Value) -> Result<()> {
        let (p, stats) = (self.profile, self.tcp.stats());
        let counted = |n: u32| (f64::from(n), None);
        let bytes = |n: u64| (n as f64 / p.mss.as_f64(), Some(n));
        let (seen, in_bytes) = match quantity {
            Quantity::Cwnd => bytes(self.tcp.cwnd()),
            Quantity::Ssthresh => bytes(self.tcp.ssthresh()),
            Quantity::Flight => bytes(self.tcp.flight()),
            Quantity::Pipe => bytes(self.tcp.pipe(p)),
            Quantity::Rto => (self.tcp.rto(p).as_secs_f64(), None),
            Quantity::Srtt => (self.tcp.srtt(p).map_or(f64::NAN, Duration::as_secs_f64), None),
            Quantity::Timeouts => counted(stats.timeouts),
            Quantity::Fast => counted(stats.fast_retransmits),
            Quantity::Probes => counted(stats.tail_probes),
            Quantity::Resent => counted(stats.retransmissions),
            Quantity::Reductions => counted(stats.ecn_reductions),
            Quantity::Undone => counted(self.tcp.undone()),
        };
        let met = match value {
            Value::Near(wanted, within) => (seen - wanted).abs() <= within,
            Value::Bytes(wanted) => in_bytes == Some(wanted),
            Value::Initial => in_bytes == Some(p.initial_ssthresh.0),
        };
        let exact = in_bytes.map_or(String::new(), |n| format!(", {n} bytes"));
        if met { Ok(()) } else { Err(format!("{quantity:?} is {seen}{exact}")) }
    }
}

/// Whether a segment is what a line describes; of data, the piece from `from` with `full` bytes.
fn fits(words: &Words, segment: &Segment, from: u64, full: u64) -> bool {
    let Segment { seq, ack, len, flags, ref options, .. } = *segment;
    let syn = Flags::SYN;
    let form = match words.form {
        Form::Syn => flags.has(syn) && !flags.has(Flags::ACK),
        Form::SynAck => flags.has(syn.and(Flags::ACK)),
        Form::Reset => flags.has(Flags::RST),
        Form::Ack => segment.sequence_len() == 0 && flags.has(Flags::ACK) && !flags.has(Flags::RST),
        Form::Data { .. } => seq == from && u64::from(len) == full && segment.sequence_len() == full,
    };
    form && words.ack.is_none_or(|wanted| wanted == ack)
        && options.held(ack).eq(words.sack.iter().copied())
        && options.duplicate(ack) == words.dsack
        && words.timestamps.is_none_or(|wanted| wanted == (segment.ts_val, segment.ts_ecr))
        && words.ecn.is_none_or(|wanted| wanted == segment.ecn)
        && (words.ece, words.cwr) == (flags.has(Flags::ECE), flags.has(Flags::CWR))
        && words.again == segment.retransmission
}

/// A segment in the words of a script.
fn describe(segment: &Segment) -> String {
    let Segment { seq, ack, len, flags, ref options, .. } = *segment;
    let mut out = if flags.has(Flags::SYN) {
        if flags.has(Flags::ACK) { "syn-ack".to_owned() } else { "syn".to_owned() }
    } else if flags.has(Flags::RST) {
        "reset".to_owned()
    } else if len > 0 {
        format!("data {seq}..{} ack {ack}", seq + u64::from(len))
    } else {
        format!("ack {ack}")
    };
    if options.held(ack).next().is_some() {
        out.push_str(" sack");
    }
    for (start, end) in options.held(ack) {
        let _ = write!(out, " {start}-{end}");
    }
    if let Some((start, end)) = options.duplicate(ack) {
        let _ = write!(out, " dsack {start}-{end}");
    }
    for (word, said) in
        [("ece", flags.has(Flags::ECE)), ("cwr", flags.has(Flags::CWR)), ("again", segment.retransmission)]
    {
        if said {
            let _ = write!(out, " {word}");
        }
    }
    if flags.has(Flags::FIN) {
        out.push_str(" with a FIN");
    }
    let _ = write!(out, " {:?} ts {} {}", segment.ecn, segment.ts_val, segment.ts_ecr);
    out
}

fn seconds(at: Instant) -> String {
    format!("{:.9}", at.as_nanos() as f64 / 1e9)
}
