//! Shows the state of a running bottleneck as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aqmkit_base::BitRate;
use aqmkit_live::ctl::{Counted, DirectionReport, Report};
use aqmkit_packets::Buckets;
use aqmkit_report::format::{fixed, significant, thousands};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::say;

/// Formats a report, with rates and delays since `earlier`, or since the start.
#[must_use]
pub(super) fn draw(report: &Report, earlier: Option<&Report>) -> String {
    let span = report.at_s - earlier.map_or(0.0, |e| e.at_s);
    let mut text = format!("{}, {} s\n", say::bold(&report.title()), fixed(report.at_s, 1));
    for direction in &report.directions {
        let before = earlier.and_then(|e| e.directions.iter().find(|d| d.name == direction.name));
        text.push_str(&one(direction, before, span));
    }
    let late = earlier.map_or(report.late, |e| report.late.since(&e.late));
    if let Some(p99) = late.quantile_ms(0.99) {
        let _ = writeln!(text, "\nlateness p99 {} µs", fixed(p99 * 1000.0, 0));
    }
    let refused = report.refused.saturating_sub(earlier.map_or(0, |e| e.refused));
    if refused > 0 {
        let _ = writeln!(text, "note: {} packets were refused by the outgoing interface", thousands(refused));
    }
    text
}

fn one(direction: &DirectionReport, before: Option<&DirectionReport>, span: f64) -> String {
    let rate = BitRate::from_bps(direction.rate_bps);
    let mut text = format!(
        "\n{}{}: {} at {rate}, {} packets ({} bytes) wait\n",
        say::bold(&direction.name),
        way(direction),
        direction.discipline,
        thousands(direction.backlog_packets),
        thousands(direction.backlog_bytes),
    );
    if !direction.link.is_empty() {
        let settings: Vec<String> = direction.link.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let _ = writeln!(text, "link: {}", settings.join(", "));
    }
    let mut table = Table::new();
    table.load_style(NOTHING).force_no_tty();
    table.set_header(["", "Mbit/s", "packets/s", "dropped", "marked", "delay ms p50", "p90", "p99"]);
    table.add_row(row("all", &direction.total, before.map(|b| &b.total), span));
    for (name, counted) in direction.classes.iter().filter(|(_, c)| c.offered_packets > 0) {
        table.add_row(row(name, counted, before.and_then(|b| b.classes.get(name)), span));
    }
    table.column_iter_mut().skip(1).for_each(|c| c.set_cell_alignment(CellAlignment::Right));
    table.to_string().lines().for_each(|line| {
        let _ = writeln!(text, "{}", line.trim_end());
    });
    for (what, counts, earlier) in [
        ("dropped", &direction.total.drops, before.map(|b| &b.total.drops)),
        ("marked", &direction.total.marks, before.map(|b| &b.total.marks)),
    ] {
        let list = reasons(counts, earlier);
        if !list.is_empty() {
            let _ = writeln!(text, "{what}: {list}");
        }
    }
    let gauges = direction.gauges.iter().map(|(name, value)| format!("{name} {}", significant(*value, 4)));
    let gauges = gauges.collect::<Vec<_>>().join(", ");
    if !gauges.is_empty() {
        let _ = writeln!(text, "state: {gauges}");
    }
    let lost = direction.lost_packets.saturating_sub(before.map_or(0, |b| b.lost_packets));
    if lost > 0 {
        let _ = writeln!(text, "lost on the wire (--loss): {}", thousands(lost));
    }
    let (device, past) = (direction.device, before.map(|b| b.device).unwrap_or_default());
    for (n, m, what) in [
        (device.overrun, past.overrun, "packets dropped by the kernel before the discipline: this machine is too slow"),
        (
            device.too_long,
            past.too_long,
            "super-packets dropped that cannot be cut, such as tunnels: run ethtool -K DEVICE tx-udp_tnl-segmentation off on the sender",
        ),
        (device.vanished, past.vanished, "times the interface disappeared"),
    ] {
        if n > m {
            let _ = writeln!(text, "note: {} {what}", thousands(n - m));
        }
    }
    text
}

/// The interfaces that the packets of a direction arrive at and leave through, in parentheses.
#[must_use]
pub(super) fn way(direction: &DirectionReport) -> String {
    if direction.way.is_empty() { String::new() } else { format!(" ({})", direction.way) }
}

/// Formats a delay in milliseconds. Fast links have queues of microseconds.
fn milliseconds(ms: f64) -> String {
    if ms < 1e-3 { "<0.001".to_owned() } else { significant(ms, 3) }
}

fn reasons(counts: &BTreeMap<String, u64>, earlier: Option<&BTreeMap<String, u64>>) -> String {
    let since = |name: &String, n: u64| n - earlier.and_then(|e| e.get(name)).copied().unwrap_or(0).min(n);
    let list = counts.iter().map(|(name, n)| (name, since(name, *n))).filter(|(_, n)| *n > 0);
    list.map(|(name, n)| format!("{name} {}", thousands(n))).collect::<Vec<_>>().join(", ")
}

fn row(name: &str, now: &Counted, before: Option<&Counted>, span: f64) -> Vec<String> {
    let before = before.cloned().unwrap_or_default();
    let per_second = |n: u64, m: u64| if span > 0.0 { n.saturating_sub(m) as f64 / span } else { 0.0 };
    let sum = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>();
    let waited: Buckets = now.waited.since(&before.waited);
    let ms = |part| waited.quantile_ms(part).map_or_else(|| "–".to_owned(), milliseconds);
    vec![
        name.to_owned(),
        fixed(per_second(now.sent_bytes, before.sent_bytes) * 8e-6, 2),
        fixed(per_second(now.sent_packets, before.sent_packets), 0),
        thousands(sum(&now.drops).saturating_sub(sum(&before.drops))),
        thousands(sum(&now.marks).saturating_sub(sum(&before.marks))),
        ms(0.5),
        ms(0.9),
        ms(0.99),
    ]
}

#[cfg(test)]
mod tests {
    use aqmkit_base::Duration;

    use super::*;

    #[test]
    fn a_page_tells_the_way_the_link_and_short_delays() {
        let mut waited = Buckets::default();
        waited.record(Duration::from_micros(37));
        let link = [("delay", "20ms"), ("loss", "1%")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let direction = DirectionReport {
            name: "forth".into(),
            way: "l1 to r1".into(),
            link: BTreeMap::from(link),
            discipline: "codel".into(),
            rate_bps: 1_000_000_000,
            total: Counted { waited, ..Counted::default() },
            ..DirectionReport::default()
        };
        let report = Report {
            kind: "bridge".into(),
            name: "bridge".into(),
            interfaces: vec!["l1".into(), "r1".into()],
            directions: vec![direction],
            ..Report::default()
        };
        let text = draw(&report, None);
        assert!(text.starts_with("bridge between l1 and r1, 0.0 s\n"), "{text}");
        assert!(text.contains("\nforth (l1 to r1): codel at 1gbit, 0 packets"), "{text}");
        assert!(text.contains("\nlink: delay 20ms, loss 1%\n"), "{text}");
        assert!(text.contains(" 0.03"), "the delay of 37 µs is not 0.00: {text}");
        assert_eq!([4e-7, 0.0372, 4.56, 12.3, 1234.5].map(milliseconds), ["<0.001", "0.0372", "4.56", "12.3", "1234"]);
    }
}
