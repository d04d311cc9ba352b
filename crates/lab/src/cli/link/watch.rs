//! Reports on a running link: on the terminal, and in a file for `doctor`.

use std::path::PathBuf;
use std::sync::Arc;

use aqmkit_live::cleanup::Held;
use aqmkit_live::ctl::Control;
use aqmkit_live::doctor::Pulse;
use aqmkit_live::link::Link;
use aqmkit_live::measured::Look;
use aqmkit_live::tun::Tun;

use crate::cli::say;

/// Reports on a link every second.
pub(super) struct Watch {
    control: Arc<Control<Tun>>,
    last: Look,
    file: Option<PathBuf>,
    aloud: bool,
}

impl Watch {
    pub(super) fn new(link: &Link, held: Option<&Held>, aloud: bool) -> Self {
        Watch { control: Arc::clone(&link.control), last: Look::default(), file: held.map(Held::look_path), aloud }
    }

    /// Reports, if a second has passed since the last report.
    pub(super) fn beat(&mut self) {
        let now = self.control.look();
        let since = now.at.since(self.last.at).as_secs_f64();
        if since < 1.0 {
            return;
        }
        let pulse = Pulse::between(&self.last, &now);
        if let Some(file) = &self.file {
            // Another process may see a slightly older report.
            let _ = serde_json::to_vec(&pulse).map(|text| std::fs::write(file, text));
        }
        if self.aloud {
            let line = |(name, d): (&str, &aqmkit_live::doctor::PulseDirection)| {
                format!(
                    "{name} {:.2} Mbit/s, {} waiting, {} dropped, {} marked",
                    d.bps / 1e6,
                    d.waiting_packets,
                    d.drops,
                    d.marks
                )
            };
            let lines = ["down", "up"].into_iter().zip(&pulse.directions).map(line).collect::<Vec<_>>();
            say::tell(&format!("{:6.1} s  {}", now.at.as_secs_f64(), lines.join("  |  ")));
        }
        self.last = now;
    }
}
