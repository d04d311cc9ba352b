//! The progress bar; if standard error is not a terminal, a line every half minute.

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

/// How much progress is printed.
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
    /// Prints a note, unless nothing is to be printed.
    #[cfg_attr(not(live), allow(dead_code, reason = "only live commands have such notes"))]
    pub(super) fn note(self, text: &str) {
        if self != Talk::Quiet {
            say::tell(&format!("note: {text}"));
        }
    }
}

/// The interval of progress lines without a bar.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// The progress of the runs.
#[derive(Clone)]
struct State {
    bar: ProgressBar,
    /// The remaining work, if it is known.
    remaining: Option<Arc<Remaining>>,
    /// The number of runs, if it is known.
    runs: Option<usize>,
    ended: Arc<AtomicU64>,
    /// The purpose of these runs: empty, or a few words that end with a comma.
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

    /// The number of finished runs, the share of the work done, and the time that is left.
    fn line(&self) -> String {
        let share = |runs: usize| format!(", {} %", self.bar.position() / (10 * runs.max(1) as u64));
        let left = self.remaining.as_deref().map(left).unwrap_or_default();
        format!("{}{}{left}", self.message(), self.runs.map(share).unwrap_or_default())
    }

    /// Writes a line half a minute after the last one of the command, until the other end of the channel is dropped.
    fn lines(self) -> Sender<()> {
        let (keep, ended) = channel();
        let wait = move |state: &State| {
            state.remaining.as_ref().map_or(BETWEEN_LINES, |all| BETWEEN_LINES.saturating_sub(all.since_line()))
        };
        // If the thread cannot be started, there are no lines.
        let _ = std::thread::Builder::new().name("progress".into()).spawn(move || {
            while ended.recv_timeout(wait(&self)) == Err(RecvTimeoutError::Timeout) {
                say::tell(&self.line());
                self.remaining.iter().for_each(|all| all.line_written());
            }
        });
        keep
    }
}

/// A bar of thousandths of runs. indicatif draws on standard error, and draws nothing if that is not a terminal.
fn bar_of(runs: usize, talk: Talk) -> ProgressBar {
    if talk == Talk::Quiet { ProgressBar::hidden() } else { ProgressBar::new(runs as u64 * 1000) }
}

/// The time that is left, after a comma; empty as long as too little is done to tell.
fn left(remaining: &Remaining) -> String {
    remaining.words().map(|left| format!(", {left}")).unwrap_or_default()
}

/// Shows the progress and the remaining time.
pub(super) struct Bar {
    state: State,
    talk: Talk,
    /// Ends the progress lines that replace the bar without a terminal.
    _lines: Option<Sender<()>>,
}

impl Bar {
    /// A bar for this number of runs.
    #[must_use]
    pub(super) fn new(runs: usize, talk: Talk) -> Bar {
        let bar = bar_of(runs, talk);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}  {eta} left") {
            bar.set_style(style);
        }
        Bar::with(bar, talk, Some(runs), None)
    }

    /// A bar for the runs of a plan, with the time that all runs of the command still take.
    #[must_use]
    pub(super) fn of_plan(runs: usize, talk: Talk, remaining: Arc<Remaining>) -> Bar {
        let bar = bar_of(runs, talk);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}{left}") {
            let all = Arc::clone(&remaining);
            bar.set_style(style.with_key("left", move |_: &ProgressState, text: &mut dyn Write| {
                // It is written into a string.
                let _ = text.write_str(&left(&all));
            }));
        }
        Bar::with(bar, talk, Some(runs), Some(remaining))
    }

    /// The progress of calibration, whose number of trials is unknown.
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

    /// The same bar with a message that begins with `why`: what the runs are for.
    #[must_use]
    pub(super) fn named(mut self, why: &str) -> Bar {
        why.clone_into(&mut self.state.why);
        self.state.bar.set_message(self.state.message());
        self
    }
}

/// A bar that is no longer needed vanishes.
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
            self.state.bar.suspend(|| say::tell(&format!("{}: {how}", name(labels))));
        }
    }

    fn note(&self, text: &str) {
        if self.talk != Talk::Quiet {
            self.state.bar.suspend(|| say::tell(&format!("note: {text}")));
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
