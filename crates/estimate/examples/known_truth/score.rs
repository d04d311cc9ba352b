//! Estimates beside the truth.

use std::fmt::Write as _;

use aqmkit_estimate::{Estimate, Given, Trial, Value, Verdict, estimate, read};

use super::files;
use super::scene::{BEGIN, Case, EVERY, Recording};

/// Captures of faster links would have gigabytes.
const CAPTURED_BPS: f64 = 60e6;

/// How an estimate stands to the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Within a tenth, or the right answer.
    Right,
    Wrong,
    /// Said to be unknown, or a lower bound.
    Unseen,
    /// There is no truth to compare with.
    None,
}

use Mark::{None as Absent, Right, Unseen, Wrong};

/// An estimate from one set of files.
pub(crate) struct Scored {
    pub set: &'static str,
    pub case: Case,
    pub estimate: Estimate,
    pub rate: Mark,
    pub rtt: Mark,
    pub buffer: Mark,
    pub fair: Mark,
    pub managed: Mark,
}

/// Files of one test, with their names.
type Files = Vec<(&'static str, Vec<u8>)>;

/// The sets of files that people have of a test.
fn sets(recording: &Recording) -> Result<Vec<(&'static str, Files, Given)>, String> {
    let (irtt, stamped) = (files::irtt(recording).into_bytes(), files::ping(recording, true).into_bytes());
    let plain = files::ping(recording, false).into_bytes();
    let (sender, receiver) = (files::iperf3(recording, true), files::iperf3(recording, false));
    // The log begins with the first packet.
    let load = Some((BEGIN - EVERY, recording.end() - EVERY));
    let speed = Given { load, rate_bps: Some(recording.case.rate_bps), ..Given::default() };
    let mut sets = vec![
        ("irtt, iperf3", vec![("irtt.json", irtt), ("iperf3.json", sender.clone().into())], Given::default()),
        ("ping -D, iperf3", vec![("ping.txt", stamped.clone()), ("iperf3.json", sender.into())], Given::default()),
        ("ping -D, iperf3 -R", vec![("ping.txt", stamped), ("iperf3.json", receiver.into())], Given::default()),
        ("flent", vec![("tcp_ndown.flent.gz", files::flent(recording))], Given::default()),
        ("ping, speed test", vec![("ping.txt", plain.clone())], speed),
    ];
    if recording.case.rate_bps < CAPTURED_BPS {
        let capture = files::capture(&recording.case)?;
        sets.push((
            "ping, pcap",
            vec![("transfer.pcap", capture), ("ping.txt", plain)],
            Given { load, ..Given::default() },
        ));
    }
    Ok(sets)
}

/// Estimates from every set of files of a recording, with their marks.
pub(crate) fn scored(recording: &Recording) -> Result<Vec<Scored>, String> {
    sets(recording)?.into_iter().map(|(set, files, given)| one(set, &files, given, recording)).collect()
}

fn one(set: &'static str, files: &Files, given: Given, recording: &Recording) -> Result<Scored, String> {
    let read: Result<Vec<_>, _> = files.iter().map(|(name, bytes)| read(name, bytes.as_slice())).collect();
    let trial = Trial::of(read.map_err(|error| error.to_string())?, given).map_err(|error| error.to_string())?;
    let estimate = estimate(&trial);
    let (case, truth) = (recording.case.clone(), recording.case.truth());
    let rate = if given.rate_bps.is_some() {
        Absent
    } else if estimate.filled {
        near(estimate.down_bps.or(estimate.up_bps), case.rate_bps)
    } else {
        Unseen
    };
    // A queue that was never full does not show its limit to anybody.
    let has_limit = truth.has_one_limit && recording.drops > 0;
    Ok(Scored {
        set,
        rate,
        rtt: near(estimate.rtt_ms, case.rtt_s * 1000.0),
        buffer: if has_limit { near(estimate.buffer_ms, recording.longest_s * 1000.0) } else { Absent },
        fair: answer(estimate.fair_queueing.answer, truth.fair),
        managed: answer(estimate.aqm.answer, (recording.drops > 0).then_some(recording.full < 0.5)),
        case,
        estimate,
    })
}

fn near(estimate: Option<Value>, truth: f64) -> Mark {
    match estimate {
        None => Unseen,
        Some(value) if (value.value / truth - 1.0).abs() <= 0.1 => Right,
        Some(_) => Wrong,
    }
}

fn answer(estimate: Verdict, truth: Option<bool>) -> Mark {
    match (estimate, truth) {
        (_, None) => Absent,
        (Verdict::Unknown, _) => Unseen,
        (Verdict::Yes, Some(true)) | (Verdict::No, Some(false)) => Right,
        _ => Wrong,
    }
}

impl Scored {
    /// The case and its estimate in a line.
    pub(crate) fn line(&self) -> String {
        let Case { discipline, rate_bps, rtt_s, flows, .. } = &self.case;
        let marks = [self.rate, self.rtt, self.buffer, self.fair, self.managed].map(|mark| match mark {
            Right => "right",
            Wrong => "WRONG",
            Unseen => "unseen",
            Absent => "-",
        });
        format!(
            "{:18} {discipline:11} {:7.2} Mbit/s {:5.1} ms {flows} flows: {}: {}",
            self.set,
            rate_bps / 1e6,
            1000.0 * rtt_s,
            marks.join(" "),
            self.estimate.sentence()
        )
    }
}

/// Counts of marks: right, wrong, unseen.
pub(crate) fn count(all: &[Scored], set: &str, of: impl Fn(&Scored) -> Mark) -> [usize; 3] {
    let marks: Vec<Mark> = all.iter().filter(|one| one.set == set).map(of).collect();
    [Right, Wrong, Unseen].map(|wanted| marks.iter().filter(|mark| **mark == wanted).count())
}

/// A table in Markdown: for each set of files and quantity, how many are right, wrong and unseen.
pub(crate) fn table(all: &[Scored]) -> String {
    let mut sets: Vec<&str> = Vec::new();
    for one in all {
        if !sets.contains(&one.set) {
            sets.push(one.set);
        }
    }
    let mut text =
        "| files | rate | base round trip | buffer of a FIFO | fair queueing | AQM |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for set in sets {
        let of: [fn(&Scored) -> Mark; 5] = [|s| s.rate, |s| s.rtt, |s| s.buffer, |s| s.fair, |s| s.managed];
        let cells = of.map(|of| match count(all, set, of) {
            [0, 0, 0] => "–".to_owned(),
            [right, wrong, unseen] => format!("{right} / {wrong} / {unseen}"),
        });
        let _ = writeln!(text, "| {set} | {} |", cells.join(" | "));
    }
    text
}
