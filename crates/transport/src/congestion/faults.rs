//! Deliberate errors of `bbr3`, with which tests show that they are able to fail.
//!
//! They exist with the feature `faults` only, which tests of other crates switch on. A fault holds on the thread that has chosen it.

/// A deliberate error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Startup takes no plateau for a full pipe.
    StartupHasNoPlateau,
    /// Startup does not hear of losses.
    StartupIsDeaf,
    /// Drain does not look at what is in flight.
    DrainWaitsForTime,
    /// Drain has no limit of rounds.
    DrainHasNoLimit,
    /// `ProbeBW_UP` takes no plateau for a full pipe.
    UpHasNoPlateau,
    /// `ProbeBW_UP` does not hear of losses.
    UpIsDeaf,
    /// Samples that the application limited count as a plateau.
    LimitsArePlateaus,
    /// `ProbeBW_DOWN` does not look at what is in flight.
    NeverCruises,
    /// `ProbeBW_DOWN` does not look at the clock.
    IgnoresWait,
    /// There is no `ProbeRTT`.
    NoProbeRtt,
    /// Idleness does not stand in for `ProbeRTT`.
    ProbesAfterIdleness,
    /// Nothing is added to the window for acknowledgements in lumps.
    NoAggregation,
    /// The window may be a single segment.
    NoFloor,
    /// The steps of `inflight_longterm` do not grow.
    LinearSteps,
    /// The largest rate is never forgotten.
    NeverForgets,
    /// Losses leave the short-term bounds as they are.
    NoShortTerm,
    /// What was spurious is not taken back.
    NoUndo,
    /// `ProbeRTT` always goes to `ProbeBW`.
    LeavesStartup,
    /// Losses leave `inflight_longterm` as it is.
    KeepsLongTerm,
    /// A sample that the application limited replaces the largest rate.
    AdmitsLimited,
    /// Rounds after `ProbeRTT` do not count as limited by the application: not the draft, but what some implementations do.
    CountsAfterProbeRtt,
}

#[cfg(feature = "faults")]
mod chosen {
    use std::cell::Cell;

    use super::Fault;

    thread_local! {
        static CHOSEN: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// Runs something with a fault, on this thread.
    pub fn with<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
        CHOSEN.set(Some(fault));
        let done = run();
        CHOSEN.set(None);
        done
    }

    pub(crate) fn has(fault: Fault) -> bool {
        CHOSEN.get() == Some(fault)
    }
}

#[cfg(feature = "faults")]
pub(super) use chosen::has;
#[cfg(feature = "faults")]
pub use chosen::with;

/// Whether this fault was chosen: never, without the feature.
#[cfg(not(feature = "faults"))]
pub(super) const fn has(_: Fault) -> bool {
    false
}
