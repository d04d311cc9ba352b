//! The example test cases of draft-ietf-ccwg-bbr, on one simulated bottleneck.
//!
//! Each case is a function that does what the draft says to do and checks what it says to verify. Those that speak of the path alone judge
//! every control; the others need the variables of the model, which the control has to show ([`aqmkit_transport::congestion::ModelView`]).

mod probing;
mod scene;
mod startup;
mod steady;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use aqmkit_results::cases::{Case as Judged, Cases, Verdict};
use aqmkit_stack::Factory;
use aqmkit_transport::Profile;

/// Why a case does not pass.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Miss {
    /// The control deviates from the draft; the sentence says where.
    Broken(String),
    /// The sender does not show what the case is about.
    Hidden(&'static str),
}

/// The state of its model, as a sender may hide it.
pub(crate) const MODEL: Miss = Miss::Hidden("the state of its model");

/// The two ends of the connections of a case.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The simulator's TCP.
    pub profile: Profile,
    /// A stack from outside in its place.
    pub stack: Option<Arc<dyn Factory>>,
}

impl Hosts {
    fn sender(&self) -> &'static str {
        if self.stack.is_some() { "the stack" } else { "the control" }
    }
}

impl From<Profile> for Hosts {
    fn from(profile: Profile) -> Self {
        Hosts { profile, stack: None }
    }
}

/// The observation of a case, in a sentence.
type Found = Result<String, Miss>;

/// A case of the draft.
pub(crate) struct Case {
    number: u32,
    title: &'static str,
    /// The requirement of the draft.
    wants: &'static str,
    run: fn(&Hosts) -> Found,
}

/// Fails the case with a sentence unless something holds.
fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Result<(), Miss> {
    if holds { Ok(()) } else { Err(Miss::Broken(broken())) }
}

/// Runs all cases with connections between such hosts, called `subject` in the result.
#[must_use]
pub fn judge(subject: &str, hosts: &Hosts) -> Cases {
    let one = |case: &Case| {
        let (verdict, found) = match (case.run)(hosts) {
            Ok(found) => (Verdict::Passes, found),
            Err(Miss::Broken(found)) => (Verdict::Fails, found),
            Err(Miss::Hidden(what)) => (Verdict::NotJudged, format!("{} does not show {what}", hosts.sender())),
        };
        Judged { number: case.number, title: case.title.to_owned(), wants: case.wants.to_owned(), verdict, found }
    };
    Cases { subject: subject.to_owned(), source: SOURCE.to_owned(), cases: CASES.iter().map(one).collect() }
}

/// The document.
const SOURCE: &str = "draft-ietf-ccwg-bbr, example test cases";

const fn case(number: u32, title: &'static str, wants: &'static str, run: fn(&Hosts) -> Found) -> Case {
    Case { number, title, wants, run }
}

/// The cases in the order of the draft.
pub(crate) const CASES: &[Case] = &[
    case(
        1,
        "Startup ends on a plateau",
        "max_bw within 2 % of the link; after 3 rounds of less than 25 % growth, Drain",
        startup::plateau,
    ),
    case(
        2,
        "Startup ends on loss while app-limited",
        "more than 2 % lost in a round: Drain, though no sample shows a plateau",
        startup::loss_while_limited,
    ),
    case(
        3,
        "Drain ends by inflight",
        "pacing gain 0.5; ProbeBW once inflight is at most the product",
        startup::drain_by_inflight,
    ),
    case(
        4,
        "Drain ends by time",
        "ProbeBW after 3 rounds, though inflight stays above the product",
        startup::drain_by_time,
    ),
    case(
        5,
        "ProbeBW_UP ends on a plateau",
        "no loss: ProbeBW_DOWN after 3 rounds of less than 25 % growth",
        probing::up_plateau,
    ),
    case(
        6,
        "ProbeBW_UP ends on loss while app-limited",
        "more than 2 % lost in a round: ProbeBW_DOWN",
        probing::up_loss_while_limited,
    ),
    case(
        7,
        "App-limited, it never leaves Startup or ProbeBW_UP",
        "without loss it stays, ProbeRTT aside",
        startup::stays_while_limited,
    ),
    case(
        8,
        "ProbeBW_DOWN ends by inflight",
        "pacing gain 0.90; CRUISE once inflight is within the headroom and the product",
        probing::down_by_inflight,
    ),
    case(
        9,
        "ProbeBW_DOWN ends by time",
        "inflight stays high: REFILL after bw_probe_wait, no CRUISE",
        probing::down_by_time,
    ),
    case(
        10,
        "ProbeRTT, in and out",
        "after 5 s without a lower delay, half of the product for 200 ms and a round trip; then ProbeBW",
        steady::probe_rtt,
    ),
    case(
        11,
        "ProbeRTT is skipped when idle",
        "after 5 s of silence idle_restart is set, and there is no ProbeRTT",
        steady::idle,
    ),
    case(
        12,
        "Startup with aggregation",
        "extra_acked counts, cwnd exceeds two products, the rate is found",
        startup::aggregation,
    ),
    case(13, "CRUISE with aggregation", "extra_acked follows, the link stays full", steady::aggregation),
    case(
        14,
        "A product of less than a packet",
        "cwnd of at least 4 packets, paced at the rate of the link",
        steady::sub_packet,
    ),
    case(
        15,
        "The rate is ten times higher",
        "the steps of inflight_longterm double in each round; full rate in O(log BDP) rounds of probing",
        probing::faster,
    ),
    case(
        16,
        "The rate is ten times lower",
        "bw_shortterm falls at once; max_bw is the new rate after two cycles",
        steady::slower,
    ),
    case(
        17,
        "A policer",
        "it answers with the short-term bounds, and settles near the rate without constant loss",
        steady::policer,
    ),
    case(18, "A recovery that was spurious", "bounds, window and state are restored", steady::spurious_recovery),
    case(19, "A timeout that was spurious", "bounds, window and state are restored", steady::spurious_timeout),
    case(20, "ProbeRTT in Startup", "it returns to Startup", startup::probe_rtt),
    case(
        21,
        "Loss in ProbeBW_UP with inflight_longterm set",
        "inflight_longterm becomes at least Beta of the target; ProbeBW_DOWN at once",
        probing::loss_above_bound,
    ),
    case(22, "App-limited in REFILL", "low samples do not lower max_bw; ProbeBW_UP follows", probing::limited_refill),
];
