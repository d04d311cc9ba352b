//! Quantities that a wish can name: names, units, and the corresponding metrics of a run.

use std::collections::BTreeMap;

use aqmkit_base::units::{parse_duration, parse_rate};

/// Groups with upstream traffic: a run measures classes only in the downstream direction.
const UPWARD: [&str; 2] = ["upload", "call-up"];

/// Metrics of a run by path, as in `results.json`.
pub type Numbers = BTreeMap<String, f64>;

/// The unit in which a quantity is written and displayed. Values are in the units of results: milliseconds, bits per
/// second, fractions of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A time: `20ms`; milliseconds.
    Time,
    /// A rate: `5mbit`; bits per second.
    Rate,
    /// A share: `1%` or `0.01`; a fraction of 1.
    Share,
    /// A dimensionless number.
    Number,
}

impl Unit {
    /// Parses a value with its unit.
    ///
    /// # Errors
    /// How to correct the value.
    pub fn read(self, text: &str) -> Result<f64, String> {
        let number = |part: &str| part.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
        match self {
            Unit::Time => {
                let time = parse_duration(text).map_err(|_| "write a time, such as 20ms".to_owned())?;
                Ok(time.as_secs_f64() * 1e3)
            }
            Unit::Rate => {
                let rate = parse_rate(text).map_err(|_| "write a rate, such as 5mbit".to_owned())?;
                Ok(rate.as_bps() as f64)
            }
            Unit::Share => {
                let share = match text.strip_suffix('%') {
                    Some(percent) => number(percent).map(|x| x / 100.0),
                    None => number(text),
                };
                share.filter(|x| *x <= 1.0).ok_or_else(|| "write a share, such as 1% or 0.01".to_owned())
            }
            Unit::Number => number(text).ok_or_else(|| "write a number, such as 4".to_owned()),
        }
    }

    /// Factor from the unit of results to the displayed unit, and that unit's name.
    #[must_use]
    pub fn shown(self) -> (f64, &'static str) {
        match self {
            Unit::Time => (1.0, "ms"),
            Unit::Rate => (1e-6, "Mbit/s"),
            Unit::Share => (100.0, "%"),
            Unit::Number => (1.0, ""),
        }
    }
}

/// Whether less or more of a quantity is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Smaller values are better.
    Less,
    /// Larger values are better.
    More,
}

/// How to combine the values of several queues or applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// The worst one counts.
    Worst,
    /// Their sum.
    Sum,
}

/// The metrics behind a quantity: paths in which `*` stands for a link, a class or an application.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Metrics of the link; empty for a quantity of applications.
    link: &'static [&'static str],
    /// Metrics of a kind of traffic; empty for a quantity of the link.
    traffic: &'static [&'static str],
}

/// A quantity that a wish can name.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Name in a wish.
    pub name: &'static str,
    /// Name in tables and messages.
    pub words: &'static str,
    /// Unit in tables and wishes.
    pub unit: Unit,
    /// Whether less or more of it is better.
    pub better: Better,
    /// Constant added before taking logarithms, in the unit of results, so that differences below it hardly count.
    pub floor: f64,
    of: Of,
    place: Place,
}

/// A queue delay.
const fn delay(
    name: &'static str,
    words: &'static str,
    link: &'static [&'static str],
    traffic: &'static [&'static str],
) -> Quantity {
    Quantity {
        name,
        words,
        unit: Unit::Time,
        better: Better::Less,
        floor: 1.0,
        of: Of::Worst,
        place: Place { link, traffic },
    }
}

/// A completion time of web pages.
const fn page(name: &'static str, words: &'static str, traffic: &'static [&'static str]) -> Quantity {
    Quantity {
        name,
        words,
        unit: Unit::Time,
        better: Better::Less,
        floor: 10.0,
        of: Of::Worst,
        place: Place { link: &[], traffic },
    }
}

/// All quantities that a wish can name.
pub const ALL: &[Quantity] = &[
    delay("delay", "queue delay", &["links.*.queue_delay_ms.mean"], &["classes.*.queue_delay_ms.mean"]),
    delay("p50", "queue delay p50", &["links.*.queue_delay_ms.p50"], &["classes.*.queue_delay_ms.p50"]),
    delay("p90", "queue delay p90", &["links.*.queue_delay_ms.p90"], &["classes.*.queue_delay_ms.p90"]),
    delay("p99", "queue delay p99", &["links.*.queue_delay_ms.p99"], &["classes.*.queue_delay_ms.p99"]),
    Quantity {
        name: "loss",
        words: "packets dropped",
        unit: Unit::Share,
        better: Better::Less,
        floor: 1e-3,
        of: Of::Worst,
        place: Place { link: &["links.*.drop_rate"], traffic: &["classes.*.drop_rate"] },
    },
    Quantity {
        name: "goodput",
        words: "goodput",
        unit: Unit::Rate,
        better: Better::More,
        floor: 1e4,
        of: Of::Sum,
        place: Place { link: &["classes.*.goodput_bps"], traffic: &["classes.*.goodput_bps"] },
    },
    Quantity {
        name: "use",
        words: "link used",
        unit: Unit::Share,
        better: Better::More,
        floor: 0.01,
        of: Of::Worst,
        place: Place { link: &["links.*.utilization"], traffic: &[] },
    },
    Quantity {
        name: "fairness",
        words: "fairness (Jain)",
        unit: Unit::Number,
        better: Better::More,
        floor: 0.01,
        of: Of::Worst,
        place: Place { link: &["flows.jain"], traffic: &["apps.*.jain"] },
    },
    page("page", "page time", &["apps.*.response_time_ms.page.mean", "apps.*.response_time_ms.request.mean"]),
    page("page-p50", "page time p50", &["apps.*.response_time_ms.page.p50", "apps.*.response_time_ms.request.p50"]),
    page("page-p90", "page time p90", &["apps.*.response_time_ms.page.p90", "apps.*.response_time_ms.request.p90"]),
    page("page-p99", "page time p99", &["apps.*.response_time_ms.page.p99", "apps.*.response_time_ms.request.p99"]),
    Quantity {
        name: "bitrate",
        words: "bit rate",
        unit: Unit::Rate,
        better: Better::More,
        floor: 1e4,
        of: Of::Worst,
        place: Place { link: &[], traffic: &["apps.*.video_rate_bps"] },
    },
    Quantity {
        name: "stalled",
        words: "time stalled",
        unit: Unit::Share,
        better: Better::Less,
        floor: 5e-3,
        of: Of::Worst,
        place: Place { link: &[], traffic: &["apps.*.stalled"] },
    },
    Quantity {
        name: "missed",
        words: "packets missed",
        unit: Unit::Share,
        better: Better::Less,
        floor: 1e-3,
        of: Of::Worst,
        place: Place { link: &[], traffic: &["apps.*.missed"] },
    },
    Quantity {
        name: "mos",
        words: "opinion score",
        unit: Unit::Number,
        better: Better::More,
        floor: 0.1,
        of: Of::Worst,
        place: Place { link: &[], traffic: &["apps.*.mos"] },
    },
];

/// The rate of a flow as a part of the mean rate of all flows. A wish cannot name it: [`crate::attack`] computes it.
pub(crate) const FAIR_SHARE: Quantity = Quantity {
    name: "share",
    words: "share of the fair rate",
    unit: Unit::Share,
    better: Better::More,
    floor: 0.01,
    of: Of::Worst,
    place: Place { link: &[], traffic: &[] },
};

impl Quantity {
    /// The cost of a value as a logarithm; lower is better for the users.
    #[must_use]
    pub fn cost(&self, value: f64) -> f64 {
        let logarithm = (value.max(0.0) + self.floor).ln();
        if self.better == Better::Less { logarithm } else { -logarithm }
    }

    /// A value with its unit: `12.3 ms`.
    #[must_use]
    pub fn write(&self, value: f64) -> String {
        let (factor, unit) = self.unit.shown();
        let shown = value * factor;
        let digits = if shown.abs() >= 100.0 {
            0
        } else if shown.abs() >= 10.0 {
            1
        } else {
            2
        };
        format!("{shown:.digits$} {unit}").trim_end().to_owned()
    }

    /// The quantity of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Quantity> {
        ALL.iter().find(|quantity| quantity.name == name)
    }

    /// Whether it is defined for the link as a whole.
    #[must_use]
    pub fn is_of_link(&self) -> bool {
        !self.place.link.is_empty()
    }

    /// Whether it is defined for a kind of traffic.
    #[must_use]
    pub fn is_of_traffic(&self) -> bool {
        !self.place.traffic.is_empty()
    }

    /// The value in a run, of the link or of these traffic groups. The delay of upstream traffic such as uploads is
    /// that of the queue `up`, because its data does not cross the measured link. `None` if it was not measured.
    #[must_use]
    pub fn value(&self, numbers: &Numbers, groups: &[String]) -> Option<f64> {
        let of_link = |link: &str| {
            self.place.link.iter().filter_map(|path| numbers.get(&path.replace('*', link)).copied()).collect::<Vec<_>>()
        };
        let of_group = |group: &String| {
            let found =
                self.place.traffic.iter().filter_map(|path| numbers.get(&path.replace('*', group)).copied()).next();
            // The classes of a run are those that cross the measured link.
            let upward = UPWARD.contains(&group.as_str())
                && self.of == Of::Worst
                && self.place.link.first().is_some_and(|path| path.starts_with("links."));
            if upward { of_link("up").first().copied().or(found) } else { found }
        };
        let values: Vec<f64> =
            if groups.is_empty() { self.of_all(numbers) } else { groups.iter().filter_map(of_group).collect() };
        values.into_iter().reduce(|a, b| match (self.of, self.better) {
            (Of::Sum, _) => a + b,
            (Of::Worst, Better::Less) => a.max(b),
            (Of::Worst, Better::More) => a.min(b),
        })
    }

    /// Values of all links or classes in a run.
    fn of_all(&self, numbers: &Numbers) -> Vec<f64> {
        let fits = |path: &str| {
            self.place.link.iter().any(|place| match place.split_once('*') {
                None => *place == path,
                Some((before, after)) => path
                    .strip_prefix(before)
                    .and_then(|rest| rest.strip_suffix(after))
                    .is_some_and(|name| !name.contains('.')),
            })
        };
        // Utilisation refers to the measured link: the other direction of most links is nearly idle.
        let measured = |path: &str| self.name != "use" || !path.starts_with("links.up.");
        numbers.iter().filter(|(path, _)| fits(path) && measured(path)).map(|(_, value)| *value).collect()
    }

    /// A value in the displayed unit.
    #[must_use]
    pub fn scaled(&self, value: f64) -> f64 {
        value * self.unit.shown().0
    }
}
