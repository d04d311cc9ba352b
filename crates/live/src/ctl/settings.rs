//! The settings of an emulated link other than its queue, as command-line options.

use std::collections::BTreeMap;

use aqmkit_base::wire::options;
use aqmkit_base::{Framing, LinkLayer};
use aqmkit_packets::shaper::Setup;

/// The options that differ from a link without delay, loss and framing: names without dashes, and values.
pub(super) fn of(setup: &Setup) -> BTreeMap<String, String> {
    let Setup { delay, wire, framing, trace, .. } = setup;
    let Framing { overhead, mpu, linklayer } = framing;
    let layer = LinkLayer::ALL.iter().find(|(_, l)| l == linklayer).map(|(name, _)| (*name).to_owned());
    let all = [
        ("delay", (!delay.is_zero()).then(|| delay.to_string())),
        ("overhead", (*overhead != 0).then(|| overhead.to_string())),
        ("mpu", (*mpu != 0).then(|| mpu.to_string())),
        ("linklayer", layer.filter(|_| *linklayer != LinkLayer::default())),
        ("rate", trace.as_ref().map(|_| "follows a trace".to_owned())),
    ];
    let all = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
    all.chain(options(wire)).map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use aqmkit_aqm::registry::Spec;
    use aqmkit_base::wire::{Loss, Reorder, Wire};
    use aqmkit_base::{BitRate, Duration};

    use super::*;

    #[test]
    fn settings_are_written_as_options_are() {
        let plain = Setup::new("down", BitRate::from_mbps(10), Duration::ZERO, Spec::named("fifo").unwrap());
        assert_eq!(of(&plain), BTreeMap::new());
        let reorder: Reorder = "1%,5ms".parse().unwrap();
        let wire = Wire {
            loss: Loss::Random(0.02),
            jitter: Duration::from_micros(1500),
            reorder: Some(reorder),
            ..Wire::default()
        };
        let framing = Framing { overhead: -4, mpu: 64, linklayer: LinkLayer::Ptm };
        let set = of(&Setup { delay: Duration::from_millis(20), wire, framing, ..plain });
        let text: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected =
            ["delay=20ms", "jitter=1.5ms", "linklayer=ptm", "loss=2%", "mpu=64", "overhead=-4", "reorder=1%,5ms"];
        assert_eq!(text, expected);
    }
}
