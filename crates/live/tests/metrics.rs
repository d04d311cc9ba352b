//! Resource limits of the metrics server under hostile clients.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use aqmkit_live::ctl::Report;
use aqmkit_live::metrics::serve;

/// Resident memory of this process, in bytes.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn threads() -> usize {
    let names = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = names.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "aqmkit-metrics").count()
}

fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// With locked memory each thread would cost its whole stack. A single test, because it measures the process's memory.
#[test]
fn idle_connections_and_endless_headers_cost_little() {
    let server = serve("127.0.0.1:0".parse().unwrap(), Report::default).unwrap();
    get(server.address());
    let before = memory();
    // As many as the usual file descriptor limit permits; older ones are closed as new ones arrive.
    let idle: Vec<_> = (0..400).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let mut endless = TcpStream::connect(server.address()).unwrap();
    let line = [&b"X-Long: "[..], &[b'x'; 1 << 16]].concat();
    let refused = (0..320).any(|_| endless.write_all(&line).is_err());
    assert!(refused, "20 MB of headers were taken");
    let text = get(server.address());
    assert!(text.starts_with("HTTP/1.1 200 OK") && text.trim_end().ends_with("# EOF"), "{text}");
    assert_eq!(threads(), 1);
    assert!(memory().saturating_sub(before) < 10 << 20, "{} bytes more", memory() - before);
    drop(idle);
}
