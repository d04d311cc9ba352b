//! The version of the simulator. A stored run is reused only by the version that produced it.

/// The version of the simulator, with the disciplines, transports and traffic models. Raise it when a change of the code changes any
/// result; `tests/digests.rs` fails otherwise. New parameters, disciplines and models need no new version.
pub const SIMULATOR: u32 = 10;
