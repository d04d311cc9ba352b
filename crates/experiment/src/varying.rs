//! A trace of delivery opportunities, and its hash.

use std::sync::Arc;

use aqmkit_base::trace::Trace;

use super::problem::Problem;

/// A trace, and the hash of its text, which identifies it in the hash of a run.
#[derive(Clone, Debug)]
pub(super) struct Varying {
    pub(super) hash: String,
    pub(super) trace: Arc<Trace>,
}

/// Parses the text of a trace.
pub(super) fn parse_trace(name: &str, text: &str) -> Result<Varying, Problem> {
    let trace = Trace::parse(name, text).map_err(|e| Problem::new(e.to_string()).right(e.right))?;
    Ok(Varying { hash: blake3::hash(text.as_bytes()).to_string(), trace: Arc::new(trace) })
}
