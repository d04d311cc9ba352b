//! The output of ping: iputils, busybox, BSD and macOS, Windows in any language.
//!
//! A line of a reply has `time=12.3 ms` and a TTL. With `-D` (iputils) it begins with the time of day in brackets. Without, packets are taken to have
//! left evenly: as far apart as the summary at the end says, or a second.

use super::{IP_AND_UDP, ReadError};
use crate::measurement::{Epoch, Format, Measurement, Probe, Sample};

/// Time between packets without `-i`, in seconds.
const USUAL: f64 = 1.0;
/// Sequence numbers have 16 bits in some implementations.
const WRAP: i64 = 1 << 16;

/// A reply, or a loss that ping reports.
struct Line {
    /// Time of the reply, in seconds since 1970.
    at: Option<f64>,
    /// Sequence number.
    seq: Option<i64>,
    /// Round trip in seconds; `None` if it was lost.
    rtt: Option<f64>,
}

pub(super) fn read(name: &str, text: &str) -> Result<Measurement, ReadError> {
    let mut lines = Vec::new();
    let (mut packet, mut interval) = (None, None);
    for line in text.lines() {
        packet = packet.or_else(|| size(line));
        interval = interval.or_else(|| spacing(line));
        lines.extend(reply(line));
    }
    if !lines.iter().any(|line| line.rtt.is_some()) {
        let what = format!("{name} has no line with the time of a reply");
        return Err(ReadError::new(
            what,
            "a log of ping has lines such as `64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=12.3 ms`; write it with ping -D",
        ));
    }
    number(&mut lines);
    let stamped = lines.iter().any(|line| line.at.is_some());
    let (samples, epoch) = if stamped { by_stamps(&lines) } else { (evenly(&lines, interval.unwrap_or(USUAL)), None) };
    let mut unseen = Vec::new();
    if !stamped {
        let how = match interval {
            Some(_) => "the summary of ping says how far apart its packets were",
            None => "its packets are taken to be 1 s apart",
        };
        unseen.push(format!("{name} has no times of day (ping -D): {how}"));
    }
    let probe = Probe { name: "ping".to_owned(), packet, samples, knows_losses: true };
    Ok(Measurement {
        file: name.to_owned(),
        format: Format::Ping,
        epoch,
        probes: vec![probe],
        flows: Vec::new(),
        unseen,
    })
}

/// The size of a packet, from the first line: `56(84) bytes of data`, `56 data bytes`, `with 32 bytes of data`.
fn size(line: &str) -> Option<f64> {
    let first = line.trim_start();
    if let Some(rest) = first.strip_prefix("PING ") {
        if let Some((_, behind)) = rest.split_once(" bytes of data").and_then(|(before, _)| before.rsplit_once('(')) {
            return behind.strip_suffix(')')?.parse().ok().filter(|size| (28.0..65_536.0).contains(size));
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let at = words.windows(2).position(|pair| pair[0] == "data" && pair[1].starts_with("bytes"))?;
        return data(words.get(at.checked_sub(1)?)?);
    }
    let (before, _) = first.strip_prefix("Pinging ")?.split_once(" bytes of data")?;
    data(before.rsplit(' ').next()?)
}

/// The size of a packet with this payload.
fn data(payload: &str) -> Option<f64> {
    payload.parse::<f64>().ok().filter(|size| (0.0..65_508.0).contains(size)).map(|size| size + IP_AND_UDP)
}

/// The time between packets, from `10 packets transmitted, …, time 9012ms`.
fn spacing(line: &str) -> Option<f64> {
    let (count, rest) = line.split_once(" packets transmitted")?;
    let count: f64 = count.trim().parse().ok()?;
    let (_, time) = rest.rsplit_once("time ")?;
    let time: f64 = time.trim().strip_suffix("ms")?.trim().parse().ok()?;
    let interval = time / 1000.0 / (count - 1.0);
    (count > 1.0 && interval > 0.0 && interval.is_finite()).then_some(interval)
}

/// A line about a packet, if it is one.
fn reply(line: &str) -> Option<Line> {
    let lower = line.to_ascii_lowercase();
    let lower = lower.trim();
    if lower.contains("(dup!)") {
        return None;
    }
    let at = lower.strip_prefix('[').and_then(|rest| rest.split_once(']')).and_then(|(stamp, _)| number_of(stamp));
    let seq = ["icmp_seq=", "seq=", "icmp_seq "].iter().find_map(|key| {
        let (_, rest) = lower.split_once(key)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    });
    if lower.contains("no answer yet") || lower.contains("request timeout") || lower.contains("timed out") {
        return Some(Line { at, seq, rtt: None });
    }
    if !["ttl=", "hlim="].iter().any(|key| lower.contains(key)) {
        return None;
    }
    Some(Line { at, seq, rtt: Some(time(lower)?) })
}

/// Seconds of `time=12.3 ms`, `time<1ms` or the same in another language: the number before `ms` behind `=` or `<`.
fn time(line: &str) -> Option<f64> {
    line.match_indices("ms").find_map(|(end, _)| {
        let before = line[..end].trim_end();
        let begin = before.rfind(['=', '<'])? + 1;
        let ms = number_of(&before[begin..])?;
        // Windows prints <1ms.
        let below = before[..begin].ends_with('<');
        Some(if below { ms / 2000.0 } else { ms / 1000.0 })
    })
}

fn number_of(text: &str) -> Option<f64> {
    text.trim().replace(',', ".").parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}

/// Gives every line a sequence number that does not wrap. Lines without one count up.
fn number(lines: &mut [Line]) {
    let (mut last, mut base) = (None::<i64>, 0);
    for line in lines {
        let seq = match (line.seq, last) {
            (None, None) => 0,
            (None, Some(last)) => last + 1,
            (Some(seq), None) => seq,
            (Some(seq), Some(last)) => {
                if seq + base < last - WRAP / 2 {
                    base += WRAP;
                }
                seq + base
            }
        };
        line.seq = Some(seq);
        last = Some(last.map_or(seq, |last| last.max(seq)));
    }
}

/// Times by the stamps of the replies; packets without a reply left evenly between their neighbours.
fn by_stamps(lines: &[Line]) -> (Vec<Sample>, Option<Epoch>) {
    let mut known: Vec<(i64, f64, f64)> = Vec::new();
    for line in lines {
        let (Some(seq), Some(at), Some(rtt)) = (line.seq, line.at, line.rtt) else { continue };
        known.push((seq, at - rtt, rtt));
    }
    known.sort_by_key(|sample| sample.0);
    known.dedup_by_key(|sample| sample.0);
    let Some(first) = known.first().map(|sample| sample.1) else { return (evenly(lines, USUAL), None) };
    let mut samples: Vec<Sample> = Vec::new();
    for pair in known.windows(2) {
        let ((seq, at, rtt), (next, then, _)) = (pair[0], pair[1]);
        samples.push(Sample { at: at - first, rtt: Some(rtt) });
        samples.extend(lost(seq, next).map(|n| {
            let share = (n - seq) as f64 / (next - seq) as f64;
            Sample { at: at - first + share * (then - at), rtt: None }
        }));
    }
    samples.extend(known.last().map(|(_, at, rtt)| Sample { at: at - first, rtt: Some(*rtt) }));
    (samples, Some(Epoch { at: first, error: 0.0 }))
}

/// The numbers between two replies. A gap of more than a thousand is a damaged line.
fn lost(seq: i64, next: i64) -> std::ops::Range<i64> {
    if next - seq > 1000 { 0..0 } else { seq + 1..next }
}

/// Times by sequence numbers alone.
fn evenly(lines: &[Line], interval: f64) -> Vec<Sample> {
    let mut known: Vec<(i64, Option<f64>)> = lines.iter().filter_map(|line| Some((line.seq?, line.rtt))).collect();
    // A reply may follow its own `no answer yet`.
    known.sort_by_key(|(seq, rtt)| (*seq, rtt.is_none()));
    known.dedup_by_key(|(seq, _)| *seq);
    let Some(&(first, _)) = known.first() else { return Vec::new() };
    let at = |seq: i64| (seq - first) as f64 * interval;
    let mut samples = Vec::new();
    let mut before: Option<i64> = None;
    for (seq, rtt) in known {
        samples.extend(before.into_iter().flat_map(|last| lost(last, seq)).map(|n| Sample { at: at(n), rtt: None }));
        samples.push(Sample { at: at(seq), rtt });
        before = Some(seq);
    }
    samples
}
