//! The capacity of a queue: `--limit`, and `limit` in a sweep.

use std::str::FromStr;

use aqmkit_aqm::{Catalogue, Link};
use aqmkit_base::units::{parse_amount, parse_duration, split};
use aqmkit_base::{Amount, BitRate, Bytes, Duration};
use serde::Deserialize as _;
use toml::{Table, Value};

use super::text::string;
use crate::parameters::literal;

/// Size of a full packet on most links, in bytes.
const FULL: f64 = 1500.0;

/// The capacity of every queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// In packets or bytes.
    Amount(Amount),
    /// The bytes that a link sends in this time; each direction has its own rate.
    Time(Duration),
    /// A multiple of the bandwidth-delay product: the bytes that a link sends in this many round trips.
    Bdp(f64),
}

impl FromStr for Room {
    type Err = String;

    /// Parses `100`, `90kb`, `20ms` or `2bdp`.
    fn from_str(text: &str) -> Result<Room, String> {
        match split(text) {
            Some((times, unit)) if unit.eq_ignore_ascii_case("bdp") && times > 0.0 && times <= 1000.0 => {
                Ok(Room::Bdp(times))
            }
            _ => match (parse_amount(text), parse_duration(text)) {
                (Ok(amount), _) => Ok(Room::Amount(amount)),
                (_, Ok(time)) if !time.is_zero() => Ok(Room::Time(time)),
                _ => Err(format!(
                    "{text:?} is not the room of a queue: write packets (100), bytes (90kb), a time at the rate of the link (20ms), or \
                     products of bandwidth and delay (1bdp)"
                )),
            },
        }
    }
}

/// A discipline whose limit is to be set.
#[derive(Clone, Copy)]
pub(super) struct Queue<'a> {
    pub(super) name: &'a str,
    /// The other parameters, as given.
    pub(super) parameters: &'a Table,
    /// For looking up names.
    pub(super) catalogue: &'a Catalogue,
}

impl Room {
    /// The parameter `limit` of a discipline with these other parameters, on a link with this round-trip time; `None`
    /// if it has no single limit. Bytes are converted to packets of 1500 bytes if the discipline cannot count bytes, or
    /// has thresholds in packets.
    pub(super) fn limit(self, queue: &Queue<'_>, rtt: Duration) -> Option<Value> {
        let Queue { name, parameters, catalogue } = *queue;
        if name == "tbf" && ["aqm", "latency"].iter().any(|key| parameters.contains_key(*key)) {
            // Its FIFO is replaced, or has its limit.
            return None;
        }
        let spec = |value: &Value, mut with: Table| {
            with.insert("limit".to_owned(), value.clone());
            let read = aqmkit_base::read::Value::deserialize(with).ok()?;
            catalogue.spec(name, read).ok()
        };
        let accepts = |value: &Value| spec(value, Table::new()).is_some();
        // Any link will do, because whether units are compatible does not depend on it.
        let link = Link { rate: BitRate::from_mbps(10), mean_packet: Bytes(1000), classes: Vec::new() };
        let fits = |value: &Value| spec(value, parameters.clone()).is_some_and(|spec| spec.effective(&link).is_ok());
        let packets = |packets: f64| literal(&Amount::Packets(packets).to_string());
        match self {
            // The rate is known only when the experiment is read: docs/experiment-format.md.
            Room::Time(time) => accepts(&packets(1000.0)).then(|| string(time)),
            Room::Bdp(times) => Room::Time(rtt.mul_f64(times)).limit(queue, rtt),
            Room::Amount(amount) => {
                let own = literal(&amount.to_string());
                let counted = match amount {
                    Amount::Bytes(bytes) => packets((bytes as f64 / FULL).floor().max(1.0)),
                    Amount::Packets(_) => own.clone(),
                };
                let all = [own, counted];
                all.iter().find(|value| fits(value)).or_else(|| all.iter().find(|value| accepts(value))).cloned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str, name: &str) -> Option<String> {
        let room: Room = text.parse().unwrap();
        let queue = Queue { name, parameters: &Table::new(), catalogue: &Catalogue::default() };
        room.limit(&queue, Duration::from_millis(30)).map(|value| value.to_string())
    }

    /// 90 kb are 92,160 bytes: 61 full packets.
    #[test]
    fn one_rule_holds_for_every_discipline() {
        let catalogue = Catalogue::default();
        for name in catalogue.names() {
            let (in_packets, in_bytes) = (limit("100", name), limit("90kb", name));
            assert_eq!(in_packets.is_some(), in_bytes.is_some(), "{name}: {in_packets:?} {in_bytes:?}");
            let right = |text: &String| text == "\"92160b\"" || text == "\"61p\"";
            assert!(in_bytes.iter().all(right), "{name}: {in_bytes:?}");
        }
        assert_eq!(limit("90kb", "red").as_deref(), Some("\"92160b\""));
        assert_eq!(limit("90kb", "pi").as_deref(), Some("\"61p\""));
    }

    #[test]
    fn times_and_products_are_left_to_the_link() {
        assert_eq!(limit("20ms", "red").as_deref(), Some("\"20ms\""));
        assert_eq!(limit("2bdp", "pi").as_deref(), Some("\"60ms\""));
        assert_eq!(limit("20ms", "cbq"), None, "it has a limit for each class");
    }

    #[test]
    fn what_is_no_room_is_refused_with_what_would_be() {
        for text in ["0ms", "bdp", "0bdp", "-1bdp", "20mbit/s", "much"] {
            let error = text.parse::<Room>().unwrap_err();
            assert!(error.contains("1bdp") && error.contains("20ms"), "{text}: {error}");
        }
    }
}
