use super::*;
use crate::unit::Unit;

/// The value of a formula, with arguments in TOML.
fn value(name: &str, args: &str, unit: &str) -> f64 {
    let table: toml::Table = args.parse().unwrap();
    let q = evaluate(name, &table).unwrap_or_else(|e| panic!("{e}"));
    Unit::named(unit).unwrap().express(q).unwrap()
}

#[track_caller]
fn near(got: f64, want: f64) {
    assert!((got - want).abs() <= want.abs() * 0.005, "{got} is not within 0.5 % of {want}");
}

#[test]
fn thresholds() {
    for (b, p, th) in [(575, 1507, 39.07), (150, 807, 19.04), (500, 1075, 47.63)] {
        let args = format!("bandwidth = '{b}kibps'\npacket = '{p}b'\nlatency = '100ms'");
        near(value("cbt-threshold", &args, "packets"), th);
    }
    near(value("cbt-threshold", "bandwidth = '185kibps'\npacket = '889b'\nlatency = '100ms'", "packets"), 21.3);
}

const RAMP: &str = "allocations = { tcp = '575kibps', mm = '150kibps', other = '500kibps' }\n";
const QUEUES: &str = "thresholds = { tcp = 39.071, mm = 19.033, other = 47.628 }\n\
                      packets = { tcp = '1507b', mm = '807b', other = '1075b' }\n";

#[test]
fn thresholds_give_back_what_they_were_made_of() {
    let with = |head: &str, tail: &str| format!("{head}{tail}");
    near(value("cbt-capacity", RAMP, "KB/s"), 1225.0);
    near(value("cbt-latency", &with(QUEUES, "capacity = '1225kibps'"), "ms"), 100.0);
    near(value("cbt-bandwidth", &with(QUEUES, "capacity = '1225kibps'\nclass = 'mm'"), "KB/s"), 150.0);
    near(value("cbt-share", &with(RAMP, "class = 'mm'"), "%"), 12.245);
    let one = "class = 'mm'\npacket = '807b'\ncapacity = '1225kibps'\n";
    near(value("cbt-latency-from", &with(RAMP, &with(one, "threshold = 19.033")), "ms"), 100.0);
    near(value("cbt-threshold-share", &with(RAMP, &with(one, "latency = '100ms'")), "packets"), 19.033);
    let from = "bandwidth = '150kibps'\npacket = '807b'\nother_bandwidth = '500kibps'\nother_packet = '1075b'\n\
                other_threshold = 47.628";
    near(value("cbt-threshold-from", from, "packets"), 19.033);
    let averages = "averages = { tcp = 39.071, mm = 19.033, other = 0 }\nlatency = '100ms'\ncapacity = '1225kibps'";
    near(value("cbt-latency-unused", &with(QUEUES, averages), "ms"), 59.184);
}

#[test]
fn table_4_7() {
    let inputs = "allocations = { tcp = '935kibps', mm = '140kibps', other = '150kibps' }\n\
                  loads = { tcp = '700kibps', mm = '160kibps', other = '1000kibps' }\n";
    let table = [
        (0, [935.0, 140.0, 150.0], [235.0, 0.0, 0.0]),
        (1, [700.0, 253.0, 272.0], [0.0, 93.0, 0.0]),
        (2, [700.0, 160.0, 365.0], [0.0, 0.0, 0.0]),
    ];
    for (iteration, bandwidths, excesses) in table {
        for (i, class) in ["tcp", "mm", "other"].into_iter().enumerate() {
            let args = format!("{inputs}class = '{class}'\niteration = {iteration}");
            near(value("cbt-reallocation", &args, "KB/s"), bandwidths[i]);
            near(value("cbt-excess", &args, "KB/s"), excesses[i]);
        }
    }
    near(value("cbt-reallocation", &format!("{inputs}class = 'other'"), "KB/s"), 365.0);
    near(value("cbt-excess", &format!("{inputs}iteration = 0"), "KB/s"), 235.0);
}

#[test]
fn table_4_8_and_borrowing() {
    let busy = format!("{RAMP}loads = {{ tcp = '1600kibps', mm = '340kibps', other = '0kibps' }}\n");
    near(value("cbt-reallocation", &format!("{busy}class = 'tcp'"), "KB/s"), 972.0);
    near(value("cbt-reallocation", &format!("{busy}class = 'mm'"), "KB/s"), 253.0);
    near(value("cbt-borrowed", &format!("{busy}class = 'mm'"), "KB/s"), 103.4);
    near(value("cbt-excess-share", &format!("{busy}class = 'mm'"), "%"), 20.69);
    let alone = format!("{RAMP}loads = {{ tcp = '1600kibps', mm = '0kibps', other = '0kibps' }}\n");
    near(value("cbt-reallocation", &format!("{alone}class = 'tcp'"), "KB/s"), 1225.0);
    let shares = "occupancies = { i = '1000b', j = '2000b', k = '7000b' }\nclass = 'i'\n";
    near(value("cbt-occupancy-share", shares, "%"), 10.0);
    near(value("cbt-occupancy-share", &format!("{shares}idle = ['k']"), "%"), 33.33);
    near(value("cbt-predicted-latency", "threshold = 19.04\npacket = '807b'\nbandwidth = '253kbps'", "ms"), 61.0);
}

#[test]
fn red_and_fred() {
    near(value("red-base-probability", "average = 20\nmin = 5\nmax = 35\nmax_p = 0.1", "ratio"), 0.05);
    near(value("red-base-probability", "average = 52.5\nmin = 5\nmax = 35\nmax_p = 0.1\ngentle = true", "ratio"), 0.55);
    near(value("red-probability", "average = 20\nmin = 5\nmax = 35\nmax_p = 0.1\ncount = 10", "ratio"), 0.1);
    near(value("red-guaranteed-gap", "max_p = 0.1", "packets"), 9.0);
    near(value("red-burst-average", "burst = 158\nweight = 0.00390625", "packets"), 40.39);
    near(value("red-burst", "average = 40.39\nweight = 0.00390625", "packets"), 158.0);
    near(value("ewma", "start = 0\nsample = 3\nweight = 0.0625\nsamples = 100", "packets"), 2.995);
    near(value("ewma-sample-weight", "weight = 0.25", "%"), 25.0);
    near(value("fred-fair-share", "average = 40\nactive = 8", "packets"), 5.0);
    let flow = "average = 20\nactive = 10\nmin = 5\nmax = 40\n";
    assert_eq!(value("fred-forced", &format!("{flow}queued = 5\nstrikes = 0"), "ratio"), 1.0);
    assert_eq!(value("fred-forced", &format!("{flow}queued = 2\nstrikes = 1"), "ratio"), 0.0);
    assert_eq!(value("fred-forced", &format!("{flow}queued = 2\nstrikes = 2"), "ratio"), 1.0);
    assert_eq!(value("fred-early", &format!("{flow}queued = 2\nminq = 2"), "ratio"), 1.0);
    assert_eq!(value("fred-early", &format!("{flow}queued = 2\nminq = 4"), "ratio"), 0.0);
}

#[test]
fn tables_a_6_and_a_7() {
    let gop = "gop = 'IBBPBB'\n";
    let args = "gop = 'IBBPBB'\npackets = { I = 6, P = 2, B = 1 }\n";
    for (frame, lost, share, expected) in [("I", 8.0, 50.0, 4.0), ("B", 1.0, 33.33, 0.333), ("P", 5.0, 16.67, 0.833)] {
        let of = format!("{args}frame = '{frame}'");
        near(value("mpeg-effective-loss", &format!("{gop}frame = '{frame}'"), "frames"), lost);
        near(value("mpeg-loss-probability", &of, "%"), share);
        near(value("mpeg-expected-loss", &of, "frames"), expected);
    }
    near(value("mpeg-gop-packets", args, "packets"), 12.0);
    near(value("mpeg-expected-loss", args, "frames"), 5.166);
    near(value("mpeg-loss-rate", args, "%"), 43.0);
    near(value("mpeg-loss-rate", &format!("{args}per = 'frames'"), "%"), 86.1);
    near(value("mpeg-loss-ratio", &format!("{args}frame = 'I'\nother = 'B'"), "ratio"), 1.5);
    near(value("mpeg-loss-amplification", &format!("{args}frame = 'I'"), "ratio"), 6.0);
    near(value("mpeg-gop-time", &format!("{gop}frames_per_s = 30\ngops = 5000"), "s"), 1000.0);
    near(value("mpeg-frame-packets", "packets = 1.69", "packets"), 2.0);
    let sizes = "sizes = { I = '6916b', P = '1646b', B = '241b' }\nframes = { I = 2, P = 2, B = 8 }";
    near(value("mpeg-bytes", sizes, "bytes"), 19_052.0);
}

#[test]
fn links_and_loads() {
    near(value("queue-latency", "queue = 60\npacket = '1400b'\nrate = '10mbit'", "ms"), 67.2);
    near(value("window-rate", "window = '16kb'\nrtt = '126ms'", "Mb/s"), 1.04);
    near(value("flows-to-fill", "rate = '10mbit'\nrtt = '220ms'\nwindow = '16kb'", "ratio"), 16.78);
    near(value("browsers-to-load", "browsers = 3000\nslope = '2.9546kbit'\nless = '53.596kbit'", "Mb/s"), 8.81);
    near(value("mean-time", "times = ['15ms', '0ms', '14ms', '60ms', '98ms', '30ms']", "ms"), 36.166_67);
    near(value("packet-load", "packets_per_s = 1270\npacket = '1kb'", "MB/s"), 1.3);
    near(value("transfer-time", "size = '5000b'\nrate = '40mbit'\nrtt = '7ms'", "ms"), 15.0);
    near(value("sampling-disparity", "fast = 40\nslow = 5\ntime = '1s'", "ratio"), 35.0);
}

#[test]
fn rates_of_tcp() {
    near(value("tcp-rate", "rtt = '40ms'\nloss = 0.01", "packets/s"), 306.2);
    near(value("tcp-rate-full", "rtt = '100ms'\nrto = '200ms'\nloss = 0.01", "packets/s"), 117.2);
    near(value("tcp-rate-full", "rtt = '100ms'\nrto = '200ms'\nloss = 0.02\nb = 2", "packets/s"), 56.13);
    // Equation 6 of RFC 9438 if losses are rare, Reno otherwise.
    near(value("cubic-rate", "rtt = '100ms'\nloss = 0.0002", "packets/s"), 1114.0);
    near(value("cubic-rate", "rtt = '100ms'\nloss = 0.01", "packets/s"), 122.5);
    near(value("relentless-rate", "rtt = '100ms'\nsignal = 0.02", "packets/s"), 500.0);
    // sqrt(2 / W) is 0.0877 for W = 260.4.
    near(
        value("dctcp-step-share", "rate = '100mbit'\nrtt = '20ms'\npacket = '1040b'\nthreshold = 20", "ratio"),
        0.0884,
    );
    near(value("aimd-constant", "increase = 1\ndecrease = 0.5", "ratio"), 1.22);
    near(value("aimd-constant", "increase = 1\ndecrease = 0.7", "ratio"), 1.68);
    near(value("cubic-constant", "c = 0.4\ndecrease = 0.8", "ratio"), 1.17);
    near(value("cubic-switch", "reno = 1.68\ncubic = 1.17", "ratio"), 3.464);
    near(value("coupling-factor", "constant = 1.63\nbase = '7ms'\nqueue = '28ms'", "ratio"), 8.15);
    near(value("coupling-shift", "constant = 1.63\nbase = '7ms'\nqueue = '28ms'", "ratio"), 3.0);
    near(value("coupling-shift", "constant = 1.19", "ratio"), 0.0);
    near(value("coupled-probability", "p = 0.4\nk = 1", "ratio"), 0.04);
    near(value("coupled-probability", "p = 0.4", "ratio"), 0.0025);
    near(value("dctcp-rate", "rtt = '10ms'\nmarking = 0.1\nstep = true", "packets/s"), 20_000.0);
    near(value("dcn-drop-probability", "reference = 3\ncount = 4", "ratio"), 0.25);
    near(value("dcn-decrement", "reference = 3\ncount = 4", "ratio"), 1.0);
    // The queue jumped from its target to 6 above it: down by 2 * 6; as printed, up by 1 * 6.
    let jump = "reference = 10\na = 1\nb = 2\nqueue = 30\nqueue_before = 24\ntarget = 24";
    near(value("dcn-reference", jump, "ratio"), -2.0);
    near(value("dcn-reference", &format!("{jump}\nas_printed = true"), "ratio"), 16.0);
}

#[test]
fn red_pd() {
    let common = "rtt = '40ms'\nloss = 0.01\nk = 3\nm = 5\n";
    near(value("redpd-interval", common, "s"), 0.195_96);
    near(value("redpd-cutdown", &format!("{common}gamma = 4\nalpha = 1.5"), "s"), 48.99);
    for (gamma, p, want) in [(1, 0.01, 0.412), (2, 0.01, 0.838), (4, 0.05, 0.995), (1, 0.1, 0.441)] {
        let args = format!("gamma = {gamma}\nloss = {p}\nk = 3\nm = 5");
        near(value("redpd-identification", &args, "ratio"), want);
    }
    let release = "probability = 0.75\ndecrement = 0.05\n";
    near(value("redpd-subtractive-rounds", release, "ratio"), 13.0);
    near(value("redpd-multiplicative-rounds", &format!("{release}minimum = 0.005"), "ratio"), 5.0);
    near(value("redpd-release", &format!("{common}{release}minimum = 0.005\nlists = 3"), "s"), 10.58);
}

#[test]
fn what_is_wrong_is_named() {
    let error = |name: &str, args: &str| evaluate(name, &args.parse().unwrap()).unwrap_err().to_string();
    assert_eq!(error("cbt-treshold", ""), "there is no formula \"cbt-treshold\"; did you mean \"cbt-threshold\"?");
    assert!(error("red-guaranteed-gap", "").contains("missing field `max_p`"));
    assert!(error("red-guaranteed-gap", "max_p = 0.1\nx = 1").contains("unknown field `x`"));
    assert!(error("red-guaranteed-gap", "max_p = 0").contains("above 0"));
    assert!(error("red-guaranteed-gap", "max_p = 'much'").contains("max_p: invalid type"));
    assert!(error("cbt-share", "allocations = { a = 5 }\nclass = 'a'").contains("a rate needs a unit"));
    assert!(error("cbt-share", "allocations = { a = '5kbit' }\nclass = 'b'").contains("has no class \"b\"; it has a"));
    assert!(error("mpeg-effective-loss", "gop = 'BBI'\nframe = 'I'").contains("must begin with its only I"));
    assert!(error("rate-share", "part = '1mbit'\nwhole = '0mbit'").contains("division by zero"));
}

#[test]
fn every_formula_is_in_the_page_and_the_page_names_no_other() {
    let page: Vec<&str> = include_str!("lib.rs").lines().filter_map(|l| l.strip_prefix("//! | `")).collect();
    let named: Vec<&str> = page.iter().filter_map(|l| l.split('`').next()).collect();
    let known: Vec<&str> = all().iter().map(|e| e.name).collect();
    assert_eq!(named, known);
}

#[test]
fn every_argument_is_in_the_page() {
    let source = include_str!("lib.rs");
    for entry in all() {
        let row = source.lines().find(|l| l.starts_with(&format!("//! | `{}`", entry.name))).unwrap();
        for arg in entry.args {
            assert!(row.contains(arg), "{}: the page does not name {arg}", entry.name);
        }
    }
}
