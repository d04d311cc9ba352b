//! # abt: connections as vectors of exchanges
//!
//! Recorded traffic without a model of applications: for each TCP connection the data sent by both ends,
//! and their waiting times.
//!
//! ## Model
//!
//! A *sequential* connection is a series of epochs (a, b, t): the initiator sends `a` bytes, the acceptor waits and
//! sends `b` bytes, the initiator waits `t` and begins again (hernandez06). In a *concurrent* connection the two ends
//! send independently, at fixed times. Waiting times are those of the applications; transport and links add their
//! delays. Connections start at fixed times, whether earlier ones are complete or not. With `block` one file gives
//! several workloads: its blocks in another order (block resampling, hernandez06), which keeps the burstiness of
//! arrivals within a block and spreads variations over longer times.
//!
//! With `vectors` the connections are those of a tmix file. Both forms of the format are read; their first words
//! distinguish them:
//!
//! ```text
//! SEQ start epochs id id            S start epochs id id
//! > bytes   t wait   < bytes        I send_wait receive_wait bytes    A send_wait receive_wait bytes    0 bytes: the end
//! CONC start n_i n_a id id          C start n_i n_a id id
//! c> bytes  t> wait  c< bytes  t< wait
//! ```
//!
//! with times in microseconds, and lines `w`, `r`, `l` (windows, round trip, losses), which, like the identifiers (two whole numbers),
//! are checked but not used. Without it there is a mix of HTTP, SMTP, peer-to-peer, NNTP and FTP connections (75, 17, 5, 2 and 1 %), `interval` apart on average:
//!
//! | protocol | connection | from |
//! |---|---|---|
//! | HTTP | requests of mah97; responses lognormal with median 900 bytes and sigma 1.9 up to the 90 % point, above it Pareto with exponent 1.15, cut at 50 MB (fitted to le03, le04); 15 % of the connections with 5.7 exchanges on average | smith01 |
//! | SMTP | greeting and six exchanges; the message lognormal, 4 KB on average | rfc5321; sizes are a choice |
//! | FTP | one transfer, Pareto from 20 KB on with exponent 1.1, cut at 50 MB | a choice |
//! | NNTP | concurrent: 20 articles on average, lognormal, 3 KB | rfc4644; sizes are a choice |
//! | peer-to-peer | concurrent: pieces of 16 KB, 8 on average from the acceptor, 0.3 of that from the initiator | a choice |
//!
//! The shares of HTTP and FTP are those of parris01 (table 1.2); the others are a choice.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `vectors` | file | none | connection vectors to play in place of the mix |
//! | `scale` | 1 | 1 | start times are multiplied by it: the load falls as it rises |
//! | `block` | time | none | play the file in blocks of this length (before `scale`) in another order; blocks shorter than bursts cut the bursts apart |
//! | `order` | | `"shuffled"` | `"shuffled"`: each block once, so that the load is that of the file; `"drawn"`: the same number, drawn with replacement |
//! | `shuffle` | | 1 | selects the order; it is the same for all runs |
//! | `interval` | time | 10ms | mean time between connections of the mix |
//! | `hosts` | | 100 | the connections are assigned in turn to this number of hosts |
//!
//! Exchanges: `epoch` (from the request to the last byte of the answer, without the acceptor's wait) and `connection`.
//! Counters: `connections`, `completed`, `epochs`, `bytes_received` (from the acceptors of completed connections), `failures`.
//!
//! ## Deviations
//!
//! 1. The initiator closes the connection; in tmix the side that sent last closes it. A concurrent connection closes when both sides have finished.
//! 2. Where the acceptor sends twice in a row, its wait is counted from the receipt of the first; so is its wait before the end.
//! 3. Windows, round trips and losses of the file are not used: those of the experiment apply.
//! 4. tmix can start with connections in progress; here a warm-up serves this purpose.
//! 5. The last block is as long as the others, though the file may end within it.
//!
//! ## Evidence
//!
//! `abt/cvec.rs`: both forms give the same connections, errors name file and line, no text makes the reader panic.
//! `tests/traffic/abt.rs`: times and bytes of sequential and concurrent connections, starts, scaling, the mix.
//!
//! ## References
//!
//! * hernandez06: F. Hernandez-Campos, Generation and Validation of Empirically-Derived TCP Application Workloads,
//!   dissertation, UNC 2006.
//! * weigle06: M. Weigle et al., Tmix: A Tool for Generating Realistic TCP Application Workloads in ns-2, CCR 36(3), 2006; the
//!   forms of its files as in the manual of ns-2.35.
//! * parris01, smith01, mah97, le03, le04: see `http-mah` and `http-unc`. rfc5321: SMTP. rfc4644: NNTP streaming.

mod cvec;
mod mix;
mod replay;
mod sizes;
mod vector;

use std::sync::Arc;

use aqmkit_base::{Duration, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::model::{Data, Knob, Model, ParamError, Population, count, in_range, texts};
use mix::{Mix, Tables};
use replay::{Host, Script, Source};
use vector::Vectors;

/// Shorter blocks are refused.
const SHORTEST_BLOCK: Duration = Duration::from_millis(1);
/// A file with more blocks is refused: `block` is probably in the wrong unit.
const MAX_BLOCKS: u64 = 1_000_000;

/// The parameters of connection vectors as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// A file of connection vectors; `None` for the built-in mix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
    /// Start times are multiplied by this factor; a larger one lowers the load.
    pub scale: f64,
    /// If set, the file is played in blocks of this length, in another order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Duration>,
    /// How the order of the blocks is drawn.
    pub order: Order,
    /// Seed of the block order; the same for all runs.
    pub shuffle: u64,
    /// Mean time between connections of the mix.
    pub interval: Duration,
    /// The connections are assigned in turn to this number of hosts.
    pub hosts: usize,
}

/// How the order of a file's blocks is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// A permutation: each block is played once, so that the load is that of the file.
    #[default]
    Shuffled,
    /// As many blocks as the file has, drawn with replacement.
    Drawn,
}

impl Params {
    /// Parses the file and arranges its connections in the chosen order.
    fn read(&self, file: &str, text: &str) -> Result<Vectors, ParamError> {
        let vectors = cvec::parse(file, text)?;
        let Some(block) = self.block else { return Ok(vectors) };
        let last = vectors.all.last().map_or(0, |v| v.start_us);
        if Duration::from_micros(last).whole(block) >= MAX_BLOCKS {
            return Err(ParamError::new("block", block, format!("the file must have at most {MAX_BLOCKS} blocks")));
        }
        let mut rng = Rng::stream(self.shuffle, "abt.blocks");
        Ok(vectors.in_blocks(block.as_nanos() / 1000, self.order == Order::Drawn, &mut rng))
    }
}

impl Default for Params {
    fn default() -> Self {
        Params {
            vectors: None,
            scale: 1.0,
            block: None,
            order: Order::Shuffled,
            shuffle: 1,
            interval: Duration::from_millis(10),
            hosts: 100,
        }
    }
}

impl Model for Params {
    const NAME: &'static str = "abt";

    fn check(&self) -> Result<(), ParamError> {
        count("hosts", self.hosts)?;
        in_range("scale", self.scale, 1e-6, 1e9)?;
        if let Some(block) = self.block.filter(|&b| b < SHORTEST_BLOCK) {
            return Err(ParamError::new("block", block, format!("it must be at least {SHORTEST_BLOCK}")));
        }
        if let (Some(block), None) = (self.block, &self.vectors) {
            return Err(ParamError::new("block", block, "it needs a file: give one in vectors"));
        }
        if self.interval < Duration::from_micros(1) {
            return Err(ParamError::new("interval", self.interval, "it must be at least 1us"));
        }
        Ok(())
    }

    fn files(&self) -> Vec<String> {
        self.vectors.iter().cloned().collect()
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Stretch("scale", &mut self.scale))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        let texts = texts(data, self.files().len())?;
        self.check()?;
        let connections = match (&self.vectors, texts.first()) {
            (Some(file), Some(text)) => Connections::File(Arc::new(self.read(file, text)?)),
            _ => Connections::Mix(Arc::new(Tables::new())),
        };
        Ok(Box::new(Hosts { params: self.clone(), connections }))
    }
}

enum Connections {
    File(Arc<Vectors>),
    Mix(Arc<Tables>),
}

struct Hosts {
    params: Params,
    connections: Connections,
}

impl Population for Hosts {
    fn instances(&self) -> usize {
        self.params.hosts
    }

    fn make(&self, index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        let Params { scale, interval, hosts, .. } = self.params;
        let source: Box<dyn Source> = match &self.connections {
            Connections::File(vectors) => {
                Box::new(Part { vectors: Arc::clone(vectors), next: index, step: hosts, scale })
            }
            Connections::Mix(tables) => {
                let interval = interval.as_secs_f64() * hosts as f64 * scale;
                Box::new(Mix { tables: Arc::clone(tables), interval, elapsed: 0.0 })
            }
        };
        Box::new(Host::new(source))
    }
}

/// The connections of a file that one host plays.
struct Part {
    vectors: Arc<Vectors>,
    next: usize,
    step: usize,
    scale: f64,
}

impl Source for Part {
    fn next(&mut self, _rng: &mut Rng) -> Option<(Duration, Script)> {
        let vector = self.vectors.all.get(self.next)?;
        self.next += self.step;
        let script = Script { concurrent: vector.concurrent, steps: self.vectors.steps(vector).to_vec() };
        Some((Duration::from_secs_f64(vector.start_us as f64 * self.scale / 1e6), script))
    }
}
