//! `explain`: says what the statistics of queue disciplines mean.

use std::fmt::Write as _;
use std::path::Path;

use aqmkit_explain::{Explained, Finding, Known, Weight};
use aqmkit_lab::explain::{Inquiry, Source, explain as explained};
use aqmkit_report::terminal::Screen;

use super::args::explain::Explain;
use super::fail::Failure;
use super::say;

/// `aqmkit explain`.
///
/// # Errors
/// When the statistics cannot be read.
pub(super) fn explain(args: &Explain) -> Result<(), Failure> {
    let known = Known { rate: args.rate, rtt: args.rtt };
    let inquiry = Inquiry { source: source(args), earlier: args.earlier.clone(), between: args.between, known };
    let devices = explained(&inquiry)?;
    let text = if args.json {
        format!("{:#}", serde_json::json!(devices))
    } else {
        devices.iter().map(|device| text(device, devices.len() > 1)).collect::<Vec<_>>().join("\n")
    };
    Ok(say::print(&text)?)
}

/// A name that is no file and is a device of this machine is the device.
fn source(args: &Explain) -> Source {
    let Some(what) = &args.what else { return Source::Machine(None) };
    if what == Path::new("-") {
        return Source::Input;
    }
    let device = what.to_str().filter(|name| !name.contains('/') && Path::new("/sys/class/net").join(name).exists());
    match device {
        Some(name) if !what.exists() => Source::Machine(Some(name.to_owned())),
        _ => Source::File(what.clone()),
    }
}

/// The answer, then each finding with its reason and what to type.
fn text(device: &Explained, named: bool) -> String {
    let width = Screen::of_stdout().width.clamp(40, 100);
    let mut out = String::new();
    if named && !device.device.is_empty() {
        let _ = writeln!(out, "{}", say::bold(&device.device));
    }
    for (index, finding) in device.findings.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let sentence = textwrap::fill(&finding.sentence, width);
        let _ = writeln!(out, "{}", if index == 0 { say::bold(&sentence) } else { sentence });
        for (label, words) in details(finding) {
            // A line to type stays whole.
            let lines =
                if label == "because" { textwrap::wrap(&words, width - LABEL) } else { vec![words.as_str().into()] };
            for (at, line) in lines.iter().enumerate() {
                let _ = writeln!(out, "  {:<10}{line}", if at == 0 { label } else { "" });
            }
        }
    }
    out
}

/// Columns before the text of a detail.
const LABEL: usize = 12;

fn details(finding: &Finding) -> Vec<(&'static str, String)> {
    let mut details = vec![("because", finding.because.clone())];
    let label = if finding.weight >= Weight::Setting { "mend" } else { "possible" };
    details.extend(finding.mend.iter().enumerate().map(|(at, line)| (if at == 0 { label } else { "" }, line.clone())));
    details.extend(finding.see.iter().map(|command| ("simulate", command.clone())));
    details.push(("queue", finding.queue.clone()));
    details
}
