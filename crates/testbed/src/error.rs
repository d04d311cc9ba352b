//! Reasons why an experiment cannot run on a live link.

use aqmkit_live::LiveError;

use crate::place::On;

/// Why an experiment cannot run on a live link of this machine.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The process may not create network namespaces.
    #[error("no permission to create network namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)")]
    NoPermission,
    /// The kernel cannot run disciplines; the text says what it lacks.
    #[error("{0}")]
    Kernel(String),
    /// The kernel lacks a congestion control of the experiment.
    #[error(transparent)]
    Congestion(LiveError),
    /// The experiment needs something that a live link does not support.
    #[error("cannot be run {}: {why}", on.in_words())]
    Unfit {
        /// The place for which it was planned.
        on: On,
        /// The missing feature, and how to do without it.
        why: String,
    },
}
