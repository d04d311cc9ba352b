//! The cases that `bbr3` passes, and a deliberate error for each case.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::Arc;

use aqmkit_transport::congestion::faults::{Fault, with};
use aqmkit_transport::{Kind, Overrides, Profile};

use super::{CASES, Hosts, Miss, judge};
use aqmkit_results::cases::Verdict;

fn hosts(profile: &str, congestion: Kind) -> Hosts {
    let changes = Overrides { congestion: Some(congestion), ..Overrides::default() };
    changes.apply(Profile::named(profile).unwrap()).unwrap().into()
}

/// For each case, a deliberate error that it is about.
const FAULTS: [(u32, Fault); 22] = [
    (1, Fault::StartupHasNoPlateau),
    (2, Fault::StartupIsDeaf),
    (3, Fault::DrainWaitsForTime),
    (4, Fault::DrainHasNoLimit),
    (5, Fault::UpHasNoPlateau),
    (6, Fault::UpIsDeaf),
    (7, Fault::LimitsArePlateaus),
    (8, Fault::NeverCruises),
    (9, Fault::IgnoresWait),
    (10, Fault::NoProbeRtt),
    (11, Fault::ProbesAfterIdleness),
    (12, Fault::NoAggregation),
    (13, Fault::NoAggregation),
    (14, Fault::NoFloor),
    (15, Fault::LinearSteps),
    (16, Fault::NeverForgets),
    (17, Fault::NoShortTerm),
    (18, Fault::NoUndo),
    (19, Fault::NoUndo),
    (20, Fault::LeavesStartup),
    (21, Fault::KeepsLongTerm),
    (22, Fault::AdmitsLimited),
];

#[test]
fn bbr3_passes_all_cases() {
    let cases = judge("bbr3", &hosts("linux-6", Kind::Bbr3));
    let failed: Vec<_> = cases.cases.iter().filter(|case| case.verdict != Verdict::Passes).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(cases.cases.iter().map(|case| case.number).eq(1..=22));
}

#[test]
fn every_case_is_able_to_fail() {
    let hosts = hosts("linux-6", Kind::Bbr3);
    let wrong: Vec<String> = FAULTS
        .iter()
        .filter_map(|(number, fault)| {
            let case = CASES.iter().find(|case| case.number == *number).unwrap();
            match with(*fault, || (case.run)(&hosts)) {
                Err(Miss::Broken(_)) => None,
                found => Some(format!("{number} with {fault:?}: {found:?}")),
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Cases that observe only the path judge every control; the others need the state of the model.
#[test]
fn without_a_state_five_cases_judge_from_outside() {
    let cases = judge("bbr", &hosts("linux-6", Kind::Bbr));
    let judged: Vec<u32> =
        cases.cases.iter().filter(|case| case.verdict != Verdict::NotJudged).map(|case| case.number).collect();
    assert_eq!(judged, [1, 10, 14, 15, 16]);
}

/// A stack that sends one datagram for each round trip shows its window and its bytes in flight, and has no model. It fails what can be
/// judged from outside, because it fills no link.
#[test]
fn a_stack_is_judged_by_what_it_shows() {
    let stack: Arc<dyn aqmkit_stack::Factory> = Arc::new(aqmkit_stack::stop_and_wait::Factory::default());
    let cases = judge("slow", &Hosts { profile: Profile::rfc(), stack: Some(stack) });
    let with = |verdict: Verdict| -> Vec<u32> {
        cases.cases.iter().filter(|case| case.verdict == verdict).map(|case| case.number).collect()
    };
    assert_eq!(with(Verdict::Fails), [1, 10, 14, 15, 16], "{cases:#?}");
    assert_eq!(with(Verdict::NotJudged).len(), 17);
    let why = "the stack does not show the state of its model";
    assert!(cases.cases.iter().all(|case| case.verdict != Verdict::NotJudged || case.found == why), "{cases:#?}");
}
