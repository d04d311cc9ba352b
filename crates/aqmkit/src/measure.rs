//! `measure`: estimates a path from files of measurements, or from a test between two hosts.

#[cfg(live)]
mod active;
#[cfg(not(live))]
mod active {
    //! The test needs the kernel's counters of connections, as live links do.

    use super::{Failure, Measure, Talk};
    use crate::live::absent;

    pub(super) fn serve(_: &Measure, _: Option<std::net::IpAddr>, _: Talk) -> Result<(), Failure> {
        Err(absent())
    }

    pub(super) fn test(_: &Measure, _: &str, _: Talk) -> Result<(), Failure> {
        Err(absent())
    }
}

use aqmkit_estimate::{Estimate, Measured};
use aqmkit_files::put;
use aqmkit_lab::measure::{Inquiry, measure as measured};
use aqmkit_report::terminal::Screen;

use super::args::measure::Measure;
use super::fail::{Failure, wrong};
use super::progress::Talk;
use super::say;

/// `aqmkit measure`.
///
/// # Errors
/// When a file is no measurement, the files are not of one test, the test fails, or the estimate cannot be written.
pub(super) fn measure(args: &Measure, talk: Talk) -> Result<(), Failure> {
    match (&args.serve, &args.to) {
        (Some(address), _) => active::serve(args, *address, talk),
        (None, Some(host)) => active::test(args, host, talk),
        (None, None) => of_files(args),
    }
}

fn of_files(args: &Measure) -> Result<(), Failure> {
    if let Some(rate) = args.rate.filter(|rate| rate.as_bps() == 0) {
        return wrong(format!("--rate {rate}: a rate must be above zero"), "for example --rate 94mbit");
    }
    let inquiry = Inquiry { files: args.files.clone(), load: args.load, rate: args.rate };
    let estimate = measured(&inquiry)?;
    if let Some(file) = &args.out {
        put(file, &Measured::of(&estimate).text(&comments(args, &estimate)))?;
    }
    let text = || text(&estimate) + &next(args);
    Ok(say::print(&if args.json { serde_json::to_string_pretty(&estimate)? } else { text() })?)
}

/// The head of the written file: where it comes from, and what is not known.
fn comments(args: &Measure, estimate: &Estimate) -> Vec<String> {
    let files: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    let mut comments = vec![format!("Estimated by aqmkit measure {}", files.join(" ")), estimate.sentence()];
    comments.extend(estimate.unseen.iter().map(|unseen| format!("Not seen: {unseen}.")));
    comments
}

/// The sentence, the table, and what was not seen.
fn text(estimate: &Estimate) -> String {
    let width = Screen::of_stdout().width.clamp(40, 100);
    let mut out = say::bold(&textwrap::fill(&estimate.sentence(), width));
    out.push('\n');
    let rows = estimate.rows();
    let widths = [0, 1].map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    for [what, value, detail] in &rows {
        let head = format!("\n  {what:<first$}  {value:>second$}  ", first = widths[0], second = widths[1]);
        let indent = " ".repeat(head.chars().count() - 1);
        let options = textwrap::Options::new(width).initial_indent(&head[1..]).subsequent_indent(&indent);
        out.push('\n');
        out.push_str(&textwrap::fill(detail, options));
    }
    out.push('\n');
    if !estimate.unseen.is_empty() {
        out.push_str("\nNot seen:\n");
        for unseen in &estimate.unseen {
            let options = textwrap::Options::new(width).initial_indent("  * ").subsequent_indent("    ");
            out.push_str(&textwrap::fill(unseen, options));
            out.push('\n');
        }
    }
    out
}

/// The line to type next.
fn next(args: &Measure) -> String {
    match &args.out {
        Some(file) => {
            format!("\nNext: aqmkit advise --measured {} --want \"video, web; p99 < 20ms\"\n", file.display())
        }
        None => "\nNext: the same command with --out measured.toml, then aqmkit advise --measured measured.toml\n"
            .to_owned(),
    }
}
