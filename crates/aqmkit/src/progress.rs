//! The progress bar or, if standard error is not a terminal, a line every half minute.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use aqmkit_runs::run::{Watch, name};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::remaining::Remaining;
use super::say;

/// How much progress to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// Nothing.
    Quiet,
    /// A progress bar on a terminal, and notes.
    Normal,
    /// Also a line for every run.
    Verbose,
}

impl Talk {
    /// Prints a note unless output is quiet.
    #[cfg_attr(not(live), allow(dead_code, reason = "only live commands have such notes"))]
    pub(super) fn note(self, text: &str) {
        if self != Talk::Quiet {
            say::message(&format!("note: {text}"));
        }
    }
}

/// The interval between progress lines, if there is no bar.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// The progress of the runs.
#[derive(Clone)]
struct State {
    bar: ProgressBar,
    /// The remaining work, if known.
    remaining: Option<Arc<Remaining>>,
    /// The number of runs, if known.
    runs: Option<usize>,
    ended: Arc<AtomicU64>,
    /// The purpose of the runs: empty, or a text that ends in a comma and a space.
    why: String,
}

impl State {
    fn message(&self) -> String {
        let ended = self.ended.load(Ordering::Relaxed);
        match self.runs {
            Some(runs) => format!("{}{ended} of {runs} runs", self.why),
            None => format!("calibrating: {ended} trials"),
        }
    }

    /// Formats the number of finished runs, the share of the work that is done, and the remaining time.
    fn line(&self) -> String {
        let share = |runs: usize| format!(", {} %", self.bar.position() / (10 * runs.max(1) as u64));
        let left = self.remaining.as_deref().map(left).unwrap_or_default();
        format!("{}{}{left}", self.message(), self.runs.map(share).unwrap_or_default())
    }

    /// Starts a thread that prints a line half a minute after the previous one, until the returned sender is dropped.
    fn lines(self) -> Sender<()> {
        let (keep, ended) = channel();
        let wait = move |state: &State| {
            state.remaining.as_ref().map_or(BETWEEN_LINES, |all| BETWEEN_LINES.saturating_sub(all.since_line()))
        };
        // If the thread cannot be started, no lines are printed.
        let _ = std::thread::Builder::new().name("progress".into()).spawn(move || {
            while ended.recv_timeout(wait(&self)) == Err(RecvTimeoutError::Timeout) {
                say::message(&self.line());
                self.remaining.iter().for_each(|all| all.line_written());
            }
        });
        keep
    }
}

/// A bar in units of a thousandth of a run. indicatif draws it on standard error if that is a terminal.
fn bar_of(runs: usize, talk: Talk) -> ProgressBar {
    if talk == Talk::Quiet { ProgressBar::hidden() } else { ProgressBar::new(runs as u64 * 1000) }
}

/// The remaining time, preceded by a comma; empty if it cannot be estimated yet.
fn left(remaining: &Remaining) -> String {
    remaining.words().map(|left| format!(", {left}")).unwrap_or_default()
}

/// Shows the progress and the remaining time.
pub(super) struct Bar {
    state: State,
    talk: Talk,
    /// Dropping it stops the progress lines.
    _lines: Option<Sender<()>>,
}

impl Bar {
    /// Creates a bar for this number of runs.
    #[must_use]
    pub(super) fn new(runs: usize, talk: Talk) -> Bar {
        let bar = bar_of(runs, talk);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}  {eta} left") {
            bar.set_style(style);
        }
        Bar::with(bar, talk, Some(runs), None)
    }

    /// Creates a bar for the runs of a plan, which shows the remaining time of the whole command.
    #[must_use]
    pub(super) fn of_plan(runs: usize, talk: Talk, remaining: Arc<Remaining>) -> Bar {
        let bar = bar_of(runs, talk);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}{left}") {
            let all = Arc::clone(&remaining);
            bar.set_style(style.with_key("left", move |_: &ProgressState, text: &mut dyn Write| {
                // Writing to a string cannot fail.
                let _ = text.write_str(&left(&all));
            }));
        }
        Bar::with(bar, talk, Some(runs), Some(remaining))
    }

    /// Creates a bar for a calibration, whose number of trials is unknown.
    #[must_use]
    pub(super) fn of_trials(talk: Talk) -> Bar {
        let bar = if talk == Talk::Quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
            bar.set_style(style);
        }
        Bar::with(bar, talk, None, None)
    }

    fn with(bar: ProgressBar, talk: Talk, runs: Option<usize>, remaining: Option<Arc<Remaining>>) -> Bar {
        let state = State { bar, remaining, runs, ended: Arc::default(), why: String::new() };
        let lines = talk != Talk::Quiet && !std::io::stderr().is_terminal();
        state.bar.set_message(state.message());
        Bar { _lines: lines.then(|| state.clone().lines()), state, talk }
    }

    /// Sets the purpose of the runs, with which the message starts.
    #[must_use]
    pub(super) fn named(mut self, why: &str) -> Bar {
        why.clone_into(&mut self.state.why);
        self.state.bar.set_message(self.state.message());
        self
    }
}

/// Removes the bar from the terminal.
impl Drop for Bar {
    fn drop(&mut self) {
        self.state.bar.finish_and_clear();
    }
}

impl Watch for Bar {
    fn advanced(&self, thousandths: u64) {
        if let Some(remaining) = &self.state.remaining {
            remaining.advanced(thousandths);
        }
        self.state.bar.inc(thousandths);
    }

    fn ended(&self, labels: &BTreeMap<String, String>, reused: bool) {
        if let Some(remaining) = &self.state.remaining {
            remaining.ended(labels, reused);
        }
        self.state.ended.fetch_add(1, Ordering::Relaxed);
        self.state.bar.set_message(self.state.message());
        if self.talk == Talk::Verbose {
            let how = if reused { "found in the store" } else { "done" };
            self.state.bar.suspend(|| say::message(&format!("{}: {how}", name(labels))));
        }
    }

    fn note(&self, text: &str) {
        if self.talk != Talk::Quiet {
            self.state.bar.suspend(|| say::message(&format!("note: {text}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_far_the_runs_are() {
        let bar = Bar::with(ProgressBar::hidden(), Talk::Quiet, Some(4), None);
        bar.advanced(1000);
        bar.ended(&BTreeMap::new(), false);
        bar.advanced(500);
        assert_eq!(bar.state.line(), "1 of 4 runs, 37 %");
        let remaining = Remaining::half_done_after(Duration::from_secs(40));
        let of_several = Bar::with(ProgressBar::hidden(), Talk::Quiet, Some(4), Some(remaining));
        assert_eq!(of_several.state.line(), "0 of 4 runs, 0 %, about 50 s left in all");
        assert_eq!(Bar::with(ProgressBar::hidden(), Talk::Quiet, None, None).state.line(), "calibrating: 0 trials");
    }
}
