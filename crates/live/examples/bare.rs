//! The minimal user-space bridge or link: forwards packets from one device to the other, with no queue and no rate.
//!
//! `bare tun|packet|xdp SERVER COMMAND` runs both commands, each in a shell in its own namespace, as `aqmkit link`
//! does, and prints the CPU cost per packet to standard error. It is the baseline of `bench/live/run.sh`. With `packet`
//! and `xdp` the devices are veth interfaces, created with ip(8).

#![allow(clippy::print_stderr, reason = "an example")]

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aqmkit_live::bridge::{Interface, Io, Outlet};
use aqmkit_live::children::Children;
use aqmkit_live::link::{Addresses, BASE};
use aqmkit_live::netlink::Netlink;
use aqmkit_live::netns::Netns;
use aqmkit_live::offload::{OFFLOADS, switch};
use aqmkit_live::port::{Outlet as _, Port};
use aqmkit_live::timing::{Clock, cpu_time, request_realtime};
use aqmkit_live::tun::Tun;
use aqmkit_packets::outgoing::Outgoing;
use rustix::event::{PollFd, PollFlags, poll};

/// Totals of the loop: packets, and nanoseconds of CPU time.
type Done = Arc<[AtomicU64; 2]>;

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [kind, server, client] = &arguments[..] else {
        eprintln!("usage: bare tun|packet|xdp SERVER COMMAND");
        return Ok(ExitCode::from(2));
    };
    let addresses = Addresses::of(0);
    let (outer, inner, middle) = (Netns::create()?, Netns::create()?, Netns::create()?);
    let done = Done::default();
    let [own, peer] = [addresses.server[0], addresses.client[0]];
    match kind.to_str() {
        Some("tun") => start([tun(&outer, own, peer)?, tun(&inner, peer, own)?], &done),
        Some(name @ ("packet" | "xdp")) => {
            let io = if name == "xdp" { Io::Xdp } else { Io::Packet };
            start([veth(&middle, "m0", &outer, own, io)?, veth(&middle, "m1", &inner, peer, io)?], &done);
        }
        _ => {
            eprintln!("{kind:?} is no kind of device: tun, packet or xdp");
            return Ok(ExitCode::from(2));
        }
    }
    let code = run(server, client, [&outer, &inner], own)?;
    let [packets, nanoseconds] = [0, 1].map(|i| done[i].load(Ordering::Relaxed));
    let each = nanoseconds as f64 / packets.max(1) as f64 / 1000.0;
    eprintln!("{packets} packets, {each:.2} µs of a core for each: {:.0} kpps a core", 1000.0 / each.max(1e-6));
    Ok(ExitCode::from(code))
}

/// Runs both commands; returns the exit code of the second.
fn run(server: &OsString, client: &OsString, [outer, inner]: [&Netns; 2], base: IpAddr) -> io::Result<u8> {
    let mut children = Children::adopt()?;
    let env = [(BASE, base.to_string())];
    let shell = |text: &OsString| [OsString::from("sh"), OsString::from("-c"), text.clone()];
    children.start(&shell(server), outer, &env, Stdio::null())?;
    std::thread::sleep(Duration::from_millis(300));
    let pid = children.start(&shell(client), inner, &env, Stdio::inherit())?;
    let code = loop {
        children.reap();
        if let Some(code) = children.ended(pid) {
            break code;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    children.end();
    Ok(code)
}

fn tun(namespace: &Netns, own: IpAddr, peer: IpAddr) -> io::Result<(Tun, Tun)> {
    namespace.inside(|| {
        let tun = Tun::create("aqmkit0")?;
        let mut netlink = Netlink::open()?;
        netlink.set_up(1, None, None)?;
        let index = netlink.interface(tun.name())?.index;
        netlink.set_up(index, Some(1500), Some(2000))?;
        netlink.add_address(index, own, peer)?;
        tun.accept_super_packets()?;
        let outlet = tun.try_clone()?;
        Ok((tun, outlet))
    })
}

/// A veth interface of the middle namespace, with its peer in a namespace of its own.
fn veth(middle: &Netns, name: &str, side: &Netns, own: IpAddr, io: Io) -> io::Result<(Interface, Outlet)> {
    let ip = |place: &Netns, line: String| {
        let done = place.inside(|| Command::new("ip").args(line.split(' ')).status())?;
        if done.success() { Ok(()) } else { Err(io::Error::other(format!("ip {line} failed"))) }
    };
    let far = format!("{name}-far");
    ip(middle, format!("link add {name} type veth peer name {far}"))?;
    ip(middle, format!("link set {far} netns {}", side.path()))?;
    ip(middle, format!("link set {name} up"))?;
    ip(side, format!("addr add {own}/24 dev {far}"))?;
    ip(side, format!("link set {far} up"))?;
    // AF_XDP does not accept GSO packets: have the kernel segment first.
    if io == Io::Xdp {
        side.inside(|| {
            OFFLOADS.iter().filter(|o| ["tso", "gso"].contains(&o.name)).try_for_each(|o| switch(&far, o, false))
        })?;
    }
    let open = || Interface::open(name, io, Clock::start()).map_err(|e| io::Error::other(e.to_string()));
    let interface = middle.inside(open)?;
    let outlet = interface.outlet();
    Ok((interface, outlet))
}

fn start<D: Port + Send + 'static>(ports: [(D, D::Outlet); 2], done: &Done)
where
    D::Outlet: Send,
{
    let done = Arc::clone(done);
    std::thread::spawn(move || forward(ports, &done));
}

fn forward<D: Port>([(mut a, mut to_a), (mut b, mut to_b)]: [(D, D::Outlet); 2], done: &[AtomicU64; 2]) {
    let _ = request_realtime();
    loop {
        let mut packets = 0;
        loop {
            let passed = pass(&mut a, &mut to_b) + pass(&mut b, &mut to_a);
            if passed == 0 {
                break;
            }
            packets += passed;
        }
        done[0].fetch_add(packets, Ordering::Relaxed);
        done[1].store(cpu_time().as_nanos(), Ordering::Relaxed);
        let wait = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let _ = poll(&mut [wait(a.poll_fd()), wait(b.poll_fd())], None);
    }
}

/// Forwards one packet if there is one; returns the number forwarded.
fn pass<D: Port>(from: &mut D, to: &mut D::Outlet) -> u64 {
    let Ok(received) = from.receive() else { return 0 };
    // A packet that the device rejects is lost.
    to.send(&[Outgoing::unchanged(&received)], &mut |_, _| ());
    1
}
