//! What a sender knows of the data in flight beyond a few sequence numbers.

use super::sent::Sent;

/// Allocated when first needed, so that an endpoint that needs none of it stays small.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    /// The segments in flight, where the profile or the congestion control asks for the record.
    pub(super) sent: Option<Sent>,
}
