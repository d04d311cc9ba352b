//! Traffic control of one interface over rtnetlink: the queue discipline at its root, and the filter at its egress.

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

/// The name under which `tc filter show` has the program, by which it is found again.
const NAME: &str = "aqmkit";
/// The handle of the queue discipline: a7d0: in `tc`.
const QUEUE: TcHandle = TcHandle { major: 0xa7d0, minor: 0 };
/// The priority of the filter, and all protocols (`ETH_P_ALL` in network order).
const FILTER: u32 = 10 << 16 | 0x0300;
const EGRESS: TcHandle = TcHandle { major: 0xffff, minor: 0xfff3 };
const INGRESS: TcHandle = TcHandle { major: 0xffff, minor: 0xfff2 };
/// Longest packets of Ethernet beside their IP packet: header and one VLAN tag.
const FRAMING: u32 = 18;

/// The parameters of the kernel's `tbf` (`net/sched/sch_tbf.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shaper {
    rate: BitRate,
    /// Bytes that may leave at once.
    burst: u32,
    /// Bytes that may wait.
    limit: u32,
}

impl Shaper {
    /// A shaper in whose queue the discipline's limit fits. Its burst is three packets, or what the link sends in 200
    /// microseconds: with less the rate of a slow link suffers from late timers, and a fast link needs too many of them. The kernel cuts
    /// what is longer into packets.
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
        // A packet that arrives as many finds room even where the discipline counts it in other units.
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

/// What stands behind the program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Behind<'a> {
    /// The kernel's shaper.
    Shaper(Shaper),
    /// Our own queue discipline, under the name by which the kernel knows it.
    Queue(&'a str),
}

/// The traffic control of one interface.
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
            // Where there is no clsact there are no filters.
            Err(e) if [Some(libc::EINVAL), Some(libc::ENOENT)].contains(&e.raw_os_error()) => return Ok(Vec::new()),
            answers => answers?,
        };
        let filters = answers.into_iter().filter_map(|m| match m {
            RouteNetlinkMessage::NewTrafficFilter(m) => Some(m),
            _ => None,
        });
        Ok(filters.collect())
    }

    /// The number of our program at the egress, if it is there.
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

    /// Whether `clsact` has filters beside ours.
    pub(super) fn has_other_filters(&mut self) -> io::Result<bool> {
        // All filters of a priority are announced by a message with the handle 0.
        let ours = |m: &TcMessage| m.header.info == FILTER && m.header.handle.major == 0 && m.header.handle.minor <= 1;
        Ok(!self.filters(EGRESS)?.iter().all(ours) || !self.filters(INGRESS)?.is_empty())
    }

    /// The root queue discipline that somebody has configured, if any: those of the kernel's own choice have no number.
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

    fn queue(&self, behind: Behind<'_>) -> RouteNetlinkMessage {
        let message = match behind {
            Behind::Shaper(shaper) => {
                let mut message = self.message(TcHandle::ROOT, QUEUE, "tbf");
                message.attributes.push(TcAttribute::Options(shaper.options()));
                message
            }
            Behind::Queue(name) => self.message(TcHandle::ROOT, QUEUE, name),
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

    /// Puts the queue discipline and the program before the interface, with `clsact` where it is not there: all or, with an error, nothing.
    pub(super) fn put(&mut self, behind: Behind<'_>, program: &OwnedFd, clsact: bool) -> io::Result<()> {
        const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;
        let mut filter = self.filter();
        filter.attributes.push(TcAttribute::Options(vec![
            TcOption::Bpf(TcFilterBpfOption::ProgFd(program.as_raw_fd() as u32)),
            TcOption::Bpf(TcFilterBpfOption::ProgName(NAME.to_owned())),
            TcOption::Bpf(TcFilterBpfOption::Flags(TcBpfFlags::DirectAction)),
        ]));
        let mut parts = vec![(self.queue(behind), NEW)];
        if clsact {
            parts.push((RouteNetlinkMessage::NewQueueDiscipline(self.clsact()), NEW));
        }
        parts.push((RouteNetlinkMessage::NewTrafficFilter(filter), NEW));
        self.netlink.change(parts).map_err(|error| {
            // What was there before is not ours, and what is not there cannot be removed.
            let _ = self.take(Parts { filter: true, clsact, queue: true });
            match error.raw_os_error() {
                Some(libc::ENOENT | libc::EOPNOTSUPP) => io::Error::new(io::ErrorKind::Unsupported, LACKING),
                _ => error,
            }
        })
    }

    /// Takes parts away.
    pub(super) fn take(&mut self, parts: Parts) -> io::Result<()> {
        let filter = parts.filter.then(|| RouteNetlinkMessage::DelTrafficFilter(self.filter()));
        let clsact = parts.clsact.then(|| RouteNetlinkMessage::DelQueueDiscipline(self.clsact()));
        let mut queue = self.message(TcHandle::ROOT, QUEUE, "");
        // Whichever kind it is of.
        queue.attributes.clear();
        let queue = parts.queue.then_some(RouteNetlinkMessage::DelQueueDiscipline(queue));
        self.netlink.change([filter, clsact, queue].into_iter().flatten().map(|part| (part, 0)).collect())
    }

    /// Changes the shaper; what waits in it stays.
    pub(super) fn change_shaper(&mut self, shaper: Shaper) -> io::Result<()> {
        self.netlink.change(vec![(self.queue(Behind::Shaper(shaper)), 0)])
    }

    /// Tries whether the kernel has `clsact`.
    pub(super) fn try_clsact(&mut self) -> io::Result<()> {
        let clsact = RouteNetlinkMessage::NewQueueDiscipline(self.clsact());
        self.netlink.change(vec![(clsact, NLM_F_CREATE | NLM_F_EXCL)])
    }
}

/// Parts of what is put before an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// The program.
    pub(super) filter: bool,
    /// The place of programs.
    pub(super) clsact: bool,
    /// The queue discipline.
    pub(super) queue: bool,
}

/// The error for a kernel without a queue discipline or filter.
const LACKING: &str = "the kernel lacks tbf (CONFIG_NET_SCH_TBF; modprobe sch_tbf), clsact (CONFIG_NET_SCH_INGRESS; modprobe sch_ingress) or \
                       bpf filters (CONFIG_NET_CLS_BPF; modprobe cls_bpf)";
