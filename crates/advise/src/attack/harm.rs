//! The harms that an attack searches for, each with the metric that measures it.

use aqmkit_base::near::suggest;

use super::scenario::{OTHER, OWN, VOIP};
use super::target::Target;
use crate::quantity::{FAIR_SHARE, Numbers, Quantity};

/// A kind of harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// Packets of the first group wait long: 99th percentile of their queueing delay.
    Bufferbloat,
    /// A flow gets hardly anything: the smallest rate of a flow as a part of the mean. For a control, that of the flows
    /// of other controls beside it.
    Starvation,
    /// Flows of one control (for a discipline: any flows) get unequal rates: Jain's index.
    Unfairness,
    /// The queue drops much of what TCP sends.
    Loss,
    /// A telephone call beside it is bad: mean opinion score.
    VoipMos,
    /// The link is not used.
    Underuse,
}

impl Harm {
    /// All of them, with their names.
    pub const ALL: [(Harm, &'static str); 6] = [
        (Harm::Bufferbloat, "bufferbloat"),
        (Harm::Starvation, "starvation"),
        (Harm::Unfairness, "unfairness"),
        (Harm::Loss, "loss"),
        (Harm::VoipMos, "voip mos"),
        (Harm::Underuse, "underuse"),
    ];

    /// The harm of this name.
    ///
    /// # Errors
    /// The names that are near.
    pub fn find(text: &str) -> Result<Harm, String> {
        let name = text.trim().to_lowercase().replace(['-', '_'], " ");
        let found = Harm::ALL.into_iter().find(|(_, known)| *known == name);
        found.map(|(harm, _)| harm).ok_or_else(|| suggest(&name, Harm::ALL.map(|(_, known)| known)))
    }

    /// As it is written after `--harm`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Harm::ALL.into_iter().find(|(harm, _)| *harm == self).map_or("", |(_, name)| name)
    }

    /// The quantity that measures it.
    #[must_use]
    pub fn quantity(self) -> &'static Quantity {
        let name = match self {
            Harm::Bufferbloat => "p99",
            Harm::Starvation => return &FAIR_SHARE,
            Harm::Unfairness => "fairness",
            Harm::Loss => "loss",
            Harm::VoipMos => "mos",
            Harm::Underuse => "use",
        };
        // The table has every name, which a test checks.
        Quantity::find(name).unwrap_or(&FAIR_SHARE)
    }

    /// The value in a run of a scenario with `others` TCP flows beside the first group; `None` if it was not measured.
    #[must_use]
    pub fn value(self, target: Target, others: u32, numbers: &Numbers) -> Option<f64> {
        let of = |path: &str| numbers.get(path).copied();
        let group = |name: &str| [name.to_owned()];
        match self {
            Harm::Starvation => {
                let mean = of("flows.throughput_bps.mean").filter(|mean| *mean > 0.0)?;
                match target {
                    Target::Discipline(_) => Some(of("flows.throughput_bps.min")? / mean),
                    Target::Control(_) if others == 0 => None,
                    Target::Control(_) => {
                        let goodput = Quantity::find("goodput")?.value(numbers, &group(OTHER))?;
                        Some((goodput / f64::from(others) / mean).min(1.0))
                    }
                }
            }
            Harm::Bufferbloat | Harm::Loss => self.quantity().value(numbers, &group(OWN)),
            Harm::VoipMos => self.quantity().value(numbers, &group(VOIP)),
            Harm::Unfairness | Harm::Underuse => self.quantity().value(numbers, &[]),
        }
    }

    /// The value in terms of the results of a run, `n["classes.own.drop_rate"]`: what [`Harm::value`] computes.
    #[must_use]
    pub fn formula(self, target: Target, others: u32) -> String {
        let n = |path: &str| format!("n[\"{path}\"]");
        let mean = n("flows.throughput_bps.mean");
        match (self, target) {
            (Harm::Starvation, Target::Discipline(_)) => format!("{} / {mean}", n("flows.throughput_bps.min")),
            (Harm::Starvation, Target::Control(_)) => {
                format!("{} / {others}.0 / {mean}", n(&format!("classes.{OTHER}.goodput_bps")))
            }
            (Harm::Bufferbloat, _) => n(&format!("classes.{OWN}.queue_delay_ms.p99")),
            (Harm::Loss, _) => n(&format!("classes.{OWN}.drop_rate")),
            (Harm::VoipMos, _) => n(&format!("apps.{VOIP}.mos")),
            (Harm::Unfairness, _) => n("flows.jain"),
            (Harm::Underuse, _) => n("links.bottleneck.utilization"),
        }
    }

    /// How bad a value is, as a logarithm: higher is worse. It is the cost that the adviser minimises.
    #[must_use]
    pub fn score(self, value: f64) -> f64 {
        self.quantity().cost(value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::Control;
    use super::*;

    #[test]
    fn every_harm_has_its_quantity_and_its_name() {
        for (harm, name) in Harm::ALL {
            assert_eq!(Harm::find(name), Ok(harm));
            assert_eq!(harm.quantity().name == "share", harm == Harm::Starvation, "{name}");
        }
        assert_eq!(Harm::find("VoIP-MOS"), Ok(Harm::VoipMos));
        assert!(Harm::find("bufferblaot").unwrap_err().contains("bufferbloat"));
    }

    #[test]
    fn more_of_a_harm_scores_higher() {
        for (harm, less, more) in [
            (Harm::Bufferbloat, 5.0, 500.0),
            (Harm::Starvation, 0.9, 0.1),
            (Harm::Unfairness, 1.0, 0.5),
            (Harm::Loss, 0.0, 0.2),
            (Harm::VoipMos, 4.4, 1.2),
            (Harm::Underuse, 1.0, 0.4),
        ] {
            assert!(harm.score(more) > harm.score(less), "{harm:?}");
        }
    }

    #[test]
    fn the_victims_of_a_control_are_the_others() {
        let numbers: Numbers =
            [("flows.throughput_bps.mean", 4e6), ("flows.throughput_bps.min", 1e5), ("classes.other.goodput_bps", 2e6)]
                .map(|(path, value)| (path.to_owned(), value))
                .into();
        let starved = |target, others| Harm::Starvation.value(target, others, &numbers);
        let bbr = Target::Control(Control::tcp("bbr"));
        assert_eq!(starved(bbr, 2), Some(0.25));
        assert_eq!(starved(bbr, 0), None);
        assert_eq!(starved(Target::Discipline("fifo"), 2), Some(0.025));
    }
}
