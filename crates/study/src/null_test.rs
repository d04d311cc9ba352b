//! The null test: determines which claims are met even without the scheme under study.
//!
//! Every measured claim is judged once more on the same runs without the scheme ([`Overrides::without_scheme`]). A
//! claim that is still met does not test the scheme. The outcomes are stored beside the experiments, in
//! `null-test.csv`, for each scale at which the test was run; verdicts at full scale use the outcome at quick scale if
//! the test was not run at full scale. Running the test compares that file with the new outcomes.
//!
//! [`Overrides::without_scheme`]: aqmkit_experiment::Overrides::without_scheme

use std::collections::BTreeMap;
use std::io;

use aqmkit_experiment::{Expect, Experiment, Scale};
use aqmkit_results::{Basis, Expectation, WithoutScheme, claim_numbers};
use aqmkit_runs::run::{RunOptions, Work, execute};
use serde::{Deserialize, Serialize};

use crate::verdict::Published;
use crate::verdict::evidence::{Evidence, needs};
use crate::verdict::judge_means;

/// Name of the file with the outcomes, beside `published.csv`.
pub const FILE: &str = "null-test.csv";

/// The outcome of the null test for one claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// `quick` or `full`; files without this column have quick runs.
    #[serde(default = "quick")]
    pub scale: String,
    /// Id of the experiment that makes the claim.
    pub experiment: String,
    /// Id of the row in `published.csv`.
    pub id: String,
    /// Number of the claim among the experiment's claims with this id, from 1.
    pub claim: usize,
    /// Whether the claim is met without the scheme.
    pub without_scheme: WithoutScheme,
}

fn quick() -> String {
    Scale::Quick.name().to_owned()
}

/// Scale, experiment, row and claim.
type Key = (String, String, String, usize);

/// Outcomes by scale, experiment, row and claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes(BTreeMap<Key, WithoutScheme>);

impl Outcomes {
    /// Collects a list of outcomes.
    #[must_use]
    pub fn of(list: &[Outcome]) -> Outcomes {
        let key = |o: &Outcome| ((o.scale.clone(), o.experiment.clone(), o.id.clone(), o.claim), o.without_scheme);
        Outcomes(list.iter().map(key).collect())
    }

    /// Parses `null-test.csv`.
    ///
    /// # Errors
    /// When a row cannot be parsed, with its line.
    pub fn parse(text: &str) -> Result<Outcomes, String> {
        let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize().collect::<Result<Vec<Outcome>, _>>();
        rows.map(|rows| Outcomes::of(&rows)).map_err(|e| e.to_string())
    }

    /// The text of `null-test.csv`, sorted by key.
    ///
    /// # Errors
    /// When serialization fails.
    pub fn text(&self) -> io::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for outcome in self.list() {
            writer.serialize(outcome)?;
        }
        let bytes = writer.into_inner().map_err(|e| io::Error::other(e.to_string()))?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    /// All outcomes, sorted by scale, experiment, row and claim.
    #[must_use]
    pub fn list(&self) -> Vec<Outcome> {
        let outcome = |((scale, experiment, id, claim), &without_scheme): (&Key, &WithoutScheme)| Outcome {
            scale: scale.clone(),
            experiment: experiment.clone(),
            id: id.clone(),
            claim: *claim,
            without_scheme,
        };
        self.0.iter().map(outcome).collect()
    }

    /// Adds outcomes; they replace those of the same claims.
    pub fn extend(&mut self, more: Outcomes) {
        self.0.extend(more.0);
    }

    /// Replaces the stored outcomes of these experiments at a scale; all others stay.
    pub fn replace(&mut self, scale: Scale, experiments: &[&str], new: Outcomes) {
        self.0.retain(|key, _| !is_of(key, scale, experiments));
        self.extend(new);
    }

    /// The outcomes of these experiments at this scale.
    #[must_use]
    pub fn only(&self, scale: Scale, experiments: &[&str]) -> Outcomes {
        let here = self.0.iter().filter(|(key, _)| is_of(key, scale, experiments));
        Outcomes(here.map(|(key, without)| (key.clone(), *without)).collect())
    }

    /// Copies the outcomes into the rows of an experiment's claims: those at the rows' scale, or those at quick scale
    /// if the test was not run at that scale.
    pub fn mark(&self, scale: Scale, experiment: &str, rows: &mut [Expectation]) {
        let claims = claim_numbers(rows.iter().map(|row| row.id.as_str()));
        for (row, claim) in rows.iter_mut().zip(claims) {
            let at = |tried: Scale| {
                let key = (tried.name().to_owned(), experiment.to_owned(), row.id.clone(), claim);
                self.0.get(&key).map(|without| (*without, tried))
            };
            let found = at(scale).or_else(|| at(Scale::Quick));
            row.without_scheme = found.map(|(without, _)| without).unwrap_or_default();
            row.null_at_quick = found.is_some_and(|(_, used)| used != scale);
        }
    }
}

fn is_of((at, experiment, _, _): &Key, scale: Scale, experiments: &[&str]) -> bool {
    at == scale.name() && experiments.contains(&experiment.as_str())
}

/// Runs an experiment without its scheme and judges its measured claims. `exp` is the experiment as it is, `without`
/// the same without the scheme.
///
/// # Errors
/// Those of [`execute`]; when a run failed, with its name; or when an output cannot be serialized.
pub fn test(
    exp: &Experiment,
    without: &Experiment,
    published: &Published,
    options: RunOptions<'_>,
) -> io::Result<Vec<Outcome>> {
    let (own, changed) = (exp.plan(), without.plan());
    let done = execute(&changed, options)?;
    if let Some(failed) = done.failed.first() {
        return Err(io::Error::other(format!("without its scheme, a run failed: {failed}")));
    }
    if done.cancelled {
        return Err(io::Error::from(io::ErrorKind::Interrupted));
    }
    let planned: Vec<_> = changed.iter().map(|run| run.labels().clone()).collect();
    let evidence = Evidence::new(&planned, &done.data())?;
    let verdicts = judge_means(&without.expects, published, &evidence);
    let claims = claim_numbers(exp.expects.iter().map(|e| e.id.as_str()));
    let outcome = |((expect, verdict), claim): ((&Expect, Expectation), usize)| {
        let there_is_one = own.iter().zip(&changed).any(|(a, b)| a.hash() != b.hash() && needs(expect, &a.labels));
        (expect.basis == Basis::Measured).then(|| Outcome {
            scale: exp.scale.name().to_owned(),
            experiment: exp.id.clone(),
            id: expect.id.clone(),
            claim,
            without_scheme: match verdict.pass {
                _ if !there_is_one => WithoutScheme::NoScheme,
                Some(true) => WithoutScheme::Met,
                _ => WithoutScheme::Missed,
            },
        })
    };
    Ok(exp.expects.iter().zip(verdicts).zip(claims).filter_map(outcome).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(id: &str, claim: usize, without_scheme: WithoutScheme) -> Outcome {
        let (scale, experiment) = (quick(), "cbt/blast".to_owned());
        Outcome { scale, experiment, id: id.to_owned(), claim, without_scheme }
    }

    #[test]
    fn outcomes_are_kept_and_told_to_their_claims() {
        let kept = Outcomes::of(&[outcome("A", 1, WithoutScheme::Missed), outcome("A", 2, WithoutScheme::Met)]);
        let text = kept.text().unwrap();
        let wanted = "scale,experiment,id,claim,without_scheme\nquick,cbt/blast,A,1,missed\nquick,cbt/blast,A,2,met\n";
        assert_eq!(text, wanted);
        let without_scales = wanted.replace("scale,", "").replace("quick,", "");
        assert_eq!(Outcomes::parse(&without_scales).unwrap(), kept, "a file without scales is of quick runs");
        assert_eq!(Outcomes::parse(&text).unwrap(), kept);
        let row = |id: &str| Expectation { id: id.to_owned(), ..Expectation::default() };
        let mut rows = [row("A"), row("B"), row("A")];
        kept.mark(Scale::Quick, "cbt/blast", &mut rows);
        let found = rows.map(|one| one.without_scheme);
        assert_eq!(found, [WithoutScheme::Missed, WithoutScheme::NotTried, WithoutScheme::Met]);
    }

    #[test]
    fn a_row_has_the_outcome_at_its_own_scale_where_there_is_one() {
        let full = Outcome { scale: "full".to_owned(), ..outcome("A", 1, WithoutScheme::Met) };
        let quick = [outcome("A", 1, WithoutScheme::Missed), outcome("B", 1, WithoutScheme::Missed)];
        let mut kept = Outcomes::of(&quick);
        kept.replace(Scale::Full, &["cbt/blast"], Outcomes::of(&[full]));
        let at = |scale: Scale| {
            let mut rows = ["A", "B"].map(|id| Expectation { id: id.to_owned(), ..Expectation::default() });
            kept.mark(scale, "cbt/blast", &mut rows);
            rows.map(|row| (row.without_scheme, row.null_at_quick))
        };
        assert_eq!(at(Scale::Full), [(WithoutScheme::Met, false), (WithoutScheme::Missed, true)]);
        assert_eq!(at(Scale::Quick), [(WithoutScheme::Missed, false); 2], "the full run replaces no quick outcome");
    }

    #[test]
    fn new_outcomes_of_an_experiment_replace_all_its_old_ones() {
        let mut kept = Outcomes::of(&[outcome("A", 1, WithoutScheme::Missed), outcome("B", 1, WithoutScheme::Met)]);
        kept.replace(Scale::Quick, &["cbt/blast"], Outcomes::of(&[outcome("A", 1, WithoutScheme::NoScheme)]));
        assert_eq!(kept.list(), [outcome("A", 1, WithoutScheme::NoScheme)]);
    }

    #[test]
    fn a_wrong_file_is_told_with_its_line() {
        let error_text = Outcomes::parse("experiment,id,claim,without_scheme\nx,A,1,perhaps\n").unwrap_err();
        assert!(error_text.contains("line: 2") && error_text.contains("perhaps"), "{error_text}");
    }

    #[test]
    fn outcomes_are_chosen_and_added_by_experiment() {
        let other = |id: &str| Outcome { experiment: "other".to_owned(), ..outcome(id, 1, WithoutScheme::Met) };
        let mut kept = Outcomes::of(&[outcome("A", 1, WithoutScheme::Missed), other("B")]);
        assert_eq!(kept.only(Scale::Quick, &["other"]).list(), [other("B")]);
        assert_eq!(kept.only(Scale::Full, &["other"]), Outcomes::default());
        assert_eq!(kept.only(Scale::Quick, &["none"]), Outcomes::default());
        kept.extend(Outcomes::of(&[outcome("A", 1, WithoutScheme::Met), outcome("A", 2, WithoutScheme::NoScheme)]));
        assert_eq!(
            kept.list(),
            [outcome("A", 1, WithoutScheme::Met), outcome("A", 2, WithoutScheme::NoScheme), other("B")]
        );
    }

    /// Ignores all notifications.
    struct Silent;

    impl aqmkit_runs::run::Watch for Silent {
        fn advanced(&self, _: u64) {}
        fn ended(&self, _: &BTreeMap<String, String>, _: bool) {}
        fn note(&self, _: &str) {}
    }

    /// A claim that holds without RED does not test RED; a claim about drop-tail alone has no scheme to remove.
    #[test]
    fn a_claim_is_judged_on_the_runs_without_the_scheme() {
        let claim = |id: &str, aqm: &str, every: &str| {
            format!(
                "[[expect]]\nid = '{id}'\nwhere = {{ aqm = '{aqm}', link = 'bottleneck' }}\nmetric = 'drops.early'\nevery = '{every}'\n"
            )
        };
        let text = [
            "title = 'x'\nduration = '4s'\n[topology]\nrate = '2mbit'\ndelays = '20ms'\n[[traffic]]\nkind = 'bulk'\nflows = 4\n",
            "[sweep]\naqm = [{ name = 'red', limit = 50, min = 2, max = 6 }, { name = 'fifo', limit = 50 }]\n",
            &claim("EARLY", "red", "> 0"),
            &claim("NEVER", "red", ">= 0"),
            &claim("NEVER", "fifo", ">= 0"),
            "[[expect]]\nid = 'COMPUTED'\nformula = 'cbt-threshold'\nargs = { bandwidth = '575kibps', packet = '1507b', latency = '100ms' }\nevery = '> 0'\n",
        ]
        .concat();
        let rows = "id,source,where,what,unit,low,high,kind\n\
            EARLY,RED,V,drops,,,,order\nNEVER,RED,V,drops,,,,order\nCOMPUTED,CBT,V,threshold,packets,,,order\n";
        let read = |without_scheme| {
            let overrides = aqmkit_experiment::Overrides { without_scheme, ..Default::default() };
            Experiment::parse("experiments/x.toml", &text, &overrides).unwrap()
        };
        let directory = tempfile::tempdir().unwrap();
        let store = aqmkit_runs::store::Store::open(directory.path()).unwrap();
        let cancel = std::sync::atomic::AtomicBool::new(false);
        let options = RunOptions { jobs: 1, store: &store, watch: &Silent, cancel: &cancel };
        let outcomes = test(&read(false), &read(true), &Published::parse(rows).unwrap(), options).unwrap();
        let found: Vec<_> = outcomes.iter().map(|o| (o.id.as_str(), o.claim, o.without_scheme)).collect();
        let wanted = [
            ("EARLY", 1, WithoutScheme::Missed),
            ("NEVER", 1, WithoutScheme::Met),
            ("NEVER", 2, WithoutScheme::NoScheme),
        ];
        assert_eq!(found, wanted, "a computed value needs no scheme");
        assert!(outcomes.iter().all(|outcome| outcome.experiment == "x"));
    }
}
