//! `[topology]`: links, and routes of traffic.

use aqmkit_aqm::registry::{self, Spec};
use aqmkit_base::{BitRate, Bytes, Duration, Framing};
use aqmkit_sim::scenario;
use serde::Serialize;

use super::driver::{self, driver};
use super::files::Files;
use super::link::{Link, MEAN_PACKET, above_zero, access_links, not_too_long, plain_link, push};
use super::link_keys::{LinkKeys, read_link};
use super::problem::{Problem, suggest};
use super::queue::read_queue;
use super::rate::Rate;
use super::shape::{self, Direction, OrNone};
use super::tree::Node;
use super::varying::Varying;
use super::wire::wire;

/// Upper limit for servers and clients.
const MAX_HOSTS: u32 = 100_000;

/// Route between one server and the clients, as indices of links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Route {
    pub(super) forward: Vec<usize>,
    pub(super) reverse: Vec<usize>,
    /// Propagation delay of the reverse path beyond that of its links.
    pub(super) reverse_delay: Duration,
}

/// A request for the routes of a traffic.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathRequest<'a> {
    /// Name of the traffic.
    pub(super) traffic: &'a str,
    /// Table of the traffic.
    pub(super) node: &'a Node,
    pub(super) keys: &'a shape::Traffic,
}

/// All links, and how they are connected.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) links: Vec<Link>,
    pub(super) measured: usize,
    pub(super) servers: u32,
    pub(super) clients: u32,
    /// Whether all links are so fast that none is congested (`uncongested`).
    pub(super) uncongested: bool,
    joined: Joined,
}

#[derive(Debug)]
enum Joined {
    Dumbbell(Dumbbell),
    Listed,
}

#[derive(Debug)]
struct Dumbbell {
    access: Vec<usize>,
    inbound: Option<usize>,
    bottleneck: usize,
    reverse: Option<usize>,
    delay: Duration,
}

struct Reader<'a> {
    topology: &'a shape::Topology,
    /// The keys of a link in `[topology]`: for the bottleneck, and inherited by other links.
    keys: &'a LinkKeys,
    node: &'a Node,
    params: Option<&'a Node>,
    classes: &'a [String],
    files: &'a Files,
}

/// Reads `[topology]`.
pub(super) fn read_network(
    node: &Node,
    params: Option<&Node>,
    classes: &[String],
    files: &Files,
) -> Result<Network, Problem> {
    let (topology, keys) = read_link::<shape::Topology>(node, "a key of [topology]")?;
    for (key, hosts) in [("servers", topology.servers), ("clients", topology.clients)] {
        if !(1..=MAX_HOSTS).contains(&hosts) {
            let problem = Problem::new(format!("{hosts} is not a valid number of {key}"));
            return Err(problem.right(format!("it must be from 1 to {MAX_HOSTS}")).at(at(node, key)));
        }
    }
    let reader = Reader { topology: &topology, keys: &keys, node, params, classes, files };
    match node.get("links") {
        Some(links) => reader.listed(links),
        None => reader.dumbbell(),
    }
}

impl Reader<'_> {
    fn dumbbell(&self) -> Result<Network, Problem> {
        let (topology, node) = (self.topology, self.node);
        if topology.measured.is_some() {
            let help = "a dumbbell is measured at its bottleneck; measured is for listed links";
            return Err(Problem::new("measured cannot be used in a dumbbell").right(help).at(at(node, "measured")));
        }
        let rate = self.keys.rate.as_ref().ok_or_else(|| {
            Problem::new("the bottleneck has no rate").right("write rate = \"10mbit\" in [topology]").at(&node.at)
        })?;
        let rate = self.rate(rate, node)?;
        let delay = self.keys.delay.unwrap_or_default();
        let mut links = Vec::new();
        let access = match topology.access.0 {
            Some(own) => access_links(&mut links, "access", own, topology.servers, at(node, "access"))?,
            None => Vec::new(),
        };
        let inbound = match topology.inbound.0 {
            Some(shared) => Some(push(&mut links, plain_link("inbound", shared, false, at(node, "inbound"))?)),
            None => None,
        };
        let mut bottleneck = self.link("bottleneck", self.keys, node, node.get("aqm"), rate.clone(), delay)?;
        bottleneck.path = Some("topology".to_owned());
        let bottleneck = push(&mut links, bottleneck);
        let reverse = self.reverse(&rate)?.map(|link| push(&mut links, link));
        let dumbbell = Dumbbell { access, inbound, bottleneck, reverse, delay };
        Ok(self.network(links, bottleneck, Joined::Dumbbell(dumbbell)))
    }

    fn network(&self, links: Vec<Link>, measured: usize, joined: Joined) -> Network {
        let shape::Topology { servers, clients, uncongested, .. } = *self.topology;
        Network { links, measured, servers, clients, uncongested, joined }
    }

    /// Resolves a rate that is written in `node`.
    fn rate(&self, rate: &Rate, node: &Node) -> Result<(BitRate, Option<Varying>), Problem> {
        rate.resolve(self.files).map_err(|e| e.at(at(node, "rate")))
    }

    /// Builds the link with the table `node` and these keys.
    fn link(
        &self,
        name: &str,
        keys: &LinkKeys,
        node: &Node,
        aqm: Option<&Node>,
        (rate, varying): (BitRate, Option<Varying>),
        delay: Duration,
    ) -> Result<Link, Problem> {
        let mean_packet = keys.mean_packet.or(self.keys.mean_packet).unwrap_or(MEAN_PACKET);
        above_zero(name, rate, mean_packet, at(node, "rate"))?;
        not_too_long(delay).map_err(|e| e.at(at(node, "delay")))?;
        let (trace_hash, trace) = varying.map(|Varying { hash, trace }| (hash, trace)).unzip();
        let simulated = scenario::Link {
            name: name.to_owned(),
            rate,
            trace,
            delay,
            framing: self.framing(keys),
            mean_packet,
            aqm: self.queue(aqm, rate, mean_packet)?,
            driver: self.driver(keys.driver, node)?,
            wire: wire(keys, node)?,
            report: true,
        };
        Ok(Link { simulated, trace_hash, path: None })
    }

    /// Framing of a link: its own keys, or else those of the topology.
    fn framing(&self, own: &LinkKeys) -> Framing {
        let all = self.keys;
        let mpu = own.mpu.or(all.mpu).unwrap_or_default();
        Framing {
            overhead: own.overhead.or(all.overhead).unwrap_or_default().0,
            mpu: u32::try_from(mpu.0).unwrap_or(u32::MAX),
            linklayer: own.linklayer.or(all.linklayer).unwrap_or_default(),
        }
    }

    /// Driver of a link with the table `node`: its own, or else that of the topology.
    fn driver(&self, own: Option<OrNone<driver::Driver>>, node: &Node) -> Result<Option<scenario::Driver>, Problem> {
        match (own, self.keys.driver) {
            (Some(OrNone(own)), _) => driver(own, node),
            (None, all) => driver(all.and_then(|OrNone(all)| all), self.node),
        }
    }

    fn queue(&self, node: Option<&Node>, rate: BitRate, mean_packet: Bytes) -> Result<Spec, Problem> {
        let link = registry::Link { rate, mean_packet, classes: self.classes.to_vec() };
        let disciplines = &self.files.catalogues.disciplines;
        match node {
            Some(node) => read_queue(node, self.params, &link, disciplines),
            None => read_queue(&Node::string(&self.node.at, "fifo"), self.params, &link, disciplines),
        }
    }

    fn reverse(&self, forward: &(BitRate, Option<Varying>)) -> Result<Option<Link>, Problem> {
        let Some(node) = self.node.get("reverse") else { return Ok(None) };
        let (shape::Reverse {}, keys) = read_link(node, "a key of reverse")?;
        let rate = match &keys.rate {
            Some(rate) => self.rate(rate, node)?,
            None => forward.clone(),
        };
        let delay = keys.delay.or(self.keys.delay).unwrap_or_default();
        let mut link = self.link("reverse", &keys, node, node.get("aqm"), rate, delay)?;
        link.path = Some("topology.reverse".to_owned());
        Ok(Some(link))
    }

    fn listed(&self, list: &Node) -> Result<Network, Problem> {
        let of_a_link = LinkKeys::NAMES.iter().filter(|key| !LinkKeys::INHERITED.contains(key));
        for key in ["access", "inbound", "reverse"].iter().chain(of_a_link) {
            if let Some(entry) = self.node.entries().iter().find(|e| e.key == *key) {
                let problem = Problem::new(format!("{key} is for a dumbbell, but links are listed"));
                return Err(problem.right("remove either the links or the keys of the dumbbell").at(&entry.at));
            }
        }
        let mut links: Vec<Link> = Vec::new();
        for (index, node) in list.elements().iter().enumerate() {
            let mut link = self.listed_link(node)?;
            link.path = Some(format!("topology.links[{index}]"));
            if links.iter().any(|l| l.name == link.name) {
                let problem = Problem::new(format!("two links have the name {:?}", link.name));
                return Err(problem.right("give one of them another name").at(at(node, "name")));
            }
            links.push(link);
        }
        let measured = self.measured(&links, list)?;
        Ok(self.network(links, measured, Joined::Listed))
    }

    fn listed_link(&self, node: &Node) -> Result<Link, Problem> {
        let (shape::ListedLink { name, report }, keys) = read_link(node, "a key of a link")?;
        let rate = keys.rate.as_ref().ok_or_else(|| {
            Problem::new(format!("link {name:?} has no rate")).right("write rate = \"10mbit\"").at(&node.at)
        })?;
        let aqm = node.get("aqm").or_else(|| self.node.get("aqm"));
        let mut link = self.link(&name, &keys, node, aqm, self.rate(rate, node)?, keys.delay.unwrap_or_default())?;
        link.simulated.report = report;
        Ok(link)
    }

    fn measured(&self, links: &[Link], list: &Node) -> Result<usize, Problem> {
        let names = || links.iter().map(|l| l.name.as_str());
        match (&self.topology.measured, links) {
            (_, []) => {
                Err(Problem::new("links is an empty list").right("write at least one [[topology.links]]").at(&list.at))
            }
            (Some(name), _) => {
                index(links, name).ok_or_else(|| no_link(name, names().collect()).at(at(self.node, "measured")))
            }
            (None, [_]) => Ok(0),
            (None, _) => {
                let help = format!("write measured = one of {}", names().collect::<Vec<_>>().join(", "));
                Err(Problem::new("measured is missing").right(help).at(&self.node.at))
            }
        }
    }
}

impl Network {
    /// The routes of a traffic, one for each server.
    pub(super) fn routes(&mut self, request: PathRequest<'_>) -> Result<Vec<Route>, Problem> {
        match &self.joined {
            Joined::Dumbbell(_) => self.across(request),
            Joined::Listed => self.along(request),
        }
    }

    fn across(&mut self, request: PathRequest<'_>) -> Result<Vec<Route>, Problem> {
        if request.keys.path.is_some() || request.keys.reverse.is_some() {
            let help = "in a dumbbell all traffic crosses the bottleneck; list links in [topology] to define paths";
            let key = if request.keys.path.is_some() { "path" } else { "reverse" };
            return Err(Problem::new(format!("a dumbbell has no {key} key")).right(help).at(at(request.node, key)));
        }
        let own = match request.keys.access {
            Some(access) => Some(self.own_access(request, access.0)?),
            None => None,
        };
        let Joined::Dumbbell(dumbbell) = &self.joined else { return Ok(Vec::new()) };
        if request.keys.direction == Direction::Reverse {
            return dumbbell.back(request, &own.unwrap_or_default(), self.servers);
        }
        let access = own.as_ref().unwrap_or(&dumbbell.access);
        let route = |server: usize| Route {
            forward: access
                .get(server)
                .copied()
                .into_iter()
                .chain(dumbbell.inbound)
                .chain([dumbbell.bottleneck])
                .collect(),
            reverse: dumbbell.reverse.into_iter().collect(),
            reverse_delay: if dumbbell.reverse.is_some() { Duration::ZERO } else { dumbbell.delay },
        };
        Ok((0..self.servers as usize).map(route).collect())
    }

    fn own_access(&mut self, request: PathRequest<'_>, rate: Option<BitRate>) -> Result<Vec<usize>, Problem> {
        let Some(rate) = rate else { return Ok(Vec::new()) };
        let name = format!("{}.access", request.traffic);
        access_links(&mut self.links, &name, rate, self.servers, at(request.node, "access"))
    }

    fn along(&mut self, request: PathRequest<'_>) -> Result<Vec<Route>, Problem> {
        if request.keys.direction == Direction::Reverse {
            let help = "give the links of the data in path, and those of the acknowledgements in reverse";
            return Err(Problem::new("direction is for a dumbbell, but links are listed")
                .right(help)
                .at(at(request.node, "direction")));
        }
        let path = request.keys.path.as_deref().unwrap_or_default();
        if path.is_empty() {
            let names: Vec<_> = self.links.iter().map(|l| l.name.as_str()).collect();
            let help = format!("write path = a list of links, of {}", names.join(", "));
            return Err(Problem::new(format!("traffic {} has no path", request.traffic))
                .right(help)
                .at(&request.node.at));
        }
        let forward = self.indices(path, request.node, "path")?;
        let back = request.keys.reverse.as_deref().unwrap_or_default();
        let reverse = self.indices(back, request.node, "reverse")?;
        let there: Duration = forward.iter().map(|&i| self.links[i].delay).sum();
        let reverse_delay = if reverse.is_empty() { there } else { Duration::ZERO };
        let own = match request.keys.access {
            Some(access) => self.own_access(request, access.0)?,
            None => Vec::new(),
        };
        let route = |server: usize| Route {
            forward: own.get(server).copied().into_iter().chain(forward.iter().copied()).collect(),
            reverse: reverse.clone(),
            reverse_delay,
        };
        Ok((0..self.servers as usize).map(route).collect())
    }

    fn indices(&self, names: &[String], node: &Node, key: &str) -> Result<Vec<usize>, Problem> {
        let list = node.get(key).unwrap_or(node);
        let origin = |i: usize| &list.elements().get(i).unwrap_or(list).at;
        let find = |(i, name): (usize, &String)| {
            if names[..i].contains(name) {
                let problem = Problem::new(format!("{key} crosses {name} twice"));
                return Err(problem.right("use each link once").at(origin(i)));
            }
            index(&self.links, name)
                .ok_or_else(|| no_link(name, self.links.iter().map(|l| l.name.as_str()).collect()).at(origin(i)))
        };
        names.iter().enumerate().map(find).collect()
    }
}

impl Dumbbell {
    /// Routes for a traffic with `direction = "reverse"`: data crosses the reverse link, acknowledgements cross the
    /// bottleneck.
    fn back(&self, request: PathRequest<'_>, access: &[usize], servers: u32) -> Result<Vec<Route>, Problem> {
        let Some(back) = self.reverse else {
            return Err(Problem::new(format!("traffic {} has no reverse link", request.traffic))
                .right("add one to [topology], for example reverse = { rate = \"10mbit\" }")
                .at(at(request.node, "direction")));
        };
        let route = |server: usize| Route {
            forward: access.get(server).copied().into_iter().chain([back]).collect(),
            reverse: self.inbound.into_iter().chain([self.bottleneck]).collect(),
            reverse_delay: Duration::ZERO,
        };
        Ok((0..servers as usize).map(route).collect())
    }
}

fn index(links: &[Link], name: &str) -> Option<usize> {
    links.iter().position(|l| l.name == name)
}

fn no_link(name: &str, known: Vec<&str>) -> Problem {
    Problem::new(format!("there is no link {name:?}")).right(suggest(name, known))
}

/// Location of the value of `key`, or of the table if it has no such key.
fn at<'a>(node: &'a Node, key: &str) -> &'a super::problem::Origin {
    &node.get(key).unwrap_or(node).at
}
