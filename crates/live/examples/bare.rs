//! The least that a link in user space can be: what comes out of one TUN device goes into the other. No queue, no rate.
//!
//! `bare SERVER COMMAND` runs both, each in a shell in a namespace of its own, as `aqmkit link` does. It is what
//! `bench/live/run.sh` compares with.

#![allow(clippy::print_stderr, reason = "an example")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use aqmkit_live::children::Children;
use aqmkit_live::link::{Addresses, BASE};
use aqmkit_live::netlink::Netlink;
use aqmkit_live::netns::Netns;
use aqmkit_live::timing::be_punctual;
use aqmkit_live::tun::Tun;
use rustix::event::{PollFd, PollFlags, poll};

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [server, client] = &arguments[..] else {
        eprintln!("usage: bare SERVER COMMAND");
        return Ok(ExitCode::from(2));
    };
    let addresses = Addresses::of(0);
    let (outer, inner) = (Netns::create()?, Netns::create()?);
    let a = device(&outer, addresses.server[0], addresses.client[0])?;
    let b = device(&inner, addresses.client[0], addresses.server[0])?;
    std::thread::spawn(move || forward(a, b));
    let mut children = Children::adopt()?;
    let env = [(BASE, addresses.server[0].to_string())];
    let shell = |text: &OsString| [OsString::from("sh"), OsString::from("-c"), text.clone()];
    children.start(&shell(server), &outer, &env, Stdio::null())?;
    std::thread::sleep(Duration::from_millis(300));
    let pid = children.start(&shell(client), &inner, &env, Stdio::inherit())?;
    let code = loop {
        children.reap();
        if let Some(code) = children.ended(pid) {
            break code;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    children.end();
    Ok(ExitCode::from(code))
}

fn device(namespace: &Netns, own: IpAddr, peer: IpAddr) -> io::Result<File> {
    namespace.inside(|| {
        let tun = Tun::create("aqmkit0")?;
        let mut netlink = Netlink::open()?;
        netlink.set_up(1, None, None)?;
        let index = netlink.interface(tun.name())?.index;
        netlink.set_up(index, Some(1500), Some(2000))?;
        netlink.add_address(index, own, peer)?;
        Ok(tun.into_file())
    })
}

fn forward(mut a: File, mut b: File) {
    let _ = be_punctual();
    let mut buffer = vec![0; 65_536];
    loop {
        while pass(&mut a, &mut b, &mut buffer) | pass(&mut b, &mut a, &mut buffer) {}
        let _ = poll(&mut [PollFd::new(&a, PollFlags::IN), PollFd::new(&b, PollFlags::IN)], None);
    }
}

/// Passes one packet on, if there is one.
fn pass(from: &mut File, to: &mut File, buffer: &mut [u8]) -> bool {
    let Ok(len) = from.read(buffer) else { return false };
    let _ = to.write(&buffer[..len]);
    true
}
