//! Compares results with the default hosts, Linux 6, with known values.

use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_sim::output::Window;
use aqmkit_sim::{Control, run};
use clap::Parser as _;

use super::comparison;
use crate::args::{Cli, Command};

/// Runs a comparison of one discipline; returns its measured window.
fn measured(line: &str) -> Window {
    let cli = Cli::try_parse_from(format!("aqmkit compare {line}").split(' ')).unwrap();
    let Command::Compare(args) = cli.command else { panic!("not compare") };
    let catalogues = Catalogues::default();
    let file = comparison(&args).unwrap().experiment(&catalogues).unwrap();
    let experiment = Experiment::from_table("compare", &file, &Overrides::default(), &catalogues).unwrap();
    assert!(experiment.warnings.is_empty(), "{line}: {:?}", experiment.warnings);
    let spec = experiment.plan().into_iter().next().unwrap();
    let output = run(spec.scenario().unwrap(), &mut |_| Control::Continue).unwrap();
    output.windows.into_iter().next().unwrap()
}

fn delay(window: &Window, link: &str) -> [f64; 2] {
    window.links[link].queue_delay_ms.as_ref().map(|d| [d.mean, d.p99]).unwrap()
}

/// One CUBIC flow fills the 1000 packets of a FIFO, 60 ms at 200 Mbit/s. A loss then reduces its window to 0.7: with 20
/// ms of path delay, the queue falls to 0.7 * 80 - 20 = 36 ms. The mean of this sawtooth, first concave and then
/// convex, lies in between: 45 ms with the kernel's own TCP, with a p99 of 59. With a receive window of 1 MiB it was
/// 13.3 ms.
#[test]
fn one_flow_fills_the_buffer_of_a_cable_modem() {
    let window = measured("fifo --preset cable --bulk 1 --duration 30s --warmup 20s");
    let [mean, p99] = delay(&window, "down");
    assert!((40.0..51.0).contains(&mean) && (57.0..60.5).contains(&p99), "{mean} {p99}");
    assert!(window.links["down"].utilization > 0.99);
}

/// The same at 500 Mbit/s and 10 ms: the buffer holds 24 ms, and the queue falls to 0.7 * 34 - 10 = 13.8 ms.
#[test]
fn one_flow_fills_the_buffer_of_a_fibre() {
    let [mean, p99] = delay(&measured("fifo --preset fibre --bulk 1 --duration 20s"), "down");
    assert!((15.0..21.0).contains(&mean) && (22.0..24.5).contains(&p99), "{mean} {p99}");
    // CoDel's target is 5 ms over an interval of 100 ms; a single flow overshoots it once and is reduced to 0.7.
    let [fair, _] = delay(&measured("fq-codel --preset fibre --bulk 1 --duration 20s"), "down");
    assert!((1.5..5.0).contains(&fair), "{fair}");
}

/// With SACK and RACK, BBR keeps a link full in spite of losses; with hosts as in RFC 5681 it used 35 to 60 % of it.
#[test]
fn bbr_gets_the_hosts_that_it_wants() {
    for control in ["bbr", "bbr3", "cubic,bbr"] {
        let line = format!("fifo --rate 20mbit --rtt 40ms --bulk 2 --limit 66 --duration 20s --cc {control}");
        let used = measured(&line).links["bottleneck"].utilization;
        assert!(used > 0.95, "{control}: {used}");
    }
}

/// A flow sends at most its window per round trip. The send buffer and 0.66 of the receive buffer are both about 4.15
/// MB, which gives 664 Mbit/s of data at 50 ms, or 687 with headers. CUBIC grows slowly from the end of slow start to
/// that limit, but well beyond the rates of fixed windows: 503 Mbit/s with 3 MiB, 168 with 1 MiB.
#[test]
fn the_window_of_a_long_fat_path_is_that_of_linux() {
    let window = measured("fifo --rate 1gbit --rtt 50ms --bulk 1 --duration 20s --warmup 60s");
    let data = window.classes["tcp"].goodput_bps / 1e6;
    assert!((600.0..668.0).contains(&data), "{data}");
}

/// With a warm-up of a second, all flows have started by its end. When starts were spread over 10 s, seven of eight had
/// not, and only 12 % of the link was used.
#[test]
fn all_flows_have_started_when_the_warm_up_ends() {
    let line = "step --rate 1gbit --rtt 100us --bulk 4 --cc dctcp --ecn --duration 1s --warmup 1s";
    let window = measured(line);
    assert_eq!(window.flows.count, 4);
    assert!(window.links["bottleneck"].utilization > 0.95, "{}", window.links["bottleneck"].utilization);
}
