//! Disciplines inside the kernel: the verified programs against the same laws compiled natively, and traffic through an installed one in network namespaces.
//!
//! Where the process or the kernel cannot, each test says so and passes.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test, which says what it skipped")]

use std::net::UdpSocket;

use aqmkit_aqm::registry::{Link, Parameters, Spec};
use aqmkit_base::{BitRate, Bytes, FlowKind, Rng};
use aqmkit_kernel::{SETTINGS_BEFORE, classifier, event, settings};
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::law::{Arrival, DRAWS, Law, Program, Surroundings};
use aqmkit_live::kernel::replay::Replay;
use aqmkit_live::kernel::{Place, Wanted, install, installed, remove};
use aqmkit_packets::wire::Classes;
use serde_json::{Value, json};

mod installed;
mod pair;
mod traced;

/// Decisions of each replay.
const DECISIONS: u32 = 12_000;

fn link() -> Link {
    let classes = ["tcp", "udp", "other"].map(str::to_owned).to_vec();
    Link { mean_packet: Bytes(1000), classes, ..Link::new(BitRate::from_mbps(10)) }
}

fn spec(name: &str, table: &Value) -> Spec {
    Spec::read(name, table.clone()).unwrap()
}

/// Why nothing can be tried here, if so. A program that the kernel refuses is no reason.
fn cannot() -> Option<String> {
    let why = aqmkit_live::kernel::examine::lacking()?;
    eprintln!("skipped: {why}");
    Some(why)
}

/// Arrivals with queues and flows as they come in bursts.
fn arrivals() -> Vec<Arrival> {
    let mut rng = Rng::stream(1, "arrivals");
    let (mut now, mut waiting, mut flows) = (1_000_000_000_u64, 0_u64, 10);
    let one = |_| {
        let gap = [0, 100_000, 400_000, 800_000, 900_000][rng.below(5) as usize] + rng.below(100_000);
        let gap = if rng.chance(0.0005) { gap + rng.below(4_000_000_000) } else { gap };
        now += gap;
        waiting = (waiting + 1).saturating_sub(gap / 350_000).min(300);
        flows = if rng.chance(0.001) { 1 + rng.below(100) } else { flows };
        let packets = if rng.chance(0.1) { 1 + rng.below(20) } else { 1 };
        Arrival {
            now,
            flow: 1 + rng.below(flows),
            bytes: packets * [100, 1000, 1514][rng.below(3) as usize],
            packets,
            waiting_packets: waiting,
            waiting_bytes: waiting * 1000,
            empty_since: 0,
            ecn_capable: rng.below(2),
            class: rng.below(3),
            leaves_at: 0,
            free_at: 0,
            draws: [(); DRAWS].map(|()| (rng.bits() >> 32) as u32),
        }
    };
    (0..DECISIONS).map(one).collect()
}

/// The law, compiled natively, on the same arrivals.
fn natively<L: Law>(config: &L::Config, spec: &Spec) -> Vec<u32> {
    let byte_time = aqmkit_kernel::number::factor("rate", 1e9 / link().rate.bytes_per_sec()).unwrap();
    let flow_kind = u64::from(spec.flow() != FlowKind::Connection);
    let around = Surroundings { version: 1, byte_time, flow_kind };
    let mut program = Box::new(Program::<L>::default());
    let decide = |arrival: Arrival| {
        program.arrival = arrival;
        program.on_arrival(&around, config).code()
    };
    arrivals().into_iter().map(decide).collect()
}

/// Holds the verified program to the law: every decision is the same.
fn hold<L: Law>(name: &str, table: &Value, config: impl Fn(&Parameters) -> L::Config) {
    let spec = spec(name, table).effective(&link()).unwrap();
    let replay = Replay::new(classifier(name).unwrap(), &settings(&spec, &link(), &[], 1).unwrap(), DECISIONS).unwrap();
    let events: Vec<_> = arrivals().iter().map(event).collect();
    let kernel = replay.run(&events).unwrap();
    let wanted = natively::<L>(&config(spec.parameters()), &spec);
    let different = wanted.iter().zip(&kernel.verdicts).filter(|(a, b)| a != b).count();
    let signals = wanted.iter().filter(|v| **v != 0).count();
    eprintln!("{name}: {signals} of {DECISIONS} dropped or marked, {} ns a decision", kernel.nanoseconds);
    assert_eq!(different, 0, "{name} {table}");
    assert!(signals > 50, "{name} {table}: {signals}");
    // A program with another constant decides otherwise.
    let mut words = settings(&spec, &link(), &[], 1).unwrap();
    words[SETTINGS_BEFORE] /= 8;
    let wrong = Replay::new(classifier(name).unwrap(), &words, DECISIONS).unwrap().run(&events).unwrap();
    assert_ne!(wrong.verdicts, kernel.verdicts, "{name}: a wrong limit is not noticed");
}

/// Holds the program of a discipline to its law with each of these tables of parameters.
macro_rules! hold {
    ($variant:ident, $module:ident, $($table:tt)*) => {
        for table in [$(json!($table)),*] {
            hold::<disciplines::$module::$variant>(stringify!($module), &table, |parameters| match parameters {
                Parameters::$variant(p) => aqmkit_kernel::$module::config(p, &link()).unwrap(),
                _ => panic!("not a {}", stringify!($module)),
            });
        }
    };
}

#[test]
fn the_verified_programs_decide_as_the_laws() {
    if cannot().is_some() {
        return;
    }
    hold!(Red, red, { "limit": 200 } { "limit": 200, "ecn": true, "adaptive": true, "min": 20, "max": 100 });
    hold!(Ared, ared, { "limit": 200, "ecn": true } { "limit": 200, "variant": "feng" });
    hold!(Pi, pi, { "limit": 200, "q_ref": 20, "a": 0.001, "b": 0.00095 });
    hold!(Rem, rem, { "limit": 200, "gamma": 0.01, "weight": 0.3 });
    hold!(Blue, blue, { "limit": 60, "d1": 0.02, "d2": 0.002, "freeze": "10ms" });
    hold!(Step, step, { "limit": 200, "threshold": 10 } { "limit": 200, "sojourn": "5ms" });
    hold!(Erd, erd, { "limit": 60 });
    hold!(Cbt, cbt, { "limit": 200, "classes": [
        { "class": "tcp", "min": 10, "max": 30, "max_p": 0.3, "weight": 0.05 }, { "class": "*", "max": 8, "weight": 0.1 }] });
    hold!(Rio, rio, { "limit": 200, "in": ["tcp"], "weight": 0.05 } { "limit": 200, "in": ["tcp"], "coupled": false });
    hold!(Wred, wred, { "limit": 200, "classes": [{ "class": "tcp", "max": 30 }, { "class": "*", "max": 20 }] });
    hold!(Fred, fred, { "limit": 200, "min": 10, "max": 40, "weight": 0.05 } { "limit": 60, "min": 5, "ecn": true });
    hold!(Sfb, sfb, { "limit": 200, "max": 6, "increment": 0.02 } { "limit": 200, "max": 12, "rehash": "1s", "db": "500ms" });
    hold!(Codel, codel, { "limit": 200, "interval": "20ms" } { "limit": 200, "ecn": true, "ce_threshold": "3ms" });
    hold!(Pie, pie, { "limit": 200, "target": "2ms", "alpha": 1.0, "beta": 2.0, "max_burst": "5ms" }
        { "limit": 200, "ecn": true, "target": "3ms", "derandomize": false, "alpha": 1.5 });
    hold!(Csfq, csfq, { "limit": 200, "threshold": 10 } { "limit": 200, "ecn": true, "threshold": 0, "k_c": "20ms", "flows": 16,
        "classes": [{ "class": "tcp", "weight": 3 }, { "class": "*", "weight": 0.7 }] });
    hold!(Sred, sred, { "limit": 100, "zombies": 50, "max_p": 0.5 });
    hold!(Afd, afd, { "limit": 200, "q_target": 10, "buffer": 100 });
    hold!(Dcn, dcn, { "limit": 200 } { "limit": 200, "ecn": true, "q_ref": 5, "counting": "bytes" });
}

/// What somebody has left of an installation is in nobody's way.
#[test]
fn a_shaper_without_its_program_is_taken_away() {
    if cannot().is_some() {
        return;
    }
    let spec = spec("red", &json!({}));
    let wanted = Wanted {
        spec,
        rate: BitRate::from_mbps(20),
        mean_packet: Bytes(1500),
        classes: Classes::default(),
        place: Place::Classifier,
    };
    let pair = pair::Pair::new().unwrap();
    let left = || {
        pair::run("tc qdisc add dev veth0 root handle a7d0: tbf rate 1mbit burst 5000 limit 100000")?;
        pair::run("tc qdisc add dev veth0 clsact")
    };
    let done = pair.sender.inside(|| {
        left()?;
        remove("veth0").map_err(std::io::Error::other)?;
        let nothing = remove("veth0").unwrap_err().to_string();
        left()?;
        let rate = install("veth0", &wanted).and_then(|i| i.wanted()).map_err(std::io::Error::other)?.rate;
        remove("veth0").map_err(std::io::Error::other)?;
        Ok((nothing, rate))
    });
    let (nothing, rate) = done.unwrap();
    assert!(nothing.contains("has no discipline") && rate == wanted.rate, "{nothing} {rate}");
}

/// A TUN device has no link layer: the IP header is the first there is.
#[test]
fn flows_are_told_apart_without_a_link_layer() {
    if cannot().is_some() {
        return;
    }
    let spec = spec("dcn", &json!({}));
    let wanted = Wanted {
        spec,
        rate: BitRate::from_mbps(20),
        mean_packet: Bytes(1500),
        classes: Classes::default(),
        place: Place::Classifier,
    };
    let namespace = aqmkit_live::netns::Netns::create().unwrap();
    let counted = namespace.inside(|| {
        let _device = aqmkit_live::tun::Tun::create("tun0")?;
        pair::ip("addr add 10.9.8.1/24 dev tun0")?;
        pair::ip("link set tun0 up")?;
        install("tun0", &wanted).map_err(std::io::Error::other)?;
        for _ in 0..3 {
            let socket = UdpSocket::bind(("10.9.8.1", 0))?;
            for _ in 0..6 {
                // A dropped packet is told to a local sender.
                let _ = socket.send_to(&[0; 100], ("10.9.8.2", 9));
            }
        }
        installed("tun0").and_then(|i| i.statistics()).map_err(std::io::Error::other)
    });
    assert_eq!(counted.unwrap().gauges["flows"], 3.0);
}
