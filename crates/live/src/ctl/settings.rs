//! The settings of a link other than its queue, as the options that set them.

use std::collections::BTreeMap;

use aqmkit_base::wire::{Loss, Wire};
use aqmkit_base::{Duration, Framing, LinkLayer};
use aqmkit_packets::shaper::Setup;

/// The settings that differ from a link without delay, losses and framing: options without their dashes, and values.
pub(super) fn of(setup: &Setup) -> BTreeMap<String, String> {
    let Setup { delay, wire, framing, trace, .. } = setup;
    let Wire { loss, jitter, reorder, .. } = wire;
    let Framing { overhead, mpu, linklayer } = framing;
    let time = |time: Duration| (!time.is_zero()).then(|| time.to_string());
    let layer = LinkLayer::ALL.iter().find(|(_, l)| l == linklayer).map(|(name, _)| (*name).to_owned());
    let all = [
        ("delay", time(*delay)),
        ("loss", (*loss != Loss::default()).then(|| losses(*loss))),
        ("jitter", time(*jitter)),
        ("reorder", reorder.map(|r| format!("{},{}", percent(r.chance), r.delay))),
        ("overhead", (*overhead != 0).then(|| overhead.to_string())),
        ("mpu", (*mpu != 0).then(|| mpu.to_string())),
        ("linklayer", layer.filter(|_| *linklayer != LinkLayer::default())),
        ("rate", trace.as_ref().map(|_| "follows a trace".to_owned())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn losses(loss: Loss) -> String {
    match loss {
        Loss::Random(share) => percent(share),
        Loss::Every { n, burst: 1 } => format!("every={n}"),
        Loss::Every { n, burst } => format!("every={n},burst={burst}"),
        Loss::GilbertElliott { p, r, bad, good } => {
            let rest = [("bad", bad, 1.0), ("good", good, 0.0)].into_iter().filter(|(_, share, usual)| share != usual);
            let rest: String = rest.map(|(name, share, _)| format!(",{name}={}", percent(share))).collect();
            format!("p={},r={}{rest}", percent(p), percent(r))
        }
    }
}

/// A share in percent, without the digits that the conversion adds.
fn percent(share: f64) -> String {
    let text = format!("{:.6}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use aqmkit_aqm::registry::Spec;
    use aqmkit_base::BitRate;
    use aqmkit_base::wire::Reorder;

    use super::*;

    #[test]
    fn settings_are_written_as_options_are() {
        let plain = Setup::new("down", BitRate::from_mbps(10), Duration::ZERO, Spec::named("fifo").unwrap());
        assert_eq!(of(&plain), BTreeMap::new());
        for text in ["1%", "0.29%", "every=100", "every=100,burst=2", "p=1%,r=25%", "p=1%,r=25%,bad=90%,good=0.1%"] {
            let loss: Loss = text.parse().unwrap();
            assert_eq!(losses(loss), text);
        }
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
