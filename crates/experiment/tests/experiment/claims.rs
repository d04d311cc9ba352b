//! Contradictory claims, figures and times, with their messages; defaults of omitted keys.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use super::{SMALL, parse};

/// The claim of the example, with these lines instead of its metric.
fn claim(lines: &str) -> String {
    SMALL.replace("metric = \"goodput_bps\"", lines)
}

fn message(text: &str) -> String {
    parse(text).map(|_| String::new()).unwrap_or_else(|e| e.in_one_line())
}

#[test]
fn claims_that_contradict_themselves_are_refused() {
    for (lines, said) in [
        ("metric = \"goodput_bps\"", ""),
        ("metric = \"goodput_bps\"\nalong = \"aqm\"", "along needs an order"),
        ("metric = \"goodput_bps\"\nargs = { a = 1 }", "args needs a formula"),
        ("metric = \"goodput_bps + offered_bps\"\nseconds = \"max\"", "seconds cannot be combined with a sum or ratio"),
        ("metric = \"goodput_bps / offered_bps\"\nseconds = \"max\"", "seconds cannot be combined with a sum or ratio"),
        ("metric = \"goodput_bps / offered_bps\"", ""),
        ("metric = \"goodput_bps / offered_bps / goodput_bps\"", "a ratio has one division"),
        ("metric = \"latency_ms\"", "latency_ms is not a single number; choose one of its parts: "),
        ("metric = \"drops\"", "drops is not a single number; choose one of its parts"),
        ("metric = \"latency\"", "there is no quantity latency"),
        ("seconds = \"max\"", "metric or formula is required"),
        ("metric = \"goodput_bps\"\nagainst = \"fifo\"", "against must be a table of labels"),
    ] {
        let found = message(&claim(lines));
        assert!(if said.is_empty() { found.is_empty() } else { found.contains(said) }, "{lines}: {found}");
    }
    assert!(!message(&claim("metric = \"drops\"")).contains("parts:"), "its parts are reasons that occur");
    let gauge = |metric: &str, more: &str| {
        message(
            &claim(&format!("metric = \"{metric}\"{more}"))
                .replace("class = \"tcp\" }\nmetric", "link = \"bottleneck\" }\nmetric"),
        )
    };
    assert_eq!(gauge("aqm.avg", "\nseconds = \"max\""), "");
    assert!(gauge("aqm.avg", "").contains("aqm.avg is a gauge, which exists only in the time series"));
    for metric in ["aqm.", "aqm.avg + aqm.p", "aqm.avg / aqm.p"] {
        assert!(gauge(metric, "\nseconds = \"max\"").contains("this is not a single gauge"), "{metric}");
    }
    let named = "where = { aqm = \"red\", mix = \"both\", window = \"blast\", class = \"tcp\" }";
    assert!(message(&SMALL.replace(named, "where = \"red\"")).contains("where is not a table; write where = "));
    let line = "[[predict]]\nquantity = \"classes.tcp.latency_ms.mean\"\nlabel = \"x\"\nformula = \"queue-latency\"\npoints = [{ t = \"0s\" }]\nwhere = 3\nargs = { packet = \"1000b\", rate = \"8mbit\", queue = 5 }\n";
    assert!(message(&format!("{SMALL}{line}")).contains("where is not a table; write where = "));
    assert!(message(&SMALL.replace("[[expect]]", "[expect]")).contains("expect is not a list of tables"));
    let (before, _) = SMALL.split_once("[[expect]]").unwrap();
    assert!(message(&format!("expect = [3]\n{before}")).contains("expect is not a list of tables"));
}

/// A claim about exchanges without a range of sizes or times includes all of them.
#[test]
fn ranges_that_are_left_out_are_whole() {
    let of = |exchanges: &str| {
        let lines = format!("exchanges = {{ {exchanges} }}\nmetric = \"count\"");
        let text = claim(&lines).replace("class = \"tcp\" }\nexchanges", "app = \"bulk\" }\nexchanges");
        parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).expects[0].exchanges.unwrap()
    };
    let sized = of("size = [\"1b\", \"3kb\"]");
    assert_eq!((sized.size, sized.time_ms), ((1.0, 3072.0), (0.0, f64::INFINITY)));
    let timed = of("time = [\"100ms\", \"2s\"]");
    assert_eq!((timed.size, timed.time_ms), ((0.0, f64::INFINITY), (100.0, 2000.0)));
    let empty = |range: &str| {
        message(
            &claim(&format!("exchanges = {{ {range} }}\nmetric = \"count\""))
                .replace("class = \"tcp\" }\nexchanges", "app = \"bulk\" }\nexchanges"),
        )
    };
    assert!(empty("size = [\"3kb\", \"3kb\"]").contains("the size range is empty"));
    assert!(empty("time = [\"2s\", \"1s\"]").contains("the time range is empty"));
}

/// The line that a problem points to.
fn line(text: &str) -> (String, String) {
    let problem = parse(text).expect_err(text);
    let at = problem.location().expect("it has a place").line;
    (problem.in_one_line(), text.lines().nth(at - 1).unwrap().to_owned())
}

#[test]
fn times_that_cannot_be_are_shown_where_they_are() {
    let with = |lines: &str| SMALL.replace("duration = \"20s\"", lines);
    for (lines, said, place) in [
        ("duration = \"0s\"", "duration is zero", "duration = \"0s\""),
        ("duration = \"20s\"\ninterval = \"0s\"", "interval is zero", "interval = \"0s\""),
        ("duration = \"20s\"\ninterval = \"1us\"", "exceeds", "interval = \"1us\""),
        ("duration = \"90000000s\"", "exceeds", "duration = \"90000000s\""),
    ] {
        let (found, at) = line(&with(lines));
        assert!(found.contains(said) && at == place, "{lines}: {found} at {at}");
    }
    let (found, at) = line(&SMALL.replace("use = [\"bulk\"]", "use = []"));
    assert!(found.contains("nothing sends") && at == "use = []", "{found} at {at}");
    let (twice, place) = line(&SMALL.replace("use = [\"bulk\"]", "use = [\"bulk\", \"bulk\"]"));
    assert!(
        twice.contains("traffic bulk is used twice; name it once") && place.starts_with("use = "),
        "{twice} at {place}"
    );
}

#[test]
fn a_curve_is_of_one_quantity() {
    let figure = |metric: &str| {
        let text = "title = \"x\"\nduration = \"5s\"\n[topology]\nrate = \"10mbit\"\n[sweep]\n\"topology.loss\" = [0.01, 0.04]\n[[traffic]]\nkind = \"bulk\"\n";
        message(&format!(
            "{text}[[figure]]\ntitle = \"x\"\nkind = \"curve\"\nmetric = \"{metric}\"\nalong = \"topology.loss\"\n"
        ))
    };
    let goodput = "classes.bulk.goodput_bps";
    assert_eq!(figure(goodput), "");
    for composed in [format!("{goodput} + {goodput}"), format!("{goodput} / {goodput}")] {
        assert!(figure(&composed).contains("a curve shows a single quantity"), "{composed}");
    }
}
