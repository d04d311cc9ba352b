//! The summary of a replay, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aqmkit_measure::output::Summary;
use aqmkit_measure::{Passed, Times, Traffic, by_reason};
use aqmkit_packets::Setup;
use aqmkit_packets::replay::{Damage, FlowCount, Replayed, Step};
use aqmkit_report::format::{fixed, thousands};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use crate::cells::delays;
use crate::fail::Failure;
use crate::say;

/// The results and arguments of a replay.
pub(super) struct ReplaySummary<'a> {
    pub(super) input: String,
    pub(super) setup: &'a Setup,
    pub(super) replayed: &'a Replayed,
    /// The MTU of the link, in bytes.
    pub(super) mtu: u32,
    pub(super) top: usize,
    pub(super) wall_s: f64,
}

/// The summary as JSON, with the names and units of `results.json`.
#[derive(Serialize)]
struct Json<'a> {
    input: &'a str,
    discipline: &'a str,
    parameters: serde_json::Value,
    rate_bps: u64,
    duration_s: f64,
    link: Share,
    classes: BTreeMap<&'a str, Share>,
    flows: Flows,
    /// Where the file is damaged.
    damage: &'a Option<Damage>,
    unordered: u64,
    /// The first step of the capture's clock, and the number of steps.
    clock_step: Option<Step>,
    clock_steps: u64,
    blocks_skipped: u64,
    not_ip: u64,
    left_out: u64,
    cut: u64,
    both_ways: bool,
    engine: Engine,
}

#[derive(Serialize)]
struct Flows {
    counted: u64,
    forgotten: u64,
    top: Vec<FlowCount>,
}

#[derive(Serialize)]
struct Engine {
    wall_s: f64,
    packets_per_s: f64,
    peak_rss_bytes: u64,
}

/// The packets of a class, or all packets.
#[derive(Serialize)]
struct Share {
    offered_packets: u64,
    offered_bytes: u64,
    sent_packets: u64,
    sent_bytes: u64,
    throughput_bps: f64,
    drop_rate: f64,
    mark_rate: f64,
    drops: BTreeMap<String, u64>,
    marks: BTreeMap<String, u64>,
    queue_delay_ms: Option<Summary>,
}

impl Share {
    fn of(total: &Traffic, delay: &Times, window: &Passed) -> Share {
        let part = |n: u64, of: f64| if of > 0.0 { n as f64 / of } else { 0.0 };
        let offered = total.offered_packets as f64;
        Share {
            offered_packets: total.offered_packets,
            offered_bytes: total.offered_bytes,
            sent_packets: total.sent_packets,
            sent_bytes: total.sent_bytes,
            throughput_bps: part(total.sent_bytes * 8, window.span().as_secs_f64()),
            drop_rate: part(total.drops(), offered),
            mark_rate: part(total.marks(), offered),
            drops: by_reason(&total.dropped),
            marks: by_reason(&total.marked),
            queue_delay_ms: delay.summary(),
        }
    }
}

impl<'a> ReplaySummary<'a> {
    fn window(&self) -> &'a Passed {
        &self.replayed.window
    }

    fn all(&self) -> Share {
        Share::of(&self.window().total, &self.window().delay, self.window())
    }

    /// The classes that have packets.
    fn classes(&self) -> impl Iterator<Item = (&'a str, Share)> {
        let window = self.window();
        let named = self.setup.classes.iter().map(String::as_str).zip(&window.classes);
        named.filter(|(_, c)| c.total.offered_packets > 0).map(|(n, c)| (n, Share::of(&c.total, &c.delay, window)))
    }

    /// Formats the summary as JSON.
    pub(super) fn json(&self) -> Result<String, Failure> {
        let total = self.window().total.offered_packets;
        let (counted, forgotten) = self.replayed.flows.number();
        let json = Json {
            input: &self.input,
            discipline: self.setup.aqm.name(),
            parameters: serde_json::to_value(&self.setup.aqm)?,
            rate_bps: self.setup.rate.as_bps(),
            duration_s: self.window().span().as_secs_f64(),
            link: self.all(),
            classes: self.classes().collect(),
            flows: Flows { counted, forgotten, top: self.replayed.flows.top(self.top) },
            damage: &self.replayed.damage,
            unordered: self.replayed.unordered,
            clock_step: self.replayed.step,
            clock_steps: self.replayed.steps,
            blocks_skipped: self.replayed.skipped,
            not_ip: self.replayed.not_ip,
            left_out: self.replayed.left_out,
            cut: self.replayed.cut,
            both_ways: self.replayed.both_ways,
            engine: Engine {
                wall_s: self.wall_s,
                packets_per_s: if self.wall_s > 0.0 { total as f64 / self.wall_s } else { 0.0 },
                peak_rss_bytes: aqmkit_runs::clock::peak_rss().unwrap_or(0),
            },
        };
        Ok(serde_json::to_string_pretty(&json)?)
    }

    /// Formats the summary for a terminal.
    pub(super) fn text(&self) -> String {
        let (window, all) = (self.window(), self.all());
        let mut text = format!(
            "{} through {} at {}: {} packets, {} bytes in {} s\n\n",
            self.input,
            say::bold(self.setup.aqm.name()),
            self.setup.rate,
            thousands(all.offered_packets),
            thousands(all.offered_bytes),
            fixed(window.span().as_secs_f64(), 3),
        );
        text.push_str(&self.shares(&all));
        for (what, counts) in [("Dropped", &all.drops), ("Marked", &all.marks)] {
            if !counts.is_empty() {
                let list = counts.iter().map(|(why, n)| format!("{why} {}", thousands(*n))).collect::<Vec<_>>();
                let _ = write!(text, "\n{what}: {}", list.join(", "));
            }
        }
        let _ = writeln!(
            text,
            "\nQueue: mean {} packets, 99th percentile {} (over time)",
            fixed(window.length.mean, 1),
            window.length.p99
        );
        text.push_str(&self.flows());
        for note in self.notes() {
            let _ = write!(text, "\nnote: {note}");
        }
        text
    }

    fn shares(&self, all: &Share) -> String {
        let mut table = Table::new();
        table.load_style(NOTHING).force_no_tty();
        let head = ["", "packets", "sent", "dropped", "marked", "delay ms", "p50", "p90", "p99", "max"];
        table.set_header(head);
        let rows =
            std::iter::once(("all", all.cells())).chain(self.classes().map(|(name, share)| (name, share.cells())));
        for (name, cells) in rows {
            table.add_row(std::iter::once(name.to_owned()).chain(cells));
        }
        table.column_iter_mut().skip(1).for_each(|c| c.set_cell_alignment(CellAlignment::Right));
        trimmed(&table)
    }

    fn flows(&self) -> String {
        let top = self.replayed.flows.top(self.top);
        if top.is_empty() {
            return String::new();
        }
        let (counted, forgotten) = self.replayed.flows.number();
        let mut table = Table::new();
        table.load_style(NOTHING).force_no_tty();
        table.set_header(["flow", "packets", "bytes", "dropped", "marked"]);
        for flow in &top {
            let numbers = [flow.packets, flow.bytes, flow.dropped, flow.marked].map(thousands);
            table.add_row(std::iter::once(flow.flow.to_string()).chain(numbers));
        }
        table.column_iter_mut().skip(1).for_each(|c| c.set_cell_alignment(CellAlignment::Right));
        let of = if forgotten > 0 { "more than " } else { "" };
        format!("\nThe largest of {of}{} flows:\n{}\n", thousands(counted), trimmed(&table))
    }

    /// Notes about the numbers.
    fn notes(&self) -> Vec<String> {
        let r = self.replayed;
        let mut notes = Vec::new();
        if r.unordered > 0 {
            notes.push(format!(
                "{} packets have a time before their predecessor's and arrive with it",
                thousands(r.unordered)
            ));
        }
        if let Some(step) = r.step {
            let others =
                if r.steps > 1 { format!(", and {} more times", thousands(r.steps - 1)) } else { String::new() };
            notes.push(format!(
                "the clock of the capture {} by {:.3} s at packet {}{others}: the step is taken out, and later packets keep their gaps",
                if step.by_ns < 0 { "goes back" } else { "jumps ahead" },
                step.by_ns.unsigned_abs() as f64 / 1e9,
                thousands(step.packet)
            ));
        }
        if r.skipped > 0 {
            notes.push(format!("{} blocks of a kind that is not known were skipped", thousands(r.skipped)));
        }
        if r.not_ip > 0 {
            notes.push(format!("{} packets are not IP; they are queued like others, without ECN", thousands(r.not_ip)));
        }
        if r.left_out > 0 {
            notes.push(format!("{} packets of other networks were left out (--from, --to)", thousands(r.left_out)));
        }
        if r.cut > 0 {
            notes.push(format!(
                "{} packets longer than {} bytes were segmented as a network card would (--mtu)",
                thousands(r.cut),
                self.mtu
            ));
        }
        if r.both_ways {
            notes.push(
                "both directions of connections pass this one queue, which no link does: --from NETWORK or --to NETWORK \
                 selects one direction"
                    .to_owned(),
            );
        }
        notes
    }
}

impl Share {
    fn cells(&self) -> Vec<String> {
        let rate = |n: u64, share: f64| format!("{} ({} %)", thousands(n), fixed(share * 100.0, 2));
        let count = |counts: &BTreeMap<_, u64>| counts.values().sum::<u64>();
        let packets = [
            thousands(self.offered_packets),
            thousands(self.sent_packets),
            rate(count(&self.drops), self.drop_rate),
            rate(count(&self.marks), self.mark_rate),
        ];
        packets.into_iter().chain(delays(self.queue_delay_ms.as_ref())).collect()
    }
}

fn trimmed(table: &Table) -> String {
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
