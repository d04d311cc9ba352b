//! # http-unc: people who browse the web of 2003
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
//! **Distributions.** The university publishes those of its measurement of 2003 as "Data for the UNC HTTP Traffic Model"
//! (<http://www.cs.unc.edu/Research/dirt/proj/http-model>). Its licence allows local, non-commercial use and forbids
//! distribution, so aqmkit neither has these files nor fetches them. Users who have them set `data` to their directory
//! (`aqmkit reproduce` also takes it from the environment variable `AQMKIT_UNC_DATA`, for traffic without `data`); each file has lines `value cumulative-probability`, sizes in
//! bytes and think times in milliseconds:
//!
//! | parameter | file by default | distribution |
//! |---|---|---|
//! | `top_responses` | `top_responses.cdf` | response that is a page's top-level object |
//! | `embedded_responses` | `embedded_responses.cdf` | response that is an embedded object |
//! | `top_requests` | `top_requests.cdf` | request for a top-level object |
//! | `embedded_requests` | `embedded_requests.cdf` | request for an embedded object |
//! | `objects` | `objects.cdf` | objects of a page, the top-level one among them |
//! | `think_times` | `think_times.cdf` | from the end of a page to the next request |
//!
//! **Built in** is a substitute: for each of the six a mixture of lognormals, with a Pareto tail for all but think times, cut at the largest
//! measured value (718 MB for responses, 3656 s for think times). The parameters were fitted to figures of the measurement (`http_unc/fitted.rs`): means within 1 %, the ratio of
//! second moment to mean, which decides how bursty the load is, within 3 %, quantiles up to 99 % within 5 %, 99.9 % within 10 %, 99.99 % within 12 %, 99.999 % within 25 %.
//! Nothing was fitted to a load.
//!
//! | built in | mean | median | 90 % | 99.99 % |
//! |---|---|---|---|---|
//! | top-level response, bytes | 14 900 | 580 | 23 000 | 9.7 MB |
//! | embedded response, bytes | 5670 | 664 | 8280 | 3.7 MB |
//! | top-level request, bytes | 607 | 378 | 990 | 40 kB |
//! | embedded request, bytes | 536 | 425 | 845 | 14 kB |
//! | objects of a page | 5.65 | 2 | 13 | 377 |
//! | think time, s | 66.6 | 11.3 | 152 | 2760 |
//!
//! It differs from the measurement in features that these figures do not capture: common single sizes (error pages, small images, a request without
//! a cookie) are smoothed. In both, the objects of a page are independent of each other.
//!
//! Also not from the measurement of 2003: pages in a row from one server (mah97, measured); half of the stays have persistent connections (half of all objects came on
//! such connections, smith01); two connections at a time (le03).
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
//! | `data` | directory | built in | where the published distributions are |
//! | `top_responses` | file | `"top_responses.cdf"` | with `data`: its name there, as the following |
//! | `embedded_responses` | file | `"embedded_responses.cdf"` | |
//! | `top_requests` | file | `"top_requests.cdf"` | |
//! | `embedded_requests` | file | `"embedded_requests.cdf"` | |
//! | `objects` | file | `"objects.cdf"` | |
//! | `think_times` | file | `"think_times.cdf"` | |
//!
//! Exchanges: `request` (one object: from the request for a connection, or from the request itself on an open
//! connection, to the last byte) and `page` (all objects; none where one failed). Counters: `pages`, `files`,
//! `bytes_received`, `failures`.
//!
//! ## Deviations
//!
//! 1. The built-in distributions, above; the testbed of 2003 and 2004 used an earlier measurement.
//! 2. All objects of a page come from one server; smith01 has pages with objects of several.
//! 3. Persistent connections stay open while the user thinks; servers of the time closed them after 15 s and more. So half of the objects
//!    come on 7 % of the connections; smith01 counts 15 %.
//! 4. An object whose connection fails is given up; a page whose top-level object fails is given up as a whole.
//!
//! ## Evidence
//!
//! `http_unc/fitted/tests.rs`: each figure of the six distributions, and what le03 and le04 print of the responses, which was not used.
//! `tests/traffic/http_unc.rs`: half of the objects on 7 % of the connections, two at a time, the load of 18 900 users on each side ("approximately 105 Mbps", le04 4.2, for "20,000 users"; nothing fitted), the closed loop, the files. The protocol is that of `http-mah` with its tests.
//!
//! ## References
//!
//! * smith01: F. D. Smith, F. Hernandez Campos, K. Jeffay, D. Ott, What TCP/IP Protocol Headers Can Tell Us About the Web,
//!   SIGMETRICS 2001.
//! * hernandez03: F. Hernandez-Campos, K. Jeffay, F. D. Smith, Tracing the Evolution of Web Traffic: 1995-2003, MASCOTS 2003; its data as above.
//! * le03: L. Le, J. Aikat, K. Jeffay, F. D. Smith, The Effects of Active Queue Management on Web Performance, SIGCOMM 2003.
//! * le04: L. Le, K. Jeffay, F. D. Smith, Differential Congestion Notification: Taming the Elephants, ICNP 2004, sections 3, 4.
//! * mah97: B. Mah, An Empirical Model of HTTP Network Traffic, INFOCOM 1997.

mod fitted;
mod mixture;
mod published;

pub use fitted::responses;

use std::sync::Arc;

use aqmkit_base::Rng;
use serde::{Deserialize, Serialize};

use super::Application;
use super::browser::{Habits, User};
use super::model::{Data, Format, Knob, Model, ParamError, Population, count, in_range, texts};

/// The parameters of the web users as they are in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many people browse.
    pub users: usize,
    /// Maximum number of parallel connections of a user.
    pub parallel: usize,
    /// Share of the stays with HTTP/1.1.
    pub persistent: f64,
    /// Directory of the published distributions; `None` for the built-in ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// File of top-level response sizes in `data`.
    pub top_responses: String,
    /// File of embedded response sizes.
    pub embedded_responses: String,
    /// File of top-level request sizes.
    pub top_requests: String,
    /// File of embedded request sizes.
    pub embedded_requests: String,
    /// File of the numbers of objects per page.
    pub objects: String,
    /// File of the think times.
    pub think_times: String,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            users: 20_000,
            parallel: 2,
            persistent: 0.5,
            data: None,
            top_responses: "top_responses.cdf".to_owned(),
            embedded_responses: "embedded_responses.cdf".to_owned(),
            top_requests: "top_requests.cdf".to_owned(),
            embedded_requests: "embedded_requests.cdf".to_owned(),
            objects: "objects.cdf".to_owned(),
            think_times: "think_times.cdf".to_owned(),
        }
    }
}

impl Params {
    /// The parameters that name files, with their values.
    fn names(&self) -> [(&'static str, &String); 6] {
        [
            ("top_responses", &self.top_responses),
            ("embedded_responses", &self.embedded_responses),
            ("top_requests", &self.top_requests),
            ("embedded_requests", &self.embedded_requests),
            ("objects", &self.objects),
            ("think_times", &self.think_times),
        ]
    }
}

impl Model for Params {
    const NAME: &'static str = "http-unc";

    const FORMAT: Format = Format::Latin1;

    fn check(&self) -> Result<(), ParamError> {
        count("users", self.users)?;
        in_range("persistent", self.persistent, 0.0, 1.0)?;
        if !(1..=64).contains(&self.parallel) {
            return Err(ParamError::new("parallel", self.parallel, "it must be from 1 to 64"));
        }
        match self.names().into_iter().find(|(_, name)| name.is_empty()) {
            Some((field, _)) => {
                Err(ParamError::new(field, "\"\"", format!("write the name of a file, as \"{field}.cdf\"")))
            }
            None => Ok(()),
        }
    }

    fn files(&self) -> Vec<String> {
        let dir = self.data.iter();
        dir.flat_map(|d| self.names().map(|(_, f)| format!("{}/{f}", d.trim_end_matches('/')))).collect()
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("users", &mut self.users))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        let texts = texts(data, self.files().len())?;
        self.check()?;
        let tables = match self.data {
            Some(_) => published::parse(&self.names().map(|(_, name)| name), &texts)?,
            None => fitted::distributions().clone(),
        };
        let habits =
            Habits { tables, parallel: self.parallel, persistent: self.persistent, persistent_parallel: self.parallel };
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
