//! The metrics page in the `OpenMetrics` text format.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet, text::encode};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::ctl::{Counted, DirectionReport, Report};
use aqmkit_packets::Buckets;

/// Renders a report as a page.
///
/// # Errors
/// Never in practice: formatting into a `String` cannot fail.
pub fn page(report: Report) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("aqmkit");
    registry.register_collector(Box::new(Page(report)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Page(Report);

type Labels<'a> = Vec<(&'static str, &'a str)>;

/// A family of counters, one for each set of labels.
fn counters<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (Labels<'a>, u64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in values {
        ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

impl Page {
    fn directions(&self) -> impl Iterator<Item = (Labels<'_>, &DirectionReport)> {
        self.0.directions.iter().map(|d| (vec![("name", self.0.name.as_str()), ("direction", &d.name)], d))
    }

    /// The discipline of each direction, as an info metric. It is no label of other metrics: counters continue when
    /// `aqmkit ctl` replaces the discipline, and a label would attribute earlier packets to the new one.
    fn disciplines(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor("discipline", "The present discipline", None, MetricType::Info)?;
        for (labels, direction) in self.directions() {
            family.encode_family(&labels)?.encode_info(&vec![("discipline", direction.discipline.as_str())])?;
        }
        Ok(())
    }

    /// Every class of every direction, with its labels.
    fn classes(&self) -> impl Iterator<Item = (Labels<'_>, &Counted)> {
        self.directions().flat_map(|(labels, direction)| {
            direction.classes.iter().map(move |(name, counted)| {
                let mut labels = labels.clone();
                labels.push(("class", name));
                (labels, counted)
            })
        })
    }

    fn counter(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: fn(&Counted) -> u64,
    ) -> fmt::Result {
        counters(encoder, name, help, self.classes().map(|(labels, counted)| (labels, value(counted))))
    }

    fn by_reason(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        counts: fn(&Counted) -> &std::collections::BTreeMap<String, u64>,
    ) -> fmt::Result {
        let reasons = self.classes().flat_map(|(labels, counted)| {
            counts(counted).iter().map(move |(reason, n)| {
                let mut labels = labels.clone();
                labels.push(("reason", reason.as_str()));
                (labels, *n)
            })
        });
        counters(encoder, name, help, reasons)
    }

    /// A counter per direction of packets that never reached the discipline.
    fn direction(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: fn(&DirectionReport) -> u64,
    ) -> fmt::Result {
        counters(encoder, name, help, self.directions().map(|(labels, direction)| (labels, value(direction))))
    }

    /// A counter for the bottleneck as a whole.
    fn whole(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
        counters(encoder, name, help, std::iter::once((vec![("name", self.0.name.as_str())], value)))
    }

    fn gauge(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: fn(&DirectionReport) -> u64,
    ) -> fmt::Result {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, direction) in self.directions() {
            ConstGauge::new(value(direction) as f64).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn distributions(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (waited, late) = ("Sojourn time of the packets sent", "Lateness of departures");
        let unit = Some(&Unit::Seconds);
        let mut delays = encoder.encode_descriptor("queue_delay", waited, unit, MetricType::Histogram)?;
        for (labels, counted) in self.classes() {
            histogram(&counted.waited, delays.encode_family(&labels)?)?;
        }
        let mut lateness = encoder.encode_descriptor("lateness", late, unit, MetricType::Histogram)?;
        histogram(&self.0.late, lateness.encode_family(&vec![("name", self.0.name.as_str())])?)
    }
}

fn histogram(times: &Buckets, mut encoder: prometheus_client::encoding::MetricEncoder<'_>) -> fmt::Result {
    let mut below = 0;
    let mut buckets: Vec<(f64, u64)> = times
        .doublings()
        .map(|(end, all)| {
            let here = all - below;
            below = all;
            (end, here)
        })
        .collect();
    // The `+Inf` bucket, which `OpenMetrics` and `histogram_quantile` require.
    buckets.push((f64::INFINITY, times.count() - below));
    encoder.encode_histogram::<NoLabelSet>(times.sum_s(), times.count(), &buckets, None)
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let e = &mut encoder;
        self.counter(e, "offered_packets", "Packets that arrived", |c| c.offered_packets)?;
        self.counter(e, "offered_bytes", "Bytes that arrived", |c| c.offered_bytes)?;
        self.counter(e, "sent_packets", "Packets sent", |c| c.sent_packets)?;
        self.counter(e, "sent_bytes", "Bytes sent", |c| c.sent_bytes)?;
        self.by_reason(e, "dropped_packets", "Packets dropped by the discipline", |c| &c.drops)?;
        self.by_reason(e, "marked_packets", "Packets marked by the discipline", |c| &c.marks)?;
        let lost = "Packets that the configured wire lost";
        self.direction(e, "lost_packets", lost, |d| d.lost_packets)?;
        let overrun = "Packets that the kernel dropped before the discipline because this process was too slow";
        self.direction(e, "overrun_packets", overrun, |d| d.device.overrun)?;
        let too_long = "Super-packets dropped because they cannot be cut into segments";
        self.direction(e, "too_long_packets", too_long, |d| d.device.too_long)?;
        self.direction(e, "vanished_interfaces", "How many times the interface disappeared", |d| d.device.vanished)?;
        self.whole(e, "refused_packets", "Packets that the outgoing device refused", self.0.refused)?;
        self.whole(e, "failed_reads", "Reads from a device that failed", self.0.failed_reads)?;
        self.gauge(e, "backlog_packets", "Packets that wait", |d| d.backlog_packets)?;
        self.gauge(e, "backlog_bytes", "Bytes that wait", |d| d.backlog_bytes)?;
        self.gauge(e, "rate_bits_per_second", "The rate of the link", |d| d.rate_bps)?;
        self.disciplines(e)?;
        let help = "A gauge of the discipline's internal state";
        let mut family = e.encode_descriptor("discipline_state", help, None, MetricType::Gauge)?;
        for (labels, direction) in self.directions() {
            for (gauge, value) in &direction.gauges {
                let mut labels = labels.clone();
                labels.push(("gauge", gauge));
                ConstGauge::new(*value).encode(family.encode_family(&labels)?)?;
            }
        }
        self.distributions(e)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aqmkit_base::Duration;

    use super::*;

    /// Packets of a replaced discipline must not be attributed to its successor.
    #[test]
    fn the_discipline_is_a_metric_of_its_own() {
        let counted = BTreeMap::from([("tcp".to_owned(), Counted { sent_packets: 7, ..Counted::default() })]);
        let of = |discipline: &str| {
            let (name, discipline) = ("forth".to_owned(), discipline.to_owned());
            let gauges = BTreeMap::from([("average".to_owned(), 1.0)]);
            let direction =
                DirectionReport { name, discipline, gauges, classes: counted.clone(), ..DirectionReport::default() };
            page(Report { name: "wan".into(), directions: vec![direction], ..Report::default() }).unwrap()
        };
        let red = of("red");
        let info = "aqmkit_discipline_info{discipline=\"red\",name=\"wan\",direction=\"forth\"} 1\n";
        assert!(red.contains(info), "{red}");
        assert!(red.contains("aqmkit_sent_packets_total{name=\"wan\",direction=\"forth\",class=\"tcp\"} 7\n"), "{red}");
        let differs = red.lines().zip(of("codel").lines()).filter(|(one, other)| one != other).count();
        assert_eq!(differs, 1, "every other series goes on under its name");
    }

    #[test]
    fn a_histogram_ends_with_everything() {
        let mut times = Buckets::default();
        [1, 100, 100_000].into_iter().for_each(|ms| times.record(Duration::from_millis(ms)));
        let counted = Counted { waited: times, ..Counted::default() };
        let classes = BTreeMap::from([("tcp".to_owned(), counted)]);
        let direction = DirectionReport { name: "forth".into(), classes, ..DirectionReport::default() };
        let text = page(Report { directions: vec![direction], late: times, ..Report::default() }).unwrap();
        for name in ["aqmkit_queue_delay_seconds", "aqmkit_lateness_seconds"] {
            let of = |part: &str| text.lines().filter(|l| l.starts_with(&format!("{name}_{part}"))).collect::<Vec<_>>();
            let buckets = of("bucket");
            let last = buckets.last().unwrap();
            assert!(last.contains("le=\"+Inf\"") && last.ends_with(" 3"), "{last}");
            assert_eq!(buckets.iter().filter(|l| l.contains("+Inf")).count(), 1, "{buckets:?}");
            assert!(buckets[..buckets.len() - 1].iter().all(|l| !l.contains("e308")), "{buckets:?}");
            assert!(buckets[buckets.len() - 2].ends_with(" 2"), "100 s are above the others: {buckets:?}");
            assert!(of("count")[0].ends_with(" 3"));
            let of_seconds = buckets.iter().filter(|l| l.contains("le=\"34.") || l.contains("le=\"8.5"));
            assert_eq!(of_seconds.count(), 2, "delays of many seconds are told apart: {buckets:?}");
        }
    }
}
