//! Units of published values.

pub use aqmkit_measure::metric::Dimension;
use aqmkit_measure::metric::Metric;

/// A number in the base unit of its dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The value in base units.
    pub value: f64,
    /// Determines the base unit.
    pub dimension: Dimension,
}

/// A unit of `published.csv`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Name in text, such as `mbit`.
    pub name: &'static str,
    dimension: Dimension,
    /// Factor to the base unit of its dimension.
    scale: f64,
}

const fn unit(name: &'static str, dimension: Dimension, scale: f64) -> Unit {
    Unit { name, dimension, scale }
}

/// All units that a published value can have.
pub const UNITS: &[Unit] = &[
    unit("KB/s", Dimension::Rate, 8192.0),
    unit("KB/s(1000)", Dimension::Rate, 8e3),
    unit("MB/s", Dimension::Rate, 8e6),
    unit("Mb/s", Dimension::Rate, 1e6),
    unit("Kb/s", Dimension::Rate, 1e3),
    unit("ms", Dimension::Time, 1e-3),
    unit("s", Dimension::Time, 1.0),
    unit("%", Dimension::Share, 0.01),
    unit("packets", Dimension::Count, 1.0),
    unit("packets/s", Dimension::PerSecond, 1.0),
    unit("frames/s", Dimension::PerSecond, 1.0),
    unit("frames", Dimension::Count, 1.0),
    unit("flows", Dimension::Count, 1.0),
    unit("users", Dimension::Count, 1.0),
    unit("exchanges", Dimension::Count, 1.0),
    unit("bytes", Dimension::Size, 1.0),
    unit("KB", Dimension::Size, 1024.0),
    unit("ratio", Dimension::Share, 1.0),
    unit("share", Dimension::Share, 1.0),
];

impl Unit {
    /// The unit with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Unit> {
        UNITS.iter().find(|u| u.name == name)
    }

    /// The value of 100 % in this unit; `None` for units that are not fractions of a whole (a ratio may exceed 1).
    #[must_use]
    pub fn whole(&self) -> Option<f64> {
        (self.dimension == Dimension::Share && self.name != "ratio").then(|| 1.0 / self.scale)
    }

    /// Converts a quantity to this unit.
    ///
    /// # Errors
    /// When the dimensions differ. A plain count can be expressed as `ratio`. A gauge can be expressed in any unit; it
    /// is not converted, except from a fraction into `%`.
    pub fn express(&self, q: Quantity) -> Result<f64, String> {
        if q.dimension == Dimension::Gauge {
            return Ok(if self.dimension == Dimension::Share { q.value / self.scale } else { q.value });
        }
        let plain = self.name == "ratio" && q.dimension == Dimension::Count;
        if plain || q.dimension == self.dimension {
            return Ok(q.value / self.scale);
        }
        Err(format!("{} cannot be given in {}, which is {}", q.dimension.words(), self.name, self.dimension.words()))
    }
}

/// Converts the number at a path of `results.json` into a quantity.
///
/// # Errors
/// When there is no such metric.
pub fn of_field(path: &str, value: f64) -> Result<Quantity, String> {
    let metric = Metric::at(path).ok_or_else(|| format!("there is no metric {path}"))?;
    let known = (metric.unit.dimension, metric.unit.scale);
    let (dimension, scale) = if known.0 == Dimension::Gauge { gauge(path).unwrap_or(known) } else { known };
    Ok(Quantity { value: value * scale, dimension })
}

/// The unit of a gauge whose name ends with one. Disciplines define their gauges, so no table has them.
fn gauge(path: &str) -> Option<(Dimension, f64)> {
    const SUFFIXES: [(&str, Dimension, f64); 5] = [
        ("_bps", Dimension::Rate, 1.0),
        ("_ms", Dimension::Time, 1e-3),
        ("_s", Dimension::Time, 1.0),
        ("_bytes", Dimension::Size, 1.0),
        ("_rate", Dimension::Share, 1.0),
    ];
    let found = SUFFIXES.iter().find(|(suffix, ..)| path.ends_with(suffix));
    found.map(|(_, dimension, scale)| (*dimension, *scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_unit(path: &str, value: f64, name: &str) -> Result<f64, String> {
        Unit::named(name).unwrap().express(of_field(path, value)?)
    }

    #[test]
    fn fields_are_converted_to_published_units() {
        assert_eq!(in_unit("classes.tcp.goodput_bps", 8_192_000.0, "KB/s"), Ok(1000.0));
        assert_eq!(in_unit("classes.tcp.goodput_bps", 8_000_000.0, "KB/s(1000)"), Ok(1000.0));
        assert_eq!(in_unit("classes.mm.latency_ms.mean", 61.0, "ms"), Ok(61.0));
        assert_eq!(in_unit("apps.web.response_time_ms.page.p90", 1500.0, "s"), Ok(1.5));
        assert_eq!(in_unit("links.b.drop_rate", 0.324, "%"), Ok(32.4));
        assert_eq!(in_unit("links.b.queue_packets.mean", 12.0, "packets"), Ok(12.0));
        assert_eq!(in_unit("classes.mm.loss_rate_pps", 3.0, "packets/s"), Ok(3.0));
        assert_eq!(in_unit("apps.mpeg.playable_frame_rate", 27.0, "frames/s"), Ok(27.0));
        assert_eq!(in_unit("flows.jain", 0.9, "ratio"), Ok(0.9));
        assert_eq!(in_unit("classes.tcp.packet_bytes", 2048.0, "KB"), Ok(2.0));
        assert_eq!(in_unit("apps.mpeg.counters.i_bytes_per_frame", 6916.0, "bytes"), Ok(6916.0));
        assert_eq!(in_unit("apps.mpeg.counters.i_packets_per_frame", 5.26, "packets"), Ok(5.26));
    }

    #[test]
    fn a_gauge_is_what_it_is_compared_with() {
        assert_eq!(in_unit("links.b.aqm.avg", 12.0, "packets"), Ok(12.0));
        assert_eq!(in_unit("links.b.aqm.avg.1", 12.0, "KB"), Ok(12.0));
        assert_eq!(in_unit("links.b.aqm.avg", 12.0, "ratio"), Ok(12.0));
        assert_eq!(in_unit("links.b.aqm.p", 0.25, "%"), Ok(25.0));
        assert_eq!(in_unit("links.b.aqm.drop_rate", 0.25, "%"), Ok(25.0), "its name gives the unit");
        assert!(in_unit("links.b.aqm.drop_rate", 0.25, "ms").is_err());
    }

    #[test]
    fn an_unknown_metric_has_no_unit() {
        assert_eq!(in_unit("classes.tcp.speed", 1.0, "ratio").unwrap_err(), "there is no metric classes.tcp.speed");
    }

    #[test]
    fn a_time_is_no_rate() {
        let e = in_unit("classes.mm.latency_ms.mean", 61.0, "KB/s").unwrap_err();
        assert_eq!(e, "a time cannot be given in KB/s, which is a rate");
    }
}
