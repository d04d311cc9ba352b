//! # web: sessions, pages and objects as in ns-2
//!
//! The web traffic generator of ns-2 (`PagePool/WebTraf`), used in simulations of RED-PD and many others.
//! Within a page it is open-loop: objects are requested at given times whatever the network does.
//!
//! ## Model
//!
//! ```text
//! session:  pages pages, then it is over
//! page:     ceil(draw of objects) objects, all from one server, drawn anew for each page
//! object:   a connection of its own, a request of one packet, ceil(draw of size) packets in return
//! ```
//!
//! Objects of a page are requested `interobject` apart. The next page begins `interpage` after the last object of
//! the page before has come (`interpage_from = "end"`, the default of ns-2), or after that page's own beginning
//! (`"start"`). Sessions begin at times uniform on `stagger`.
//!
//! The defaults are those of the web simulation of RED-PD (mahajan00 7.4, and its scripts): 50 sessions of 100
//! pages, 10 s exponential between pages, 10 objects exponential, 10 ms exponential between objects, sizes Pareto
//! of the second kind with mean 24 and shape 1.2, packets of 500 bytes. A page then is 10.5 x 24.5 x 500 = 129 KB;
//! every 10.5 s from 50 sessions they are 4.9 Mb/s: mahajan00 has "about 5 Mbps".
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `sessions` | | 50 | how many users, each for one session |
//! | `pages` | | 100 | pages of a session; with few pages the load ends before the run does |
//! | `interpage` | time | 10s | mean time between pages |
//! | `interpage_law` | | exponential | `constant`, `exponential`, `pareto` or `pareto-ii` |
//! | `interpage_from` | | end | where that time begins: at the `end` of a page or at its `start` |
//! | `objects` | 1 | 10 | mean of the distribution that is rounded up to the number of objects of a page |
//! | `objects_law` | | exponential | |
//! | `interobject` | time | 10ms | mean time between the objects of a page |
//! | `interobject_law` | | exponential | |
//! | `size` | packets | 24 | mean of the distribution that is rounded up to the number of packets of an object |
//! | `size_law` | | pareto-ii | |
//! | `shape` | 1 | 1.2 | tail exponent wherever a law is a Pareto one; near 1 a run never shows the mean |
//! | `packet` | size | 500b | bytes that one packet carries |
//! | `stagger` | time | 50s | sessions begin at times uniform on this span |
//!
//! Exchanges: `object` (from the request for a connection to the last byte) and `page` (all objects; none where one
//! failed). Counters: `pages`, and `requests`, `completed`, `bytes_received`, `failures` (of objects).
//!
//! ## Deviations
//!
//! 1. The response comes on the connection of the request, after its handshake; ns-2 sends it on another one-way TCP
//!    connection, without.
//! 2. The client of a session is its number modulo the clients, not drawn.
//! 3. The scripts of RED-PD let 1 s exponential pass from session to session. Given their number those times are
//!    uniform on their span, here 50 s.
//! 4. An object whose connection fails counts as received for its page; ns-2's connections never give up.
//! 5. One shape serves all Pareto laws of a model.
//!
//! ## Evidence
//!
//! `tests/traffic/web.rs`: objects, sizes and times against their distributions, pages that wait for the last object
//! and pages that do not, the end of a session, the published load. `law.rs`: the distributions.
//!
//! ## References
//!
//! * mahajan00: R. Mahajan, S. Floyd, Controlling High-Bandwidth Flows at the Congested Router, 2000, section 7.4.
//! * ns2: The Network Simulator ns-2.35, `webcache/webtraf.cc`, `tcl/webcache/webtraf.tcl`, `tcl/ex/red-pd/traffic.tcl`.
//! * feldmann99: A. Feldmann et al., Dynamics of IP Traffic, SIGCOMM 1999 (the generator's model).

mod session;

use std::sync::Arc;

use aqmkit_base::{Bytes, Duration, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::law::{Law, check_shape};
use super::model::{Data, Knob, Model, ParamError, Population, count, in_range, texts};
use session::Session;

/// When the time between pages starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterpageFrom {
    /// When the last object of a page has arrived.
    End,
    /// When the page starts.
    Start,
}

/// The parameters of web sessions as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of users, each for one session.
    pub sessions: usize,
    /// Pages of a session.
    pub pages: u32,
    /// Mean time between pages; when it starts depends on `interpage_from`.
    pub interpage: Duration,
    /// Distribution of the time between pages.
    pub interpage_law: Law,
    /// When the time between pages starts.
    pub interpage_from: InterpageFrom,
    /// Mean of the distribution that is rounded up to the number of objects of a page.
    pub objects: f64,
    /// Distribution of the number of objects.
    pub objects_law: Law,
    /// Mean time between the objects of a page.
    pub interobject: Duration,
    /// Distribution of the time between objects.
    pub interobject_law: Law,
    /// Mean of the distribution that is rounded up to the number of packets of an object.
    pub size: f64,
    /// Distribution of the size of objects.
    pub size_law: Law,
    /// Tail exponent of the Pareto laws.
    pub shape: f64,
    /// Payload bytes of a packet.
    pub packet: Bytes,
    /// Start times of sessions are uniform on [0, `stagger`].
    pub stagger: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            sessions: 50,
            pages: 100,
            interpage: Duration::from_secs(10),
            interpage_law: Law::Exponential,
            interpage_from: InterpageFrom::End,
            objects: 10.0,
            objects_law: Law::Exponential,
            interobject: Duration::from_millis(10),
            interobject_law: Law::Exponential,
            size: 24.0,
            size_law: Law::ParetoII,
            shape: 1.2,
            packet: Bytes(500),
            stagger: Duration::from_secs(50),
        }
    }
}

/// Cap on the objects of a page, against mistakes and heavy tails.
const MAX_OBJECTS: f64 = 10_000.0;

impl Model for Params {
    const NAME: &'static str = "web";

    fn check(&self) -> Result<(), ParamError> {
        count("sessions", self.sessions)?;
        if self.pages == 0 {
            return Err(ParamError::new("pages", 0, "it must be at least 1"));
        }
        in_range("objects", self.objects, 1e-3, MAX_OBJECTS)?;
        in_range("size", self.size, 1e-3, 1e9)?;
        check_shape("shape", self.shape)?;
        if !(1..=65_535).contains(&self.packet.0) {
            return Err(ParamError::new("packet", self.packet, "it must be from 1b to 65535b"));
        }
        if self.interpage.is_zero() {
            return Err(ParamError::new("interpage", self.interpage, "it must be above zero"));
        }
        Ok(())
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("sessions", &mut self.sessions))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        Ok(Box::new(Sessions(Arc::new(self.clone()))))
    }
}

impl Params {
    fn interpage(&self, rng: &mut Rng) -> Duration {
        Duration::from_secs_f64(self.interpage_law.draw(self.interpage.as_secs_f64(), self.shape, rng))
    }

    fn interobject(&self, rng: &mut Rng) -> Duration {
        Duration::from_secs_f64(self.interobject_law.draw(self.interobject.as_secs_f64(), self.shape, rng))
    }

    fn objects(&self, rng: &mut Rng) -> u32 {
        libm::ceil(self.objects_law.draw(self.objects, self.shape, rng)).clamp(1.0, MAX_OBJECTS) as u32
    }

    /// Draws the size of an object in bytes.
    fn object(&self, rng: &mut Rng) -> u64 {
        let packets = libm::ceil(self.size_law.draw(self.size, self.shape, rng)).clamp(1.0, 1e12);
        packets as u64 * self.packet.0
    }
}

struct Sessions(Arc<Params>);

impl Population for Sessions {
    fn instances(&self) -> usize {
        self.0.sessions
    }

    fn start_spread(&self) -> Option<(&'static str, Duration)> {
        Some(("stagger", self.0.stagger))
    }

    fn make(&self, _index: usize, rng: &mut Rng) -> Box<dyn Application> {
        let delay = self.0.stagger.mul_f64(rng.uniform());
        Box::new(Session::new(Arc::clone(&self.0), delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws of heavy tails are capped: 1e12 packets per object, 10,000 objects per page.
    #[test]
    fn heavy_tails_are_cut() {
        let law = Params { size: 1e9, shape: 1.01, objects: 10_000.0, objects_law: Law::ParetoII, ..Params::default() };
        let mut rng = Rng::stream(1, "web");
        assert_eq!((0..2_000_000).map(|_| law.object(&mut rng)).max(), Some(1_000_000_000_000 * 500));
        assert_eq!((0..10_000).map(|_| law.objects(&mut rng)).max(), Some(10_000));
        let least = Params { size: 1e-3, objects: 1e-3, ..law };
        assert_eq!((0..1000).map(|_| least.object(&mut rng)).min(), Some(500));
        assert_eq!((0..1000).map(|_| least.objects(&mut rng)).min(), Some(1));
    }
}
