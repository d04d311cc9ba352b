//! Two namespaces connected by a veth pair.

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
    output(line).map(drop)
}

/// A command's standard output.
pub(super) fn output(line: &str) -> io::Result<String> {
    let mut words = line.split(' ');
    let done = Command::new(words.next().unwrap_or_default()).args(words).output()?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
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
