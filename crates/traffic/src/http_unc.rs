//! # http-unc: people who browse the web of 2000
//!
//! The web users of the North Carolina testbed: pages with embedded objects, on non-persistent and
//! persistent connections. The model is closed-loop: on a slow network the same users send fewer requests.
//!
//! ## Model
//!
//! ```text
//! stay:  a server, a number of pages, and whether connections are persistent
//! page:  the top-level object; then the embedded ones, on up to `parallel` connections; then think time
//! ```
//!
//! With HTTP/1.0 each object has a connection of its own, which the server closes. With HTTP/1.1 the connections of a
//! stay carry several objects, and the browser closes them when it goes to another server. The version is drawn for
//! each stay.
//!
//! The original distributions (smith01) were never published. **Substitutes:**
//!
//! | quantity | here | from |
//! |---|---|---|
//! | response | lognormal with median 900 bytes and sigma 1.9 up to its 90 % point; above it Pareto with exponent 1.15, cut at 50 MB | fitted, see below |
//! | request, objects of a page, pages in a row, think time | those of `http-mah` | mah97, measured |
//! | stays with persistent connections | half | half of all objects came on such connections (smith01) |
//! | connections at a time | 2 | le03 |
//!
//! **Fits.** Three printed properties of the responses were used: a median below 1000 bytes (le03), about 90 % at 10 000
//! bytes and below, 25 % of the bytes in responses longer than a megabyte (le04, figures 1 and 2). Others check the fit:
//! `http_unc/sizes.rs`. The longest think time is fitted to "20,000 users" making "approximately 105 Mbps" (le04 4.2), as no
//! think times are printed: that sentence is therefore no evidence for this model. Nothing else was fitted.
//!
//! **Start.** Users begin in the middle of a think time, as with `http-mah`, so that the load is stationary from the start.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `users` | | 20000 | how many people browse |
//! | `parallel` | | 2 | connections at a time of one user; more and pages burst |
//! | `persistent` | 1 | 0.5 | share of the stays with HTTP/1.1 |
//! | `think_max` | time | 6min | the longest think time; the load falls as it rises |
//!
//! Exchanges: `request` (one object: from the request for a connection, or from the request itself on an open
//! connection, to the last byte) and `page` (all objects; none where one failed). Counters: `pages`, `files`,
//! `bytes_received`, `failures`.
//!
//! ## Deviations
//!
//! 1. The distributions above; top-level and embedded objects have the same distribution.
//! 2. All objects of a page come from one server; smith01 has pages with objects of several.
//! 3. Persistent connections stay open while the user thinks; servers of the time closed them after 15 s and more.
//! 4. An object whose connection fails is given up; a page whose top-level object fails is given up as a whole.
//!
//! ## Evidence
//!
//! `http_unc/sizes.rs`: the printed properties of the responses, those used by the fit and those not.
//! `tests/traffic/http_unc.rs`: half of the objects on some 15 % of the connections (smith01; a consequence of the other
//! parameters), two at a time, the load of 20 000 users, the closed loop. The protocol is that of `http-mah` with its tests.
//!
//! ## References
//!
//! * smith01: F. D. Smith, F. Hernandez Campos, K. Jeffay, D. Ott, What TCP/IP Protocol Headers Can Tell Us About the Web,
//!   SIGMETRICS 2001.
//! * le03: L. Le, J. Aikat, K. Jeffay, F. D. Smith, The Effects of Active Queue Management on Web Performance, SIGCOMM 2003.
//! * le04: L. Le, K. Jeffay, F. D. Smith, Differential Congestion Notification: Taming the Elephants, ICNP 2004, sections 3, 4.
//! * mah97: B. Mah, An Empirical Model of HTTP Network Traffic, INFOCOM 1997.

mod sizes;

pub use sizes::responses;

use std::sync::Arc;

use aqmkit_base::{Duration, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::browser::{Habits, User};
use super::mah_tables::MahTables;
use super::model::{Data, Knob, Model, ParamError, Population, count, in_range, texts};

/// The parameters of the web users as an experiment has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many people browse.
    pub users: usize,
    /// Connections at a time of one user.
    pub parallel: usize,
    /// Share of the stays with HTTP/1.1.
    pub persistent: f64,
    /// The longest think time.
    pub think_max: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params { users: 20_000, parallel: 2, persistent: 0.5, think_max: Duration::from_secs(360) }
    }
}

impl Model for Params {
    const NAME: &'static str = "http-unc";

    fn check(&self) -> Result<(), ParamError> {
        count("users", self.users)?;
        in_range("persistent", self.persistent, 0.0, 1.0)?;
        if !(1..=64).contains(&self.parallel) {
            return Err(ParamError::new("parallel", self.parallel, "it must be from 1 to 64"));
        }
        if self.think_max < Duration::from_secs(2) {
            return Err(ParamError::new("think_max", self.think_max, "it must be at least 2s"));
        }
        Ok(())
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("users", &mut self.users))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        let mah = MahTables::default();
        let Some(think) = mah.think.truncated(self.think_max.as_secs_f64()) else {
            return Err(ParamError::new("think_max", self.think_max, "it must be at least 2s"));
        };
        let habits = Habits {
            tables: MahTables { think, reply: responses(), ..mah },
            parallel: self.parallel,
            persistent: self.persistent,
            persistent_parallel: self.parallel,
        };
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
        Box::new(User::new(Arc::clone(&self.habits)))
    }
}
