//! The one list of disciplines. A line here buys a name in experiment files and on the command line, a
//! reference page, the conformance suite, a benchmark and a fuzz entry.

use aqmkit_base::near::suggest;
pub use aqmkit_base::page::Entry;
use aqmkit_base::read::Value;
use aqmkit_base::{BitRate, Bytes, Duration, FlowKind, Instant};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::custom;
use crate::disciplines;
use crate::packet::Packet;
use crate::params::{ParamError, in_range};
use crate::qdisc::Qdisc;

/// The link a queue stands at: what parameters left open are derived from.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The link's rate.
    pub rate: BitRate,
    /// The size of a typical packet on it, with headers: turns idle time into packets that could have
    /// been sent.
    pub mean_packet: Bytes,
    /// The names of the traffic classes; a class's place in the list is its `ClassId`.
    pub classes: Vec<String>,
}

impl Link {
    /// A link of this rate, with 1000-byte packets and no named classes.
    #[must_use]
    pub fn new(rate: BitRate) -> Self {
        Link { rate, mean_packet: Bytes(1000), classes: Vec::new() }
    }

    /// The size of a typical packet: `avpkt` where a user gives it, else the link's.
    ///
    /// # Errors
    /// When it is nothing.
    pub fn avpkt(&self, avpkt: Option<Bytes>) -> Result<Bytes, ParamError> {
        let size = avpkt.unwrap_or(self.mean_packet);
        in_range("avpkt", size.as_f64(), 1.0, f64::INFINITY).map(|()| size)
    }

    /// How many packets of this size the link sends in a second.
    #[must_use]
    pub fn packets_per_sec(&self, size: Bytes) -> f64 {
        self.rate.bytes_per_sec() / size.as_f64()
    }

    /// How long the link takes for a typical packet.
    #[must_use]
    pub fn packet_time(&self) -> Duration {
        self.rate.time_to_send(self.mean_packet)
    }
}

/// The parameters of a discipline as a user writes them, and how to make the queue they describe.
pub trait Discipline: Clone + std::fmt::Debug + PartialEq + Default + Serialize + DeserializeOwned {
    /// The name in experiment files and on the command line.
    const NAME: &'static str;

    /// The parameters with everything that was left open filled in, as `describe` shows them.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    fn effective(&self, link: &Link) -> Result<Self, ParamError>;

    /// An empty queue at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError>;

    /// These parameters, if `spec` holds them.
    ///
    /// # Errors
    /// When `spec` is another discipline.
    fn of(spec: &Spec) -> Result<&Self, ParamError>;
}

/// A discipline of the catalogue with its parameters, and what it takes for one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    parameters: Parameters,
    /// The key `flow` that all disciplines share that tell flows apart. Nothing where it is left out.
    flow: Option<FlowKind>,
}

impl Spec {
    /// The discipline of this name with its default parameters.
    #[must_use]
    pub fn named(name: &str) -> Option<Spec> {
        Parameters::named(name).filter(|p| !matches!(p, Parameters::Custom(_))).map(Spec::from)
    }

    /// Reads the parameters of the discipline `name` (without the key `name` itself).
    ///
    /// # Errors
    /// When a key is unknown, a value has the wrong type or unit, or no discipline has this name.
    pub fn read<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<Spec, D::Error> {
        let table = Value::deserialize(table)?;
        Spec::of_table(name, table).map_err(|e| D::Error::custom(e.of(&canonical(name))))
    }

    /// Reads the parameters of the discipline `name`, as [`Spec::read`] does, with an error that has a path.
    ///
    /// # Errors
    /// When a key is unknown, a value has the wrong type or unit, or no discipline has this name.
    pub fn of_table(name: &str, mut table: Value) -> Result<Spec, ParamError> {
        let Some(kind) = Parameters::named(name) else {
            return Err(unknown(name));
        };
        if !kind.tells_flows() {
            if table.remove(FLOW).is_some() {
                return Err(ParamError::custom(format_args!("{} does not distinguish flows: omit flow", kind.name())));
            }
            return Parameters::read(name, &table).map(Spec::from);
        }
        let flow = table.remove(FLOW).map(|given| given.read().map_err(|e: ParamError| e.within(FLOW))).transpose()?;
        let parameters = Parameters::read(name, &table).map_err(|e| e.also_known(&[FLOW]))?;
        Ok(Spec { parameters, flow })
    }

    /// The discipline's own parameters.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// What the discipline takes for one flow. The keys of the packets that it is offered have to be of this kind: who
    /// offers them sees to that, since nobody else knows their ends.
    #[must_use]
    pub fn flow(&self) -> FlowKind {
        self.flow.unwrap_or_default()
    }

    /// The name of the discipline.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.parameters.name()
    }

    /// Whether it tells flows apart, by the keys of packets. One that is not in the catalogue may.
    #[must_use]
    pub fn tells_flows(&self) -> bool {
        self.parameters.tells_flows()
    }

    /// The parameters with everything that was left open filled in.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn effective(&self, link: &Link) -> Result<Spec, ParamError> {
        let parameters = self.parameters.effective(link)?;
        Ok(Spec { parameters, flow: self.tells_flows().then(|| self.flow()) })
    }

    /// An empty queue at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        self.parameters.build(link, now)
    }
}

impl From<Parameters> for Spec {
    fn from(parameters: Parameters) -> Spec {
        Spec { parameters, flow: None }
    }
}

impl Serialize for Spec {
    /// Only the parameters: the name is [`Spec::name`].
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct WithFlow<'a> {
            #[serde(flatten)]
            parameters: &'a Parameters,
            flow: FlowKind,
        }
        match self.flow {
            None => self.parameters.serialize(s),
            Some(flow) => WithFlow { parameters: &self.parameters, flow }.serialize(s),
        }
    }
}

macro_rules! registry {
    (@tells) => { false };
    (@tells flows) => { true };
    ($($variant:ident = $module:ident, $name:literal $(, $flows:ident)?;)*) => {
        /// The parameters of one discipline of the catalogue.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Parameters {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant(disciplines::$module::Params),
            )*
            /// One that is not in the catalogue: see [`custom`].
            Custom(custom::Params),
        }

        /// Every discipline, in the order of the catalogue.
        pub const ALL: &[Entry] = &[
            $(Entry::new($name, include_str!(concat!("disciplines/", stringify!($module), ".rs"))),)*
        ];

        impl Parameters {
            fn named(name: &str) -> Option<Self> {
                match canonical(name).as_str() {
                    $($name => Some(Self::$variant(Default::default())),)*
                    custom::NAME => Some(Self::Custom(Default::default())),
                    _ => None,
                }
            }

            fn read(name: &str, table: &Value) -> Result<Self, ParamError> {
                match canonical(name).as_str() {
                    $($name => table.read().map(Self::$variant),)*
                    custom::NAME => table.read().map(Self::Custom),
                    _ => Err(unknown(name)),
                }
            }

            fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* Self::Custom(_) => custom::NAME }
            }

            fn tells_flows(&self) -> bool {
                match self {
                    $(Self::$variant(_) => registry!(@tells $($flows)?),)*
                    Self::Custom(_) => true,
                }
            }

            fn effective(&self, link: &Link) -> Result<Self, ParamError> {
                match self {
                    $(Self::$variant(p) => p.effective(link).map(Self::$variant),)*
                    Self::Custom(p) => p.effective(link).map(Self::Custom),
                }
            }

            fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
                match self { $(Self::$variant(p) => p.build(link, now),)* Self::Custom(p) => p.build(link, now) }
            }
        }

        impl Serialize for Parameters {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$variant(p) => p.serialize(s),)* Self::Custom(p) => p.serialize(s) }
            }
        }
    };
}

/// Implements the part of [`Discipline`] that is the same everywhere: the name and the way out of a
/// [`Spec`]. For a discipline that is an [`crate::Aqm`] in a [`crate::Fifo`], also `build` and `effective`.
macro_rules! discipline {
    ($name:literal, $variant:ident) => {
        const NAME: &'static str = $name;

        fn of(spec: &$crate::registry::Spec) -> Result<&Self, $crate::ParamError> {
            match spec.parameters() {
                $crate::registry::Parameters::$variant(params) => Ok(params),
                _ => Err($crate::ParamError::new(
                    "name",
                    spec.name(),
                    concat!("the queue is a ", $name, "; another discipline needs a new queue"),
                )),
            }
        }
    };
    ($name:literal, $variant:ident, $aqm:ty) => {
        $crate::registry::discipline!($name, $variant);

        fn build<P: $crate::Packet + 'static>(
            &self,
            link: &$crate::registry::Link,
            now: aqmkit_base::Instant,
        ) -> Result<Box<dyn $crate::Qdisc<P>>, $crate::ParamError> {
            Ok(Box::new($crate::Fifo::<P, $aqm>::new(self, link, now)?))
        }
    };
}
pub(crate) use discipline;

/// The key that all disciplines share that tell flows apart.
const FLOW: &str = "flow";

fn unknown(name: &str) -> ParamError {
    let right = suggest(name, ALL.iter().map(|e| e.name));
    ParamError::custom(format_args!("there is no discipline {name:?}; {right}"))
}

/// A name as the catalogue has it, from one as `tc` writes it: `fq_codel` is `fq-codel`.
fn canonical(name: &str) -> String {
    name.replace('_', "-")
}

/// Looks up a discipline by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    let name = canonical(name);
    ALL.iter().find(|e| e.name == name)
}

// Those that tell flows apart say so: they take the key `flow`.
registry! {
    Fifo = fifo, "fifo";
    Erd = erd, "erd";
    Red = red, "red";
    Ared = ared, "ared";
    Pi = pi, "pi";
    Rem = rem, "rem";
    Blue = blue, "blue";
    Sfb = sfb, "sfb", flows;
    Sred = sred, "sred", flows;
    Choke = choke, "choke", flows;
    Fred = fred, "fred", flows;
    Afd = afd, "afd", flows;
    RedPd = red_pd, "red-pd", flows;
    FloydFall = floyd_fall, "floyd-fall", flows;
    Rio = rio, "rio";
    Wred = wred, "wred";
    RioPs = rio_ps, "rio-ps", flows;
    Dcn = dcn, "dcn", flows;
    Cbt = cbt, "cbt";
    Cbq = cbq, "cbq";
    Drr = drr, "drr", flows;
    Sfq = sfq, "sfq", flows;
    Fq = fq, "fq", flows;
    Csfq = csfq, "csfq", flows;
    Codel = codel, "codel";
    FqCodel = fq_codel, "fq-codel", flows;
    Pie = pie, "pie";
    FqPie = fq_pie, "fq-pie", flows;
    Pi2 = pi2, "pi2";
    Step = step, "step";
    CurvyRed = curvy_red, "curvy-red";
    Dualq = dualq, "dualq";
    Dualpi2 = dualpi2, "dualpi2";
}
