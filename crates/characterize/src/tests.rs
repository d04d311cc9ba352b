//! Tests of the sections, the changes of parameters and the bounds.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use aqmkit_experiment::{Catalogues, Overrides, Scale};
use toml::{Table, Value};

use crate::contestant::Contestant;
use crate::guide::Guide;
use crate::parameters::changes;
use crate::plan::experiments;
use crate::rule::Bound;
use crate::{rfc7928, rfc9743};

const GUIDES: [&Guide; 2] = [&rfc7928::GUIDE, &rfc9743::GUIDE];

#[test]
fn sections_are_in_the_order_of_the_rfc_and_have_rules() {
    let number = |text: &str| -> Vec<u32> { text.split('.').map(|part| part.parse().unwrap()).collect() };
    for guide in GUIDES {
        for pair in guide.sections.windows(2) {
            assert!(number(pair[0].number) < number(pair[1].number), "{} before {}", pair[0].number, pair[1].number);
        }
        for section in guide.sections {
            assert!(!section.rules.is_empty() && section.asks.ends_with(['?', '.']), "{section:?}");
        }
    }
}

/// RFC 9743 gives no thresholds, so each of ours says why it is where it is.
#[test]
fn every_bound_on_controls_has_its_reason() {
    for rule in rfc9743::GUIDE.sections.iter().flat_map(|section| section.rules) {
        assert!(rule.why.len() > 20 && rule.why.ends_with('.'), "{}: {:?}", rule.words, rule.why);
    }
}

/// Each experiment gives the connections under study what the subject uses, and no other traffic.
#[test]
fn the_controls_of_a_card_take_the_place_of_those_of_the_files() {
    let mine = Contestant::connection("rfc/prague", "profile = 'rfc'\ncongestion = 'prague'".parse().unwrap());
    let contestants = rfc9743::GUIDE.with_references(vec![mine]).unwrap();
    for planned in experiments(&rfc9743::GUIDE, &contestants).unwrap() {
        for scale in [Scale::Quick, Scale::Full] {
            let overrides = Overrides { scale, ..Overrides::default() };
            let experiment = planned
                .experiment(&overrides, &Catalogues::default())
                .unwrap_or_else(|e| panic!("{}: {e}", planned.id));
            let axis = experiment.axes.iter().find(|axis| axis.name == "control").unwrap();
            assert_eq!(axis.labels, ["rfc/prague", "newreno", "cubic", "bbr3"], "{}", planned.id);
            assert!(experiment.source.starts_with("RFC 9743 section"), "{}", planned.id);
        }
        let file: Table = planned.text.parse().unwrap();
        let first = file["sweep"]["control"].as_array().unwrap()[0].as_table().unwrap();
        let keys: Vec<&String> = first.keys().filter(|key| *key != "label").collect();
        assert!(!keys.is_empty() && keys.iter().all(|key| key.starts_with("traffic.own")), "{}: {keys:?}", planned.id);
        assert!(keys.iter().all(|key| first[*key]["congestion"].as_str() == Some("prague")), "{}", planned.id);
    }
}

/// Each experiment accepts the disciplines of a card at both scales; all disciplines get its queue limit, and mark if
/// they can.
#[test]
fn the_disciplines_of_a_card_take_the_place_of_those_of_the_files() {
    let subjects = vec![Contestant::named("red").unwrap(), Contestant::named("dualpi2").unwrap()];
    let contestants = rfc7928::GUIDE.with_references(subjects).unwrap();
    let plan = experiments(&rfc7928::GUIDE, &contestants).unwrap();
    assert_eq!(plan.iter().filter(|planned| planned.name.starts_with("parameters-")).count(), 3, "fifo has none");
    for planned in &plan {
        for scale in [Scale::Quick, Scale::Full] {
            let overrides = Overrides { scale, ..Overrides::default() };
            let experiment = planned
                .experiment(&overrides, &Catalogues::default())
                .unwrap_or_else(|e| panic!("{}: {e}", planned.id));
            let axis = experiment.axes.iter().find(|axis| axis.name == "aqm").unwrap();
            if !planned.name.starts_with("parameters-") {
                assert_eq!(axis.labels, ["red", "dualpi2", "fifo", "fq-codel"], "{}", planned.id);
            }
            assert!(experiment.source.starts_with("RFC 7928 section"), "{}", planned.id);
        }
    }
    let own = Contestant::new("red:limit=40", "red", &"limit = 40".parse().unwrap()).unwrap();
    let entry = own.entry(&Value::String("83p".to_owned()));
    assert_eq!((entry["limit"].as_integer(), entry["ecn"].as_bool()), (Some(40), Some(true)), "its own limit stays");
}

#[test]
fn numbers_are_halved_and_doubled_with_their_units() {
    let of = |name: &str| -> Vec<String> {
        let all = changes(&Contestant::named(name).unwrap());
        all.iter().map(|(parameter, what, value)| format!("{parameter} {what} {value}")).collect()
    };
    let pie = of("pie");
    assert!(pie.contains(&"target halved \"7.5ms\"".to_owned()), "{pie:?}");
    assert!(pie.contains(&"target doubled \"30ms\"".to_owned()), "{pie:?}");
    assert!(pie.iter().all(|change| !change.starts_with("limit")), "{pie:?}");
    assert!(of("fifo").is_empty());
    let mine: Table = "name = 'custom'\nid = '0a'\nlabel = 'Mine'".parse().unwrap();
    assert!(changes(&Contestant::custom(mine)).is_empty(), "its parameters are not known");
}

#[test]
fn bounds_are_inclusive_and_say_what_they_are() {
    let cases = [
        (Bound::AtLeast(90.0), 90.0, None, Some(true)),
        (Bound::AtLeast(90.0), 89.9, None, Some(false)),
        (Bound::AtMost(1.25), 1.25, None, Some(true)),
        (Bound::OfReference(0.5), 40.0, Some(80.0), Some(true)),
        (Bound::OfReference(0.5), 41.0, Some(80.0), Some(false)),
        (Bound::OfReference(0.5), 41.0, None, None),
        (Bound::AtLeastOfReference(0.8), 80.0, Some(100.0), Some(true)),
    ];
    for (bound, value, fifo, wanted) in cases {
        assert_eq!(bound.margin(value, fifo).map(|margin| margin >= 0.0), wanted, "{bound:?} {value}");
    }
    assert_eq!(Bound::AtMost(10.0).words("ms", "fifo"), "at most 10 ms");
    assert_eq!(Bound::OfReference(0.5).words("ms", "fifo"), "at most half of fifo's");
    assert_eq!(Bound::AtLeastOfReference(0.8).words("%", "fifo"), "at least 0.8 times fifo's");
}
