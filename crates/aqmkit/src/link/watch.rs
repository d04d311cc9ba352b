//! Reports on a running link: on the terminal, and to a file for `doctor`.

use std::path::PathBuf;
use std::sync::Arc;

use aqmkit_live::cleanup::Held;
use aqmkit_live::ctl::Control;
use aqmkit_live::doctor::{DirectionActivity, LinkActivity};
use aqmkit_live::link::Link;
use aqmkit_live::measured::Snapshot;
use aqmkit_live::tun::Tun;

use crate::say;

/// Reports on a link once a second.
pub(super) struct Watch {
    control: Arc<Control<Tun>>,
    last: Snapshot,
    file: Option<PathBuf>,
    aloud: bool,
}

impl Watch {
    pub(super) fn new(link: &Link, held: Option<&Held>, aloud: bool) -> Self {
        Watch {
            control: Arc::clone(&link.control),
            last: Snapshot::default(),
            file: held.map(Held::snapshot_path),
            aloud,
        }
    }

    /// Reports if the last report is at least a second old.
    pub(super) fn beat(&mut self) {
        let now = self.control.snapshot();
        let since = now.at.since(self.last.at).as_secs_f64();
        if since < 1.0 {
            return;
        }
        let activity = LinkActivity::between(&self.last, &now);
        if let Some(file) = &self.file {
            // If this fails, `doctor` sees an older report.
            let _ = serde_json::to_vec(&activity).map(|text| std::fs::write(file, text));
        }
        if self.aloud {
            let lines = ["down", "up"].into_iter().zip(&activity.directions).map(|(name, d)| line(name, d));
            let lines = lines.collect::<Vec<_>>();
            say::message(&format!("{:6.1} s  {}", now.at.as_secs_f64(), lines.join("  |  ")));
        }
        self.last = now;
    }
}

/// Formats the last second of a direction.
fn line(name: &str, d: &DirectionActivity) -> String {
    let (rate, waiting, drops, marks) = (d.bps / 1e6, d.waiting_packets, d.drops, d.marks);
    let lost = match d.overrun {
        0 => String::new(),
        many => format!(", {many} lost before the queue: this machine is too slow"),
    };
    format!("{name} {rate:.2} Mbit/s, {waiting} waiting, {drops} dropped, {marks} marked{lost}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_drops_before_the_queue_is_shown() {
        let d =
            DirectionActivity { bps: 9.5e6, waiting_packets: 3, drops: 2, marks: 1, ..DirectionActivity::default() };
        assert_eq!(line("down", &d), "down 9.50 Mbit/s, 3 waiting, 2 dropped, 1 marked");
        let slow = line("down", &DirectionActivity { overrun: 7, ..d });
        assert!(slow.ends_with(", 1 marked, 7 lost before the queue: this machine is too slow"), "{slow}");
    }
}
