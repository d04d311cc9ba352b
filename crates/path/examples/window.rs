//! A toy sender behind four disciplines: it keeps a window of packets in flight, adds one for each round trip, and halves it
//! after a loss or a mark, as Reno does. Prints what each discipline makes of it.
//!
//! ```text
//! cargo run -p aqmkit-path --example window
//! ```

#![allow(clippy::print_stdout, reason = "it is a command")]

use std::time::Duration;

use aqmkit_path::{Datagram, Ecn, End, Link, ParamError, Path};

/// A packet with data has its number, an acknowledgement the number that it acknowledges and whether it was marked.
#[derive(Clone, Debug)]
enum Packet {
    Data(u64),
    Ack { number: u64, marked: bool },
}

/// The sender. It takes a gap of three in the acknowledgements for a loss, and repeats nothing: the data are of no
/// interest here.
struct Reno {
    window: f64,
    next: u64,
    acknowledged: u64,
    in_flight: u64,
    /// No second reduction before this packet is acknowledged.
    recovery: u64,
}

impl Reno {
    fn new() -> Self {
        Reno { window: 10.0, next: 0, acknowledged: 0, in_flight: 0, recovery: 0 }
    }

    fn fill(&mut self, path: &mut Path<Packet>, now: Duration) {
        while self.in_flight < self.window as u64 {
            path.send(End::A, Datagram::new(Packet::Data(self.next), 1500).ecn(Ecn::Ect0), now);
            self.next += 1;
            self.in_flight += 1;
        }
    }

    fn on_ack(&mut self, number: u64, marked: bool) {
        let lost = number.saturating_sub(self.acknowledged + 1);
        self.in_flight = self.in_flight.saturating_sub(1 + lost);
        self.acknowledged = self.acknowledged.max(number);
        if (lost > 0 || marked) && number >= self.recovery {
            self.window = (self.window / 2.0).max(2.0);
            self.recovery = self.next;
        } else {
            self.window += 1.0 / self.window;
        }
    }
}

/// Sends for a minute, and returns the path for its reports.
fn run(link: &Link) -> Result<Path<Packet>, ParamError> {
    let mut path = Path::new(link, 1)?;
    let mut sender = Reno::new();
    sender.fill(&mut path, Duration::ZERO);
    while let Some(now) = path.deadline().filter(|now| now.as_secs() < 60) {
        while let Some(arrival) = path.poll(now) {
            let is_marked = arrival.datagram.ecn == Ecn::Ce;
            match arrival.datagram.content {
                Packet::Data(number) => {
                    let ack = Packet::Ack { number, marked: is_marked };
                    path.send(End::B, Datagram::new(ack, 40), now);
                }
                Packet::Ack { number, marked } => sender.on_ack(number, marked),
            }
        }
        sender.fill(&mut path, now);
    }
    Ok(path)
}

fn main() -> Result<(), ParamError> {
    let to = || Link::new("20mbit", "15ms");
    let queues = [
        ("fifo", to().set("limit", 500)),
        ("codel", to().queue("codel").set("ecn", true)),
        ("pie", to().queue("pie").set("ecn", true)),
        ("dualpi2", to().queue("dualpi2")),
    ];
    for (name, link) in queues {
        let path = run(&link)?;
        println!("{name}\n{}\n{}", path.report(End::A), path.chart(End::A));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_keep_the_queue_short_and_the_link_busy() -> Result<(), ParamError> {
        let path = run(&Link::new("20mbit", "15ms").queue("codel").set("ecn", true))?;
        let report = path.window(End::A, Duration::from_secs(10)..Duration::from_secs(60));
        assert!(report.utilization > 0.8 && report.marked > 0 && report.drops() == 0, "{path}");
        assert!(report.queue_delay.p99 < Duration::from_millis(30), "{path}");
        Ok(())
    }
}
