//! Where the runs of an experiment take place.

use aqmkit_live::kernel::Place;
use aqmkit_results::place::SIMULATED;

/// Where a run takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// In the simulator.
    Simulated,
    /// On a live link, whose queue is in this process.
    Live,
    /// On a live link, whose queue is inside the kernel, in one of two ways.
    Kernel(Place),
}

impl On {
    /// Its label in results.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            On::Simulated => SIMULATED,
            On::Live => "live",
            On::Kernel(Place::Classifier) => "kernel",
            On::Kernel(Place::Queue) => "kernel-queue",
        }
    }

    /// The place as part of a sentence: "it cannot be run ...".
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            On::Simulated => "in the simulator",
            On::Live => "live",
            On::Kernel(_) => "inside the kernel",
        }
    }
}
