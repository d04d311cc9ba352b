//! Linux's priority of a packet, and the parameter `priomap` that maps it to a band.

use crate::dscp::Dscp;
use crate::params::ParamError;

/// How many priorities there are (`TC_PRIO_MAX` + 1).
pub const PRIORITIES: usize = 16;

/// The bands of `pfifo_fast`, and by default of `prio`, by priority.
pub const DEFAULT_MAP: [u8; PRIORITIES] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// The priority that Linux gives an IPv4 packet that it forwards: it reads the old type of service (RFC 1349) out of the three
/// lower bits of the codepoint.
#[must_use]
pub fn priority(dscp: Dscp) -> usize {
    const BEST_EFFORT: usize = 0;
    const BULK: usize = 2;
    const INTERACTIVE_BULK: usize = 4;
    const INTERACTIVE: usize = 6;
    match (dscp.index() & 0b111) >> 1 {
        0 => BEST_EFFORT,
        1 => BULK,
        2 => INTERACTIVE,
        _ => INTERACTIVE_BULK,
    }
}

/// Checks a `priomap` for this number of bands and makes it complete: priorities for which it has no entry have that of `rest`, or the last band if
/// that is not there.
///
/// # Errors
/// When it is too long, or names a band that is not there.
pub fn complete(map: &[u8], bands: usize, rest: &[u8; PRIORITIES]) -> Result<Vec<u8>, ParamError> {
    if map.len() > PRIORITIES {
        return Err(ParamError::new("priomap", format!("{} bands", map.len()), "there are 16 priorities"));
    }
    if let Some(i) = map.iter().position(|band| usize::from(*band) >= bands) {
        let want = format!("the bands are 0 to {}", bands - 1);
        return Err(ParamError::new(format!("priomap[{i}]"), map[i], want));
    }
    let last = (bands.saturating_sub(1)).min(usize::from(u8::MAX)) as u8;
    Ok(map.iter().copied().chain(rest[map.len()..].iter().map(|band| (*band).min(last))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux's table has it: minimise cost is best effort, throughput is bulk, delay is interactive, both are interactive bulk.
    #[test]
    fn codepoints_have_the_priorities_of_their_type_of_service() {
        let of = |name: &str| priority(name.parse().unwrap());
        assert_eq!(["be", "cs1", "cs6", "1", "le"].map(of), [0; 5]);
        assert_eq!(["2", "3", "af11", "af41"].map(of), [2, 2, 2, 2]);
        assert_eq!(["4", "af12", "va", "5"].map(of), [6, 6, 6, 6]);
        assert_eq!(["6", "ef", "af13"].map(of), [4, 4, 4]);
    }

    #[test]
    fn a_short_map_is_completed() {
        assert_eq!(complete(&[0, 0], 3, &DEFAULT_MAP).unwrap()[..6], [0, 0, 2, 2, 1, 2]);
        assert_eq!(complete(&[1, 0], 2, &DEFAULT_MAP).unwrap()[..8], [1, 0, 1, 1, 1, 1, 0, 0]);
        assert_eq!(complete(&[1, 2], 2, &DEFAULT_MAP).unwrap_err().field, "priomap[1]");
        assert!(complete(&[0; 17], 2, &DEFAULT_MAP).is_err());
    }
}
