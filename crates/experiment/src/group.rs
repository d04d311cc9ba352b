//! `[[traffic]]` and `[transport]`: traffic models and their transport.

use std::fmt;
use std::sync::Arc;

use aqmkit_base::{Duration, Rng};
use aqmkit_stack::Spec as Stack;
use aqmkit_traffic::Catalogue;
use aqmkit_traffic::model::{Data, ParamError, Population};
use aqmkit_traffic::registry::Spec;
use serde::{Serialize, Serializer};

use super::delays::{Delays, read_delays};
use super::files::Files;
use super::load::{Load, read_load};
use super::network::{Network, PathRequest, Route};
use super::problem::{Problem, suggest};
use super::read::{self, Keys, read, tables};
use super::shape;
#[cfg(feature = "claims")]
use super::transport::hosts;
use super::transport::{Profile, Transport, read_transport};
use super::tree::Node;

/// A `[[traffic]]` table, with the keys that all kinds have in common.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) name: String,
    pub(super) class: String,
    pub(super) node: &'a Node,
    keys: shape::Traffic,
}

/// A traffic as the simulator needs it, but without applications.
#[derive(Clone, Serialize)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) class: u8,
    #[serde(serialize_with = "with_kind")]
    pub(super) spec: Spec,
    /// Hashes of the data files, which identify them in the hash of a run.
    files: Vec<String>,
    #[serde(skip)]
    pub(super) population: Arc<dyn Population>,
    pub(super) profile: Profile,
    /// The stack that handles connections at both ends; `None` for the built-in TCP with `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stack: Option<Stack>,
    /// Name of the transport profile, and the changes to it, in words.
    #[cfg(feature = "claims")]
    #[serde(skip)]
    pub(super) hosts: String,
    /// Start relative to the end of the warm-up; `None` for the start of the warm-up.
    pub(super) start: Option<Duration>,
    /// Stop relative to the end of the warm-up; `None` for the end of the run.
    pub(super) stop: Option<Duration>,
    pub(super) routes: Vec<Route>,
    pub(super) clients: u32,
    /// Whether its applications are at clients in a random order.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) scattered: bool,
    pub(super) delays: Delays,
    /// Whether it sends at this stage of the run.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub(super) active: bool,
    /// The load to offer, if the population must be calibrated.
    pub(super) load: Option<Load>,
    /// Contents of the data files.
    #[serde(skip)]
    data: Arc<[Data]>,
}

/// A checked model with its data.
struct Model {
    spec: Spec,
    population: Arc<dyn Population>,
    /// Hashes of the data files.
    files: Vec<String>,
    data: Arc<[Data]>,
}

fn with_kind<S: Serializer>(spec: &Spec, s: S) -> Result<S::Ok, S::Error> {
    match spec.version() {
        None => (spec.name(), spec).serialize(s),
        Some(version) => (spec.name(), version, spec).serialize(s),
    }
}

impl Group {
    /// Whether it opens connections; otherwise it sends datagrams.
    pub(super) fn uses_transport(&self) -> bool {
        self.population.mean_payload().is_none() && self.population.instances() > 0
    }

    /// The congestion control of its connections; with a stack, as the stack names itself.
    pub(super) fn control(&self) -> String {
        match &self.stack {
            Some(stack) => stack.factory().name(),
            None => self.profile.congestion.name().to_owned(),
        }
    }

    /// The congestion control, or the name of the stack.
    pub(super) fn transport_name(&self) -> &'static str {
        self.stack.as_ref().map_or_else(|| self.profile.congestion.name(), Stack::name)
    }

    /// Kinds of exchanges of its applications; `None` if the model does not declare them.
    pub(super) fn exchange_kinds(&self) -> Option<&'static [&'static str]> {
        let some = self.population.instances() > 0;
        some.then(|| self.population.make(0, &mut Rng::stream(0, "kinds")).exchange_kinds())
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("name", &self.name).field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Group {
    /// The traffic with another amount, and the amount as rounded by the model; `None` if the model does not allow it.
    pub(super) fn with_amount(&self, amount: f64) -> Result<Option<(Group, f64)>, ParamError> {
        let mut spec = self.spec.clone();
        let Some(mut knob) = spec.knob() else { return Ok(None) };
        if !knob.set_amount(amount) {
            return Ok(None);
        }
        let became = knob.amount();
        let population = Arc::from(spec.prepare(&self.data)?);
        Ok(Some((Group { spec, population, load: None, ..self.clone() }, became)))
    }
}

impl Group {
    /// Replaces the population by that of `calibrated`, the same traffic after calibration.
    pub(super) fn take_population(&mut self, calibrated: &Group) {
        self.spec = calibrated.spec.clone();
        self.population = Arc::clone(&calibrated.population);
        self.load = calibrated.load.clone();
    }
}

/// Reads the keys that all kinds of traffic have in common.
pub(super) fn read_sources<'a>(list: &'a Node, models: &Catalogue) -> Result<Vec<Source<'a>>, Problem> {
    let mut sources: Vec<Source<'a>> = Vec::new();
    for node in tables(list, "traffic", "write [[traffic]] for each")? {
        let keys: shape::Traffic = read(&node.only(shape::Traffic::KEYS), Keys::of("a key of [[traffic]]"))?;
        known_kind(&keys.kind, node, models)?;
        let name = keys.name.clone().unwrap_or_else(|| keys.kind.clone());
        if sources.iter().any(|s| s.name == name) {
            let at = &node.get("name").or_else(|| node.get("kind")).unwrap_or(node).at;
            let help = "give one of them a different name (the default is its kind)";
            return Err(Problem::new(format!("two traffics have the name {name:?}")).right(help).at(at));
        }
        let class = keys.class.clone().unwrap_or_else(|| name.clone());
        sources.push(Source { name, class, node, keys });
    }
    Ok(sources)
}

fn known_kind(kind: &str, node: &Node, models: &Catalogue) -> Result<(), Problem> {
    let unknown = || {
        Problem::new(format!("there is no traffic kind {kind:?}"))
            .right(suggest(kind, models.names()))
            .at(&node.get("kind").unwrap_or(node).at)
    };
    if models.has(kind) { Ok(()) } else { Err(unknown()) }
}

/// Parts of the file that are needed to resolve a traffic.
pub(super) struct Context<'a> {
    pub(super) topology: &'a Node,
    pub(super) transport: Option<&'a Node>,
    pub(super) classes: &'a [String],
    pub(super) duration: Duration,
    pub(super) files: &'a Files,
}

impl Source<'_> {
    /// Resolves the traffic, and adds its access links to the network.
    pub(super) fn resolve(&self, context: &Context<'_>, network: &mut Network) -> Result<Group, Problem> {
        let class = self.class_index(context)?;
        let Model { spec, population, files, data } = self.model(context)?;
        let Transport { profile, stack } = self.transport(context, &*population)?;
        self.check_times(context.duration)?;
        let routes = network.routes(PathRequest { traffic: &self.name, node: self.node, keys: &self.keys })?;
        let delays = match self.node.get("delays").or_else(|| context.topology.get("delays")) {
            Some(node) => read_delays(node, network.servers, network.clients)?,
            None => Delays::None,
        };
        let load = match &self.keys.load {
            Some(_) => Some(read_load(self.node, &spec, &routes, network)?),
            None if self.keys.both_ways => {
                let at = &self.node.get("both_ways").unwrap_or(self.node).at;
                return Err(Problem::new("both_ways needs a load").right("write load = \"98%\"").at(at));
            }
            None => None,
        };
        Ok(Group {
            load,
            data,
            name: self.name.clone(),
            class,
            spec,
            files,
            population,
            profile,
            stack,
            #[cfg(feature = "claims")]
            hosts: hosts(context.transport, self.node.get("transport")),
            start: self.keys.start,
            stop: self.keys.stop,
            routes,
            clients: network.clients,
            scattered: self.keys.scattered,
            delays,
            active: self.keys.active,
        })
    }

    /// Checks a traffic that is not used, as far as possible without a network.
    pub(super) fn check(&self, context: &Context<'_>) -> Result<(), Problem> {
        let model = self.model(context)?;
        self.check_times(context.duration)?;
        self.transport(context, &*model.population).map(|_| ())
    }

    /// The transport of the traffic. Rejects a transport that does not retransmit for traffic that needs reliable
    /// delivery.
    fn transport(&self, context: &Context<'_>, population: &dyn Population) -> Result<Transport, Problem> {
        let own = self.node.get("transport");
        let transport = read_transport(context.transport, own, &context.files.catalogues)?;
        if transport.profile.congestion.rate_based().is_none() || population.bears_loss() {
            return Ok(transport);
        }
        let chosen = [own, context.transport].into_iter().flatten().find_map(|n| n.get("congestion"));
        let (name, kind) = (chosen.and_then(Node::as_str).unwrap_or("this transport"), &self.keys.kind);
        Err(Problem::new(format!("{name} does not retransmit, but {kind} needs reliable delivery"))
            .right(
                "such a transport carries only bulk without a size; choose a TCP congestion control for this traffic",
            )
            .at(&chosen.unwrap_or(self.node).at))
    }

    fn class_index(&self, context: &Context<'_>) -> Result<u8, Problem> {
        let index = context.classes.iter().position(|c| *c == self.class);
        index.and_then(|i| u8::try_from(i).ok()).ok_or_else(|| {
            Problem::new(format!("no class is called {:?}", self.class))
                .right(suggest(&self.class, context.classes.iter().map(String::as_str)))
                .at(&self.node.get("class").unwrap_or(self.node).at)
        })
    }

    fn model(&self, context: &Context<'_>) -> Result<Model, Problem> {
        let kind = self.keys.kind.as_str();
        let table = self.node.without(shape::Traffic::KEYS);
        let spec = context.files.catalogues.traffic.spec(kind, &table.tree());
        let spec = spec.map_err(|e| self.refused(&e.also_known(shape::Traffic::KEYS)))?;
        spec.check().map_err(|e| self.refused(&e))?;
        let read = spec.files().iter().map(|f| context.files.data(f, &spec)).collect::<Result<Vec<_>, _>>();
        let (data, files): (Vec<Data>, Vec<String>) = read.map_err(|e| e.at(&self.node.at))?.into_iter().unzip();
        let population = context.files.population(&spec, &data).map_err(|e| self.refused(&e))?;
        Ok(Model { spec, population, files, data: data.into() })
    }

    fn refused(&self, error: &ParamError) -> Problem {
        read::refused(&self.keys.kind, self.node, &self.node.at, error)
    }

    fn check_times(&self, duration: Duration) -> Result<(), Problem> {
        let at = |key: &str| &self.node.get(key).unwrap_or(self.node).at;
        match (self.keys.start, self.keys.stop) {
            (Some(start), _) if start >= duration => {
                let problem = Problem::new(format!("{} would start at {start}, after the end", self.name));
                Err(problem.right(format!("the duration is {duration}")).at(at("start")))
            }
            (start, Some(stop)) if stop <= start.unwrap_or_default() && start.is_some() => {
                let problem = Problem::new(format!("{} would stop at {stop}, before it starts", self.name));
                Err(problem.right("stop must be after start").at(at("stop")))
            }
            _ => Ok(()),
        }
    }
}
