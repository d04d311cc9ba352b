//! Limits of a live bottleneck, whose packets consume this machine's memory and CPU time.

use aqmkit_aqm::ParamError;
use aqmkit_base::{Amount, BitRate};

use aqmkit_packets::shaper::Setup;

/// The maximum rate: 125 bytes per nanosecond, the clock's resolution.
pub const FASTEST: BitRate = BitRate::from_bps(1_000_000_000_000);

/// The maximum queue limit in packets, about 1.5 GB at full size.
pub const MOST_PACKETS: f64 = 1e6;

/// The maximum queue limit in bytes.
pub const MOST_BYTES: u64 = 1 << 30;

/// The maximum bandwidth-delay product in bytes.
const MOST_IN_FLIGHT: u64 = 1 << 30;

/// Checks rate, delay and queue limit.
///
/// # Errors
/// The parameter that exceeds its limit.
pub fn check(setup: &Setup) -> Result<(), ParamError> {
    if setup.rate > FASTEST {
        return Err(ParamError::new("rate", setup.rate, format!("it must be at most {FASTEST}")));
    }
    let in_flight = setup.rate.bytes_in(setup.longest_delay()).0;
    if in_flight > MOST_IN_FLIGHT {
        let many = format!("at {} that would be {} MiB in flight", setup.rate, in_flight >> 20);
        return Err(ParamError::new("delay", setup.longest_delay(), format!("{many}, and they must be below 1 GiB")));
    }
    let limit = serde_json::to_value(&setup.aqm).ok().and_then(|mut table| table.get_mut("limit").map(std::mem::take));
    // Invalid parameters are reported when the discipline is built; a discipline without `limit` has its own bound.
    let limit = limit.and_then(|value| serde_json::from_value::<Amount>(value).ok());
    match limit {
        Some(limit @ Amount::Packets(packets)) if packets > MOST_PACKETS => {
            Err(ParamError::new("limit", limit, format!("it must be at most {MOST_PACKETS} packets")))
        }
        Some(limit @ Amount::Bytes(bytes)) if bytes > MOST_BYTES => {
            Err(ParamError::new("limit", limit, format!("it must be at most {MOST_BYTES} bytes")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_aqm::registry::Spec;
    use aqmkit_base::Duration;
    use aqmkit_base::wire::Wire;
    use serde_json::json;

    use super::*;

    #[test]
    fn no_more_than_a_machine_holds() {
        let with = |rate: u64, table: serde_json::Value| {
            let spec = Spec::read("codel", table).unwrap();
            check(&Setup::new("down", BitRate::from_bps(rate), Duration::ZERO, spec)).map_err(|e| e.field)
        };
        assert_eq!(with(1_000_000_000_000, json!({ "limit": 1_000_000 })), Ok(()));
        assert_eq!(with(1, json!({})), Ok(()));
        assert_eq!(with(9_999_000_000_000, json!({})), Err("rate".to_owned()));
        let far = |delay, wire| {
            let spec = Spec::named("codel").unwrap();
            check(&Setup { wire, ..Setup::new("down", BitRate::from_mbps(10_000), delay, spec) }).map_err(|e| e.field)
        };
        let (second, wire) = (Duration::from_secs(1), Wire { jitter: Duration::from_millis(1), ..Wire::default() });
        assert_eq!(far(Duration::from_millis(800), wire), Ok(()));
        assert_eq!(far(second, wire), Err("delay".to_owned()));
        assert_eq!(far(Duration::ZERO, Wire { jitter: second, ..wire }), Err("delay".to_owned()));
        assert_eq!(with(1, json!({ "limit": 99_999_999_999_999_u64 })), Err("limit".to_owned()));
    }
}
