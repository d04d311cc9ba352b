//! The places where the runs of an experiment can be executed.

use aqmkit_live::kernel::Place;
use aqmkit_results::place::SIMULATED;

/// Where a run is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// In the simulator.
    Simulated,
    /// On a live link, with its queue in this process.
    Live,
    /// On a live link, with its queue inside the kernel: in a classifier or a qdisc.
    Kernel(Place),
}

impl On {
    /// The label in results.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            On::Simulated => SIMULATED,
            On::Live => "live",
            On::Kernel(Place::Classifier) => "kernel",
            On::Kernel(Place::Queue) => "kernel-queue",
        }
    }

    /// The place as an adverb, as in "it cannot be run ...".
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            On::Simulated => "in the simulator",
            On::Live => "live",
            On::Kernel(_) => "inside the kernel",
        }
    }
}
