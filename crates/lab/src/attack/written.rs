//! The files that an attack leaves: the experiment, and a test that fails until the target does better.

use aqmkit_advise::attack::{Harm, Scenario, Target};
use aqmkit_advise::quantity::Better;
use toml::{Table, Value};

use super::{Attack, Judged};

/// The name of the experiment and of the test that includes it.
pub(super) const EXPERIMENT: &str = "attack.toml";
pub(super) const TEST: &str = "attack.rs";

/// How much better than it is a target must become for the test, where the reference is not better either.
const BETTER: f64 = 1.25;

impl Attack<'_> {
    /// The experiment with the target and its reference under these seeds.
    pub(super) fn experiment_file(&self, scenario: &Scenario, seed: u64) -> Table {
        let target = self.space.target;
        let mut file = scenario.file(&target.label());
        file.insert("title".to_owned(), Value::String(format!("{}: {}", target.name(), self.space.harm.name())));
        file.insert("about".to_owned(), Value::String(scenario.words()));
        file.insert("repeat".to_owned(), Value::Integer(self.asked.fresh.into()));
        // TOML integers are signed.
        file.extend(i64::try_from(seed).ok().map(|seed| ("seed".to_owned(), Value::Integer(seed))));
        let other = scenario.with(self.space.reference);
        let sweep = match target {
            Target::Discipline(name) => {
                let both = vec![scenario.discipline(name), other.discipline(other.queue)];
                table([("aqm", Value::Array(both))])
            }
            Target::Control(_) => {
                let entry = |one: &Scenario| {
                    let label = one.control.label();
                    let traffic = one.file(&label).remove("traffic").unwrap_or(Value::Array(Vec::new()));
                    table([("label", Value::String(label)), ("traffic", traffic)])
                };
                table([
                    ("aqm", Value::Array(vec![scenario.discipline(scenario.queue)])),
                    ("control", Value::Array(vec![entry(scenario), entry(&other)])),
                ])
            }
        };
        file.insert("sweep".to_owned(), sweep);
        file
    }

    /// A test of Rust that includes the experiment.
    pub(super) fn test(&self, scenario: &Scenario, small: &Judged, reference: &Judged) -> String {
        let (target, harm) = (self.space.target, self.space.harm);
        let axis = if matches!(target, Target::Discipline(_)) { "aqm" } else { "control" };
        let bound = bound(harm, small.value, reference.value);
        let sign = if harm.quantity().better == Better::Less { '<' } else { '>' };
        let name: String =
            format!("{}_{}", target.label(), harm.name()).replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
        format!(
            r#"//! Found by `aqmkit attack {target} --harm "{harm}"`. To use it, put it and {EXPERIMENT} into tests/ of a crate with
//! the dev-dependencies aqmkit-experiment, aqmkit-results and aqmkit-sim.

use aqmkit_experiment::{{Catalogues, Experiment, Overrides}};
use aqmkit_results::{{Entry, flatten}};
use aqmkit_sim::Control;

/// {words}.
///
/// The {quantity} was {own}; with {other} in its place, {with_other}.
/// This test fails until {target} is better than {written}.
#[test]
fn {name}() {{
    // Add disciplines, controls and stacks of your own here.
    let catalogues = Catalogues::default();
    let text = include_str!("{EXPERIMENT}");
    let experiment = Experiment::parse_with("{EXPERIMENT}", text, &Overrides::default(), &catalogues).unwrap();
    let mut values = Vec::new();
    for run in experiment.plan().iter().filter(|run| run.labels["{axis}"] == "{label}") {{
        let output = aqmkit_sim::run(run.scenario().unwrap(), &mut |_| Control::Continue).unwrap();
        let n = flatten(&Entry::of(&run.labels, &output.windows[0], output.engine));
        values.push({formula});
    }}
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert!(mean {sign} {bound:?}, "{{mean}}");
}}
"#,
            target = target.name(),
            label = target.label(),
            harm = harm.name(),
            words = small.scenario,
            quantity = harm.quantity().words,
            own = small.written,
            other = reference.name,
            with_other = reference.written,
            written = harm.quantity().write(bound),
            formula = harm.formula(target, scenario.others()),
        )
    }
}

/// The value halfway between both, as logarithms; at least a fifth better than `own`.
fn bound(harm: Harm, own: f64, reference: f64) -> f64 {
    let quantity = harm.quantity();
    let half = (harm.score(own) - harm.score(reference)) / 2.0;
    // The maximum of a number and of none is the number.
    let score = harm.score(own) - half.max(BETTER.ln());
    let value = if quantity.better == Better::Less { score.exp() } else { (-score).exp() } - quantity.floor;
    let scale = 10_f64.powf(2.0 - value.abs().max(1e-9).log10().floor());
    (value * scale).round() / scale
}

fn table<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_between_target_and_reference_or_better_than_both() {
        let loss = bound(Harm::Loss, 0.2, 0.001);
        assert!((0.001..0.2).contains(&loss) && (loss - 0.0191).abs() < 1e-4, "{loss}");
        let share = bound(Harm::Starvation, 0.02, 0.9);
        assert!((0.1..0.2).contains(&share), "{share}");
        let same = bound(Harm::Unfairness, 0.55, 0.54);
        assert!((0.68..0.70).contains(&same), "{same}");
        assert!(bound(Harm::Loss, 0.2, f64::NAN) < 0.17);
    }
}
