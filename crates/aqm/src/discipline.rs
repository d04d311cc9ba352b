//! The [`Discipline`] trait: the parameters of a discipline, and how to make a queue of them.

use std::any::Any;
use std::fmt;

use aqmkit_base::{BitRate, Instant};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError};
use crate::qdisc::Qdisc;
use crate::registry::Spec;

/// The parameters of a discipline as a user writes them, and how to make the queue they describe.
pub trait Discipline:
    Clone + fmt::Debug + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The name in experiment files and on the command line.
    const NAME: &'static str;

    /// The parameters that are thresholds on the queue length or its average: one above the parameter `limit` is never
    /// reached.
    const THRESHOLDS: &'static [&'static str] = &[];

    /// Whether it uses packets' hosts ([`Packet::ends`]) and acknowledgements ([`Packet::ack`]), so that callers look
    /// them up only if needed.
    const TELLS_HOSTS: bool = false;

    /// Whether it can mark ECN-capable packets instead of dropping them, if its parameters allow it.
    const MARKS: bool = true;

    /// Whether it can with these parameters; a tree can where one of its queues can.
    fn marks(&self) -> bool {
        Self::MARKS
    }

    /// The disciplines inside of it, if it is one of a tree: see [`Inner`].
    fn inner(&self, _link: &Link) -> Vec<Inner> {
        Vec::new()
    }

    /// The customers that a tree tells apart, if it does: see [`Circuit`].
    fn circuits(&self, _link: &Link) -> Vec<Circuit> {
        Vec::new()
    }

    /// Settings that are valid but probably a mistake on this link, in sentences for warnings. Disciplines inside have their own.
    fn doubts(&self, _link: &Link) -> Vec<String> {
        Vec::new()
    }

    /// The parameters with everything omitted filled in, as `describe` shows them.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    fn effective(&self, link: &Link) -> Result<Self, ParamError>;

    /// An empty queue at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError>;
}

/// A discipline inside of another one.
#[derive(Clone, Debug)]
pub struct Inner {
    /// Where its parameters are in those of the other, such as `classes[1].aqm`.
    pub path: String,
    /// The discipline with its parameters.
    pub spec: Spec,
    /// The link that it sees.
    pub link: Link,
}

/// A customer of an operator: a leaf of a tree that has clients of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// The name of the leaf.
    pub name: String,
    /// The name of the class above it, which many share: an access point.
    pub above: String,
    /// Its clients: [`crate::filter::Condition::Client`].
    pub clients: Vec<u32>,
    /// The most that it may get.
    pub plan: BitRate,
}

impl<D: Discipline> AnyParams for D {
    fn name(&self) -> &'static str {
        D::NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl dyn AnyParams + '_ {
    /// The parameters as those of the discipline `D`.
    ///
    /// # Errors
    /// When they are those of another discipline.
    pub fn of<D: Discipline>(&self) -> Result<&D, ParamError> {
        let other = || {
            let want = format!("the queue is a {}; another discipline needs a new queue", D::NAME);
            ParamError::new("name", self.name(), want)
        };
        self.as_any().downcast_ref().ok_or_else(other)
    }
}

/// Implements the part of [`Discipline`] that is the same everywhere: the name; for a discipline that is an
/// [`crate::Aqm`] in a [`crate::Fifo`], also `build`.
macro_rules! discipline {
    ($name:literal) => {
        const NAME: &'static str = $name;
    };
    ($name:literal, $aqm:ty) => {
        $crate::discipline::discipline!($name);

        fn build<P: $crate::Packet + 'static>(
            &self,
            link: &$crate::Link,
            now: aqmkit_base::Instant,
        ) -> Result<Box<dyn $crate::Qdisc<P>>, $crate::ParamError> {
            Ok(Box::new($crate::Fifo::<P, $aqm>::new(self, link, now)?))
        }
    };
}
pub(crate) use discipline;
