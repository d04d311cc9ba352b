//! Reads integers from frames that may be truncated.

/// The 16-bit big-endian integer at `at`.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The MAC address at `at`; zeros if the frame is too short.
pub(super) fn address_at(bytes: &[u8], at: usize) -> [u8; 6] {
    bytes.get(at..).and_then(|b| b.first_chunk()).copied().unwrap_or_default()
}
