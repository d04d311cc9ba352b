//! The progress bar.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use aqmkit_runs::run::{Watch, name};
use indicatif::{ProgressBar, ProgressStyle};

use super::say;

/// How much to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Nothing.
    Quiet,
    /// A progress bar on a terminal, and notes.
    Normal,
    /// Every run as well.
    Verbose,
}

/// Shows how far the runs are and how long they will take: on a terminal only.
pub(super) struct Bar {
    bar: ProgressBar,
    talk: Talk,
    /// How many there will be, where that is known.
    runs: Option<usize>,
    ended: AtomicU64,
}

impl Bar {
    /// A bar for so many runs.
    #[must_use]
    pub(super) fn new(runs: usize, talk: Talk) -> Bar {
        // indicatif draws on standard error, and nothing when that is no terminal.
        let bar = if talk == Talk::Quiet { ProgressBar::hidden() } else { ProgressBar::new(runs as u64 * 1000) };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}  {eta} left") {
            bar.set_style(style);
        }
        Bar::with(bar, talk, Some(runs))
    }

    /// A sign of life for trials, of which nobody knows how many it takes.
    #[must_use]
    pub(super) fn of_trials(talk: Talk) -> Bar {
        let bar = if talk == Talk::Quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
            bar.set_style(style);
        }
        Bar::with(bar, talk, None)
    }

    fn with(bar: ProgressBar, talk: Talk, runs: Option<usize>) -> Bar {
        let this = Bar { bar, talk, runs, ended: AtomicU64::new(0) };
        this.bar.set_message(this.message(0));
        this
    }

    fn message(&self, ended: u64) -> String {
        match self.runs {
            Some(runs) => format!("{ended} of {runs} runs"),
            None => format!("calibrating: {ended} trials"),
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Bar {
    fn advanced(&self, thousandths: u64) {
        self.bar.inc(thousandths);
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
