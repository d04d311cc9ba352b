//! # PRIO: strict priority among bands
//!
//! A queue for each band; a band is served when all bands before it are empty.
//!
//! ## Law
//!
//! ```text
//! arrival:  the first band whose match holds, else priomap[priority]               [prio_classify]
//! request:  the first band with a packet to send                                   [prio_dequeue]
//! priority: by the three lower bits of the codepoint, the old type of service:     [rt_tos2priority]
//!           00x 0 (best effort)   01x 2 (bulk)   10x 6 (interactive)   11x 4 (interactive bulk)
//! ```
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `bands` | | | 3, or the number of classes | from 2 to 16 |
//! | `priomap` | | | 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 | the band of each of the 16 priorities, of which packets have four: 0, 2, 4 and 6. Expedited forwarding (`ef`) has priority 4, band 1: use `match` for codepoints |
//! | `classes` (`class`) | | | | an entry for each band, in order, with the fields below; bands without one have a FIFO |
//! | `name` | | | its number | its name in results; a class of the link with this name goes here |
//! | `match` | | | | packets that go here whatever their priority: the name of a class of the link, `"dscp ef"`, or `"*"`, or a list of these |
//! | `aqm` | | | a FIFO of 1000 | its queue, a discipline as for a link: `"fq-codel"`, or `{ name = "red", min = 5 }` |
//! | `flow` | | | connection | which packets form a flow for the queues: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ```toml
//! [topology.aqm]
//! name = "prio"
//! [[topology.aqm.class]]
//! name  = "voice"
//! match = "dscp ef"
//! [[topology.aqm.class]]
//! name  = "rest"
//! match = "*"
//! aqm   = "fq-codel"
//! ```
//!
//! ## Deviations
//!
//! 1. Filters are names of classes and codepoints: ports, networks and marks belong to the classes of the link. The first entry that matches counts, as filters of `tc` in the order of their preference.
//! 2. The priority is that of an IPv4 packet that Linux forwards: programs set others with `SO_PRIORITY`. Simulated packets have no codepoint.
//! 3. If the queue of a band holds its packets back (a shaper), the bands after it are served; Linux does the same.
//! 4. Two bands are the default of two classes; the default `priomap` then names the last band in place of bands that are not there, where `tc` reports an error.
//!
//! ## Limits
//!
//! A band that is always backlogged starves those after it: put a shaper (`tbf`) inside, or use `ets`. Bands and matches cannot change while packets wait. State: that of the queues. Per packet: a question to each band up to the one that
//! sends.
//!
//! ## Evidence
//!
//! `tests/oracle/prio.rs` transcribes `prio_classify` and `prio_dequeue` with plain lists, with equal decisions on random and bursty traces. `tests/aqm/trees.rs` checks the order of bands by hand, work conservation on random traces,
//! shapers inside and drops of a queue, which are counted once.
//!
//! ## References
//!
//! * prio: Linux, `net/sched/sch_prio.c`, A. Kuznetsov, J. Hadi Salim; tc-prio(8).
//! * `rt_tos2priority`: Linux, `net/ipv4/route.c`; RFC 1349.

use aqmkit_base::Instant;
use serde::{Deserialize, Serialize};

use crate::bands::{BandParams, Banded, Bands, Plan, complete, inner};
use crate::discipline::{Discipline, Inner, discipline};
use crate::filter::Classifier;
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{ParamError, in_range};
use crate::priority;
use crate::qdisc::Qdisc;

/// The parameters of PRIO as a user writes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many bands there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<u32>,
    /// The band of each priority.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priomap: Vec<u8>,
    /// The bands.
    #[serde(alias = "class", skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<BandParams>,
}

impl Discipline for Params {
    discipline!("prio");

    const TELLS_HOSTS: bool = true;

    fn marks(&self) -> bool {
        self.classes.iter().any(|band| band.aqm.spec().marks())
    }

    fn inner(&self, link: &Link) -> Vec<Inner> {
        inner(&self.classes, link)
    }

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let bands =
            self.bands.unwrap_or_else(|| if self.classes.is_empty() { 3 } else { self.classes.len().max(2) as u32 });
        in_range("bands", bands.into(), 2.0, 16.0).map_err(|e| e.cite("tc-prio(8)"))?;
        let classes = complete(&self.classes, bands as usize, link)?;
        let priomap = priority::complete(&self.priomap, bands as usize, &priority::DEFAULT_MAP)?;
        let full = Params { bands: Some(bands), priomap, classes };
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
        Ok(Plan { bands: full.classes, priomap: full.priomap, quanta: Vec::new(), classifier, link: link.clone() })
    }
}
