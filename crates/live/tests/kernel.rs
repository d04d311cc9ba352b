//! Disciplines inside the kernel: the verified programs against the same laws compiled natively, and traffic through one in network namespaces.
//!
//! Where the process or the kernel cannot, each test says so and passes.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test, which says what it skipped")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use aqmkit_aqm::registry::{Link, Parameters, Spec};
use aqmkit_base::{BitRate, Bytes, FlowKind, Rng};
use aqmkit_kernel::{SETTINGS_BEFORE, classifier, event, settings};
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::law::{Arrival, DRAWS, Law, Program, Surroundings};
use aqmkit_live::kernel::replay::Replay;
use aqmkit_live::kernel::{Wanted, install, installed, remove};
use aqmkit_packets::wire::Classes;
use serde_json::{Value, json};

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

/// Sends over TCP from one namespace to another for a while, through the discipline; gives what it counted.
fn carry(wanted: &Wanted) -> aqmkit_live::kernel::Statistics {
    let pair = pair::Pair::new().unwrap();
    pair.receiver
        .inside(|| {
            let listener = TcpListener::bind(("10.9.7.2", 5001))?;
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    std::thread::spawn(move || std::io::copy(&mut { stream }, &mut std::io::sink()));
                }
            });
            Ok(())
        })
        .unwrap();
    pair.sender
        .inside(|| {
            install("veth0", wanted).map_err(std::io::Error::other)?;
            let again = install("veth0", wanted).unwrap_err().to_string();
            assert!(again.contains("already has a discipline"), "{again}");
            let flows: Vec<_> = (0..6).map(|_| TcpStream::connect(("10.9.7.2", 5001)).unwrap()).collect();
            let until = std::thread::spawn(|| std::thread::sleep(Duration::from_millis(1500)));
            let stop = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                for mut flow in flows {
                    let stop = &stop;
                    scope.spawn(move || {
                        while !stop.load(std::sync::atomic::Ordering::Relaxed) && flow.write_all(&[0; 16_384]).is_ok() {
                        }
                        let _ = flow.shutdown(std::net::Shutdown::Write);
                        let _ = flow.read(&mut [0]);
                    });
                }
                until.join().unwrap();
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            let counted = installed("veth0").and_then(|i| i.statistics()).map_err(std::io::Error::other)?;
            let wait = counted.mean_wait(wanted.rate).unwrap().as_millis_f64();
            assert!((0.1..150.0).contains(&wait), "{wait} ms");
            let slower = Wanted { rate: BitRate::from_mbps(5), ..wanted.clone() };
            let mut found = installed("veth0").map_err(std::io::Error::other)?;
            found.change(&slower).map_err(std::io::Error::other)?;
            assert_eq!(installed("veth0").and_then(|i| i.wanted()).unwrap().rate, slower.rate);
            remove("veth0").map_err(std::io::Error::other)?;
            let gone = installed("veth0").unwrap_err().to_string();
            assert!(gone.contains("has no discipline"), "{gone}");
            Ok(counted)
        })
        .unwrap()
}

#[test]
fn dcn_keeps_a_queue_short_in_the_kernel() {
    if cannot().is_some() {
        return;
    }
    let spec = spec("dcn", &json!({ "limit": 100, "q_ref": 10, "flows": 6 }));
    let counted =
        carry(&Wanted { spec, rate: BitRate::from_mbps(20), mean_packet: Bytes(1500), classes: Classes::default() });
    let unfair = counted.drops.get("unfair").copied().unwrap_or(0);
    assert!(unfair > 10, "{counted:?}");
    assert!(counted.packets > 1500 && counted.gauges["p_ref"] > 0.0, "{counted:?}");
}

#[test]
fn red_marks_in_the_kernel() {
    if cannot().is_some() {
        return;
    }
    let spec = spec("red", &json!({ "limit": 100, "min": 5, "max": 20, "ecn": true, "weight": 0.02 }));
    let counted =
        carry(&Wanted { spec, rate: BitRate::from_mbps(20), mean_packet: Bytes(1500), classes: Classes::default() });
    let early: u64 = counted.marks.values().chain(counted.drops.values()).sum();
    assert!(early > 10 && counted.gauges["avg"] > 1.0, "{counted:?}");
}

/// An installation that is killed after any of the messages that it sends to the kernel has put everything there, or nothing.
#[test]
fn a_killed_installation_leaves_nothing_behind() {
    const NAME: &str = "a_killed_installation_leaves_nothing_behind";
    let spec = spec("red", &json!({}));
    let wanted = Wanted { spec, rate: BitRate::from_mbps(20), mean_packet: Bytes(1500), classes: Classes::default() };
    if std::env::var_os(traced::CHILD).is_some() {
        // This is the process that will be killed.
        assert!(install("veth0", &wanted).is_ok());
        return;
    }
    if cannot().is_some() {
        return;
    }
    let pair = pair::Pair::new().unwrap();
    let there = || {
        pair.sender.inside(|| {
            let shown = std::process::Command::new("tc").args(["qdisc", "show", "dev", "veth0"]).output()?;
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            let parts = [installed("veth0").is_ok(), shown.contains("tbf"), shown.contains("clsact")];
            if parts[0] {
                remove("veth0").map_err(std::io::Error::other)?;
            }
            Ok(parts)
        })
    };
    let mut seen = Vec::new();
    for messages in 1..100 {
        let ended = traced::run_until(NAME, &pair.sender, messages).unwrap();
        seen.push(there().unwrap());
        if ended {
            break;
        }
    }
    assert!(seen.len() > 3, "{seen:?}");
    assert_eq!((seen.first(), seen.last()), (Some(&[false; 3]), Some(&[true; 3])), "{seen:?}");
    assert!(seen.iter().all(|parts| *parts == [false; 3] || *parts == [true; 3]), "{seen:?}");
}

/// What somebody has left of an installation is in nobody's way.
#[test]
fn a_shaper_without_its_program_is_taken_away() {
    if cannot().is_some() {
        return;
    }
    let spec = spec("red", &json!({}));
    let wanted = Wanted { spec, rate: BitRate::from_mbps(20), mean_packet: Bytes(1500), classes: Classes::default() };
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
    let wanted = Wanted { spec, rate: BitRate::from_mbps(20), mean_packet: Bytes(1500), classes: Classes::default() };
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

/// Two namespaces with a pair of devices between them.
mod pair {
    use std::io;
    use std::process::Command;

    use aqmkit_live::netns::{Netns, set_sysctl};

    pub(crate) struct Pair {
        pub(crate) sender: Netns,
        pub(crate) receiver: Netns,
    }

    pub(super) fn ip(words: &str) -> io::Result<()> {
        run(&format!("ip {words}"))
    }

    pub(super) fn run(line: &str) -> io::Result<()> {
        let mut words = line.split(' ');
        let done = Command::new(words.next().unwrap_or_default()).args(words).output()?;
        if done.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("{line}: {}", String::from_utf8_lossy(&done.stderr))))
    }

    impl Pair {
        pub(crate) fn new() -> io::Result<Pair> {
            let (sender, receiver) = (Netns::create()?, Netns::create()?);
            sender.inside(|| {
                let _ = set_sysctl("net.ipv4.tcp_ecn", "1");
                ip(&format!("link add veth0 type veth peer name veth1 netns {}", receiver.path()))?;
                ip("addr add 10.9.7.1/24 dev veth0")?;
                ip("link set veth0 up")
            })?;
            receiver.inside(|| {
                let _ = set_sysctl("net.ipv4.tcp_ecn", "1");
                ip("addr add 10.9.7.2/24 dev veth1")?;
                ip("link set veth1 up")
            })?;
            Ok(Pair { sender, receiver })
        }
    }
}

/// A test of this file in a process of its own, which is killed after so many messages to the kernel.
mod traced {
    #![allow(unsafe_code, reason = "a process is traced by system calls")]

    use std::collections::BTreeSet;
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use aqmkit_live::netns::Netns;

    /// Set in that process.
    pub(super) const CHILD: &str = "AQMKIT_TEST_CHILD";
    /// `PTRACE_GET_SYSCALL_INFO`, and `ptrace_syscall_info` as far as it is used (`linux/ptrace.h`).
    const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
    const ENTRY: u8 = 1;

    #[repr(C)]
    #[derive(Default)]
    struct Info {
        op: u8,
        unused: [u8; 3],
        arch: u32,
        pointers: [u64; 2],
        number: u64,
        arguments: [u64; 6],
    }

    fn checked(answer: libc::c_long) -> io::Result<()> {
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until a thread of the process stops or ends; which, and its status.
    fn wait(pid: libc::pid_t) -> io::Result<(libc::pid_t, libc::c_int)> {
        let mut status = 0;
        // SAFETY: the status outlives the call. The process has a group of its own.
        let thread = unsafe { libc::waitpid(-pid, &raw mut status, libc::__WALL) };
        checked(thread.into()).map(|()| (thread, status))
    }

    /// Runs the test inside a namespace and kills it after this many messages. True if it ended before.
    pub(super) fn run_until(test: &str, namespace: &Netns, messages: usize) -> io::Result<bool> {
        namespace.inside(|| {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["--exact", test]).env(CHILD, "1").stdout(Stdio::null()).process_group(0);
            // SAFETY: the call is safe between fork and exec.
            unsafe {
                command.pre_exec(|| checked(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0)));
            }
            let mut child = command.spawn()?;
            let ended = follow(child.id() as libc::pid_t, messages);
            // It has ended in any case, and was waited for.
            let _ = child.kill();
            let _ = child.try_wait();
            ended
        })
    }

    fn follow(pid: libc::pid_t, messages: usize) -> io::Result<bool> {
        const SYSCALL_STOP: libc::c_int = libc::SIGTRAP | 0x80;
        wait(pid)?;
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACECLONE;
        // SAFETY: numbers only.
        checked(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) })?;
        let (mut sent, mut sending) = (0, BTreeSet::new());
        let mut stopped = pid;
        loop {
            // SAFETY: numbers only. A thread that was killed cannot go on.
            let _ = unsafe { libc::ptrace(libc::PTRACE_SYSCALL, stopped, 0, 0) };
            let (thread, status) = wait(pid)?;
            stopped = thread;
            if thread == pid && !libc::WIFSTOPPED(status) {
                return Ok(libc::WIFEXITED(status));
            }
            if !libc::WIFSTOPPED(status) || libc::WSTOPSIG(status) != SYSCALL_STOP {
                continue;
            }
            let mut info = Info::default();
            // SAFETY: the kernel writes at most as many bytes as is said into `info`, which outlives the call.
            checked(unsafe { libc::ptrace(GET_SYSCALL_INFO, thread, size_of::<Info>(), &raw mut info) })?;
            if info.op == ENTRY && info.number == libc::SYS_sendto as u64 {
                sending.insert(thread);
            } else if info.op != ENTRY && sending.remove(&thread) {
                sent += 1;
                if sent == messages {
                    // SAFETY: numbers only.
                    checked(unsafe { libc::kill(pid, libc::SIGKILL) }.into())?;
                }
            }
        }
    }
}
