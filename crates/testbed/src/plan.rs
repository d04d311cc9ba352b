//! Plans the runs of an experiment in several places, after checking that this machine supports them.

use aqmkit_base::Duration;
use aqmkit_experiment::Experiment;
use aqmkit_live::capabilities::may_make_links;
use aqmkit_live::kernel::examine;
use aqmkit_results::Axis;
use aqmkit_results::place::AXIS;

use crate::error::TestbedError;
use crate::place::On;
use crate::run::Placed;

/// Checks that this process may create live links and, if one of the places needs it, that the kernel can run
/// disciplines.
///
/// # Errors
/// When it cannot.
pub fn check_machine(places: &[On]) -> Result<(), TestbedError> {
    if places.iter().all(|on| *on == On::Simulated) {
        return Ok(());
    }
    if !may_make_links() {
        return Err(TestbedError::NoPermission);
    }
    let inside = places.iter().any(|on| matches!(on, On::Kernel(_)));
    inside.then(examine::lacking).flatten().map_or(Ok(()), |lacking| Err(TestbedError::Kernel(lacking)))
}

/// Plans all runs of an experiment in the first place, then all in the next, and so on. Checks each before any is
/// executed.
///
/// # Errors
/// When a live link cannot do what a run needs, or the kernel lacks a congestion control.
pub fn plan(experiment: &Experiment, places: &[On]) -> Result<Vec<Placed>, TestbedError> {
    let runs = places.iter().flat_map(|on| experiment.plan().into_iter().map(|spec| Placed::new(spec, *on)));
    runs.map(|run| run.check().map(|()| run)).collect()
}

/// The axis of the results that distinguishes these places.
#[must_use]
pub fn axis(places: &[On]) -> Axis {
    Axis { name: AXIS.to_owned(), labels: places.iter().map(|on| on.label().to_owned()).collect() }
}

/// The minimum duration of a plan, since live runs take real time.
#[must_use]
pub fn real_time(plan: &[Placed]) -> Duration {
    plan.iter().map(Placed::real_time).sum()
}

#[cfg(test)]
mod tests {
    use aqmkit_experiment::Overrides;
    use aqmkit_live::kernel::Place;
    use aqmkit_runs::run::Work;

    use super::*;

    fn experiment(rest: &str) -> Experiment {
        let text = format!(
            "title = \"Two\"\nduration = \"2s\"\n[topology]\nrate = \"10mbit\"\ndelays = \"5ms\"\n{rest}\n\
             [transport]\ncongestion = \"reno\"\n[[traffic]]\nkind = \"bulk\"\nflows = 1\n"
        );
        Experiment::parse("two.toml", &text, &Overrides::default()).expect("it is read")
    }

    #[test]
    fn every_place_has_every_run_under_a_key_of_its_own() {
        let places = [On::Simulated, On::Live, On::Kernel(Place::Classifier)];
        let two = experiment("[sweep]\naqm = [\"red\", \"blue\"]");
        let plan = plan(&two, &places).expect("a live link can do this");
        let labels = |axis: &str| plan.iter().map(|run| run.labels()[axis].clone()).collect::<Vec<_>>();
        assert_eq!(labels("on"), ["simulated", "simulated", "live", "live", "kernel", "kernel"]);
        assert_eq!(labels("aqm"), ["red", "blue", "red", "blue", "red", "blue"]);
        let keys: std::collections::BTreeSet<&str> = plan.iter().map(Work::hash).collect();
        assert_eq!(keys.len(), 6);
        // Simulated runs do not count.
        assert_eq!(real_time(&plan), Duration::from_millis(4 * 2300));
        assert_eq!(axis(&places).labels, ["simulated", "live", "kernel"]);
    }

    #[test]
    fn what_the_simulator_alone_can_do_is_refused_elsewhere_only() {
        let changing = experiment("[[changes]]\nat = \"1s\"\ntopology.rate = \"1mbit\"");
        assert!(plan(&changing, &[On::Simulated]).is_ok());
        let refused = plan(&changing, &[On::Simulated, On::Live]).expect_err("it has changes").to_string();
        assert!(refused.starts_with("cannot be run live: it has [[changes]]"), "{refused}");
        let scheduler = experiment("aqm = \"drr\"");
        assert!(plan(&scheduler, &[On::Live]).is_ok());
        let Err(TestbedError::Unfit { on, why }) = plan(&scheduler, &[On::Kernel(Place::Classifier)]) else {
            panic!("the programs have one queue")
        };
        assert_eq!(on, On::Kernel(Place::Classifier));
        assert!(why.contains("drr does not run in the kernel"), "{why}");
    }
}
