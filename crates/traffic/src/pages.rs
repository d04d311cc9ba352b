//! # pages: today's web pages over HTTP/2 or HTTP/3
//!
//! Users who browse pages with today's page weights: dozens of objects from a dozen domains, with one connection to
//! each domain that carries all of its objects. The model is closed-loop: users wait for a page and then read it.
//!
//! ## Model
//!
//! A page has a rank `u`, uniform on 0 to 1: at rank 0.9 it is at the 90th percentile of everything below. Between the
//! published percentiles the logarithm is linear in `u`; the ends, at 0 and 1, are chosen.
//!
//! | | 0 | 10 % | 25 % | 50 % | 75 % | 90 % | 1 | from |
//! |---|---|---|---|---|---|---|---|---|
//! | objects | 8 | 24 | 42 | 71 | 115 | 176 | 400 | almanac24, desktop |
//! | style sheets, KB | 2 | 10 | 36 | 80 | 152 | 269 | 600 | almanac24, desktop |
//! | scripts, KB | 20 | 101 | 270 | 620 | 1172 | 1834 | 4000 | almanac24, desktop |
//! | images, KB | 15 | 84 | 322 | 1054 | 2822 | 6526 | 15000 | almanac24, desktop home pages |
//! | domains | 1 | 4 | 8 | 13 | 20 | 33 | 60 | connections of almanac20; the 10 % is chosen |
//!
//! One object is the document, of 18 KB. The others are of five kinds, in the proportions of the median page (almanac24):
//! 8 style sheets, 24 scripts, 18 images, 4 fonts of 33 KB each, and 16 others of 47 KB each: with these, fitted, the median page
//! weighs the published 2652 KB. (1 KB is taken as 1000 bytes.) The sizes of style sheets, scripts and images are shares of
//! the total of their kind, in proportion to lognormal draws with a coefficient of variation of 1.5 (chosen).
//!
//! ```text
//! document      on the connection to the first domain
//! parsing       exponential, mean 0.13 s (r1-070674)
//! first wave    style sheets, scripts, images
//! parsing       once all style sheets and scripts have arrived
//! second wave   fonts, others; the page is complete when everything has arrived
//! reading       exponential, mean `think`; then another page, of other domains,
//!               with new connections
//! ```
//!
//! Half of the objects, and all style sheets and fonts, are on the first domain; the others are on any of the rest (chosen).
//! Domains are assigned to the servers of the topology in turn. All requests of a wave leave at once; a server sends the
//! responses of a connection one after the other, as HTTP/2 and HTTP/3 servers do with streams of one urgency that
//! are not incremental (rfc9218 4.2).
//!
//! **`http2`**: a connection of TCP and then TLS 1.3, which takes a round trip more: 517 bytes, answered by 4000 bytes
//! (certificates), before the first request. **`http3`**: the handshakes of transport and TLS are one (rfc9000, rfc9001), so that the requests leave a
//! round trip earlier. The same bytes are sent, the first of them padded to 1200.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `users` | | 1 | how many people browse; 0 for none |
//! | `version` | | http2 | `http2` or `http3` |
//! | `think` | time | 30s | mean time to read a page (r1-070674); the load falls as it rises |
//! | `weight` | 1 | 1 | factor of all sizes of objects: inner pages have less than half the bytes of images of home pages |
//!
//! Exchanges: `object` (from its discovery by the browser to its last byte), `render` (document, style sheets
//! and scripts of a page) and `page` (everything). Counters: `pages`, `objects`, `bytes_received`, `failures`.
//!
//! ## Deviations
//!
//! 1. **HTTP/3 runs over the connections of the simulator, which are TCP**: a lost packet holds up all
//!    streams of its connection, as with HTTP/2, although QUIC has no such blocking between streams. Loss recovery, congestion control and
//!    acknowledgements are TCP's too. The versions differ here only in the handshake. Neither resumes a session (0-RTT).
//! 2. Pages are first views with an empty cache, as HTTP Archive measures them. DNS look-ups take no time.
//! 3. Percentiles of different quantities belong to different pages; here one page has them all. Inner pages differ only in their size (`weight`).
//! 4. Headers are 300 bytes of a request and 300 of a response (chosen). There are no redirects, no lazy loading and no server push.
//! 5. Servers answer at once.
//! 6. If a connection fails, its objects are lost, and the page is not counted as an exchange.
//!
//! ## Evidence
//!
//! `pages/site.rs`: the published percentiles of objects and weights, the median page. `tests/traffic/pages.rs`: order
//! of the waves, one connection for each domain, the round trip by which the versions differ, failures, the load of
//! users.
//!
//! ## References
//!
//! * almanac24: HTTP Archive, Web Almanac 2024, chapter Page Weight (October 2024): requests, bytes of each kind.
//! * almanac20: HTTP Archive, Web Almanac 2020, chapter HTTP/2, figure 22.15: TCP connections of a page. The median of desktop
//!   pages over HTTP/2 and later was 13 in 2022 as well (Web Almanac 2022, chapter HTTP).
//! * r1-070674: Orange et al., LTE physical layer framework for performance verification, 3GPP TSG-RAN1 #48, February 2007,
//!   appendix B: parsing and reading times.
//! * rfc9000, rfc9001, rfc9114, rfc9218: QUIC, its TLS, HTTP/3, Extensible Prioritization Scheme for HTTP. rfc8446: TLS 1.3. rfc9113: HTTP/2.

mod browser;
mod site;

pub use site::{Kind, Object, Page};

use std::sync::Arc;

use aqmkit_base::{Duration, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::model::{Data, Knob, Model, ParamError, Population, count_or_none, in_range, texts};
use browser::{Browser, Habits};
use site::Tables;

/// The version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// HTTP/2 over TLS 1.3 over TCP.
    #[default]
    Http2,
    /// HTTP/3: differs from HTTP/2 only in the handshake (see the deviations).
    Http3,
}

/// The parameters of the users as they are in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of users; 0 for none.
    pub users: usize,
    /// The version of HTTP.
    pub version: Version,
    /// Mean time to read a page.
    pub think: Duration,
    /// Factor for the sizes of all objects.
    pub weight: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { users: 1, version: Version::Http2, think: Duration::from_secs(30), weight: 1.0 }
    }
}

impl Model for Params {
    const NAME: &'static str = "pages";

    fn check(&self) -> Result<(), ParamError> {
        count_or_none("users", self.users)?;
        in_range("weight", self.weight, 0.001, 1000.0)?;
        if !(Duration::from_millis(100)..=Duration::from_secs(86_400)).contains(&self.think) {
            return Err(ParamError::new("think", self.think, "it must be from 100ms to 86400s"));
        }
        Ok(())
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("users", &mut self.users))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        let (version, weight, think) = (self.version, self.weight, self.think.as_secs_f64());
        let habits = Habits { tables: Tables::default(), version, weight, think };
        Ok(Box::new(Users { users: self.users, habits: Arc::new(habits) }))
    }
}

struct Users {
    users: usize,
    habits: Arc<Habits>,
}

impl Population for Users {
    fn instances(&self) -> usize {
        self.users
    }

    fn make(&self, _index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        Box::new(Browser::new(Arc::clone(&self.habits)))
    }
}
