//! Concurrent decisions on several CPUs are serialised by a lock word; nothing is lost or counted twice.

#![allow(unsafe_code, reason = "threads are tied to processors by a system call")]

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, thread};

use aqmkit_aqm::registry::Parameters;
use aqmkit_kernel::{classifier, event, settings};
use aqmkit_kernel_laws::disciplines::dcn::Dcn;
use aqmkit_live::kernel::install;
use aqmkit_live::kernel::replay::Replay;
use serde_json::json;

use super::installed::places;
use super::replays::{arrivals, different, natively};
use super::trace::link;
use super::{cannot, pair, spec, wanted};

/// Decisions shared by the CPUs per round, and the number of rounds: a CPU kept busy in one round takes part in the
/// next.
const DECISIONS: u32 = 20_000;
const TIMES: u32 = 15;

/// The number of CPUs to use; `None`, with a message, if there is only one.
fn processors() -> Option<usize> {
    let count = thread::available_parallelism().map_or(1, usize::from).min(4);
    if count < 2 {
        eprintln!("skipped: there is but one processor");
        return None;
    }
    Some(count)
}

/// The arrivals form one sequence, and so do the decisions, whichever CPU makes them.
#[test]
fn processors_decide_one_after_the_other() {
    let (None, Some(processors)) = (cannot(), processors()) else { return };
    let spec = spec("dcn", &json!({ "limit": 200 })).effective(&link()).unwrap();
    let Parameters::Dcn(parameters) = spec.parameters() else { panic!("not dcn") };
    let config = aqmkit_kernel::dcn::config(parameters, &link()).unwrap();
    let arrivals = arrivals(DECISIONS * TIMES);
    let native = natively::<Dcn>(&config, &spec, &arrivals);
    let words = settings(&spec, &link(), &[], 1).unwrap();
    let replay = Replay::new(classifier("dcn").unwrap(), &words, DECISIONS).unwrap();
    let events: Vec<_> = arrivals.iter().map(event).collect();
    let shared = events.chunks(DECISIONS as usize);
    let decided: Vec<u32> = shared.flat_map(|some| replay.run_at_once(some, processors).unwrap()).collect();
    let counted = replay.statistics().unwrap();
    eprintln!("{processors} processors; {} tries to lock failed", counted.undecided);
    let packets: u64 = arrivals.iter().map(|a| a.packets).sum();
    assert_eq!(different(&native, &decided), 0);
    assert_eq!((counted.packets, counted.passed + counted.dropped()), (packets, packets));
}

/// Pins the calling thread to a CPU.
fn stay_on(processor: usize) -> io::Result<()> {
    // SAFETY: a CPU set is a plain array of bits, and outlives the call.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// One sender per CPU for a second: every packet is counted once.
#[test]
fn packets_of_several_processors_are_all_counted() {
    let Some(processors) = processors() else { return };
    for place in places() {
        let pair = pair::Pair::new().unwrap();
        let _receiver = pair.receiver.inside(|| UdpSocket::bind(("10.9.7.2", 5002))).unwrap();
        let table = json!({ "limit": 100, "min": 5, "max": 20, "weight": 0.02 });
        let (sent, counted) = pair
            .sender
            .inside(|| {
                // Suppress all other traffic.
                let shown = pair.receiver.inside(|| pair::output("ip -br link show dev veth1"))?;
                let address = shown.split_whitespace().nth(2).unwrap();
                pair::ip(&format!("neigh replace 10.9.7.2 lladdr {address} dev veth0"))?;
                pair::ip("link set veth0 addrgenmode none")?;
                pair::ip("-6 addr flush dev veth0")?;
                let sockets: Vec<_> = (0..processors).map(|_| UdpSocket::bind(("10.9.7.1", 0)).unwrap()).collect();
                let found = install("veth0", &wanted("red", &table, place)).map_err(io::Error::other)?;
                let stop = AtomicBool::new(false);
                let sent: u64 = thread::scope(|scope| {
                    let send = |(processor, socket): (usize, UdpSocket)| {
                        let stop = &stop;
                        scope.spawn(move || {
                            // If this CPU is not available to us, the scheduler chooses.
                            let _ = stay_on(processor);
                            let mut sent = 0;
                            while !stop.load(Ordering::Relaxed) {
                                // A drop is reported to a local sender as an error.
                                let _ = socket.send_to(&[0; 100], ("10.9.7.2", 5002));
                                sent += 1;
                            }
                            sent
                        })
                    };
                    let threads: Vec<_> = sockets.into_iter().enumerate().map(send).collect();
                    thread::sleep(Duration::from_secs(1));
                    stop.store(true, Ordering::Relaxed);
                    threads.into_iter().map(|one| one.join().unwrap()).sum()
                });
                Ok((sent, found.statistics().map_err(io::Error::other)?))
            })
            .unwrap();
        eprintln!("{place:?}: {sent} sent, {} without a decision", counted.undecided);
        let marked: u64 = counted.marks.values().sum();
        // The kernel may send packets of its own, such as IPv6 neighbour discovery.
        let own = (counted.packets + counted.undecided).checked_sub(sent);
        assert!(own.is_some_and(|own| own <= 8), "{place:?}: {sent} sent, {counted:?}");
        assert_eq!(counted.passed + marked + counted.dropped(), counted.packets, "{place:?} {counted:?}");
        assert!(counted.dropped() > 100, "{place:?} {counted:?}");
    }
}
