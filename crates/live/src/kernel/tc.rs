//! Traffic control of one interface over rtnetlink: its root qdisc and egress filter.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, BitRate};
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcBpfFlags, TcFilterBpfOption, TcHandle, TcHeader, TcMessage, TcOption};

use super::qdisc::PREFIX;
use crate::netlink::Netlink;

/// The filter's name in `tc filter show`, by which it is recognised.
const NAME: &str = "aqmkit";
/// The root qdisc's handle, a7d0: in `tc`.
const QUEUE: TcHandle = TcHandle { major: 0xa7d0, minor: 0 };
/// `tcm_info` of the filter: priority 10, all protocols (`ETH_P_ALL`, big-endian).
const FILTER: u32 = 10 << 16 | 0x0300;
const EGRESS: TcHandle = TcHandle { major: 0xffff, minor: 0xfff3 };
const INGRESS: TcHandle = TcHandle { major: 0xffff, minor: 0xfff2 };
/// Ethernet header and one VLAN tag, in bytes.
const FRAMING: u32 = 18;

/// The parameters of the kernel's `tbf` (`net/sched/sch_tbf.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shaper {
    rate: BitRate,
    /// Token bucket depth, in bytes.
    burst: u32,
    /// Queue limit, in bytes.
    limit: u32,
}

impl Shaper {
    /// A `tbf` whose queue holds the discipline's limit. The burst is three packets or 200 microseconds at the link
    /// rate, whichever is more: less would cost a slow link rate when timers are late, and a fast link would need too
    /// many timers. The kernel segments GSO packets larger than the burst.
    pub(super) fn new(rate: BitRate, mtu: u32, spec: &Spec, link: &Link) -> Shaper {
        let packet = mtu + FRAMING;
        let burst = (rate.bytes_per_sec() * 200e-6) as u32;
        let parameters = spec.effective(link).ok().and_then(|s| serde_json::to_value(s).ok()).unwrap_or_default();
        let most = parameters.get("limit").and_then(|l| serde_json::from_value::<Amount>(l.clone()).ok());
        let bytes = match most {
            Some(most) if most.unit() == Counting::Bytes => 2.0 * most.value(),
            Some(most) => most.value() * f64::from(packet),
            None => 1000.0 * f64::from(packet),
        };
        // Room for a GSO packet even if the discipline's limit is in other units.
        let limit = (bytes + 2.0 * 65_536.0).min(f64::from(u32::MAX)) as u32;
        Shaper { rate, burst: burst.max(3 * packet), limit }
    }

    /// `TCA_TBF_PARMS`, `TCA_TBF_RATE64` and `TCA_TBF_BURST`.
    fn options(self) -> Vec<TcOption> {
        const ETHERNET: u8 = 1;
        let bytes = self.rate.as_bps() / 8;
        let short = u32::try_from(bytes).unwrap_or(u32::MAX);
        let mut parms = vec![0, ETHERNET, 0, 0, 0, 0, 0, 0];
        parms.extend(short.to_ne_bytes());
        parms.extend([0; 12]);
        parms.extend(self.limit.to_ne_bytes());
        parms.extend([0; 8]);
        let option = |kind, value: Vec<u8>| TcOption::Other(DefaultNla::new(kind, value));
        let mut options = vec![option(1, parms)];
        if short == u32::MAX {
            options.push(option(4, bytes.to_ne_bytes().to_vec()));
        }
        options.push(option(6, self.burst.to_ne_bytes().to_vec()));
        options
    }
}

/// The qdisc behind the classifier.
#[derive(Clone, Copy, Debug)]
pub(super) enum RootQdisc<'a> {
    /// The kernel's `tbf`.
    Shaper(Shaper),
    /// aqmkit's BPF qdisc, by its registered name.
    Queue(&'a str),
}

/// Traffic control state of one interface.
#[derive(Debug)]
pub(super) struct Tc {
    netlink: Netlink,
    index: i32,
}

fn kind(message: &TcMessage) -> Option<&str> {
    message.attributes.iter().find_map(|a| match a {
        TcAttribute::Kind(kind) => Some(kind.as_str()),
        _ => None,
    })
}

fn filter_options(message: &TcMessage) -> impl Iterator<Item = &TcFilterBpfOption> {
    let options = message.attributes.iter().filter_map(|a| match a {
        TcAttribute::Options(options) => Some(options),
        _ => None,
    });
    options.flatten().filter_map(|o| match o {
        TcOption::Bpf(option) => Some(option),
        _ => None,
    })
}

impl Tc {
    pub(super) fn open(index: u32) -> io::Result<Tc> {
        let index = i32::try_from(index).map_err(io::Error::other)?;
        Ok(Tc { netlink: Netlink::open()?, index })
    }

    fn message(&self, parent: TcHandle, handle: TcHandle, kind: &str) -> TcMessage {
        let header = TcHeader { index: self.index, parent, handle, ..TcHeader::default() };
        let attributes = vec![TcAttribute::Kind(kind.to_owned())];
        TcMessage::from_parts(header, attributes)
    }

    fn queue_disciplines(&mut self) -> io::Result<Vec<TcMessage>> {
        let all = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::with_index(self.index));
        let answers = self.netlink.ask(all, NLM_F_DUMP)?;
        let ours = answers.into_iter().filter_map(|m| match m {
            RouteNetlinkMessage::NewQueueDiscipline(m) if m.header.index == self.index => Some(m),
            _ => None,
        });
        Ok(ours.collect())
    }

    fn filters(&mut self, parent: TcHandle) -> io::Result<Vec<TcMessage>> {
        let mut question = TcMessage::with_index(self.index);
        question.header.parent = parent;
        let answers = match self.netlink.ask(RouteNetlinkMessage::GetTrafficFilter(question), NLM_F_DUMP) {
            // Without clsact there are no filters.
            Err(e) if [Some(libc::EINVAL), Some(libc::ENOENT)].contains(&e.raw_os_error()) => return Ok(Vec::new()),
            answers => answers?,
        };
        let filters = answers.into_iter().filter_map(|m| match m {
            RouteNetlinkMessage::NewTrafficFilter(m) => Some(m),
            _ => None,
        });
        Ok(filters.collect())
    }

    /// The id of aqmkit's program at egress, if attached.
    pub(super) fn our_program(&mut self) -> io::Result<Option<u32>> {
        let named = |m: &&TcMessage| filter_options(m).any(|o| *o == TcFilterBpfOption::ProgName(NAME.to_owned()));
        let number = |m: &TcMessage| {
            filter_options(m).find_map(|o| match o {
                TcFilterBpfOption::ProgId(id) => Some(*id),
                _ => None,
            })
        };
        Ok(self.filters(EGRESS)?.iter().find(named).and_then(number))
    }

    /// Whether `clsact` has filters besides aqmkit's.
    pub(super) fn has_other_filters(&mut self) -> io::Result<bool> {
        // The kernel announces each priority with a message of handle 0.
        let ours = |m: &TcMessage| m.header.info == FILTER && m.header.handle.major == 0 && m.header.handle.minor <= 1;
        Ok(!self.filters(EGRESS)?.iter().all(ours) || !self.filters(INGRESS)?.is_empty())
    }

    /// The kind of a configured root qdisc, if any; the kernel's default qdiscs have handle 0.
    pub(super) fn configured_root(&mut self) -> io::Result<Option<String>> {
        let all = self.queue_disciplines()?;
        let root = all.iter().find(|m| m.header.parent == TcHandle::ROOT && m.header.handle.major != 0);
        Ok(root.map(|m| format!("{} {:x}:", kind(m).unwrap_or("?"), m.header.handle.major)))
    }

    pub(super) fn has_our_queue(&mut self) -> io::Result<bool> {
        let own = |kind: &str| kind == "tbf" || kind.starts_with(PREFIX);
        let is_ours = |m: &TcMessage| m.header.handle == QUEUE && kind(m).is_some_and(own);
        Ok(self.queue_disciplines()?.iter().any(is_ours))
    }

    pub(super) fn has_clsact(&mut self) -> io::Result<bool> {
        Ok(self.queue_disciplines()?.iter().any(|m| kind(m) == Some("clsact")))
    }

    fn queue(&self, root: RootQdisc<'_>) -> RouteNetlinkMessage {
        let message = match root {
            RootQdisc::Shaper(shaper) => {
                let mut message = self.message(TcHandle::ROOT, QUEUE, "tbf");
                message.attributes.push(TcAttribute::Options(shaper.options()));
                message
            }
            RootQdisc::Queue(name) => self.message(TcHandle::ROOT, QUEUE, name),
        };
        RouteNetlinkMessage::NewQueueDiscipline(message)
    }

    fn clsact(&self) -> TcMessage {
        self.message(TcHandle { major: 0xffff, minor: 0xfff1 }, TcHandle { major: 0xffff, minor: 0 }, "clsact")
    }

    fn filter(&self) -> TcMessage {
        let mut message = self.message(EGRESS, TcHandle { major: 0, minor: 1 }, "bpf");
        message.header.info = FILTER;
        message
    }

    /// Attaches qdisc and program, and `clsact` if missing: all of them, or none on error.
    pub(super) fn put(&mut self, root: RootQdisc<'_>, program: &OwnedFd, clsact: bool) -> io::Result<()> {
        const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;
        let mut filter = self.filter();
        filter.attributes.push(TcAttribute::Options(vec![
            TcOption::Bpf(TcFilterBpfOption::ProgFd(program.as_raw_fd() as u32)),
            TcOption::Bpf(TcFilterBpfOption::ProgName(NAME.to_owned())),
            TcOption::Bpf(TcFilterBpfOption::Flags(TcBpfFlags::DirectAction)),
        ]));
        let mut parts = vec![(self.queue(root), NEW)];
        if clsact {
            parts.push((RouteNetlinkMessage::NewQueueDiscipline(self.clsact()), NEW));
        }
        parts.push((RouteNetlinkMessage::NewTrafficFilter(filter), NEW));
        self.netlink.change(parts).map_err(|error| {
            // Best effort: what existed before was not ours, and what does not exist cannot be removed.
            let _ = self.take(Parts { filter: true, clsact, queue: true });
            match error.raw_os_error() {
                Some(libc::ENOENT | libc::EOPNOTSUPP) => io::Error::new(io::ErrorKind::Unsupported, LACKING),
                _ => error,
            }
        })
    }

    /// Removes these parts.
    pub(super) fn take(&mut self, parts: Parts) -> io::Result<()> {
        let filter = parts.filter.then(|| RouteNetlinkMessage::DelTrafficFilter(self.filter()));
        let clsact = parts.clsact.then(|| RouteNetlinkMessage::DelQueueDiscipline(self.clsact()));
        let mut queue = self.message(TcHandle::ROOT, QUEUE, "");
        // Whatever its kind.
        queue.attributes.clear();
        let queue = parts.queue.then_some(RouteNetlinkMessage::DelQueueDiscipline(queue));
        self.netlink.change([filter, clsact, queue].into_iter().flatten().map(|part| (part, 0)).collect())
    }

    /// Changes the `tbf` without dropping its backlog.
    pub(super) fn change_shaper(&mut self, shaper: Shaper) -> io::Result<()> {
        self.netlink.change(vec![(self.queue(RootQdisc::Shaper(shaper)), 0)])
    }

    /// Tests whether the kernel has `clsact`.
    pub(super) fn try_clsact(&mut self) -> io::Result<()> {
        let clsact = RouteNetlinkMessage::NewQueueDiscipline(self.clsact());
        self.netlink.change(vec![(clsact, NLM_F_CREATE | NLM_F_EXCL)])
    }
}

/// The parts attached to an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// The egress filter with the program.
    pub(super) filter: bool,
    /// The `clsact` qdisc.
    pub(super) clsact: bool,
    /// The root qdisc.
    pub(super) queue: bool,
}

/// The error for a kernel that lacks a qdisc or filter.
const LACKING: &str = "the kernel lacks tbf (CONFIG_NET_SCH_TBF; modprobe sch_tbf), clsact (CONFIG_NET_SCH_INGRESS; modprobe sch_ingress) or \
                       bpf filters (CONFIG_NET_CLS_BPF; modprobe cls_bpf)";
