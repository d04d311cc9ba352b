//! The version of the simulator. A stored run is reused only by the version that produced it.

/// Version of the simulator including disciplines, transports and traffic models. Raise it when a change of the code
/// changes any result; otherwise `tests/digests.rs` fails. New parameters, disciplines and models need no new version.
pub const SIMULATOR: u32 = 11;
