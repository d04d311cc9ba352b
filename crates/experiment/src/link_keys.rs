//! The keys of a link: in `[topology]` for the bottleneck, in its `reverse`, and in `[[topology.links]]`. One list
//! defines the type and the JSON Schema of each key.

use aqmkit_base::{Bytes, Duration, LinkLayer, Overhead};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::driver::Driver;
use super::problem::Problem;
use super::rate::Rate;
use super::read::{Keys, read_by};
use super::schema::{any, discipline, driver, quantity, rate, size, time, yes};
use super::shape::OrNone;
use super::tree::Node;
use super::wire::{Jitter, Loss, Reorder, Slot};

macro_rules! link_keys {
    ($($name:ident: $type:ty = $schema:expr;)*) => {
        /// The keys of a link, deserialized by serde.
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "the discipline is read elsewhere")]
        pub(super) struct LinkKeys {
            $(pub(super) $name: Option<$type>,)*
        }

        impl LinkKeys {
            /// Names of the keys.
            pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// JSON Schema of the keys.
            pub(super) fn schema() -> Vec<(&'static str, Value)> {
                vec![$((stringify!($name), $schema)),*]
            }
        }
    };
}

link_keys! {
    rate: Rate = json!({
        "description": "10mbit; or a table with the file of a mahimahi trace, or with steps.",
        "anyOf": [rate(""), {"type": "object"}],
    });
    delay: Duration = time("Propagation delay, each way. Default: 0.");
    mean_packet: Bytes = size("Typical packet size, for disciplines that need one. Default: 1000b.");
    overhead: Overhead = quantity("Framing per packet, negative where the link sends less than the packet. Default: 0b.", "[kKmMgG]?[iI]?[bB]([iI][tT])?");
    mpu: Bytes = size("The shortest packet that is sent, with its framing: shorter ones are padded. Default: 0b.");
    linklayer: LinkLayer = json!({
        "enum": ["ethernet", "atm", "ptm"],
        "description": "Cells of ATM (48 of 53 bytes), or PTM (64 of 65). Default: ethernet.",
    });
    loss: Loss = any("Probability that the wire loses a packet, or 1%; { every = 100, burst = 2 }, or { p = 0.01, r = 0.25 }.");
    mark: Loss = any("The same for marks of ECN-capable packets.");
    even: bool = yes("Lose and mark at even distances instead of at random.");
    jitter: Jitter = any("Additional delay of each packet, uniform from 0; order is kept: 5ms. { time = \"5ms\", overtaking = true }: packets may overtake.");
    reorder: Reorder = any("{ chance = 0.01, delay = \"5ms\" }, or 1%,5ms: delays some packets so that others overtake them.");
    slot: Slot = any("{ min = \"5ms\", max = \"10ms\", packets = 32, bytes = \"64kb\" }, or 5ms..10ms: packets wait for the next slot, and are delivered together.");
    aqm: IgnoredAny = discipline();
    driver: OrNone<Driver> = driver();
}

impl LinkKeys {
    /// Keys that a link inherits from `[topology]` if it does not set them.
    pub(super) const INHERITED: &[&str] = &["mean_packet", "overhead", "mpu", "linklayer", "aqm", "driver"];
}

/// Reads a table with the keys of a link and those of `T`; `noun` is how messages name one of its keys.
pub(super) fn read_link<T: DeserializeOwned>(node: &Node, noun: &str) -> Result<(T, LinkKeys), Problem> {
    read_by(node, Keys { noun, also: LinkKeys::NAMES }, |table| {
        let (of_link, own) = table.partition(|key| LinkKeys::NAMES.contains(&key));
        Ok((own.read()?, of_link.read()?))
    })
}
