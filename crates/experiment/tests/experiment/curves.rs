//! Figures of a metric with theoretical laws, and impairments at even distances.

use aqmkit_results::FigureKind;
use aqmkit_sim::scenario::Loss;

use super::{parse, rendered};

const LAW: &str = r#"
title = "Law"
duration = "20s"

[topology]
rate = "10mbit"
mark = { every = 50, burst = 2 }

[sweep]
"topology.loss" = [0.01, 0.04]

[[sweep.spacing]]
label = "random"

[[sweep.spacing]]
label = "even"
"topology.even" = true

[[traffic]]
kind = "bulk"
flows = 1

[[figure]]
title = "Law"
kind = "curve"
metric = "classes.bulk.goodput_bps"
along = "topology.loss"
where = { spacing = "even" }

[[figure.law]]
label = "Mathis et al. 1997"
formula = "tcp-rate"
args = { rtt = "100ms" }
argument = "loss"
packet = "1000b"
"#;

#[test]
fn a_law_is_computed_at_every_label() {
    let exp = parse(LAW).unwrap();
    let figure = &exp.figures[0];
    let curve = figure.curve.as_ref().unwrap();
    assert_eq!((figure.kind, curve.along.as_str()), (FigureKind::Curve, "topology.loss"));
    assert_eq!(figure.selector["spacing"], ["even"]);
    let [(one, many), (four, few)] = &curve.laws[0].points[..] else { panic!("{curve:?}") };
    // sqrt(1.5) / (0.1 s * 0.1) packets of 8000 bits per second, and half of that with four times the losses.
    assert_eq!((one.as_str(), four.as_str()), ("0.01", "0.04"));
    assert!((many / 979_796.0 - 1.0).abs() < 1e-5 && (many / few - 2.0).abs() < 1e-9, "{many} {few}");
}

/// The law along delays in several units.
fn along_delays(delays: &str) -> String {
    LAW.replace("\"topology.loss\" = [0.01, 0.04]", &format!("\"topology.delays\" = {delays}"))
        .replace("along = \"topology.loss\"", "along = \"topology.delays\"")
        .replace("args = { rtt = \"100ms\" }", "args = { loss = 0.01 }")
        .replace("argument = \"loss\"", "argument = \"rtt\"")
}

#[test]
fn a_label_is_an_argument_with_its_unit() {
    let exp = parse(&along_delays("[\"5ms\", \"1s\"]")).unwrap();
    let [(short, fast), (long, slow)] = &exp.figures[0].curve.as_ref().unwrap().laws[0].points[..] else { panic!() };
    assert_eq!((short.as_str(), long.as_str()), ("5ms", "1s"));
    assert!((fast / slow - 200.0).abs() < 1e-6, "{fast} {slow}");
}

#[test]
fn an_axis_of_several_kinds_has_no_curve() {
    let text = along_delays("[\"5ms\", \"1s\"]").replace("spacing]]", "sizes]]").replace("spacing = ", "sizes = ");
    let text = text.replace("\"random\"", "\"5ms\"").replace("\"even\"", "\"2kb\"");
    let message = rendered(&parse(&text.replace("along = \"topology.delays\"", "along = \"sizes\"")).unwrap_err());
    assert!(message.contains("\"5ms\" and \"2kb\" of sizes have different dimensions"), "{message}");
    assert!(message.contains("of only rates, times or sizes"), "{message}");
}

/// A law is drawn in the unit of its metric; for a time, milliseconds.
#[test]
fn a_law_has_the_unit_of_its_metric() {
    let text = LAW
        .replace("\"topology.loss\" = [0.01, 0.04]", "\"traffic.bulk.flows\" = [5, 40]")
        .replace("along = \"topology.loss\"", "along = \"traffic.bulk.flows\"")
        .replace("classes.bulk.goodput_bps", "classes.bulk.latency_ms.mean")
        .replace("tcp-rate", "queue-latency")
        .replace("args = { rtt = \"100ms\" }", "args = { packet = \"1000b\", rate = \"8mbit\" }")
        .replace("argument = \"loss\"\npacket = \"1000b\"", "argument = \"queue\"");
    let exp = parse(&text).unwrap_or_else(|e| panic!("{}", rendered(&e)));
    // The transmission time of a packet is one millisecond.
    let wanted = [("5".to_owned(), 5.0), ("40".to_owned(), 40.0)];
    assert_eq!(exp.figures[0].curve.as_ref().unwrap().laws[0].points, wanted);
}

#[test]
fn even_losses_are_those_of_the_share() {
    let plan = parse(LAW).unwrap().plan();
    let loss = |spacing: &str, share: &str| {
        let run = plan.iter().find(|r| r.labels["spacing"] == spacing && r.labels["topology.loss"] == share).unwrap();
        let scenario = run.scenario().unwrap();
        assert_eq!(scenario.links[scenario.measured].wire.mark, Loss::Every { n: 50, burst: 2 });
        scenario.links[scenario.measured].wire.loss
    };
    assert_eq!(loss("even", "0.04"), Loss::Every { n: 25, burst: 1 });
    assert_eq!(loss("random", "0.04"), Loss::Random(0.04));
}

#[test]
fn wrong_curves_and_wires_are_told() {
    for (from, to, parts) in [
        ("metric = \"classes.bulk.goodput_bps\"\n", "", ["metric is missing", "classes.tcp.goodput_bps"]),
        (
            "along = \"topology.loss\"",
            "along = \"spacing\"",
            ["\"random\" of spacing is not a number", "numeric labels"],
        ),
        ("packet = \"1000b\"\n", "", ["gives a number per second, but", "packet = \"1000b\""]),
        ("argument = \"loss\"", "argument = \"lost\"", ["args of tcp-rate", "lost"]),
        (
            "along = \"topology.loss\"",
            "along = \"topology.loss\"\napp = \"bulk\"",
            ["app does not belong", "metric and along"],
        ),
        ("kind = \"curve\"\n", "kind = \"cdf\"\n", ["metric does not belong", "curve"]),
        ("burst = 2", "burst = 50", ["a burst of 50 is not possible in every 50 packets", "burst = 2"]),
        (
            "every = 50",
            "every = 0",
            ["a burst of 2 is not possible in every 0 packets", "burst must be less than every"],
        ),
    ] {
        assert!(LAW.contains(from));
        let message = rendered(&parse(&LAW.replacen(from, to, 1)).expect_err(to));
        assert!(parts.iter().all(|part| message.contains(part)), "{from} -> {to}:\n{message}");
    }
}
