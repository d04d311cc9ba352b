//! Sparse UDP packets, which the server sends back.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aqmkit_estimate::measurement::Sample;

use crate::transfer::Clock;

/// Time between two packets.
const INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of UDP payload: the number of the test and that of the packet.
pub(crate) const PAYLOAD: usize = 16;
/// How long replies are awaited at the end.
const LAST: f64 = 2.0;

/// Bytes of the payload of packet `number`.
fn payload(token: u64, number: u64) -> [u8; PAYLOAD] {
    let mut bytes = [0; PAYLOAD];
    bytes[..8].copy_from_slice(&token.to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The two numbers of a payload.
pub(crate) fn numbers(bytes: &[u8]) -> Option<(u64, u64)> {
    let (token, number) = bytes.split_at_checked(8)?;
    Some((u64::from_be_bytes(token.try_into().ok()?), u64::from_be_bytes(number.try_into().ok()?)))
}

/// Sends a packet every [`INTERVAL`] until `is_over` is set, and returns when each was sent and how long its reply took.
///
/// # Errors
/// When the socket fails. A packet that cannot be sent, or a port that is closed, counts as a loss.
pub(crate) fn probe(socket: &UdpSocket, token: u64, clock: Clock, is_over: &AtomicBool) -> io::Result<Vec<Sample>> {
    let mut samples: Vec<Sample> = Vec::new();
    let interval = INTERVAL.as_secs_f64();
    let mut next = clock.now();
    let mut end = None;
    while end.is_none_or(|end| clock.now() < end) {
        if end.is_none() && clock.now() >= next {
            if is_over.load(Ordering::Relaxed) {
                end = Some(clock.now() + LAST);
                continue;
            }
            let number = samples.len() as u64;
            samples.push(Sample { at: clock.now(), rtt: None });
            let _ = socket.send(&payload(token, number));
            // After a pause of the process it does not send all at once.
            next = (next + interval).max(clock.now());
        }
        let wait = end.unwrap_or(next) - clock.now();
        socket.set_read_timeout(Some(Duration::from_secs_f64(wait.max(0.0005))))?;
        let mut bytes = [0; 2 * PAYLOAD];
        let Ok(length) = socket.recv(&mut bytes) else {
            if end.is_some() && samples.iter().all(|sample| sample.rtt.is_some()) {
                break;
            }
            continue;
        };
        let now = clock.now();
        if let Some((of, number)) = numbers(&bytes[..length])
            && of == token
            && let Some(sample) = usize::try_from(number).ok().and_then(|n| samples.get_mut(n))
        {
            sample.rtt.get_or_insert(now - sample.at);
        }
    }
    Ok(samples)
}
