//! # game: players of a fast online game
//!
//! Small packets in both directions: the server sends updates to each player, and players send commands. The load is
//! small; the quality depends on the delay of the slowest packets.
//!
//! ## Model
//!
//! ```text
//! update    server to player: the next one after E(update, 6/55 update), of E(update_size, 3/10 update_size) bytes
//! command   player to server: the next one after `command`, of E(command_size, 5.7/45 command_size) bytes
//! E(a, b) = a - b ln(-ln u)     u uniform on 0 to 1: the largest extreme value distribution, with mean a + 0.577 b
//! ```
//!
//! The defaults are the gaming traffic with which 3GPP and NGMN test networks (r1-070674): E(55 ms, 6 ms) and E(120,
//! 36) bytes down, 40 ms and E(45, 5.7) bytes up, each direction beginning uniformly within 40 ms. Distributions and
//! values are based on measurements of Counter-Strike (faerber04). That is 17 packets a second down and 25 up. Today's
//! servers send more often: 64 times a second is `update = "14.8ms"` and `command = "15.6ms"`.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `players` | | 1 | how many, each with packets both ways; 0 for none |
//! | `update` | time | 55ms | location of the time from update to update |
//! | `update_size` | size | 120b | location of the payload of an update |
//! | `command` | time | 40ms | time from command to command |
//! | `command_size` | size | 45b | location of the payload of a command |
//!
//! Exchanges: `update` and `command`, each from the sending of a packet to its arrival: their 99th percentiles are the
//! results of interest. Counters: `packets_sent`, `packets_due` (sent a second ago and more), `packets_missed` (of
//! these, not received within that second), `bytes_received` (payload of updates), `updates_received`,
//! `commands_received`. From these comes the result `missed`.
//!
//! ## Deviations
//!
//! 1. r1-070674 counts two bytes of compressed UDP header in its sizes and rounds times to milliseconds; here sizes are payload, and times
//!    are not rounded. A payload is from 1 to 1472 bytes.
//! 2. On a real server the updates of all players leave together; here each player has a separate server and start.
//! 3. Neither side slows down when packets are lost or late.
//! 4. On a live link a datagram has at least 20 bytes of payload.
//! 5. Only updates count as data received; commands count only as packets sent.
//! 6. In a simulation the `delays` of a topology are on the reverse path, so they delay commands but not updates. The sum of both delays is a round trip.
//!
//! ## Evidence
//!
//! `tests/traffic/game.rs`: means and quantiles of times and sizes against the distribution, packets both ways, losses counted by
//! hand, delays as exchanges.
//!
//! ## References
//!
//! * r1-070674: Orange et al., LTE physical layer framework for performance verification, 3GPP TSG-RAN1 #48, February 2007,
//!   appendix B; the same in: NGMN, Radio Access Performance Evaluation Methodology, 2008, annex A.
//! * faerber04: J. Färber, Traffic Modelling for Fast Action Network Games, Multimedia Tools and Applications 23(1), 2004.

use std::collections::VecDeque;

use aqmkit_base::{Bytes, Duration, Ecn, Instant, Rng};
use serde::{Deserialize, Serialize};

use super::model::{Data, Knob, Model, ParamError, Population, count_or_none, texts};
use super::{Action, Application, Arrival, Cx, Event, Exchange, Side};

/// Scale divided by location of each distribution: time and size of updates, size of commands (r1-070674).
const UPDATE_TIME: f64 = 6.0 / 55.0;
const UPDATE_SIZE: f64 = 36.0 / 120.0;
const COMMAND_SIZE: f64 = 5.7 / 45.0;
/// Each direction starts uniformly within this time (r1-070674).
const BEGIN: Duration = Duration::from_millis(40);
/// Largest payload without fragmentation.
const LARGEST: f64 = 1472.0;
/// The mean of the largest extreme value distribution exceeds its location by this number of scales: Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;
/// A packet that arrives later than this has missed its deadline.
const LATEST: Duration = Duration::from_secs(1);

/// Kinds of [`Exchange`].
const KINDS: &[&str] = &["update", "command"];
const UPDATE: usize = 0;
const COMMAND: usize = 1;

const COUNTERS: &[&str] =
    &["packets_sent", "packets_due", "packets_missed", "bytes_received", "updates_received", "commands_received"];

/// The parameters of players as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of players, each with packets in both directions; 0 for none.
    pub players: usize,
    /// Location parameter of the time between updates.
    pub update: Duration,
    /// Location parameter of the payload of an update.
    pub update_size: Bytes,
    /// Time between commands.
    pub command: Duration,
    /// Location parameter of the payload of a command.
    pub command_size: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            players: 1,
            update: Duration::from_millis(55),
            update_size: Bytes(120),
            command: Duration::from_millis(40),
            command_size: Bytes(45),
        }
    }
}

impl Model for Params {
    const NAME: &'static str = "game";

    fn check(&self) -> Result<(), ParamError> {
        count_or_none("players", self.players)?;
        for (field, time) in [("update", self.update), ("command", self.command)] {
            if !(Duration::from_millis(1)..=Duration::from_secs(1)).contains(&time) {
                return Err(ParamError::new(field, time, "it must be from 1ms to 1s"));
            }
        }
        for (field, size) in [("update_size", self.update_size), ("command_size", self.command_size)] {
            if !(1..=1000).contains(&size.0) {
                return Err(ParamError::new(field, size, "it must be from 1b to 1000b"));
            }
        }
        Ok(())
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("players", &mut self.players))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        Ok(Box::new(Players(self.clone())))
    }
}

struct Players(Params);

impl Population for Players {
    fn instances(&self) -> usize {
        self.0.players
    }

    fn make(&self, _index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        Box::new(Player { params: self.0.clone(), ways: Default::default(), received: 0, over: false })
    }

    fn mean_payload(&self) -> Option<f64> {
        Some(self.0.update_size.as_f64() * (1.0 + EULER * UPDATE_SIZE))
    }
}

/// Draws from the largest extreme value distribution.
fn extreme(rng: &mut Rng, location: f64, scale: f64) -> f64 {
    // The argument must be below 1: the second logarithm would be infinite.
    let u = rng.uniform_open().min(1.0 - f64::EPSILON);
    location - scale * libm::log(-libm::log(u))
}

/// Draws a payload; `scale` is relative to the location `size`.
fn payload(rng: &mut Rng, size: Bytes, scale: f64) -> u32 {
    extreme(rng, size.as_f64(), scale * size.as_f64()).clamp(1.0, LARGEST) as u32
}

/// One direction of a player's traffic.
#[derive(Clone, Debug, Default)]
struct Way {
    /// Departure time of the next packet.
    next: Instant,
    sent: u64,
    /// Packets of the last second: departure time, and whether each has arrived.
    recent: VecDeque<(Instant, bool)>,
    due: u64,
    missed: u64,
    came: u64,
}

impl Way {
    /// Records a departure. Returns the packet's tag.
    fn depart(&mut self, now: Instant, gap: Duration) -> u64 {
        let number = self.sent;
        self.sent += 1;
        self.recent.push_back((now, false));
        self.next = now + gap;
        number
    }

    fn arrive(&mut self, number: u64) {
        self.came += 1;
        let place = number.checked_sub(self.due).and_then(|place| self.recent.get_mut(place as usize));
        if let Some((_, came)) = place {
            *came = true;
        }
    }

    /// Removes packets that are past their deadline from `recent`, and counts those that have not arrived.
    fn expire(&mut self, now: Instant) {
        while let Some(&(_, came)) = self.recent.front().filter(|(left, _)| now.since(*left) >= LATEST) {
            self.recent.pop_front();
            self.due += 1;
            self.missed += u64::from(!came);
        }
    }
}

/// A player and the server.
struct Player {
    params: Params,
    /// Updates, commands.
    ways: [Way; 2],
    /// Received bytes of updates.
    received: u64,
    over: bool,
}

impl Player {
    fn wake(&mut self, cx: &mut Cx<'_>) {
        let (now, p, ecn) = (cx.now, &self.params, Ecn::NotEct);
        if self.ways[UPDATE].next <= now {
            let len = payload(cx.rng, p.update_size, UPDATE_SIZE);
            let secs = p.update.as_secs_f64();
            let gap = Duration::from_secs_f64(extreme(cx.rng, secs, UPDATE_TIME * secs).max(1e-4));
            let tag = self.ways[UPDATE].depart(now, gap);
            cx.want(Action::Datagram { len, tag, ecn });
        }
        if self.ways[COMMAND].next <= now {
            let len = payload(cx.rng, p.command_size, COMMAND_SIZE);
            let tag = self.ways[COMMAND].depart(now, p.command);
            cx.want(Action::Reply { len, tag, ecn });
        }
        self.ways.iter_mut().for_each(|way| way.expire(now));
        cx.want(Action::WakeAt(self.ways[UPDATE].next.min(self.ways[COMMAND].next)));
    }
}

impl Application for Player {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Stop => self.over = true,
            _ if self.over => {}
            Event::Start => {
                for way in &mut self.ways {
                    way.next = cx.now + BEGIN.mul_f64(cx.rng.uniform());
                }
                cx.want(Action::WakeAt(self.ways[UPDATE].next.min(self.ways[COMMAND].next)));
            }
            Event::Wake => self.wake(cx),
            _ => {}
        }
    }

    fn on_arrival(&mut self, arrival: Arrival, cx: &mut Cx<'_>) {
        let kind = match arrival.to {
            Side::Client => UPDATE,
            Side::Server => COMMAND,
        };
        self.received += if kind == UPDATE { u64::from(arrival.len) } else { 0 };
        self.ways[kind].arrive(arrival.tag);
        if !self.over {
            let (started, bytes) = (arrival.sent, u64::from(arrival.len));
            cx.want(Action::Done(Exchange { kind: kind as u8, started, bytes }));
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn counters(&self) -> &'static [&'static str] {
        COUNTERS
    }

    fn counter(&self, index: usize) -> f64 {
        let [updates, commands] = &self.ways;
        let values = [
            updates.sent + commands.sent,
            updates.due + commands.due,
            updates.missed + commands.missed,
            self.received,
            updates.came,
            commands.came,
        ];
        values.get(index).map_or(0.0, |&n| n as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet that arrives after exactly a second is in time, a later one is not.
    #[test]
    fn a_packet_has_missed_after_a_second() {
        let (mut way, start) = (Way::default(), Instant::ZERO);
        let number = way.depart(start, Duration::from_millis(40));
        assert_eq!((number, way.next), (0, start + Duration::from_millis(40)));
        way.expire(start + Duration::from_millis(999));
        assert_eq!((way.due, way.missed), (0, 0));
        way.expire(start + Duration::from_secs(1));
        assert_eq!((way.due, way.missed), (1, 1));
        way.arrive(0);
        assert_eq!((way.came, way.missed), (1, 1), "too late");
    }
}
