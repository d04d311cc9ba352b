//! The one list of disciplines. A line here gives a discipline a name in experiment files and on the command line, a
//! reference page, the conformance suite, a benchmark and a fuzz entry.

use std::any::Any;

pub use aqmkit_base::page::Entry;
use aqmkit_base::page::markdown;
use aqmkit_base::read::Value;
use aqmkit_base::{FlowKind, Instant, page, page_title, parameter_table};
use serde::{Serialize, Serializer};

use crate::added::Added;
use crate::custom;
pub use crate::discipline::{Circuit, Discipline, Inner};
pub use crate::link::Link;

use crate::disciplines;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError};
use crate::qdisc::Qdisc;

/// A discipline of the catalogue with its parameters and its definition of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    parameters: Parameters,
    /// The parameter `flow`, common to all disciplines that distinguish flows. `None` if omitted.
    flow: Option<FlowKind>,
}

impl Spec {
    /// The discipline of this name with its default parameters.
    #[must_use]
    pub fn named(name: &str) -> Option<Spec> {
        Parameters::named(name).filter(|p| !matches!(p, Parameters::Custom(_))).map(Spec::from)
    }

    /// The same discipline with the parameters of a table; omitted ones have their defaults.
    ///
    /// # Errors
    /// When a key is unknown, or a value has the wrong type or unit.
    pub fn with(&self, mut table: Value) -> Result<Spec, ParamError> {
        if !self.tells_flows() {
            if table.remove(FLOW).is_some() {
                return Err(no_flows());
            }
            return self.parameters.read(&table).map(Spec::from);
        }
        if self.name() == "fq"
            && let Some(key) = OF_WFQ.iter().find(|key| table.at(key).is_some())
        {
            return Err(is_wfq(key));
        }
        let flow = table.remove(FLOW).map(|given| given.read().map_err(|e: ParamError| e.within(FLOW))).transpose()?;
        let parameters = self.parameters.read(&table).map_err(|e| e.also_known(&[FLOW]))?;
        Ok(Spec { parameters, flow })
    }

    /// The discipline's own parameters.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The definition of a flow that the discipline uses. Packets offered to it must have keys of this kind; the caller ensures that, since only it
    /// knows their ends.
    #[must_use]
    pub fn flow(&self) -> FlowKind {
        self.flow.unwrap_or_default()
    }

    /// The name of the discipline.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.parameters.name()
    }

    /// The version of a discipline that a program has added ([`crate::catalogue::Addition::of`]); `None` for those of
    /// this crate.
    #[must_use]
    pub fn version(&self) -> Option<u32> {
        match &self.parameters {
            Parameters::Added(added) => Some(added.version()),
            _ => None,
        }
    }

    /// Whether it distinguishes flows by the keys of packets. A user-defined discipline may.
    #[must_use]
    pub fn tells_flows(&self) -> bool {
        self.parameters.tells_flows()
    }

    /// Whether it uses packets' hosts and acknowledgements: [`Discipline::TELLS_HOSTS`].
    #[must_use]
    pub fn tells_hosts(&self) -> bool {
        self.parameters.tells_hosts()
    }

    /// Whether it can mark packets instead of dropping them: [`Discipline::marks`]. A user-defined discipline can.
    #[must_use]
    pub fn marks(&self) -> bool {
        self.parameters.marks()
    }

    /// The disciplines inside of it, and inside of those: [`Discipline::inner`].
    #[must_use]
    pub fn inner(&self, link: &Link) -> Vec<Inner> {
        let mut all = self.parameters.inner(link);
        for i in 0..all.len() {
            let outer = all[i].clone();
            let deeper = outer.spec.inner(&outer.link).into_iter();
            all.extend(deeper.map(|inner| Inner { path: format!("{}.{}", outer.path, inner.path), ..inner }));
        }
        all
    }

    /// The customers that it tells apart: [`Discipline::circuits`].
    #[must_use]
    pub fn circuits(&self, link: &Link) -> Vec<Circuit> {
        self.parameters.circuits(link)
    }

    /// Settings that are valid but probably a mistake on this link, also in the disciplines inside: [`Discipline::doubts`].
    #[must_use]
    pub fn doubts(&self, link: &Link) -> Vec<String> {
        let inner = self.inner(link);
        let deeper = inner.iter().flat_map(|inner| inner.spec.parameters.doubts(&inner.link));
        self.parameters.doubts(link).into_iter().chain(deeper).collect()
    }

    /// The same without a definition of a flow: that of a tree holds for all disciplines inside.
    pub(crate) fn without_flow(self) -> Spec {
        Spec { flow: None, ..self }
    }

    /// The names of the parameters that are thresholds on the queue: [`Discipline::THRESHOLDS`].
    #[must_use]
    pub fn thresholds(&self) -> &'static [&'static str] {
        self.parameters.thresholds()
    }

    /// The parameters with everything omitted filled in.
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

/// A queue is reconfigured with the parameters that a spec holds.
impl AnyParams for Spec {
    fn name(&self) -> &'static str {
        self.parameters.name()
    }

    fn as_any(&self) -> &dyn Any {
        self.parameters.as_any()
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
            /// One whose code a program provides with each run: see [`custom`].
            Custom(custom::Params),
            /// One that a program has added: see [`crate::catalogue`].
            Added(Added),
        }

        /// Every discipline, in the order of the catalogue.
        pub const ALL: &[Entry] = &[
            $(Entry::new($name, page_title!(include_str!(concat!("disciplines/", stringify!($module), ".rs")))),)*
        ];

        /// The reference page of a discipline, in Markdown.
        #[must_use]
        pub fn page(name: &str) -> Option<String> {
            let comment = match canonical(name).as_str() {
                $($name => page!(include_str!(concat!("disciplines/", stringify!($module), ".rs"))),)*
                _ => return None,
            };
            Some(markdown(comment))
        }

        /// The table of a discipline's parameters on its reference page, in Markdown.
        #[must_use]
        pub fn parameter_table(name: &str) -> Option<String> {
            let comment = match canonical(name).as_str() {
                $($name => parameter_table!(include_str!(concat!("disciplines/", stringify!($module), ".rs"))),)*
                _ => return None,
            };
            Some(markdown(comment))
        }

        impl Parameters {
            pub(crate) fn named(name: &str) -> Option<Self> {
                match canonical(name).as_str() {
                    $($name => Some(Self::$variant(Default::default())),)*
                    custom::NAME => Some(Self::Custom(Default::default())),
                    _ => None,
                }
            }

            /// Reads parameters of the same discipline.
            fn read(&self, table: &Value) -> Result<Self, ParamError> {
                match self {
                    $(Self::$variant(_) => table.read().map(Self::$variant),)*
                    Self::Custom(_) => table.read().map(Self::Custom),
                    Self::Added(a) => a.read(table).map(Self::Added),
                }
            }

            fn as_any(&self) -> &dyn Any {
                match self { $(Self::$variant(p) => p,)* Self::Custom(p) => p, Self::Added(a) => a.as_any() }
            }

            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Custom(_) => custom::NAME,
                    Self::Added(a) => a.name(),
                }
            }

            fn tells_flows(&self) -> bool {
                match self {
                    $(Self::$variant(_) => registry!(@tells $($flows)?),)*
                    Self::Custom(_) => true,
                    Self::Added(a) => a.tells_flows(),
                }
            }

            fn tells_hosts(&self) -> bool {
                match self {
                    $(Self::$variant(_) => disciplines::$module::Params::TELLS_HOSTS,)*
                    Self::Custom(_) => false,
                    Self::Added(a) => a.tells_hosts(),
                }
            }

            fn marks(&self) -> bool {
                match self {
                    $(Self::$variant(p) => p.marks(),)*
                    Self::Custom(_) => true,
                    Self::Added(a) => a.marks(),
                }
            }

            fn inner(&self, link: &Link) -> Vec<Inner> {
                match self {
                    $(Self::$variant(p) => p.inner(link),)*
                    Self::Custom(_) => Vec::new(),
                    Self::Added(a) => a.inner(link),
                }
            }

            fn circuits(&self, link: &Link) -> Vec<Circuit> {
                match self {
                    $(Self::$variant(p) => p.circuits(link),)*
                    Self::Custom(_) => Vec::new(),
                    Self::Added(a) => a.circuits(link),
                }
            }

            fn doubts(&self, link: &Link) -> Vec<String> {
                match self {
                    $(Self::$variant(p) => p.doubts(link),)*
                    Self::Custom(_) => Vec::new(),
                    Self::Added(a) => a.doubts(link),
                }
            }

            fn thresholds(&self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant(_) => disciplines::$module::Params::THRESHOLDS,)*
                    Self::Custom(_) => &[],
                    Self::Added(a) => a.thresholds(),
                }
            }

            fn effective(&self, link: &Link) -> Result<Self, ParamError> {
                match self {
                    $(Self::$variant(p) => p.effective(link).map(Self::$variant),)*
                    Self::Custom(p) => p.effective(link).map(Self::Custom),
                    Self::Added(a) => a.effective(link).map(Self::Added),
                }
            }

            fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
                match self {
                    $(Self::$variant(p) => p.build(link, now),)*
                    Self::Custom(p) => p.build(link, now),
                    Self::Added(a) => a.build(link, now),
                }
            }
        }

        impl Serialize for Parameters {
            /// Through one serialiser that is not generic: otherwise each discipline's would be compiled for each
            /// format.
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                let parameters: &dyn erased_serde::Serialize = match self {
                    $(Self::$variant(p) => p,)*
                    Self::Custom(p) => p,
                    Self::Added(a) => a.serialized(),
                };
                erased_serde::serialize(parameters, s)
            }
        }
    };
}

/// The parameter common to all disciplines that distinguish flows.
const FLOW: &str = "flow";

/// The error of `flow` among the parameters of a discipline that does not distinguish flows.
fn no_flows() -> ParamError {
    let tells_flows = |entry: &&Entry| Spec::named(entry.name).is_some_and(|spec| spec.tells_flows());
    let others: Vec<&str> = ALL.iter().filter(tells_flows).map(|entry| entry.name).collect();
    let right = format!("remove flow, or choose one that does: {}", others.join(", "));
    ParamError::sentence(FLOW, "the discipline does not distinguish flows", right)
}

/// Parameters of `wfq`, which was called `fq`, that `fq` does not have.
const OF_WFQ: [&str; 6] = ["delta", "promptness", "clock", "flows", "classes", "class"];

/// The error of one of them.
fn is_wfq(key: &str) -> ParamError {
    let right = "write \"wfq\" for fair queueing by finish numbers, which was called fq";
    ParamError::sentence(key, format!("fq is that of Linux and has no {key}"), right)
}

/// A name in the catalogue's form, from `tc`'s: `fq_codel` becomes `fq-codel`.
pub(crate) fn canonical(name: &str) -> String {
    name.replace('_', "-")
}

/// Looks up a discipline by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    let name = canonical(name);
    ALL.iter().find(|e| e.name == name)
}

/// Whether a discipline runs inside the Linux kernel: as a classifier in front of a stock qdisc, and as a qdisc of its
/// own if the kernel supports those in BPF. Both have the same laws, which decide when a packet arrives.
///
/// # Errors
/// The reason why it does not.
pub fn runs_in_kernel(name: &str) -> Result<(), &'static str> {
    match canonical(name).as_str() {
        "erd" | "red" | "ared" | "pi" | "rem" | "blue" | "step" | "sred" | "afd" | "dcn" | "cbt" | "rio" | "wred"
        | "fred" | "sfb" | "codel" | "pie" | "csfq" => Ok(()),
        "fifo" => Err("the kernel has it: tc qdisc add dev eth0 root tbf"),
        "tbf" | "prio" | "pfifo-fast" | "ets" | "htb" => {
            Err("the kernel has it: tc-tbf(8), tc-prio(8), tc-ets(8), tc-htb(8)")
        }
        "cbq" | "drr" | "sfq" | "fq" | "wfq" | "hhf" | "fq-codel" | "fq-pie" | "cake" | "dualq" | "dualpi2" => {
            Err("it schedules several queues, and the programs have one")
        }
        "choke" => Err(
            "it drops packets from the middle of the queue, and the programs decide about those that arrive or leave",
        ),
        "red-pd" => Err(
            "what it does for each flow at the end of an interval is more than the kernel lets a program do for one packet",
        ),
        _ => Err("its law has not been written in fixed point"),
    }
}

/// Where a discipline runs, as a section of its page.
#[must_use]
pub fn where_it_runs(name: &str) -> String {
    let kernel = match runs_in_kernel(name) {
        Ok(()) => {
            let head = if name == "codel" { "; it drops at the head there, unless packets are marked" } else { "" };
            format!(
                "yes, `aqmkit kernel install {name} dev eth0 rate 40mbit`\n* inside the Linux kernel as a queue discipline (Linux 6.16, `NET_SCH_BPF`): \
                 yes, the same with the word `queue`{head}"
            )
        }
        Err(why) => format!("no: {why}\n* inside the Linux kernel as a queue discipline: no, for the same reason"),
    };
    format!(
        "## Where it runs\n\n* simulator: yes\n* live links and bridges: yes\n* inside the Linux kernel as a classifier: {kernel}\n"
    )
}

// Disciplines that distinguish flows say so: they take the key `flow`.
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
    Gred = gred, "gred";
    RioPs = rio_ps, "rio-ps", flows;
    Dcn = dcn, "dcn", flows;
    Cbt = cbt, "cbt";
    Cbq = cbq, "cbq";
    Tbf = tbf, "tbf", flows;
    Prio = prio, "prio", flows;
    PfifoFast = pfifo_fast, "pfifo-fast";
    Ets = ets, "ets", flows;
    Htb = htb, "htb", flows;
    Drr = drr, "drr", flows;
    Sfq = sfq, "sfq", flows;
    Fq = fq, "fq", flows;
    Wfq = wfq, "wfq", flows;
    Csfq = csfq, "csfq", flows;
    Hhf = hhf, "hhf", flows;
    Codel = codel, "codel";
    Cobalt = cobalt, "cobalt";
    FqCodel = fq_codel, "fq-codel", flows;
    Pie = pie, "pie";
    DocsisPie = docsis_pie, "docsis-pie";
    FqPie = fq_pie, "fq-pie", flows;
    Cake = cake, "cake", flows;
    Pi2 = pi2, "pi2";
    Step = step, "step";
    CurvyRed = curvy_red, "curvy-red";
    Dualq = dualq, "dualq";
    Dualpi2 = dualpi2, "dualpi2";
}
