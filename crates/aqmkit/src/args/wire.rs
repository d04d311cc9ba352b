//! Arguments of the commands for captures and interfaces.

use std::net::SocketAddr;
use std::path::PathBuf;

use aqmkit_base::units::{parse_amount, parse_duration, parse_rate};
use aqmkit_base::wire::{Jitter, Loss, Reorder, Slot, Wire};
use aqmkit_base::{Amount, BitRate, Duration, Framing, LinkLayer, Overhead, Rates};
use aqmkit_packets::wire::Prefix;
use clap::{Args, Subcommand, ValueEnum};

/// `replay`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit replay in.pcap --aqm codel --rate 10mbit
  aqmkit replay in.pcapng --aqm red:min=5,max=40,ecn=true --rate 20mbit -o out.pcap --fates fates.parquet
  aqmkit replay host.pcap --to 192.0.2.0/24 --aqm pie --rate 20mbit
  tcpdump -i eth0 -w - | aqmkit replay - --aqm fq-codel --rate 50mbit --json

Packets arrive as captured, whatever is dropped: a replay shows how a discipline treats given traffic. Ctrl-C ends \
the input; the packets read so far are replayed. docs/guide/replay.md has more.")]
pub(crate) struct Replay {
    /// A capture, pcap or pcapng; - is standard input
    #[arg(value_name = "IN.pcap")]
    pub input: PathBuf,
    /// The queue
    #[command(flatten)]
    pub queue: Queue,
    /// Rate of the link
    #[arg(long, value_parser = parse_rate, allow_hyphen_values = true)]
    pub rate: BitRate,
    /// Only packets from this network, to select one direction of a capture; may be repeated
    #[arg(long, value_name = "NETWORK")]
    pub from: Vec<Prefix>,
    /// Only packets to this network; may be repeated
    #[arg(long, value_name = "NETWORK")]
    pub to: Vec<Prefix>,
    /// MTU of the link, in bytes: longer TCP packets, which rely on segmentation offload, are segmented
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub mtu: u32,
    /// Write the packets that are sent, with marks and departure times, to this pcap file
    #[arg(short, long, value_name = "OUT.pcap")]
    pub out: Option<PathBuf>,
    /// Write the fate of every packet: .parquet or .csv
    #[arg(long, value_name = "FILE")]
    pub fates: Option<PathBuf>,
    /// Number of largest flows to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The queue of a link, and the classification of packets.
#[derive(Clone, Debug, Args)]
pub(crate) struct Queue {
    /// Discipline, a name or NAME:PARAMETER=VALUE,…
    #[arg(long, default_value = "fifo")]
    pub aqm: String,
    /// Limit of the queue: 100 (packets) or 90kb
    #[arg(long, value_parser = parse_amount)]
    pub limit: Option<Amount>,
    /// A traffic class and its rules: video=udp:5004-5010, web=tcp:80,tcp:443, voice=dscp:46, rest=*
    #[arg(long, value_name = "NAME=RULE,…")]
    pub class: Vec<String>,
    /// Framing of packets
    #[command(flatten)]
    pub framing: FramingArgs,
    /// Seed of the discipline's random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The framing of a link.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FramingArgs {
    /// Bytes that framing adds to each packet; negative if the link sends less than the packet
    #[arg(long, value_name = "BYTES", default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(i64::from(Overhead::LEAST)..=i64::from(Overhead::MOST)))]
    pub overhead: i32,
    /// Smallest size on the link, with framing: shorter packets are padded
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=65_536))]
    pub mpu: u32,
    /// Link layer: cells of ATM (48 of 53 bytes), or PTM (64 of 65)
    #[arg(long, value_name = "LAYER", default_value = "ethernet", value_parser = parse_layer)]
    pub linklayer: LinkLayer,
}

impl FramingArgs {
    /// The framing of a link, from these arguments.
    #[must_use]
    pub(crate) const fn framing(self) -> Framing {
        Framing { overhead: self.overhead, mpu: self.mpu, linklayer: self.linklayer }
    }
}

fn parse_layer(text: &str) -> Result<LinkLayer, String> {
    let known = LinkLayer::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    known.map(|(_, layer)| *layer).ok_or_else(|| "the link layers are ethernet, atm and ptm".to_owned())
}

/// Impairments behind the queue, with the terms of netem.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct WireArgs {
    /// Lose packets on the wire: 1%, every=100,burst=2, or in bursts p=1%,r=25%
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<Loss>,
    /// Delay each packet by up to this additional time, and by what those before it need, since order is kept; 50ms,overtaking lets packets
    /// overtake, as in netem
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub jitter: Option<Jitter>,
    /// Delay this share of the packets by this additional time, so that others overtake them: 1%,5ms
    #[arg(long, value_name = "SHARE,TIME")]
    pub reorder: Option<Reorder>,
    /// Deliver packets together in slots, as netem does: 5ms, or 5ms..10ms,packets=32,bytes=64kb
    #[arg(long, value_name = "TIMES", allow_hyphen_values = true)]
    pub slot: Option<Slot>,
}

impl WireArgs {
    /// The impairments of a wire, from these arguments.
    #[must_use]
    pub(crate) fn wire(self) -> Wire {
        let Jitter { time: jitter, overtaking } = self.jitter.unwrap_or_default();
        let loss = self.loss.unwrap_or_default();
        Wire { loss, mark: Loss::default(), jitter, overtaking, reorder: self.reorder, slot: self.slot }
    }
}

/// `bridge`.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "Examples:
  aqmkit bridge eth1 eth2 --rate 50mbit --aqm fq-codel
  aqmkit bridge lan wan --rate 100mbit/20mbit --aqm codel:target=5ms --metrics 127.0.0.1:9000
  aqmkit bridge --config /etc/aqmkit/wan.toml
  aqmkit bridge --cleanup

Frames from IF1 leave at IF2 through a queue, and vice versa. Of two rates, the second is that from IF2 to IF1 (--back-rate means the same). The bridge runs until Ctrl-C; aqmkit ctl shows and \
changes it. docs/guide/bridge.md has more."
)]
pub(crate) struct Bridge {
    /// An interface
    #[arg(value_name = "IF1", required_unless_present_any = ["cleanup", "config"])]
    pub first: Option<String>,
    /// Another interface
    #[arg(value_name = "IF2", required_unless_present_any = ["cleanup", "config"])]
    pub second: Option<String>,
    /// The queues
    #[command(flatten)]
    pub queue: Queue,
    /// Rate of both directions, or two: FORTH/BACK
    #[arg(long, allow_hyphen_values = true, required_unless_present_any = ["cleanup", "config"])]
    pub rate: Option<Rates>,
    /// The second rate, as an option of its own
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true, hide = true)]
    pub back_rate: Option<BitRate>,
    /// Delay of each direction
    #[arg(long, value_parser = parse_duration, allow_hyphen_values = true, default_value = "0ms")]
    pub delay: Duration,
    /// Impairments of the wire, in both directions
    #[command(flatten)]
    pub wire: WireArgs,
    /// Discipline from IF2 to IF1
    #[arg(long, value_name = "AQM")]
    pub back_aqm: Option<String>,
    /// Packet I/O; af-xdp bypasses the kernel's network stack
    #[arg(long, default_value = "af-packet")]
    pub io: Io,
    /// Threads that move packets: 1 for both directions, or 2, one for each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub threads: u8,
    /// Let the kernel bridge the interfaces, without a queue, when this process ends or is killed (Linux 6.6 or later)
    #[arg(long)]
    pub fail_open: bool,
    /// How it is watched
    #[command(flatten)]
    pub watched: Watched,
    /// Name for aqmkit ctl
    #[arg(long, default_value = "bridge")]
    pub name: String,
    /// Read options from the bridge table of this file; options of the command line take precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Only clean up after killed links and bridges
    #[arg(long, exclusive = true)]
    pub cleanup: bool,
}

/// `shape`.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "Examples:
  aqmkit shape eth0 --rate 20mbit --aqm fq-codel
  aqmkit shape eth0 --rate 20mbit/95mbit --aqm cake --metrics 127.0.0.1:9000
  aqmkit shape --config /etc/aqmkit/eth0.toml

What leaves the interface, of this machine and of those it routes for, passes a queue; with a second rate what arrives \
passes one as well, before the machine sees it (--ingress-rate means the same). It runs until Ctrl-C, and leaves the interface as it was, also if it is \
killed; aqmkit ctl shows and changes it. It needs Linux 6.6 or later. docs/guide/shape.md has more."
)]
pub(crate) struct Shape {
    /// An Ethernet interface
    #[arg(value_name = "IF", required_unless_present = "config")]
    pub interface: Option<String>,
    /// The queues
    #[command(flatten)]
    pub queue: Queue,
    /// Rate of what leaves, and of what arrives where that passes a queue as well: OUT/IN
    #[arg(long, allow_hyphen_values = true, required_unless_present = "config")]
    pub rate: Option<Rates>,
    /// The second rate, as an option of its own
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true, hide = true)]
    pub ingress_rate: Option<BitRate>,
    /// Discipline of what arrives (default: the same)
    #[arg(long, value_name = "AQM")]
    pub ingress_aqm: Option<String>,
    /// Threads that move packets: 1 for both directions, or 2, one for each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub threads: u8,
    /// How it is watched
    #[command(flatten)]
    pub watched: Watched,
    /// Name for aqmkit ctl
    #[arg(long, default_value = "shape")]
    pub name: String,
    /// Read options from the shape table of this file; options of the command line take precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

/// How a bridge or a shaper is watched while it runs.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Watched {
    /// Serve metrics for Prometheus at this address
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub metrics: Option<SocketAddr>,
    /// Show the queues in the browser: prints the address of a page on this machine. --play=change lets the page change parameters and rates
    #[arg(long, value_name = "ACCESS", num_args = 0..=1, require_equals = true, default_missing_value = "look")]
    pub play: Option<Access>,
}

/// Parses an address with a port. Host names other than `localhost` are rejected, because they may have several
/// addresses, or none while the machine boots.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let numbers = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numbers.as_deref().unwrap_or(text).parse().map_err(|_| {
        "it is not the number of an address and a port: write 127.0.0.1:9000, or [::1]:9000 for IPv6".to_owned()
    })
}

/// The rights of a page on a running bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Access {
    /// Only look at it.
    Look,
    /// Change parameters and rates, too.
    Change,
}

/// The I/O method of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// A ring of a packet socket.
    AfPacket,
    /// An `AF_XDP` socket.
    AfXdp,
}

/// `ctl`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit ctl list
  aqmkit ctl show
  aqmkit ctl watch
  aqmkit ctl play --writable
  aqmkit ctl set target=10ms limit=200
  aqmkit ctl set --direction back --rate 30mbit
  aqmkit ctl set --aqm fq-codel:target=10ms

Parameters have the names of aqmkit describe.")]
pub(crate) struct Ctl {
    /// Name of the bridge or link; optional if there is only one
    #[arg(long, global = true, value_name = "NAME")]
    pub to: Option<String>,
    /// The action.
    #[command(subcommand)]
    pub what: CtlCommand,
}

/// The actions of `ctl`.
#[derive(Debug, Subcommand)]
pub(crate) enum CtlCommand {
    /// List running bridges and links
    List,
    /// Show parameters and counters
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show rates, delays and drops every second
    Watch {
        /// Stop after this number of lines
        #[arg(long, value_name = "N")]
        count: Option<u64>,
    },
    /// Show the queue in the browser, as it changes
    Play {
        /// Let the page change parameters and rates
        #[arg(long)]
        writable: bool,
        /// Port of the address 127.0.0.1 (default: any that is free)
        #[arg(long, default_value_t = 0, hide_default_value = true)]
        port: u16,
        /// Do not start a browser
        #[arg(long)]
        no_open: bool,
    },
    /// Change parameters of the discipline, the discipline, or the rate
    Set {
        /// Parameters, as NAME=VALUE
        #[arg(value_name = "NAME=VALUE")]
        parameters: Vec<String>,
        /// Another discipline, a name or NAME:PARAMETER=VALUE,…; packets that wait are sent first
        #[arg(long)]
        aqm: Option<String>,
        /// Only this direction (default: all)
        #[arg(long)]
        direction: Option<String>,
        /// New rate
        #[arg(long, value_parser = parse_rate, allow_hyphen_values = true)]
        rate: Option<BitRate>,
    },
}
