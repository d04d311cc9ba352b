//! # ETS: enhanced transmission selection
//!
//! Bands as of `prio`, of which the first are served strictly in order, and the others share what these leave by deficit round robin.
//!
//! ## Law
//!
//! ```text
//! arrival:  the first band whose match holds, else priomap[priority]               [ets_classify]
//!           a sharing band that was empty: to the end of the list, deficit = quantum  [ets_qdisc_enqueue]
//! request:  the first strict band with a packet to send                            [ets_qdisc_dequeue]
//!           else the first band of the list: length <= deficit: send, deficit -= length
//!                otherwise deficit += quantum, and the band goes to the end of the list
//! ```
//!
//! While two sharing bands are both backlogged, their bytes per round are in the proportion of their quanta. The priority of a packet is that of `prio`.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `bands` | | | the larger of the classes and `strict` with `quanta`, at least 1 | from 1 to 16 |
//! | `strict` | | | 0 | how many of the first bands are served strictly in order |
//! | `quanta` | | size | a full packet each | list of the bytes per round of the sharing bands, the first after the strict ones first; those without have 1500b |
//! | `priomap` | | | the last band | the band of each of the 16 priorities: see `prio` |
//! | `classes` (`class`) | | | | an entry for each band, in order, with the fields below; bands without one have a FIFO |
//! | `name` | | | its number | its name in results; a class of the link with this name goes here |
//! | `match` | | | | packets that go here whatever their priority: the name of a class of the link, `"dscp ef"`, or `"*"`, or a list of these |
//! | `aqm` | | | a FIFO of 1000 | its queue, a discipline as for a link: `"fq-codel"`, or `{ name = "red", min = 5 }` |
//! | `flow` | | | connection | which packets form a flow for the queues: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ```toml
//! [topology.aqm]
//! name   = "ets"
//! strict = 1
//! quanta = ["4500b", "1500b"]
//! [[topology.aqm.class]]
//! name = "voice"
//! [[topology.aqm.class]]
//! name = "video"
//! [[topology.aqm.class]]
//! name = "rest"
//! aqm  = "fq-codel"
//! ```
//!
//! ## Deviations
//!
//! 1. Matches and priorities are those of `prio`, deviations 1 and 2.
//! 2. If the queue of a sharing band holds its packets back (a shaper), the next one is served; Linux stops and complains about a queue that is not work conserving.
//! 3. The default quantum is a full IP packet, 1500 bytes; in Linux the maximum transmission unit with the MAC header.
//!
//! ## Limits
//!
//! A quantum far below a full packet costs many rounds per packet. The packet that is next in a sharing band has left its queue, unless that is a FIFO: one packet more than its limit may wait. Bands and matches cannot change while
//! packets wait. State: that of the queues, and two numbers for each band. Per packet: a question to each strict band, and rounds until a deficit suffices.
//!
//! ## Evidence
//!
//! `tests/oracle/ets.rs` transcribes `ets_qdisc_enqueue` and `ets_qdisc_dequeue` with plain lists, with equal decisions on random and bursty traces. `tests/aqm/trees.rs` checks shares of quanta and strict bands by hand, and work
//! conservation on random traces.
//!
//! ## References
//!
//! * ets: Linux, `net/sched/sch_ets.c`, P. Machata; tc-ets(8); IEEE 802.1Qaz.
//! * shreedhar96: M. Shreedhar, G. Varghese, Efficient Fair Queuing using Deficit Round-Robin, IEEE/ACM `ToN` 4(3), 1996.

use aqmkit_base::{Bytes, Instant};
use serde::{Deserialize, Serialize};

use crate::bands::{BandParams, Banded, Bands, Plan, complete, inner};
use crate::discipline::{Discipline, Inner, discipline};
use crate::filter::Classifier;
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{ParamError, in_range};
use crate::priority;
use crate::qdisc::Qdisc;

/// The parameters of ETS as a user writes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many bands there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<u32>,
    /// How many of them are strict.
    pub strict: u32,
    /// Bytes per round of the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quanta: Vec<Bytes>,
    /// The band of each priority.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priomap: Vec<u8>,
    /// The bands.
    #[serde(alias = "class", skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<BandParams>,
}

/// A full packet: the quantum of bands without one.
const QUANTUM: Bytes = Bytes(1500);

impl Discipline for Params {
    discipline!("ets");

    const TELLS_HOSTS: bool = true;

    fn marks(&self) -> bool {
        self.classes.iter().any(|band| band.aqm.spec().marks())
    }

    fn inner(&self, link: &Link) -> Vec<Inner> {
        inner(&self.classes, link)
    }

    fn doubts(&self, _link: &Link) -> Vec<String> {
        let small = self.quanta.iter().filter(|quantum| **quantum < QUANTUM);
        let doubt = |quantum: &Bytes| {
            format!(
                "ets: a quantum of {quantum} is less than a full packet of {QUANTUM}: each packet takes several rounds; multiply all quanta"
            )
        };
        small.map(doubt).take(1).collect()
    }

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let least = (self.strict as usize).saturating_add(self.quanta.len()).max(self.classes.len()).max(1);
        let bands = self.bands.unwrap_or(least.min(u32::MAX as usize) as u32);
        in_range("bands", bands.into(), 1.0, 16.0).map_err(|e| e.cite("tc-ets(8)"))?;
        in_range("strict", self.strict.into(), 0.0, bands.into())?;
        let sharing = (bands - self.strict) as usize;
        if self.quanta.len() > sharing {
            let want = format!("{sharing} of the {bands} bands share");
            return Err(ParamError::new("quanta", format!("{} sizes", self.quanta.len()), want));
        }
        for (i, quantum) in self.quanta.iter().enumerate() {
            in_range(&format!("quanta[{i}]"), quantum.as_f64(), 1.0, 1e6)?;
        }
        let mut quanta = self.quanta.clone();
        quanta.resize(sharing, QUANTUM);
        let classes = complete(&self.classes, bands as usize, link)?;
        let last = [bands as u8 - 1; priority::PRIORITIES];
        let priomap = priority::complete(&self.priomap, bands as usize, &last)?;
        let full = Params { bands: Some(bands), strict: self.strict, quanta, priomap, classes };
        full.classifier(link).map(|_| full)
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Bands::<P, Params>::new(self, link, now)?))
    }
}

impl Params {
    fn classifier(&self, link: &Link) -> Result<Classifier, ParamError> {
        Classifier::new(link, self.classes.iter().map(|band| (band.name.as_str(), &band.matches)))
    }
}

impl Banded for Params {
    fn plan(&self, link: &Link) -> Result<Plan, ParamError> {
        let full = self.effective(link)?;
        let classifier = full.classifier(link)?;
        Ok(Plan { bands: full.classes, priomap: full.priomap, quanta: full.quanta, classifier, link: link.clone() })
    }
}
