//! Disciplines that a program adds to the catalogue: the same code behaves the same, built in or added.

use crate::common::driver::{Op, Play};
use crate::common::{Log, Pkt, cx, link};
use aqmkit_aqm::registry::{self, ALL, Link, Spec};
use aqmkit_aqm::{Addition, AnyParams, Backlog, Catalogue, Cx, Dequeued, Discipline, Packet, ParamError, Qdisc, Stats};
use aqmkit_base::read::Value;
use aqmkit_base::{BitRate, ClassId, Ecn, FlowKey, FlowKind, Instant, Rng};
use serde::{Deserialize, Serialize};

/// A discipline of the registry under the name of another, as a crate outside would write it.
macro_rules! twin {
    ($twin:ident, $name:literal, $module:ident) => {
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(transparent)]
        struct $twin(aqmkit_aqm::disciplines::$module::Params);

        impl Discipline for $twin {
            const NAME: &'static str = $name;
            const THRESHOLDS: &'static [&'static str] = aqmkit_aqm::disciplines::$module::Params::THRESHOLDS;
            const TELLS_HOSTS: bool = aqmkit_aqm::disciplines::$module::Params::TELLS_HOSTS;
            const MARKS: bool = aqmkit_aqm::disciplines::$module::Params::MARKS;

            fn effective(&self, link: &Link) -> Result<Self, ParamError> {
                self.0.effective(link).map($twin)
            }

            fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
                self.0.build(link, now)
            }
        }
    };
}

twin!(TwinRed, "twin-red", red);
twin!(TwinCsfq, "twin-csfq", csfq);
twin!(TwinCodel, "twin-codel", codel);
twin!(TwinFqCodel, "twin-fq-codel", fq_codel);
twin!(TwinDrr, "twin-drr", drr);
twin!(TwinCake, "twin-cake", cake);
twin!(TwinPie, "twin-pie", pie);

const TWINS: [(&str, &str, &str); 5] = [
    ("red", "twin-red", r#"{"limit": 40, "min": 3, "max": 12, "ecn": true}"#),
    ("csfq", "twin-csfq", r#"{"limit": 40}"#),
    ("codel", "twin-codel", r#"{"limit": 40, "target": "1ms", "interval": "4ms", "ecn": true}"#),
    ("fq-codel", "twin-fq-codel", r#"{"limit": 40, "flow": "source", "ecn": true}"#),
    ("drr", "twin-drr", r#"{"limit": 40, "flow": "hosts"}"#),
];

fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    let twins = [
        Addition::of::<TwinRed>(1),
        Addition::of::<TwinCsfq>(1).tells_flows(),
        Addition::of::<TwinCodel>(1),
        Addition::of::<TwinFqCodel>(1).tells_flows(),
        Addition::of::<TwinDrr>(1).tells_flows(),
        Addition::of::<TwinCake>(1).tells_flows(),
    ];
    twins.into_iter().for_each(|twin| catalogue.add(twin).expect("its name is free"));
    catalogue
}

fn table(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn an_added_discipline_decides_as_the_same_code_does_in_the_registry() {
    let mut draw = Rng::stream(1, "operations");
    for (own, twin, json) in TWINS {
        let (own, twin) = (Spec::of_table(own, table(json)).unwrap(), catalogue().spec(twin, table(json)).unwrap());
        for seed in 0..20 {
            // No change of limits: that is for the discipline whose parameters they are.
            let mut any = |range: u64| draw.below(range) as u8;
            let ops: Vec<Op> = (0..400).map(|_| Op::from([any(250), any(256), any(256), any(256)])).collect();
            let play = |spec| Play { seed, ..Play::new(spec, link()) }.run(&ops);
            assert_eq!(play(&own), play(&twin), "{}", twin.name());
        }
    }
}

#[test]
fn a_name_means_one_discipline() {
    let mut catalogue = catalogue();
    assert_eq!(catalogue.names().count(), ALL.len() + 6);
    assert!(catalogue.has("red") && catalogue.has("twin_red") && !catalogue.has("twin") && !catalogue.has("custom"));
    assert_eq!(catalogue.add(Addition::of::<TwinRed>(2)).unwrap_err().got, "twin-red");
    assert_eq!(catalogue.add(Addition::of::<aqmkit_aqm::disciplines::red::Params>(1)).unwrap_err().got, "red");
    let unknown = catalogue.spec("twin-rad", table("{}")).unwrap_err().to_string();
    assert!(unknown.contains("did you mean twin-red"), "{unknown}");
    assert_eq!(Spec::of_table("twin-red", table("{}")).map_err(|e| e.to_string().contains("twin-red")), Err(true));
}

#[test]
fn its_parameters_are_read_checked_and_shown_as_any() {
    let catalogue = catalogue();
    let wrong = |name, json| catalogue.spec(name, table(json)).unwrap_err().of(name).to_string();
    assert!(wrong("twin-red", r#"{"mxa": 4}"#).starts_with("mxa is not a parameter of twin-red: did you mean max?"));
    assert!(wrong("twin-red", r#"{"flow": "source"}"#).contains("does not distinguish flows"));
    let spec = catalogue.spec("twin-fq-codel", table(r#"{"flow": "source", "flows": 8}"#)).unwrap();
    assert_eq!((spec.name(), spec.flow(), spec.version()), ("twin-fq-codel", FlowKind::Source, Some(1)));
    let shown = serde_json::to_value(spec.effective(&link()).unwrap()).unwrap();
    assert_eq!((&shown["flows"], &shown["flow"]), (&8.into(), &"source".into()));
    assert_eq!(spec, spec.with(table(r#"{"flows": 8, "flow": "source"}"#)).unwrap());
    assert_ne!(spec, spec.with(table(r#"{"flows": 9, "flow": "source"}"#)).unwrap());
    let bad = catalogue.spec("twin-red", table(r#"{"max_p": 2.0}"#)).unwrap();
    assert!(bad.effective(&link()).is_err() && bad.build::<Pkt>(&link(), Instant::ZERO).is_err());
    assert_eq!(Spec::named("red").unwrap().version(), None);
}

/// A packet with a label, as core routers see it.
#[derive(Clone, Debug, PartialEq)]
struct Labelled(f32);

impl Packet for Labelled {
    fn len(&self) -> u32 {
        1000
    }
    fn flow(&self) -> FlowKey {
        FlowKey(1)
    }
    fn class(&self) -> ClassId {
        ClassId(0)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn label(&self) -> f32 {
        self.0
    }
    fn set_label(&mut self, label: f32) {
        self.0 = label;
    }
    fn set_ce(&mut self) {}
}

#[test]
fn labels_that_an_added_discipline_writes_reach_the_packet() {
    let at = Link::new(BitRate::from_mbps(10));
    let labels = |spec: Spec| {
        let mut queue = spec.build::<Labelled>(&at, Instant::ZERO).unwrap();
        let (mut rng, mut sink) = (Rng::stream(1, "test"), aqmkit_aqm::Discard);
        let mut call = Cx { now: Instant::ZERO, rng: &mut rng, sink: &mut sink };
        (0..5).for_each(|_| queue.enqueue(Labelled(0.0), &mut call));
        call.now += aqmkit_base::Duration::from_millis(5);
        queue.enqueue(Labelled(0.0), &mut call);
        std::iter::from_fn(|| queue.dequeue(&mut call).packet()).map(|p| p.0).collect::<Vec<_>>()
    };
    let twin = labels(catalogue().spec("twin-csfq", table("{}")).unwrap());
    assert!(twin.iter().any(|&label| label > 0.0), "{twin:?}");
    assert_eq!(twin, labels(Spec::named("csfq").unwrap()));
}

/// A FIFO that marks what it sends by itself, and tells nobody.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Marker {}

struct Marking<P>(Box<dyn Qdisc<P>>);

impl Discipline for Marker {
    const NAME: &'static str = "marker";

    fn effective(&self, _link: &Link) -> Result<Self, ParamError> {
        Ok(self.clone())
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Marking(aqmkit_aqm::disciplines::fifo::Params::default().build(link, now)?)))
    }
}

impl<P: Packet> Qdisc<P> for Marking<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.0.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        match self.0.dequeue(cx) {
            Dequeued::Packet(mut packet) => {
                packet.set_ce();
                Dequeued::Packet(packet)
            }
            other => other,
        }
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }

    fn stats(&self) -> &Stats {
        self.0.stats()
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        self.0.reconfigure(params, link, cx)
    }
}

/// A mark that it writes into a ticket reaches the packet, if that can carry one.
#[test]
fn marks_that_an_added_discipline_makes_by_itself_reach_the_packet() {
    let mut catalogue = Catalogue::default();
    catalogue.add(Addition::of::<Marker>(1)).unwrap();
    let mut queue = catalogue.spec("marker", table("{}")).unwrap().build::<Pkt>(&link(), Instant::ZERO).unwrap();
    let (mut rng, mut log) = (Rng::stream(1, "test"), Log::default());
    let mut call = cx(Instant::ZERO, &mut rng, &mut log);
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        queue.enqueue(Pkt { ecn, ..Pkt::new(0, 1) }, &mut call);
    }
    let out: Vec<Ecn> = std::iter::from_fn(|| queue.dequeue(&mut call).packet()).map(|packet| packet.ecn).collect();
    assert_eq!(out, [Ecn::NotEct, Ecn::Ce, Ecn::Ce, Ecn::Ce]);
}

/// PIE's probability rises at its first update, after 15 ms, with nothing but a call of the timer.
#[test]
fn wakeups_reach_an_added_discipline() {
    let mut catalogue = Catalogue::default();
    catalogue.add(Addition::of::<TwinPie>(1)).unwrap();
    for spec in [Spec::named("pie").unwrap(), catalogue.spec("twin-pie", table("{}")).unwrap()] {
        let mut queue = spec.build::<Pkt>(&link(), Instant::ZERO).unwrap();
        let (mut rng, mut log) = (Rng::stream(1, "test"), Log::default());
        (0..100).for_each(|id| queue.enqueue(Pkt::new(id, 1), &mut cx(Instant::ZERO, &mut rng, &mut log)));
        let at = |ms| Instant::ZERO + aqmkit_base::Duration::from_millis(ms);
        assert!(queue.dequeue(&mut cx(at(10), &mut rng, &mut log)).packet().is_some());
        assert_eq!((queue.wakeup(), crate::common::gauge(&*queue, "p")), (Some(at(15)), 0.0), "{}", spec.name());
        queue.on_wakeup(&mut cx(at(15), &mut rng, &mut log));
        assert!(crate::common::gauge(&*queue, "p") > 0.0, "{}", spec.name());
        assert_eq!(queue.wakeup(), Some(at(30)));
    }
}

#[test]
fn a_queue_takes_the_parameters_of_its_own_discipline_only() {
    let spec = catalogue().spec("twin-red", table("{}")).unwrap();
    let mut queue = spec.build::<Pkt>(&link(), Instant::ZERO).unwrap();
    let (mut rng, mut log) = (Rng::stream(1, "test"), Log::default());
    let error = queue.reconfigure(&Spec::named("pie").unwrap(), &link(), &mut cx(Instant::ZERO, &mut rng, &mut log));
    assert_eq!(error.unwrap_err().got, "pie");
}

#[test]
fn thresholds_are_parameters_of_their_disciplines() {
    for entry in ALL {
        let spec = Spec::named(entry.name).unwrap();
        for threshold in spec.thresholds() {
            let page = registry::page(entry.name).unwrap();
            let mut rows = page.lines().filter(|line| line.starts_with('|'));
            let name = format!("`{threshold}`");
            assert!(rows.any(|row| row.contains(&name)), "{} has no parameter {threshold}", entry.name);
        }
    }
    assert_eq!(Spec::named("red").unwrap().thresholds(), ["min", "max"]);
    assert!(Spec::named("fifo").unwrap().thresholds().is_empty());
}

#[test]
fn an_added_discipline_tells_of_itself_what_the_same_code_does() {
    for (own, twin) in [("red", "twin-red"), ("csfq", "twin-csfq"), ("cake", "twin-cake")] {
        let (own, twin) = (Spec::named(own).unwrap(), catalogue().spec(twin, table("{}")).unwrap());
        assert_eq!(own.thresholds(), twin.thresholds());
        let tells = |spec: &Spec| (spec.tells_flows(), spec.tells_hosts(), spec.marks());
        assert_eq!(tells(&own), tells(&twin));
        assert_eq!(own.tells_hosts(), own.name() == "cake", "it shares the link among hosts");
    }
}
