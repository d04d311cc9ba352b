//! Reports progress.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The interval between lines where no bar can be drawn.
const SILENCE: Duration = Duration::from_secs(60);

/// The progress of one phase: a bar on a terminal, otherwise a line at intervals.
pub(crate) struct Progress {
    bar: ProgressBar,
    what: &'static str,
    started: Instant,
    said: Mutex<Instant>,
}

impl Progress {
    pub(crate) fn new(what: &'static str, count: usize) -> Self {
        // indicatif draws on standard error, and nothing when that is no terminal.
        let bar = ProgressBar::new(count as u64);
        let template = "{msg} [{bar:30}] {pos}/{len} {elapsed}, {eta} to go";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar, what, started: Instant::now(), said: Mutex::new(Instant::now()) }
    }

    /// Counts one finished item.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
        let Ok(mut said) = self.said.lock() else { return };
        if self.bar.is_hidden() && said.elapsed() >= SILENCE {
            *said = Instant::now();
            say(&format!("{}: {} of {}", self.what, self.bar.position(), self.bar.length().unwrap_or_default()));
        }
    }

    /// Writes a line, above the bar if there is one.
    pub(crate) fn tell(&self, text: &str) {
        self.bar.suspend(|| say(text));
    }

    /// Ends the phase; returns the time that it took.
    pub(crate) fn finish(self) -> Duration {
        self.bar.finish_and_clear();
        self.started.elapsed()
    }
}

/// Writes a line to standard error.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
