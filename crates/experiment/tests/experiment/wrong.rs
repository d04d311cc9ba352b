//! Wrong experiments: each error has one message with the line and a correction.

use std::fmt::Write as _;

use super::{SMALL, parse, rendered, with};

/// The mistake, a part of the small experiment, and its replacement.
const WRONG: &[(&str, &str, &str)] = &[
    ("not TOML", "[topology]", "[topology"),
    ("the same key twice", "delay = \"1ms\"", "delay = \"1ms\"\ndelay = \"2ms\""),
    ("a number that is too large", "repeat = 2", "repeat = 99999999999999999999"),
    ("an unknown key", "title = \"Small\"", "titel = \"Small\""),
    ("no title", "title = \"Small\"\n", ""),
    ("no duration", "duration = \"20s\"\n", ""),
    ("an unknown key of the topology", "delay = \"1ms\"", "dealy = \"1ms\""),
    ("a bare number for a rate", "rate = \"10mbit\"", "rate = 10"),
    ("a rate without a unit", "rate = \"10mbit\"", "rate = \"10\""),
    ("a time for a rate", "rate = \"10mbit\"", "rate = \"10ms\""),
    ("a negative rate", "rate = \"10mbit\"", "rate = \"-10mbit\""),
    ("a rate of zero", "rate = \"10mbit\"", "rate = \"0mbit\""),
    ("a rate beyond all", "rate = \"10mbit\"", "rate = \"1e30gbit\""),
    ("a rate beyond that of a link", "rate = \"10mbit\"", "rate = \"11tbit\""),
    ("a delay beyond all", "delay = \"1ms\"", "delay = \"1e20s\""),
    ("a delay beyond that of a link", "delay = \"1ms\"", "delay = \"61min\""),
    ("delays beyond those of a network", "[\"1ms\", \"2ms\"]", "[\"1ms\", \"2e6s\"]"),
    ("a duration beyond all", "duration = \"20s\"", "duration = \"1000000000000s\""),
    ("a plot of an unknown column", "repeat = 2", "repeat = 2\nplot = [\"links.bottleneck.throughput\"]"),
    ("a plot of an unknown link", "repeat = 2", "repeat = 2\nplot = [\"links.botleneck.aqm.avg\"]"),
    (
        "exchanges of traffic that has none",
        ", class = \"tcp\" }\nmetric = \"goodput_bps\"",
        ", app = \"blast\" }\nexchanges = { time = [\"0s\", \"2s\"] }\nmetric = \"count\"",
    ),
    ("a list for a rate", "rate = \"10mbit\"", "rate = [\"10mbit\"]"),
    ("a duration of zero", "duration = \"20s\"", "duration = \"0s\""),
    ("no repeat at all", "repeat = 2", "repeat = 0"),
    ("a negative repeat", "repeat = 2", "repeat = -1"),
    ("no servers", "servers = 2", "servers = 0"),
    ("servers without number", "servers = 2", "servers = 9999999999999"),
    ("an interval that is too short", "warmup = \"5s\"", "warmup = \"5s\"\ninterval = \"1ns\""),
    (
        "traffic without a way",
        "rate = \"10mbit\"\ndelay = \"1ms\"\nservers = 2\nclients = 2\ndelays = { matrix = [[\"1ms\", \"2ms\"], [\"3ms\", \"4ms\"]] }\n\n[params.red]\nlimit = 100\n\n[sweep]\naqm = [\"fifo\", { name = \"red\", min = 10, max = 30 }]\n\n[[sweep.mix]]\nlabel = \"bulk\"\nuse = [\"bulk\"]\n\n[[sweep.mix]]\nlabel = \"both\"\nuse = [\"bulk\", \"blast\"]\n\n[[traffic]]\nkind = \"bulk\"\n",
        "links = [{ name = \"a\", rate = \"1mbit\" }]\n[[traffic]]\nkind = \"bulk\"\npath = []\n",
    ),
    (
        "two links of one name",
        "rate = \"10mbit\"\ndelay = \"1ms\"\nservers = 2\nclients = 2\ndelays = { matrix = [[\"1ms\", \"2ms\"], [\"3ms\", \"4ms\"]] }\n\n[params.red]\nlimit = 100\n\n[sweep]\naqm = [\"fifo\", { name = \"red\", min = 10, max = 30 }]\n\n[[sweep.mix]]\nlabel = \"bulk\"\nuse = [\"bulk\"]\n\n[[sweep.mix]]\nlabel = \"both\"\nuse = [\"bulk\", \"blast\"]\n\n[[traffic]]\nkind = \"bulk\"\n",
        "links = [{ name = \"a\", rate = \"1mbit\" }, { name = \"a\", rate = \"2mbit\" }]\n[[traffic]]\nkind = \"bulk\"\npath = [\"a\"]\n",
    ),
    ("a way back in a dumbbell", "access = \"10mbit\"", "reverse = [\"bottleneck\"]"),
    ("a class twice", "repeat = 2", "repeat = 2\nclasses = [\"tcp\", \"udp\", \"tcp\"]"),
    (
        "a way that crosses a link twice",
        "rate = \"10mbit\"\ndelay = \"1ms\"\nservers = 2\nclients = 2\ndelays = { matrix = [[\"1ms\", \"2ms\"], [\"3ms\", \"4ms\"]] }\n\n[params.red]\nlimit = 100\n\n[sweep]\naqm = [\"fifo\", { name = \"red\", min = 10, max = 30 }]\n\n[[sweep.mix]]\nlabel = \"bulk\"\nuse = [\"bulk\"]\n\n[[sweep.mix]]\nlabel = \"both\"\nuse = [\"bulk\", \"blast\"]\n\n[[traffic]]\nkind = \"bulk\"\n",
        "links = [{ name = \"a\", rate = \"1mbit\" }]\n[[traffic]]\nkind = \"bulk\"\npath = [\"a\", \"a\"]\n",
    ),
    ("an unknown discipline", "\"fifo\"", "\"fifi\""),
    ("a discipline without a name", "name = \"red\", ", ""),
    ("an unknown parameter of a discipline", "min = 10", "minimum = 10"),
    ("what a flow is to a discipline that knows none", "min = 10", "flow = \"hosts\""),
    ("an unknown kind of flow", "name = \"red\", min = 10, max = 30", "name = \"fred\", flow = \"host\""),
    (
        "an unknown parameter beside what a flow is",
        "name = \"red\", min = 10, max = 30",
        "name = \"fred\", flo = \"hosts\"",
    ),
    ("an unknown parameter in params", "limit = 100", "limmit = 100"),
    ("parameters of an unknown discipline", "[params.red]", "[params.rad]"),
    ("a parameter of the wrong type", "min = 10", "min = true"),
    ("a parameter that cannot be", "min = 10", "min = 50"),
    ("a parameter that cannot be, in params", "limit = 100", "max_p = 2.0"),
    (
        "a class of cbq that nobody sends",
        "name = \"red\", min = 10, max = 30",
        "name = \"cbq\", classes = [{ class = \"*\", share = 0.5 }, { class = \"voice\", share = 0.5 }]",
    ),
    (
        "a class of drr that nobody sends",
        "name = \"red\", min = 10, max = 30",
        "name = \"drr\", classes = [{ class = \"*\" }, { class = \"voice\", weight = 2.0 }]",
    ),
    (
        "a latency-critical class of drr that nobody sends",
        "name = \"red\", min = 10, max = 30",
        "name = \"drr\", latency_critical = [\"voice\"]",
    ),
    (
        "a class of cbt that nobody sends",
        "name = \"red\", min = 10, max = 30",
        "name = \"cbt\", classes = [{ class = \"*\", max = 30 }, { class = \"voice\", max = 30 }]",
    ),
    ("a class of rio that nobody sends", "name = \"red\", min = 10, max = 30", "name = \"rio\", in = [\"voice\"]"),
    ("an unknown kind of traffic", "kind = \"bulk\"", "kind = \"bulq\""),
    ("traffic without a kind", "kind = \"bulk\"\n", ""),
    ("an unknown key of traffic", "flows = 4", "flow = 4"),
    ("a wrong start of traffic", "start = \"5s\"", "start = 5"),
    ("a parameter of traffic that cannot be", "flows = 4", "flows = 1000001"),
    ("traffic that starts after the end", "start = \"5s\"", "start = \"20s\""),
    ("traffic that stops before it starts", "stop = \"15s\"", "stop = \"5s\""),
    ("two traffics of one name", "name = \"blast\"", "name = \"bulk\""),
    ("an unknown traffic in use", "use = [\"bulk\", \"blast\"]", "use = [\"bulk\", \"blsat\"]"),
    ("an unknown class", "repeat = 2", "repeat = 2\nclasses = [\"tcp\", \"others\"]"),
    ("an unknown profile", "[params.red]", "[transport]\nprofile = \"bsd4\"\n[params.red]"),
    ("an unknown field of a profile", "[params.red]", "[transport]\nmmss = \"1000b\"\n[params.red]"),
    ("a field of a profile that cannot be", "[params.red]", "[transport]\nmss = \"0b\"\n[params.red]"),
    ("a transport of the wrong type", "flows = 4", "flows = 4\ntransport = \"bsd44\""),
    ("a matrix with too few rows", "[[\"1ms\", \"2ms\"], [\"3ms\", \"4ms\"]]", "[[\"1ms\", \"2ms\"]]"),
    ("a matrix with too few columns", "[\"3ms\", \"4ms\"]", "[\"3ms\"]"),
    ("a bare number in a matrix", "\"4ms\"]", "4]"),
    (
        "a table of delays of another size",
        "delays = { matrix = [[\"1ms\", \"2ms\"], [\"3ms\", \"4ms\"]] }",
        "delays = \"parris-table-a1\"",
    ),
    (
        "an unknown table of delays",
        "delays = { matrix = [[\"1ms\", \"2ms\"], [\"3ms\", \"4ms\"]] }",
        "delays = \"paris-table-a1\"",
    ),
    ("an unknown form of delays", "{ matrix =", "{ matrx ="),
    ("a reversed range of delays", "delays = \"none\"", "delays = { uniform = [\"2ms\", \"1ms\"] }"),
    ("a path in a dumbbell", "access = \"10mbit\"", "path = [\"bottleneck\"]"),
    ("an empty axis", "aqm = [\"fifo\", { name = \"red\", min = 10, max = 30 }]", "aqm = []"),
    ("an axis that is no list", "aqm = [\"fifo\", { name = \"red\", min = 10, max = 30 }]", "aqm = \"fifo\""),
    ("an axis of no key", "[[sweep.mix]]\nlabel = \"bulk\"", "[[sweep.mix]]"),
    ("an unknown key in an axis", "use = [\"bulk\"]", "\"topology.rat\" = \"5mbit\""),
    ("an axis of an unknown key", "[sweep]", "[sweep]\n\"topolgy.rate\" = [\"1mbit\"]"),
    ("a key that cannot be swept", "[sweep]", "[sweep]\nseed = [1, 2]"),
    ("two values with one label", "label = \"both\"", "label = \"bulk\""),
    (
        "a wrong value in one combination",
        "use = [\"bulk\", \"blast\"]",
        "use = [\"bulk\", \"blast\"]\n\"params.red.limit\" = \"90kb\"",
    ),
    ("a window after the end", "\"15s\"]\ncalm", "\"25s\"]\ncalm"),
    ("a reversed window", "[\"6s\", \"15s\"]", "[\"15s\", \"6s\"]"),
    ("a window with one end", "[\"6s\", \"15s\"]", "[\"6s\"]"),
    ("a wrong change in quick", "warmup = \"1s\"", "warmpu = \"1s\""),
    ("a change in quick of what is not there", "warmup = \"1s\"", "\"traffic.balst.rate\" = \"1mbit\""),
    ("no such axis in where", "{ aqm = \"red\"", "{ aqn = \"red\""),
    ("no such label in where", "{ aqm = \"red\"", "{ aqm = [\"fifo\", \"rad\"]"),
    ("no such window in where", "window = \"blast\"", "window = \"balst\""),
    ("no such class in where", ", class = \"tcp\"", ", class = \"tpc\""),
    ("a class and a link in where", ", class = \"tcp\"", ", class = \"tcp\", link = \"bottleneck\""),
    ("no window in where", "window = \"blast\", ", ""),
    ("no such metric", "goodput_bps", "godput_bps"),
    ("a metric that is not one number", "goodput_bps", "queue_delay_ms"),
    (
        "a whole path to no class",
        "class = \"tcp\" }\nmetric = \"goodput_bps\"",
        "}\nmetric = \"classes.udp.goodput_bps\"",
    ),
    ("no metric", "metric = \"goodput_bps\"\n", ""),
    ("an ordering of unknown labels", "metric = \"goodput_bps\"", "metric = \"goodput_bps\"\norder = \"red > fifi\""),
    ("an ordering that runs upwards", "metric = \"goodput_bps\"", "metric = \"goodput_bps\"\norder = \"fifo < red\""),
    (
        "an ordering along no axis",
        "metric = \"goodput_bps\"",
        "metric = \"goodput_bps\"\nalong = \"mx\"\norder = \"a > b\"",
    ),
    (
        "an ordering of a label with itself",
        "metric = \"goodput_bps\"",
        "metric = \"goodput_bps\"\norder = \"red > red\"",
    ),
    ("a bound that is none", "metric = \"goodput_bps\"", "metric = \"goodput_bps\"\nevery = \"25\""),
    ("a basis that is none", "metric = \"goodput_bps\"", "metric = \"goodput_bps\"\nbasis = \"measured\""),
    ("an average without a reason", "metric = \"goodput_bps\"", "metric = \"goodput_bps\"\naverage = \"\""),
    ("a bound of ours without a reason", "metric = \"goodput_bps\"", "metric = \"goodput_bps\"\nours = \" \""),
    ("an average of a formula", "metric = \"goodput_bps\"", "formula = \"cbt-threshold\"\naverage = \"so\""),
    ("a null test without changes", "[quick]", "[null]\n[quick]"),
    ("a null test of a key that is no run's", "[quick]", "[null]\nrepeat = 3\n[quick]"),
    ("a wrong change in the null test", "[quick]", "[null]\n\"params.red.max_q\" = 0.0\n[quick]"),
    ("a statistic that is none", "metric = \"goodput_bps\"", "metric = \"goodput_bps\"\nseconds = \"median\""),
    (
        "a transport that loses data for who needs it all",
        "flows = 4",
        "flows = 4\nsize = \"1mb\"\ntransport = { congestion = \"tfrc\" }",
    ),
    ("a formula with a metric", "metric = \"goodput_bps\"", "metric = \"goodput_bps\"\nformula = \"cbt-threshold\""),
    ("an unknown form of a rate", "rate = \"10mbit\"", "rate = { tracce = \"a.down\" }"),
    ("steps without a time", "rate = \"10mbit\"", "rate = { steps = [{ rate = \"1mbit\", time = \"0s\" }] }"),
    ("a trace that is not there", "rate = \"10mbit\"", "rate = { trace = \"a.down\" }"),
    ("a loss above one", "delay = \"1ms\"", "delay = \"1ms\"\nloss = 1.5"),
    ("a loss that is no number", "delay = \"1ms\"", "delay = \"1ms\"\nloss = \"often\""),
    ("bursts of losses without their ends", "delay = \"1ms\"", "delay = \"1ms\"\nloss = { p = 0.01 }"),
    ("an unknown key of bursts", "delay = \"1ms\"", "delay = \"1ms\"\nloss = { p = 0.01, r = 0.2, q = 1 }"),
    ("a chance above one in bursts", "delay = \"1ms\"", "delay = \"1ms\"\nloss = { p = 0.01, r = 2.0 }"),
    ("a negative jitter", "delay = \"1ms\"", "delay = \"1ms\"\njitter = \"-1ms\""),
    ("a jitter without a unit", "delay = \"1ms\"", "delay = \"1ms\"\njitter = 1"),
    ("a link layer that is none", "delay = \"1ms\"", "delay = \"1ms\"\nlinklayer = \"amt\""),
    ("a framing that leaves nothing of a packet", "delay = \"1ms\"", "delay = \"1ms\"\noverhead = \"-2000b\""),
    ("a reordering without a delay", "delay = \"1ms\"", "delay = \"1ms\"\nreorder = { chance = 0.1 }"),
    ("a reordering for no time", "delay = \"1ms\"", "delay = \"1ms\"\nreorder = { chance = 0.1, delay = \"0ms\" }"),
    (
        "a reordering of more than all",
        "delay = \"1ms\"",
        "delay = \"1ms\"\nreorder = { chance = 1.1, delay = \"1ms\" }",
    ),
    ("a ring without descriptors", "delay = \"1ms\"", "delay = \"1ms\"\ndriver = { ring = 0 }"),
    ("a driver that is no table", "delay = \"1ms\"", "delay = \"1ms\"\ndriver = 256"),
    ("an unknown key of a driver", "delay = \"1ms\"", "delay = \"1ms\"\ndriver = { ring = 64, tx_usecs = 50 }"),
    ("an unknown bound of its limits", "delay = \"1ms\"", "delay = \"1ms\"\ndriver = { bql = { limit = \"3kb\" } }"),
    (
        "limits that contradict each other",
        "delay = \"1ms\"",
        "delay = \"1ms\"\ndriver = { bql = { limit_min = \"9kb\", limit_max = \"3kb\" } }",
    ),
    ("an interrupt that takes seconds", "delay = \"1ms\"", "delay = \"1ms\"\ndriver = { coalesce = \"2s\" }"),
    ("an unknown direction", "flows = 4", "flows = 4\ndirection = \"back\""),
    ("a direction without a link", "flows = 4", "flows = 4\ndirection = \"reverse\""),
    (
        "jitter in a topology of links",
        "rate = \"10mbit\"\ndelay = \"1ms\"",
        "jitter = \"1ms\"\nlinks = [{ name = \"a\", rate = \"1mbit\" }]",
    ),
    (
        "a direction in a topology of links",
        "rate = \"10mbit\"\ndelay = \"1ms\"\nservers = 2\nclients = 2\ndelays = { matrix = [[\"1ms\", \"2ms\"], [\"3ms\", \"4ms\"]] }\n\n[params.red]\nlimit = 100\n\n[sweep]\naqm = [\"fifo\", { name = \"red\", min = 10, max = 30 }]\n\n[[sweep.mix]]\nlabel = \"bulk\"\nuse = [\"bulk\"]\n\n[[sweep.mix]]\nlabel = \"both\"\nuse = [\"bulk\", \"blast\"]\n\n[[traffic]]\nkind = \"bulk\"\n",
        "links = [{ name = \"a\", rate = \"1mbit\" }]\n[[traffic]]\nkind = \"bulk\"\npath = [\"a\"]\ndirection = \"reverse\"\n",
    ),
    ("links and a dumbbell", "[params.red]", "[[topology.links]]\nname = \"a\"\nrate = \"1mbit\"\n[params.red]"),
];

/// The mistake, and the argument of `--set`.
const SETTINGS: &[(&str, &str)] = &[
    ("no value", "topology.rate"),
    ("no path", "=10mbit"),
    ("a value of the wrong unit", "topology.rate=10ms"),
    ("an interval that is too short", "interval=1ns"),
    ("an unknown key", "topology.rte=10mbit"),
    ("an unknown table", "topolgy.rate=10mbit"),
    ("an unknown traffic", "traffic.balst.rate=10mbit"),
    ("a parameter that one of the disciplines does not have", "topology.aqm.min=5"),
    ("an unknown label of an axis", "mix=bulc"),
    ("a key below what is no table", "topology.rate.x=1"),
];

/// Shortens long lists of known names to the first two, because they grow with the catalogue.
fn shortened(message: &str) -> String {
    let shorten = |line: &str| {
        let (before, names) = line.split_once("nown are ")?;
        let list: Vec<&str> = names.split(", ").collect();
        (list.len() > 3).then(|| format!("{before}nown are {}, {}, …", list[0], list[1]))
    };
    message.lines().map(|line| shorten(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

#[test]
fn messages() {
    let mut all = String::new();
    for (what, from, to) in WRONG {
        assert!(SMALL.contains(from), "{what}: {from:?} is not in the example");
        let problem = parse(&SMALL.replacen(from, to, 1)).expect_err(what);
        write!(all, "### {what}\n\n{}\n", shortened(&rendered(&problem))).unwrap();
        assert!(problem.location().is_some(), "{what} has no place");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn messages_about_settings() {
    let mut all = String::new();
    for (what, argument) in SETTINGS {
        let problem = with(SMALL, &[argument]).expect_err(what);
        write!(all, "### {what}\n\n{}\n", shortened(&rendered(&problem))).unwrap();
        assert_eq!(problem.location().map(|l| l.file).as_deref(), Some("--set"), "{what}");
    }
    insta::assert_snapshot!(all);
}

/// The small experiment with these axes; its first traffic is `bulk`.
fn swept(axes: &str) -> String {
    SMALL
        .replacen("[sweep]\naqm = [\"fifo\", { name = \"red\", min = 10, max = 30 }]\n", axes, 1)
        .replace("{ aqm = \"red\", ", "{ ")
}

#[test]
fn two_axes_that_change_one_key_are_refused() {
    for (axes, names, key) in [
        (
            "[sweep]\naqm = [\"fifo\", \"red\"]\n\"topology.aqm\" = [\"codel\", \"pie\"]\n",
            "aqm and topology.aqm",
            "topology.aqm",
        ),
        (
            "[sweep]\naqm = [\"fifo\", \"red\"]\n[[sweep.scheme]]\nlabel = \"A\"\n\"topology.aqm\" = \"codel\"\n",
            "aqm and scheme",
            "topology.aqm",
        ),
        (
            "[sweep]\n\"topology.rate\" = [\"5mbit\", \"9mbit\"]\n\"bottleneck.rate\" = [\"1mbit\", \"2mbit\"]\n",
            "topology.rate and bottleneck.rate",
            "topology.rate",
        ),
        (
            "[sweep]\n\"traffic.bulk.flows\" = [1, 2]\n\"traffic[0].flows\" = [30, 40]\n",
            "traffic.bulk.flows and traffic.0.flows",
            "traffic.0.flows",
        ),
        (
            "[sweep]\n\"topology.aqm.limit\" = [10, 20]\naqm = [\"fifo\", \"red\"]\n",
            "topology.aqm.limit and aqm",
            "topology.aqm.limit",
        ),
        (
            "[sweep]\n\"params.red.limit\" = [10, 20]\n[[sweep.scheme]]\nlabel = \"A\"\nparams = { red = { limit = 5 } }\n",
            "params.red.limit and scheme",
            "params.red.limit",
        ),
    ] {
        let message = rendered(&parse(&swept(axes)).expect_err(axes));
        assert!(message.contains(&format!("the axes {names} both change {key}\n")), "{axes}:\n{message}");
    }
}

#[test]
fn an_axis_may_change_a_part_of_what_one_before_it_has_put() {
    let text =
        swept("[sweep]\naqm = [\"fifo\", \"red\"]\n\"topology.aqm.limit\" = [50, 90]\n\"params.red.min\" = [5, 6]\n");
    assert_eq!(parse(&text).unwrap().plan().len(), 2 * 2 * 2 * 2 * 2);
}
