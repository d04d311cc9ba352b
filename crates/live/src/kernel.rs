//! In-kernel disciplines: a BPF classifier in front of a qdisc, on one interface.
//!
//! The classifier is attached to the interface's egress (`clsact`). Behind it is the kernel's `tbf` or aqmkit's own BPF
//! qdisc ([`Place`]), whose backlog it reads. The kernel keeps both until they are removed, whether or not aqmkit is
//! running: the filter references the program, the program its maps, and one map records what was installed. Nothing is
//! stored elsewhere, so nothing can be left behind.
//!
//! [`install`], [`installed`] and [`remove`] act on the network namespace of the calling thread.

mod decisions;
pub mod examine;
mod functions;
mod maps;
mod program;
mod qdisc;
pub(crate) mod queue;
pub mod replay;
mod tc;

use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{ParamError, Why};
use aqmkit_base::read::Value;
use aqmkit_base::{BitRate, Bytes};
use aqmkit_kernel::{Classifier, Match};
use aqmkit_packets::wire::{Classes, Rule};
use aya::programs::loaded_programs;
use serde::{Deserialize, Serialize};

pub(crate) use self::decisions::Decisions;
pub use self::maps::Statistics;
use self::maps::{ABOUT, Maps};
use self::program::MapSizes;
use self::tc::{Parts, RootQdisc, Shaper, Tc};
use crate::LiveError;
use crate::capabilities::may_make_links;
use crate::netlink::Netlink;

/// The installation record, kept in a map of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct About {
    discipline: String,
    rate_bps: u64,
    mean_packet: u64,
    /// The parameters given by the user.
    parameters: serde_json::Value,
    /// How packets are classified; the default if an earlier version installed it.
    #[serde(default)]
    classes: Classes,
    /// How many times the settings were written.
    version: u64,
    /// Whether the installation created `clsact`.
    added_clsact: bool,
    /// Whether the decision log is read.
    #[serde(default)]
    watched: bool,
    /// The qdisc behind the classifier.
    #[serde(default)]
    place: Place,
}

/// Where a discipline runs in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In a classifier, in front of the kernel's `tbf`.
    #[default]
    Classifier,
    /// In a BPF qdisc (Linux 6.16 with `CONFIG_NET_SCH_BPF`), which knows when each packet departs.
    Queue,
}

/// The discipline to install on an interface, and the rate to shape it to.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Discipline and parameters.
    pub spec: Spec,
    /// The rate of the shaper.
    pub rate: BitRate,
    /// The mean packet size, from which some parameters are derived.
    pub mean_packet: Bytes,
    /// The packet classes, for disciplines that distinguish them.
    pub classes: Classes,
    /// In front of which qdisc it runs.
    pub place: Place,
}

impl Wanted {
    /// The link as the discipline sees it.
    #[must_use]
    pub fn link(&self) -> Link {
        Link { mean_packet: self.mean_packet, classes: self.classes.names().to_vec(), ..Link::new(self.rate) }
    }

    /// The program's settings map, in layout `version`.
    ///
    /// # Errors
    /// When a parameter or class rule has no in-kernel equivalent.
    pub fn settings(&self, version: u64) -> Result<Vec<u64>, ParamError> {
        aqmkit_kernel::settings(&self.spec, &self.link(), &rules(&self.classes)?, version)
    }

    /// Whether packets are dropped at the head of the queue rather than on arrival.
    fn drops_at_head(&self) -> bool {
        self.place == Place::Queue && aqmkit_kernel::at_head(&self.spec)
    }

    fn words(&self, device: &str, version: u64, watched: bool) -> Result<Vec<u64>, LiveError> {
        let mut words =
            self.settings(version).map_err(|error| LiveError::Parameter { direction: device.to_owned(), error })?;
        if watched {
            words[FLOW_KIND] |= WATCHED;
        }
        if self.place == Place::Queue {
            words[FLOW_KIND] |= QUEUED;
        }
        if self.drops_at_head() {
            aqmkit_kernel::set_at_head(&mut words);
        }
        Ok(words)
    }

    fn about(&self, device: &str, version: u64, added_clsact: bool, watched: bool) -> Result<Vec<u8>, LiveError> {
        let about = About {
            discipline: self.spec.name().to_owned(),
            rate_bps: self.rate.as_bps(),
            mean_packet: self.mean_packet.0,
            parameters: serde_json::to_value(&self.spec).map_err(|e| failed(device)(e.into()))?,
            classes: self.classes.clone(),
            version,
            added_clsact,
            watched,
            place: self.place,
        };
        let mut text = serde_json::to_vec(&about).map_err(|e| failed(device)(e.into()))?;
        if text.len() >= ABOUT {
            return Err(LiveError::lacks(format!("{device}: the parameters are too long"), "give fewer of them"));
        }
        text.resize(ABOUT, 0);
        Ok(text)
    }
}

/// The class rules, as the program reads them.
fn rules(classes: &Classes) -> Result<Vec<aqmkit_kernel::Rule>, ParamError> {
    let one = |(rule, class)| {
        let matches = match rule {
            Rule::Any => Match::Any,
            Rule::Protocol(protocol, None) => Match::Protocol(protocol),
            Rule::Protocol(protocol, Some((low, high))) => Match::Ports(protocol, low, high),
            Rule::Dscp(dscp) => Match::Dscp(dscp),
            Rule::Ecn(ecn) => Match::Ecn(ecn),
            Rule::From(_) | Rule::To(_) | Rule::Net(_) | Rule::Vlan(_) => {
                let what = "in the kernel, classes are not told apart by networks or VLANs";
                return Err(ParamError::sentence("class", what, "use protocols, ports, dscp or ecn"));
            }
        };
        Ok(aqmkit_kernel::Rule { matches, class })
    };
    classes.rules().map(one).collect()
}

/// Index of the settings word with the kind of flow key, and its flags: log decisions, and aqmkit's qdisc is installed
/// behind (as in `crates/kernel/bpf/classifier.bpf.c`).
const FLOW_KIND: usize = 3;
const WATCHED: u64 = 256;
const QUEUED: u64 = 512;

/// A discipline installed on an interface.
#[derive(Debug)]
pub struct Installed {
    device: String,
    /// BPF program id.
    program: u32,
    about: About,
    maps: Maps,
}

fn failed(device: &str) -> impl FnOnce(io::Error) -> LiveError {
    LiveError::while_doing(format!("installing on {device}"))
}

fn allowed() -> Result<(), LiveError> {
    if may_make_links() {
        return Ok(());
    }
    Err(LiveError::lacks("no permission to load BPF programs and to change queue disciplines", "run it as root"))
}

/// An interface's ifindex and MTU.
fn index(device: &str) -> Result<(u32, u32), LiveError> {
    let interfaces = Netlink::open().and_then(|mut n| n.interfaces()).map_err(failed(device))?;
    if let Some(found) = interfaces.iter().find(|i| i.name == device) {
        return Ok((found.index, found.mtu));
    }
    let names: Vec<String> = interfaces.into_iter().map(|i| i.name).collect();
    Err(LiveError::lacks(format!("there is no interface {device}"), format!("those that are: {}", names.join(", "))))
}

/// Installs a discipline on an interface that has neither one of aqmkit's nor a configured root qdisc.
///
/// # Errors
/// When permission is missing, the interface is not free, a parameter has no in-kernel equivalent, or the kernel
/// refuses; nothing is changed then.
pub fn install(device: &str, wanted: &Wanted) -> Result<Installed, LiveError> {
    put(device, wanted, false)?;
    find(device)?.ok_or_else(|| failed(device)(io::Error::other("it was removed by somebody else")))
}

/// As [`install`], with every decision logged for the caller.
///
/// # Errors
/// As [`install`].
pub(crate) fn install_watched(device: &str, wanted: &Wanted) -> Result<Decisions, LiveError> {
    let (classifier, mut maps) = put(device, wanted, true)?;
    let map = maps.take_decisions().map_err(failed(device))?;
    let lost = if wanted.drops_at_head() { Why::Sojourn } else { Why::Overflow };
    Decisions::of(map, classifier, lost).map_err(failed(device))
}

/// Loads the program and attaches it and its qdisc in one request, so that a kill leaves all or nothing.
fn put(device: &str, wanted: &Wanted, watched: bool) -> Result<(&'static Classifier, Maps), LiveError> {
    allowed()?;
    let settings = wanted.words(device, 1, watched)?;
    let (index, mtu) = index(device)?;
    let mut tc = Tc::open(index).map_err(failed(device))?;
    if tc.our_program().map_err(failed(device))?.is_some() {
        return Err(LiveError::lacks(
            format!("{device} already has a discipline of aqmkit"),
            format!("change it with aqmkit kernel set dev {device}, or remove it: aqmkit kernel remove dev {device}"),
        ));
    }
    let classifier = aqmkit_kernel::classifier(wanted.spec.name())
        .map_err(|error| LiveError::Parameter { direction: device.to_owned(), error })?;
    let sizes = MapSizes { decisions: watched.then_some(DECISIONS), ..MapSizes::default() };
    let mut loaded = program::load(classifier.object(), sizes)?;
    let program = program::verified(&mut loaded, "classify")?;
    let maps = Maps::of(&mut loaded).map_err(failed(device))?;
    maps.write_settings(&settings).map_err(failed(device))?;
    take_leftovers(&mut tc).map_err(failed(device))?;
    if let Some(kind) = tc.configured_root().map_err(failed(device))? {
        return Err(LiveError::lacks(
            format!("{device} has a queue discipline of its own: {kind}"),
            format!("remove it first: tc qdisc del dev {device} root"),
        ));
    }
    let added_clsact = !tc.has_clsact().map_err(failed(device))?;
    maps.write_about(&wanted.about(device, 1, added_clsact, watched)?).map_err(failed(device))?;
    let registered = match wanted.place {
        Place::Classifier => None,
        Place::Queue => Some(registered(wanted, &maps)?),
    };
    let root = match &registered {
        None => RootQdisc::Shaper(Shaper::new(wanted.rate, mtu, &wanted.spec, &wanted.link())),
        Some((name, _)) => RootQdisc::Queue(name),
    };
    tc.put(root, &program, added_clsact).map_err(failed(device))?;
    Ok((classifier, maps))
}

/// Registers aqmkit's qdisc at this rate, under a name that exists until the file is closed: afterwards nobody can
/// attach a second qdisc sharing this state to another interface.
fn registered(wanted: &Wanted, maps: &Maps) -> Result<(String, OwnedFd), LiveError> {
    let refused = |e: io::Error| {
        LiveError::lacks(
            format!("the kernel does not take the queue discipline: {e}"),
            "Linux 6.16 or later with CONFIG_NET_SCH_BPF, and root; aqmkit doctor says what is there. Without the word queue, the \
             discipline runs in a classifier before the kernel's own shaper",
        )
    };
    maps.write_rate(wanted.rate).map_err(refused)?;
    let name = qdisc::name(wanted.spec.name());
    let mut tries = 0..TRIES;
    loop {
        match qdisc::register(&name, aqmkit_kernel::queue(wanted.spec.name()), maps) {
            // Another process is installing one of the same name and will finish soon.
            Err(e) if e.raw_os_error() == Some(libc::EEXIST) && tries.next().is_some() => thread::sleep(PAUSE),
            done => return done.map(|file| (name, file)).map_err(refused),
        }
    }
}

/// Retries and pause while another installation of the same discipline is in progress: two seconds in all.
const TRIES: u32 = 20;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// Size of the decision log in bytes: half a second at 100,000 packets per second.
const DECISIONS: u32 = 1 << 23;

/// Removes a qdisc of aqmkit's without its program, and a `clsact` without other filters: left when somebody removed
/// only the filter, or killed an installation while the kernel was loading a module. Returns whether there was any.
fn take_leftovers(tc: &mut Tc) -> io::Result<bool> {
    if !tc.has_our_queue()? {
        return Ok(false);
    }
    let clsact = tc.has_clsact()? && !tc.has_other_filters()?;
    tc.take(Parts { filter: false, clsact, queue: true })?;
    Ok(true)
}

/// Looks up the discipline installed on an interface.
///
/// # Errors
/// When permission is missing, there is no such interface, or aqmkit has nothing installed on it.
pub fn installed(device: &str) -> Result<Installed, LiveError> {
    allowed()?;
    find(device)?.ok_or_else(|| {
        LiveError::lacks(
            format!("{device} has no discipline of aqmkit"),
            format!("install one: aqmkit kernel install dcn dev {device} rate 40mbit"),
        )
    })
}

fn find(device: &str) -> Result<Option<Installed>, LiveError> {
    let (index, _) = index(device)?;
    let looking = || LiveError::while_doing(format!("looking at {device}"));
    let mut tc = Tc::open(index).map_err(looking())?;
    let Some(id) = tc.our_program().map_err(looking())? else { return Ok(None) };
    let maps = Maps::of_program(id).map_err(looking())?;
    let text = maps.about().map_err(looking())?;
    let about = serde_json::from_slice(&text).map_err(|e| looking()(e.into()))?;
    Ok(Some(Installed { device: device.to_owned(), program: id, about, maps }))
}

/// All interfaces with a discipline of aqmkit's.
///
/// # Errors
/// When permission is missing.
pub fn everywhere() -> Result<Vec<Installed>, LiveError> {
    allowed()?;
    let looking = LiveError::while_doing("listing interfaces");
    let interfaces = Netlink::open().and_then(|mut n| n.interfaces()).map_err(looking)?;
    let found = interfaces.into_iter().map(|i| find(&i.name));
    found.filter_map(Result::transpose).collect()
}

/// Removes what [`install`] attached. Packets queued in the shaper are lost.
///
/// # Errors
/// When aqmkit has nothing installed there, or the kernel refuses.
pub fn remove(device: &str) -> Result<(), LiveError> {
    allowed()?;
    let removing = || LiveError::while_doing(format!("removing from {device}"));
    let (index, _) = index(device)?;
    let mut tc = Tc::open(index).map_err(removing())?;
    let Some(found) = find(device)? else {
        if take_leftovers(&mut tc).map_err(removing())? {
            return Ok(());
        }
        return Err(LiveError::lacks(format!("{device} has no discipline of aqmkit"), "there is nothing to remove"));
    };
    let clsact = found.about.added_clsact && !tc.has_other_filters().map_err(removing())?;
    let queue = tc.has_our_queue().map_err(removing())?;
    tc.take(Parts { filter: true, clsact, queue }).map_err(removing())
}

impl Installed {
    /// Interface name.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The settings last written.
    ///
    /// # Errors
    /// When another version of aqmkit installed it, with parameters unknown to this one.
    pub fn wanted(&self) -> Result<Wanted, LiveError> {
        let unknown = |what: String| {
            LiveError::lacks(
                format!("{}: {what}", self.device),
                format!("another version of aqmkit installed it; aqmkit kernel remove dev {} removes it", self.device),
            )
        };
        let table = Value::deserialize(&self.about.parameters).map_err(|e| unknown(e.to_string()))?;
        let spec = Spec::of_table(&self.about.discipline, table).map_err(|e| unknown(e.to_string()))?;
        Ok(Wanted {
            spec,
            rate: BitRate::from_bps(self.about.rate_bps),
            mean_packet: Bytes(self.about.mean_packet),
            classes: self.about.classes.clone(),
            place: self.about.place,
        })
    }

    /// Counters and gauges, read from the program's maps.
    ///
    /// # Errors
    /// When the maps cannot be read.
    pub fn statistics(&self) -> Result<Statistics, LiveError> {
        let classifier = aqmkit_kernel::classifier(&self.about.discipline).ok();
        let queued = self.about.place == Place::Queue;
        self.maps.statistics(classifier, queued).map_err(LiveError::while_doing(format!("asking {}", self.device)))
    }

    /// The program's mean run time per packet in nanoseconds, including parsing headers and reading the backlog. The
    /// kernel measures it only while `kernel.bpf_stats_enabled` is 1.
    #[must_use]
    pub fn mean_run(&self) -> Option<f64> {
        let program = loaded_programs().filter_map(Result::ok).find(|p| p.id() == self.program)?;
        let runs = program.run_count();
        (runs > 0).then(|| program.run_time().as_secs_f64() * 1e9 / runs as f64)
    }

    /// Changes parameters and rate while packets flow. No packet is lost, unless the new limit is below the backlog.
    ///
    /// # Errors
    /// When the discipline differs, a parameter has no in-kernel equivalent, or the kernel refuses.
    pub fn change(&mut self, wanted: &Wanted) -> Result<(), LiveError> {
        let version = self.about.version + 1;
        let changing = || LiveError::while_doing(format!("changing {}", self.device));
        if wanted.spec.name() != self.about.discipline {
            return Err(LiveError::lacks(
                format!("{} runs {}, not {}", self.device, self.about.discipline, wanted.spec.name()),
                format!("remove it first: aqmkit kernel remove dev {}", self.device),
            ));
        }
        let watched = self.about.watched;
        let settings = wanted.words(&self.device, version, watched)?;
        let about = wanted.about(&self.device, version, self.about.added_clsact, watched)?;
        match self.about.place {
            Place::Queue => self.maps.write_rate(wanted.rate).map_err(changing())?,
            Place::Classifier => {
                let (index, mtu) = index(&self.device)?;
                let shaper = Shaper::new(wanted.rate, mtu, &wanted.spec, &wanted.link());
                Tc::open(index).and_then(|mut tc| tc.change_shaper(shaper)).map_err(changing())?;
            }
        }
        self.maps.write_settings(&settings).map_err(changing())?;
        self.maps.write_about(&about).map_err(changing())?;
        self.about = serde_json::from_slice(about.split(|b| *b == 0).next().unwrap_or_default())
            .map_err(|e| changing()(e.into()))?;
        Ok(())
    }
}
