//! The table of CAKE's tins in the text form: a line of names, then a line for each quantity.
//!
//! ```text
//!                    Bulk  Best Effort        Voice
//!   thresh       1125Kbit       18Mbit     4500Kbit
//!   pk_delay          0us       2.11ms        142us
//! ```

use aqmkit_base::{BitRate, Duration};

use super::listing::Tin;
use super::value::number;

/// The names that CAKE gives its tins by their number.
pub(crate) fn names(tins: usize) -> Vec<String> {
    match tins {
        3 => ["Bulk", "Best Effort", "Voice"].map(str::to_owned).to_vec(),
        4 => ["Bulk", "Best Effort", "Video", "Voice"].map(str::to_owned).to_vec(),
        _ => (0..tins).map(|tin| format!("Tin {tin}")).collect(),
    }
}

/// Reads the table line by line.
#[derive(Default)]
pub(crate) struct Table {
    begun: bool,
}

impl Table {
    /// Reads a line into `tins`. `false` for a line that is not part of the table.
    pub(crate) fn read(&mut self, tins: &mut Vec<Tin>, line: &str) -> bool {
        if !self.begun {
            let joined = line.replace("Best Effort", "Best_Effort").replace("Tin ", "Tin_");
            let columns: Vec<&str> = joined.split_whitespace().collect();
            let known =
                |name: &&str| matches!(*name, "Bulk" | "Best_Effort" | "Video" | "Voice") || name.starts_with("Tin_");
            self.begun = !columns.is_empty() && columns.iter().all(known);
            if self.begun {
                *tins = columns.iter().map(|name| Tin { name: name.replace('_', " "), ..Tin::default() }).collect();
            }
            return self.begun;
        }
        let mut words = line.split_whitespace();
        let Some(row) = words.next() else { return true };
        for (tin, value) in tins.iter_mut().zip(words.filter_map(number)) {
            set(tin, row, value);
        }
        true
    }
}

/// Sets the quantity of a row, in bits per second, seconds, or counts.
fn set(tin: &mut Tin, row: &str, value: f64) {
    let time = || Duration::from_secs_f64(value);
    let count = value as u64;
    match row {
        "thresh" => tin.threshold = BitRate::from_bps(count),
        "target" => tin.target = time(),
        "interval" => tin.interval = time(),
        "pk_delay" => tin.peak_delay = time(),
        "av_delay" => tin.mean_delay = time(),
        "sp_delay" => tin.sparse_delay = time(),
        "pkts" => tin.packets = count,
        "bytes" => tin.bytes = count,
        "drops" => tin.drops = count,
        "marks" => tin.marks = count,
        "ack_drop" => tin.ack_drops = count,
        "sp_flows" => tin.sparse_flows = count,
        "bk_flows" => tin.bulk_flows = count,
        "un_flows" => tin.unresponsive_flows = count,
        "max_len" => tin.max_len = count,
        _ => {}
    }
}
