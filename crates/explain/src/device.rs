//! The answer for a device: all its queues, the heaviest finding first.

use aqmkit_tc::Qdisc;
use serde::Serialize;

use super::finding::{Finding, Weight};
use super::queue::Queue;
use super::{Known, Sample, rules, words};

/// What the statistics of a device say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The device; empty where `tc` was asked for one device and does not print it.
    pub device: String,
    /// The answer: the sentence of the first finding.
    pub answer: String,
    /// All findings, the heaviest first.
    pub findings: Vec<Finding>,
}

pub(crate) fn all(sample: Sample<'_>, known: &Known) -> Vec<Explained> {
    let mut devices: Vec<Option<&String>> = Vec::new();
    for qdisc in &sample.now.qdiscs {
        if !devices.contains(&qdisc.device.as_ref()) {
            devices.push(qdisc.device.as_ref());
        }
    }
    devices.into_iter().filter_map(|device| one(device, sample, known)).collect()
}

/// `None` for a device whose disciplines have no statistics that say anything, such as `noqueue`.
fn one(device: Option<&String>, sample: Sample<'_>, known: &Known) -> Option<Explained> {
    let own: Vec<&Qdisc> = sample.now.qdiscs.iter().filter(|qdisc| qdisc.device.as_ref() == device).collect();
    let mut findings = Vec::new();
    for qdisc in own.iter().filter(|qdisc| !matches!(qdisc.kind.as_str(), "noqueue" | "ingress" | "clsact" | "mq")) {
        let Some(queue) = Queue::new(qdisc, sample, known) else {
            let sentence = format!("the listing has no statistics of {}; use `tc -s qdisc show`", qdisc.kind);
            findings.push(Finding::new(Weight::Note, sentence, "options alone do not say what happens to packets"));
            continue;
        };
        findings.extend(rules::apply(&queue).into_iter().map(|found| Finding { queue: queue.name(), ..found }));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    merge(&mut findings);
    let answer = findings.first()?.sentence.clone();
    Some(Explained { device: device.cloned().unwrap_or_default(), answer, findings })
}

/// A device with several transmit queues has a discipline for each, in which the same holds: said once.
fn merge(findings: &mut Vec<Finding>) {
    let mut kept: Vec<(Finding, u64)> = Vec::new();
    for finding in findings.drain(..) {
        let alike = |other: &&mut (Finding, u64)| {
            other.0.weight == finding.weight
                && other.0.mend == finding.mend
                && without_digits(&other.0.sentence) == without_digits(&finding.sentence)
        };
        match kept.iter_mut().find(alike) {
            Some((_, times)) => *times += 1,
            None => kept.push((finding, 1)),
        }
    }
    findings.extend(kept.into_iter().map(|(mut finding, times)| {
        if times > 1 {
            finding.queue = format!("{} and {} more alike", finding.queue, words::count(times - 1));
        }
        finding
    }));
}

fn without_digits(sentence: &str) -> String {
    sentence.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, ',' | '.')).collect()
}
