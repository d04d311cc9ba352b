//! # http-mah: web users of 1997
//!
//! Each user requests a page, waits until it is complete, reads it for a think time, and requests the next.
//! The model is closed-loop: on a slow network the same users send fewer requests.
//!
//! ## Model
//!
//! ```text
//! think -> request, reply of the main document -> the page's other files, on up to `parallel` connections -> think
//! ```
//!
//! Five distributions, measured by Mah, drive it (mah97; the counts and quantiles are in `mah_tables.rs`):
//!
//! | quantity | mean | median | 90 % | largest |
//! |---|---|---|---|---|
//! | request, bytes | 337 | 231 | 1057 | 1373 |
//! | reply, bytes | 7231 | 2112 | 12 581 | 1 636 039 |
//! | files of a page | 2.84 | 1 | 6 | 65 |
//! | documents in a row from one server | 4.01 | 2 | 9 | 54 |
//! | think time, seconds | 1804 | 16.2 | 794 | 86 395 |
//!
//! Between quantiles the logarithm of the value is a straight line. The largest hundredth of the replies is a
//! Pareto piece, cut at the largest reply; its exponent, 0.84, follows from the mean (the measured tail falls with
//! 0.98; mah97 fits 1.04 to 1.14). After the drawn number of documents the user goes to another server, any with
//! equal chance.
//!
//! With `persistent = false` each file has a connection of its own, which the server closes (HTTP/1.0); with
//! `true` the files of a server use one connection in turn, which stays open while the user reads.
//!
//! **Think time.** Mah's sample includes lunch breaks and nights, in which a user offers no load for a whole run. Times
//! above `think_max` are drawn again, and `think_max` sets the load: with the default the mean is 58.5 s. A page then
//! is 20.5 KB of replies each 59.5 s (a page takes about 1 s to come on an idle network), 2.76 kb/s for each user; with
//! the headers, handshakes and acknowledgements of HTTP/1.0 about 2.93. 3000 users were measured at 2.9546 x 3000 -
//! 53.6 = 8810 kb/s, 2.94 for each (parris01 A.3.4.1): the default was chosen to meet that. 15 minutes give 3.4.
//!
//! **Start.** Users begin within a think time, in the stationary distribution: a time drawn in proportion to its
//! length, and a uniform part of it. If all users began with a full think time, the load would take longer than
//! `think_max` to settle; the dissertation waited for 25 minutes.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `users` | | 3000 | how many people browse |
//! | `parallel` | | 4 | connections at a time of one user; more and pages burst |
//! | `persistent` | | false | one connection for each server, not for each file |
//! | `think_max` | time | 20min | the longest think time; the load falls as it rises |
//! | `data` | directory | built in | where Mah's tables are, in files named as with ns-2 (`HttpThinkTime.cdf` …) |
//!
//! Exchanges: `request` (one file: from the request for a connection to the last byte) and `page` (all files; none
//! where a file failed). Counters: `pages`, `files`, `bytes_received`, `failures`.
//!
//! ## Deviations
//!
//! 1. Lengths are at least 1 byte (Mah has 6 requests and 8 replies of 0).
//! 2. A connection counts towards `parallel` until its reply has arrived, not until the closing handshake is complete.
//! 3. A file whose connection fails is given up; a page whose main document fails is given up as a whole.
//! 4. Requests for the main document and for other files have the same distribution, because the published tables do not distinguish them.
//!
//! ## Evidence
//!
//! `mah_tables.rs`: means within 3 % of the published ones, tail of the replies. `tests/traffic/http.rs`: the
//! protocol against a host that answers after a delay, never more than `parallel` at a time, the load of 3000
//! users, and a load that is stationary from the start.
//!
//! ## References
//!
//! * mah97: B. Mah, An Empirical Model of HTTP Network Traffic, INFOCOM 1997; its tables as published with ns-2.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, appendix A.3.4.1.
//! * christiansen00: M. Christiansen, K. Jeffay, D. Ott, F. D. Smith, Tuning RED for Web Traffic, SIGCOMM 2000.

use std::sync::Arc;

use aqmkit_base::{Duration, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::browser::{Habits, User};
use super::mah_tables::{FILES, MahTables};
use super::model::{Data, Knob, Model, ParamError, Population, count, texts};

/// The parameters of Mah's web users as they are in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many people browse.
    pub users: usize,
    /// Maximum number of parallel connections of a user.
    pub parallel: usize,
    /// Whether one connection serves all files of a server (HTTP/1.1), or each file has its own (HTTP/1.0).
    pub persistent: bool,
    /// Think times above this are drawn again.
    pub think_max: Duration,
    /// Directory of Mah's tables; `None` for the built-in ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

impl Default for Params {
    fn default() -> Self {
        Params { users: 3000, parallel: 4, persistent: false, think_max: Duration::from_secs(20 * 60), data: None }
    }
}

impl Params {
    /// Creates the population with these distributions.
    ///
    /// # Errors
    /// When a parameter is invalid.
    pub fn users_with(&self, tables: &MahTables) -> Result<Users, ParamError> {
        self.check()?;
        let max = self.think_max.as_secs_f64();
        let Some(think) = tables.think.truncated(max) else {
            let want = format!("it must not be below the shortest think time, {} s", tables.think.quantile(0.0));
            return Err(ParamError::new("think_max", self.think_max, want));
        };
        let habits = Habits {
            tables: MahTables { think, ..tables.clone() }.into(),
            parallel: self.parallel,
            persistent: if self.persistent { 1.0 } else { 0.0 },
            persistent_parallel: 1,
        };
        Ok(Users { users: self.users, habits: Arc::new(habits) })
    }
}

impl Model for Params {
    const NAME: &'static str = "http-mah";

    fn check(&self) -> Result<(), ParamError> {
        count("users", self.users)?;
        if !(1..=64).contains(&self.parallel) {
            return Err(ParamError::new("parallel", self.parallel, "it must be from 1 to 64"));
        }
        if self.think_max < Duration::from_secs(2) {
            return Err(ParamError::new("think_max", self.think_max, "it must be at least 2s"));
        }
        Ok(())
    }

    fn files(&self) -> Vec<String> {
        let dir = self.data.iter();
        dir.flat_map(|d| FILES.map(|f| format!("{}/{f}", d.trim_end_matches('/')))).collect()
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("users", &mut self.users))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        let texts = texts(data, self.files().len())?;
        let tables = if self.data.is_some() { MahTables::parse(&texts)? } else { MahTables::default() };
        Ok(Box::new(self.users_with(&tables)?))
    }
}

/// A checked population of web users.
pub struct Users {
    users: usize,
    /// Think times are truncated already.
    habits: Arc<Habits>,
}

impl Users {
    /// Mean think time in seconds.
    #[must_use]
    pub fn mean_think(&self) -> f64 {
        self.habits.tables.think.mean()
    }

    /// Mean bytes of the replies of a page.
    #[must_use]
    pub fn mean_page(&self) -> f64 {
        self.habits.tables.files.mean() * self.habits.tables.top.reply.mean()
    }

    /// Bytes per second of replies that one user requests on a network where a page takes `page_secs` seconds. Without
    /// headers.
    #[must_use]
    pub fn load_per_user(&self, page_secs: f64) -> f64 {
        self.mean_page() / (self.mean_think() + page_secs)
    }
}

impl Population for Users {
    fn instances(&self) -> usize {
        self.users
    }

    fn make(&self, _index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        Box::new(User::new(Arc::clone(&self.habits)))
    }
}
