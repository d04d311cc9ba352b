//! The progress bar; where standard error is no terminal, a line every half minute.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aqmkit_runs::clock;
use aqmkit_runs::run::{Watch, name};
use indicatif::{ProgressBar, ProgressStyle};

use super::say;

/// How much progress is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Nothing.
    Quiet,
    /// A progress bar on a terminal, and notes.
    Normal,
    /// Every run as well.
    Verbose,
}

/// The time between two lines of progress where there is no bar.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Shows how far the runs are and how long they will take.
pub(super) struct Bar {
    bar: ProgressBar,
    /// When the last line was written, where lines stand in for the bar.
    lines: Option<Mutex<Instant>>,
    talk: Talk,
    /// How many there will be, where that is known.
    runs: Option<usize>,
    ended: AtomicU64,
}

impl Bar {
    /// A bar for so many runs.
    #[must_use]
    pub(super) fn new(runs: usize, talk: Talk) -> Bar {
        // indicatif draws on standard error, and draws nothing if that is not a terminal.
        let bar = if talk == Talk::Quiet { ProgressBar::hidden() } else { ProgressBar::new(runs as u64 * 1000) };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}  {eta} left") {
            bar.set_style(style);
        }
        Bar::with(bar, talk, Some(runs))
    }

    /// Progress of calibration, whose number of trials is not known in advance.
    #[must_use]
    pub(super) fn of_trials(talk: Talk) -> Bar {
        let bar = if talk == Talk::Quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
            bar.set_style(style);
        }
        Bar::with(bar, talk, None)
    }

    fn with(bar: ProgressBar, talk: Talk, runs: Option<usize>) -> Bar {
        let lines = talk != Talk::Quiet && !std::io::stderr().is_terminal();
        let lines = lines.then(|| Mutex::new(clock::now()));
        let this = Bar { bar, lines, talk, runs, ended: AtomicU64::new(0) };
        this.bar.set_message(this.message(0));
        this
    }

    fn message(&self, ended: u64) -> String {
        match self.runs {
            Some(runs) => format!("{ended} of {runs} runs"),
            None => format!("calibrating: {ended} trials"),
        }
    }

    /// The line that is due now: how many runs are done, and what share of the work.
    fn line(&self, now: Instant) -> Option<String> {
        let mut last = self.lines.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(*last) < BETWEEN_LINES {
            return None;
        }
        *last = now;
        let message = self.message(self.ended.load(Ordering::Relaxed));
        let share = |runs: usize| format!(", {} %", self.bar.position() / (10 * runs.max(1) as u64));
        Some(format!("{message}{}", self.runs.map(share).unwrap_or_default()))
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Bar {
    fn advanced(&self, thousandths: u64) {
        self.bar.inc(thousandths);
        if let Some(line) = self.line(clock::now()) {
            say::tell(&line);
        }
    }

    fn ended(&self, labels: &BTreeMap<String, String>, reused: bool) {
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        self.bar.set_message(self.message(ended));
        if self.talk == Talk::Verbose {
            let how = if reused { "was done before" } else { "done" };
            self.bar.suspend(|| say::tell(&format!("{}: {how}", name(labels))));
        }
    }

    fn note(&self, text: &str) {
        if self.talk != Talk::Quiet {
            self.bar.suspend(|| say::tell(&format!("note: {text}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bar that writes lines, as tests have no terminal or a terminal.
    fn lined(runs: Option<usize>) -> Bar {
        let bar = ProgressBar::hidden();
        Bar { bar, lines: Some(Mutex::new(clock::now())), talk: Talk::Normal, runs, ended: AtomicU64::new(0) }
    }

    #[test]
    fn a_line_is_due_every_half_minute() {
        let bar = lined(Some(4));
        let start = clock::now();
        assert_eq!(bar.line(start), None);
        bar.advanced(1000);
        bar.ended(&BTreeMap::new(), false);
        bar.advanced(500);
        let due = start + BETWEEN_LINES + Duration::from_secs(1);
        assert_eq!(bar.line(due).as_deref(), Some("1 of 4 runs, 37 %"));
        assert_eq!(bar.line(due), None, "not twice");
        assert_eq!(lined(None).line(due).as_deref(), Some("calibrating: 0 trials"));
    }
}
