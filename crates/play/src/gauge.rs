//! Units and labels of the disciplines' gauges; each discipline defines the names of its gauges.

/// Name, unit and label of every gauge. Shares and probabilities have the unit 1 and a label that says so; averages of
/// the queue have the unit of the queue's limit, which is packets unless an experiment says bytes.
const GAUGES: &[(&str, &str, &str)] = &[
    ("accepted", "bit/s", "accepted rate"),
    ("active", "flows", "flows with packets"),
    ("alpha", "bit/s", "fair rate"),
    ("arriving", "bit/s", "arriving rate"),
    ("avg", "packets", "average queue"),
    ("avg.class", "packets", "average queue of the class"),
    ("avg.in", "packets", "average of in packets"),
    ("avg.out", "packets", "average of all packets"),
    ("avg_delay", "s", "average delay"),
    ("avgcq", "packets", "average queue of a flow"),
    ("bins.over", "bins", "bins over their size"),
    ("bulk_flows", "flows", "bulk flows"),
    ("burst_allowance", "s", "burst allowance"),
    ("c.packets", "packets", "classic queue"),
    ("candidates", "packets", "candidates drawn"),
    ("class.rate", "bit/s", "rate of the class"),
    ("congested", "yes", "congested"),
    ("count", "drops", "drops since dropping began"),
    ("deficit", "bytes", "largest deficit"),
    ("drop_rate", "share", "share of drops"),
    ("dropping", "yes", "dropping"),
    ("fattest", "bytes", "longest queue"),
    ("filter.max", "share", "strongest filter"),
    ("flows", "flows", "flows"),
    ("heavy_hitters", "flows", "heavy hitters"),
    ("hit_rate", "share", "hits"),
    ("identified", "flows", "identified flows"),
    ("interval", "s", "interval"),
    ("l.packets", "packets", "low-latency queue"),
    ("m_fair", "packets", "fair amount"),
    ("max_p", "share", "max_p"),
    ("monitored", "flows", "flows on the list"),
    ("new_flows", "flows", "new flows"),
    ("old_flows", "flows", "old flows"),
    ("p", "share", "probability"),
    ("p.max", "share", "highest probability"),
    ("p.mean", "share", "mean probability"),
    ("p_c", "share", "classic probability"),
    ("p_cl", "share", "coupled probability"),
    ("p_classic", "share", "classic probability"),
    ("p_ref", "packets", "share of a flow"),
    ("p_scalable", "share", "scalable probability"),
    ("price", "", "price"),
    ("qdelay", "s", "estimated delay"),
    ("queue", "packets", "packets waiting"),
    ("queue.in", "packets", "in packets"),
    ("repeated_hits", "share", "repeated hits"),
    ("restricted", "flows", "restricted flows"),
    ("round", "rounds", "round"),
    ("sparse_flows", "flows", "sparse flows"),
    ("state", "state", "state of the burst protection"),
    ("threshold", "packets", "threshold"),
    ("throttled", "flows", "flows that wait for their time"),
    ("unresponsive", "flows", "unresponsive flows"),
];

/// Unit and label of a gauge. A gauge of one of several queues, such as `avg.2` or `queue.voice`, takes them from its
/// family (`avg`, `queue`); the label then ends with the number or name of the queue.
pub(crate) fn words(name: &str) -> (&'static str, String) {
    let known = |wanted: &str| GAUGES.iter().find(|(of, ..)| *of == wanted);
    if let Some((_, unit, label)) = known(name) {
        return (unit, (*label).to_owned());
    }
    match name.rsplit_once('.').and_then(|(family, queue)| Some((known(family)?, queue))) {
        Some(((_, unit, label), queue)) if queue.bytes().all(|b| b.is_ascii_digit()) => {
            (unit, format!("{label} {queue}"))
        }
        Some(((_, unit, label), queue)) => (unit, format!("{label}, {queue}")),
        None => ("", name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_aqm::registry::{self, Link, Spec};
    use aqmkit_base::BitRate;

    use super::words;
    use crate::describe::gauges;

    #[test]
    fn every_gauge_has_a_label() {
        for entry in registry::ALL {
            let spec = Spec::named(entry.name).into_iter();
            for gauge in spec.flat_map(|spec| gauges(&spec, &Link::new(BitRate::from_mbps(10)))) {
                let name = gauge["name"].as_str().unwrap_or_default();
                let known = !words(name).0.is_empty() || name == "price";
                assert!(known, "{}: {name} is not among the gauges of crates/play/src/gauge.rs", entry.name);
            }
        }
    }

    #[test]
    fn numbered_gauges_have_the_words_of_their_family() {
        assert_eq!(words("avg.2"), ("packets", "average queue 2".to_owned()));
        assert_eq!(words("queue.voice"), ("packets", "packets waiting, voice".to_owned()));
        assert_eq!(words("unheard.of"), ("", "unheard.of".to_owned()));
    }
}
