//! The command line: what can be written, and its help.

pub mod wire;

use std::ffi::OsString;
use std::path::PathBuf;

use aqmkit_base::units::{parse_amount, parse_duration, parse_rate};
use aqmkit_base::{Amount, BitRate, Duration};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::experiment;

/// A laboratory for active queue management: simulate, compare, reproduce.
#[derive(Debug, Parser)]
#[command(name = "aqmkit", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  aqmkit compare fifo red --rate 10mbit --rtt 50ms --bulk 20
  aqmkit run cbt/blast
  aqmkit reproduce
  aqmkit describe red

Rates, times and sizes take units as in tc: 10mbit, 30ms, 1500b.
Exit codes: 0 good; 1 a run failed, or with reproduce a published value was missed; 2 wrong usage or a wrong file;
3 the environment lacks something; 130 stopped with Ctrl-C.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Say only what was asked for: no progress, no notes.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Tell of every run as it ends.
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List disciplines, transports, traffic models, experiments
    List(List),
    /// Show what something is, its parameters, units, defaults and reference
    Describe(Describe),
    /// Compare disciplines on one link with the traffic of your choice
    Compare(Box<Compare>),
    /// Run an experiment: an id such as cbt/blast, or a file
    Run(Run),
    /// Find the populations that offer the loads of an experiment
    Calibrate(Calibrate),
    /// Show published values beside measured ones, with a verdict for each
    Reproduce(Reproduce),
    /// Count the verdicts that are kept beside the experiments, and write them into documents
    Scoreboard(Scoreboard),
    /// Run a command behind a live bottleneck: real packets, the kernel's own TCP
    Link(Box<Link>),
    /// Say what this machine can do on live traffic, and how running links fare
    Doctor(Doctor),
    /// Replay a capture through a discipline: fates, delays and marks of real packets
    Replay(Box<wire::Replay>),
    /// Manage the queue of a real link: a bump in the wire between two interfaces
    Bridge(Box<wire::Bridge>),
    /// Show and change bridges and links while they run
    Ctl(wire::Ctl),
    /// Build the HTML report of a directory of results again
    Report(Report),
    /// Measure the engine (packets per CPU second) and the disciplines (nanoseconds per packet)
    Bench(Bench),
}

/// `list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  aqmkit list\n  aqmkit list disciplines --json")]
pub struct List {
    /// What to list; everything where it is left out
    pub what: Option<Catalogue>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A part of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Catalogue {
    /// Queue disciplines.
    Disciplines,
    /// How TCP endpoints behave.
    Transports,
    /// What applications want.
    Traffic,
    /// Experiments that can be run by id.
    Experiments,
}

/// `describe`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit describe red
  aqmkit describe red --rate 10mbit --set min=5 --set max=40
  aqmkit describe bulk")]
pub struct Describe {
    /// A discipline, a traffic model, a transport, a formula or an experiment
    pub name: String,
    /// The link whose rate parameters are derived from
    #[arg(long, default_value = "10mbit", value_parser = parse_rate, allow_hyphen_values = true)]
    pub rate: BitRate,
    /// Change a parameter
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// `compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit compare fifo red --rate 10mbit --rtt 50ms --bulk 20
  aqmkit compare red red:min=5,max=40 --http 0.9 --duration 2min
  aqmkit compare fifo red fred --bulk 20 --mpeg 4 --cbr 10mbit --seed 7

A discipline may carry parameters after a colon. Bulk and web traffic are class tcp, video is class
multimedia, cbr is class other.")]
pub struct Compare {
    /// Disciplines, each a name or NAME:PARAMETER=VALUE,…
    #[arg(required = true)]
    pub disciplines: Vec<String>,
    /// Rate of the link
    #[arg(long, default_value = "10mbit", value_parser = parse_rate, allow_hyphen_values = true)]
    pub rate: BitRate,
    /// Round trip without queues
    #[arg(long, default_value = "50ms", value_parser = parse_duration, allow_hyphen_values = true)]
    pub rtt: Duration,
    /// Endless TCP transfers (20 where no traffic at all is asked for)
    #[arg(long, value_name = "FLOWS")]
    pub bulk: Option<u32>,
    /// Web users that offer this fraction of the link's rate
    #[arg(long, value_name = "FRACTION")]
    pub http: Option<f64>,
    /// A stream of datagrams of this rate that answers to nothing
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true)]
    pub cbr: Option<BitRate>,
    /// MPEG video streams
    #[arg(long, value_name = "FLOWS")]
    pub mpeg: Option<u32>,
    /// Videoconferences
    #[arg(long, value_name = "FLOWS")]
    pub videoconf: Option<u32>,
    /// Measured time
    #[arg(long, default_value = "60s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Duration,
    /// Time before that, not measured
    #[arg(long, default_value = "10s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub warmup: Duration,
    /// What every queue may hold: 100 (packets) or 90kb
    #[arg(long, value_parser = parse_amount)]
    pub limit: Option<Amount>,
    /// How TCP endpoints behave
    #[arg(long, value_name = "PROFILE")]
    pub transport: Option<String>,
    /// How to run
    #[command(flatten)]
    pub how: How,
}

/// Options of everything that runs.
#[derive(Clone, Debug, Args)]
pub struct How {
    /// Another seed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Runs of every combination, each with its own seed
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Runs at a time; all cores where it is left out
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Where results go
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print results.json in place of tables
    #[arg(long)]
    pub json: bool,
}

/// `run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit run cbt/blast
  aqmkit run my.toml --set topology.rate=20mbit --repeat 3
  aqmkit run cbt/blast --scale quick --json
  aqmkit run live/agree --live
  aqmkit run cbt/blast --scale quick --set aqm=red --pcap red.pcap

Finished runs are kept: the same command goes on where it was stopped.")]
pub struct Run {
    /// An id such as cbt/blast, or a file
    pub experiment: String,
    /// Change a value by its path
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// As published, or shortened
    #[arg(long, default_value = "full")]
    pub scale: Scale,
    /// Run it on a live link too, with the kernel's own TCP in real time, and compare
    #[arg(long)]
    pub live: bool,
    /// Also write the packets of the first run at the measured link; --set aqm=red makes it that of red
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// How to run
    #[command(flatten)]
    pub how: How,
}

/// As published, or shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    /// Shortened.
    Quick,
    /// As published.
    Full,
}

impl From<Scale> for experiment::Scale {
    fn from(scale: Scale) -> Self {
        match scale {
            Scale::Quick => experiment::Scale::Quick,
            Scale::Full => experiment::Scale::Full,
        }
    }
}

/// `calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit calibrate my.toml
  aqmkit calibrate my.toml --set traffic.web.load=98%

A load is what a population would put on the link if nothing were congested: its share of the link's rate, or a
rate. `aqmkit run` finds populations by itself and keeps what it found.")]
pub struct Calibrate {
    /// An id such as cbt/blast, or a file
    pub experiment: String,
    /// Change a value by its path
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// As published, or shortened
    #[arg(long, default_value = "full")]
    pub scale: Scale,
    /// Trials at a time; all cores where it is left out
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Where results go
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit reproduce                       everything, shortened
  aqmkit reproduce cbt/blast             one experiment as published
  aqmkit reproduce cbt/blast --scale quick
  aqmkit reproduce dualq                 a study
  aqmkit reproduce --null                the null test: which claims are met without the scheme too
  aqmkit reproduce --live                the experiments of live/, simulated and over the kernel's TCP (root)")]
pub struct Reproduce {
    /// Experiments, or studies with all of theirs; all of them, shortened, where none is named
    pub ids: Vec<String>,
    /// Run them on a live link too, and say where both agree; those of live/ where none is named
    #[arg(long)]
    pub live: bool,
    /// The null test: judge every measured claim once more with its scheme replaced by drop-tail or switched off, shortened
    #[arg(long, conflicts_with_all = ["live", "scale"])]
    pub null: bool,
    /// Keep the verdicts (with --null, its outcomes) in this directory of experiments, for documents and later verdicts
    #[arg(long, value_name = "DIR", conflicts_with = "live")]
    pub record: Option<PathBuf>,
    /// With --null: fail where an outcome is not the one that is kept
    #[arg(long, requires = "null", conflicts_with = "record")]
    pub check: bool,
    /// As published, or shortened
    #[arg(long)]
    pub scale: Option<Scale>,
    /// Runs at a time; all cores where it is left out
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Where results go, a directory for each experiment
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Print JSON: every published value with what was measured
    #[arg(long)]
    pub json: bool,
}

/// `scoreboard`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit scoreboard
  aqmkit scoreboard --scale full
  aqmkit scoreboard --update README.md experiments/*/README.md
  aqmkit scoreboard --check README.md

A document says with <!-- numbers: WHAT --> and <!-- end --> where numbers go: docs/experiment-format.md, \"Kept verdicts\".")]
pub struct Scoreboard {
    /// As published, or shortened
    #[arg(long, default_value = "quick")]
    pub scale: Scale,
    /// Write the numbers of these documents anew
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "check")]
    pub update: Vec<PathBuf>,
    /// Fail where a number of these documents is not what is kept
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub check: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `report`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  aqmkit report results/cbt/blast")]
pub struct Report {
    /// A directory of results
    pub dir: PathBuf,
}

/// `bench`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  aqmkit bench\n  aqmkit bench --flows 1,1000,1000000\n  aqmkit bench --json")]
pub struct Bench {
    /// Simulated time of the engine's scenario
    #[arg(long, default_value = "100s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Duration,
    /// Packets through each discipline
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: u64,
    /// Flows that they belong to; several numbers give a table
    #[arg(long, value_name = "N,…", default_value = "1000", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..))]
    pub flows: Vec<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `link`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit link --rate 40mbit --delay 5ms --aqm dualpi2 --ecn --server 'iperf3 -s -1' -- sh -c 'iperf3 -Rc $AQMKIT_BASE'
  aqmkit link --rate 10mbit --delay 20ms --aqm codel:target=5ms --up-rate 1mbit -- ping -c 5 198.18.0.1
  aqmkit link --cleanup

The command runs in the client's network namespace, what --server names in the server's, whose address is in
$AQMKIT_BASE (198.18.0.1; fd61:716d:6b69::1 in $AQMKIT_BASE6). Down is from the server to the client. The exit code
is that of the command; 1 where the machine could not keep up. docs/guide/live.md has more.")]
pub struct Link {
    /// Rate of both directions
    #[arg(long, value_parser = parse_rate, allow_hyphen_values = true)]
    pub rate: Option<BitRate>,
    /// Delay of each direction
    #[arg(long, value_parser = parse_duration, allow_hyphen_values = true, default_value = "0ms")]
    pub delay: Duration,
    /// Discipline of both directions, a name or NAME:PARAMETER=VALUE,…
    #[arg(long, default_value = "fifo")]
    pub aqm: String,
    /// Rate from the server to the client
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true)]
    pub down_rate: Option<BitRate>,
    /// Delay from the server to the client
    #[arg(long, value_name = "DELAY", value_parser = parse_duration, allow_hyphen_values = true)]
    pub down_delay: Option<Duration>,
    /// Discipline from the server to the client
    #[arg(long, value_name = "AQM")]
    pub down_aqm: Option<String>,
    /// Rate from the client to the server
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true)]
    pub up_rate: Option<BitRate>,
    /// Delay from the client to the server
    #[arg(long, value_name = "DELAY", value_parser = parse_duration, allow_hyphen_values = true)]
    pub up_delay: Option<Duration>,
    /// Discipline from the client to the server
    #[arg(long, value_name = "AQM")]
    pub up_aqm: Option<String>,
    /// A trace of delivery opportunities in mahimahi's format, in place of both rates
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    pub trace: Option<PathBuf>,
    /// The same for the direction from the server to the client
    #[arg(long, value_name = "FILE", conflicts_with = "down_rate")]
    pub down_trace: Option<PathBuf>,
    /// The same for the direction from the client to the server
    #[arg(long, value_name = "FILE", conflicts_with = "up_rate")]
    pub up_trace: Option<PathBuf>,
    /// Congestion control of every connection: cubic, reno, bbr …
    #[arg(long)]
    pub cc: Option<String>,
    /// Let TCP use ECN at both ends
    #[arg(long, conflicts_with = "no_ecn")]
    pub ecn: bool,
    /// Let TCP not use ECN
    #[arg(long)]
    pub no_ecn: bool,
    /// A command for the server's side; it is ended with the link
    #[arg(long, value_name = "COMMAND")]
    pub server: Vec<String>,
    /// A traffic class and what belongs to it: video=udp:5004-5010, web=tcp:80,tcp:443, voice=dscp:46, rest=*
    #[arg(long, value_name = "NAME=RULE,…")]
    pub class: Vec<String>,
    /// Bytes of framing that each packet takes beyond its own length
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub overhead: u32,
    /// Largest packet; below 1280, the least that IPv6 lives with (RFC 8200), there is only IPv4
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub mtu: u32,
    /// Seed of the disciplines' random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Show once a second how the link fares
    #[arg(long)]
    pub watch: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the summary as JSON into this file too
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// End and put back what links and bridges that were killed have left behind, and nothing else
    #[arg(long, exclusive = true)]
    pub cleanup: bool,
    /// The command, after --
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  aqmkit doctor\n  aqmkit doctor --json")]
pub struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
