//! The command-line arguments and their help.

pub(crate) mod advise;
pub(crate) mod attack;
pub(crate) mod characterize;
pub(crate) mod compare;
pub(crate) mod explain;
pub(crate) mod files;
pub(crate) mod import;
pub(crate) mod kernel;
pub(crate) mod measure;
#[cfg(test)]
mod units;
pub(crate) mod wire;

use std::ffi::OsString;
use std::path::PathBuf;

use aqmkit_base::units::{parse_duration, parse_rate, parse_share};
use aqmkit_base::{BitRate, Duration, Rates};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use advise::Advise;
pub(crate) use attack::Attack;
pub(crate) use characterize::Characterize;
pub(crate) use compare::Compare;

use aqmkit_lab::bench::engine::Name as Scenario;

/// Active queue management: simulate, compare, reproduce.
#[derive(Debug, Parser)]
#[command(name = "aqmkit", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  aqmkit compare fifo red --rate 10mbit --rtt 50ms --bulk 20
  aqmkit run cbt/blast
  aqmkit reproduce
  aqmkit describe red

Rates, times and sizes take units as in tc: 10mbit, 30ms, 1500b.

Exit codes: 0 success; 1 a run failed, or with reproduce a published value was missed; 2 wrong usage or a wrong file; \
3 the environment lacks something; 130 stopped with Ctrl-C, 143 by SIGTERM.")]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Print results only: no progress, no notes.
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 900)]
    pub quiet: bool,
    /// Report every run when it ends.
    #[arg(short, long, global = true, display_order = 901)]
    pub verbose: bool,
}

const SCHEMA: &str = "Example:
  aqmkit schema > experiment.schema.json

An editor that knows TOML schemas (taplo, Even Better TOML) completes and checks a file whose first line is
  #:schema ./experiment.schema.json";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List disciplines, transports, traffic models, experiments
    List(List),
    /// Describe a discipline, transport, traffic model, formula or experiment
    Describe(Describe),
    /// Compare disciplines on one link with chosen traffic
    Compare(Box<Compare>),
    /// Characterise disciplines section by section as in RFC 7928: a report card
    Characterize(Characterize),
    /// Advise which discipline, with which parameters, serves a wish on a link best, and how sure that is
    Advise(Box<Advise>),
    /// Search the scenario that brings out the worst of a discipline or of a congestion control
    Attack(Attack),
    /// Estimate rate, round trip and queue of a path from files of flent, irtt, iperf3, ping, or a capture
    Measure(measure::Measure),
    /// Explain what tc -s prints: where packets wait, what drops them, what to change
    Explain(explain::Explain),
    /// Make an experiment of the queues that a router has
    Import(import::Import),
    /// Print the lines of tc that make a queue of an experiment
    Export(import::Export),
    /// Run an experiment: an id such as cbt/blast, or a file
    Run(Run),
    /// Open the browser with a running link, to watch and change its queue
    Play(files::Play),
    /// Write a template of an experiment
    Init(files::Init),
    /// Check an experiment without running it
    Check(files::Check),
    /// Calibrate the populations that offer the loads of an experiment
    Calibrate(Calibrate),
    /// Compare measured with published values, with a verdict for each
    Reproduce(Reproduce),
    /// Count the verdicts stored beside the experiments, and write them into documents
    Scoreboard(Scoreboard),
    /// Run a command behind a live bottleneck, with real packets and the kernel's TCP
    Link(Box<Link>),
    /// Report what this machine supports for live traffic, and the state of running links
    Doctor(Doctor),
    /// Replay a capture through a discipline: fate, delay and marks of each packet
    Replay(Box<wire::Replay>),
    /// Manage the queue of a real link: a transparent bridge between two interfaces
    Bridge(Box<wire::Bridge>),
    /// Manage the queue of an interface of this machine: what leaves, and what arrives
    Shape(Box<wire::Shape>),
    /// Show and change bridges, links and shaped interfaces while they run
    Ctl(wire::Ctl),
    /// Run a discipline inside the Linux kernel, on an interface
    Kernel(kernel::Kernel),
    /// Rebuild the HTML report of a directory of results
    Report(Report),
    /// Compare two directories of results
    Diff(files::Diff),
    /// Print the completions of a shell
    Completions(files::Completions),
    /// Print a JSON Schema of experiment files, for editors
    #[command(after_help = SCHEMA)]
    Schema,
    /// Write the manual pages
    Man(files::Man),
    /// Measure the engine (packets per CPU second) and the disciplines (nanoseconds per packet)
    Bench(Bench),
}

/// `list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  aqmkit list\n  aqmkit list disciplines --json")]
pub(crate) struct List {
    /// What to list (default: everything)
    pub what: Option<Catalogue>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A part of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Catalogue {
    /// Queue disciplines.
    Disciplines,
    /// TCP profiles.
    Transports,
    /// Traffic models.
    Traffic,
    /// Experiments with an id.
    Experiments,
}

/// `describe`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit describe red
  aqmkit describe red --rate 10mbit --set min=5 --set max=40
  aqmkit describe bulk")]
pub(crate) struct Describe {
    /// A discipline, a traffic model, a transport, a formula or an experiment
    pub name: String,
    /// Rate of the link, from which parameters are derived
    #[arg(long, default_value = "10mbit", value_parser = parse_rate, allow_hyphen_values = true)]
    pub rate: BitRate,
    /// Change a parameter
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// Options of everything that runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunOptions {
    /// Another seed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Runs of every combination, each with its own seed
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Parallel runs (default: all cores)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Where results go
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print results.json instead of tables
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
  aqmkit run live/kernel --live --kernel
  aqmkit run cbt/blast --scale quick --set aqm=red --pcap red.pcap
  aqmkit run my.toml --qlog senders --qlog-version 0.3

Finished runs are stored: after an interruption, repeat the command to resume.")]
pub(crate) struct Run {
    /// An id such as cbt/blast, or a file
    pub experiment: String,
    /// Change a value by its path, such as topology.rate=20mbit
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Full (as published) or quick (shortened)
    #[arg(long, default_value = "full")]
    pub scale: Scale,
    /// Repeat runs under further seeds until the means are known to ± this share (default: as many as the file says)
    #[arg(long, value_name = "SHARE", value_parser = parse_share, conflicts_with_all = ["repeat", "live", "kernel", "kernel_queue"], allow_hyphen_values = true)]
    pub precision: Option<f64>,
    /// Where else to run it
    #[command(flatten)]
    pub real: Real,
    /// Also write a capture of the first run at the measured link (select a run with --set aqm=red)
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Also write qlog traces of the first run's senders at the measured link: of the first connection to a file FILE.sqlog, or of
    /// each to a directory
    #[arg(long, value_name = "PATH", conflicts_with_all = ["live", "kernel", "kernel_queue"])]
    pub qlog: Option<PathBuf>,
    /// The version of qlog: that of the IETF's drafts, or 0.3, which qvis reads
    #[arg(long, value_name = "VERSION", default_value = "draft", requires = "qlog")]
    pub qlog_version: QlogVersion,
    /// Print the table of every combination and window, and each published value with its note
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
    /// Print the digest of every run: equal digests are equal results, to the bit, here and in the page of aqmkit play
    /// (printed without this option where there is one run)
    #[arg(long, conflicts_with_all = ["live", "json"])]
    pub digests: bool,
    /// How to run
    #[command(flatten)]
    pub how: RunOptions,
}

/// The version of qlog traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QlogVersion {
    /// draft-ietf-quic-qlog-main-schema-14
    Draft,
    /// 0.3, for qvis
    #[value(name = "0.3")]
    V03,
}

/// Runs with real packets beside the simulated ones.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Real {
    /// Also run it on a live link with the kernel's TCP, in real time, and compare
    #[arg(long)]
    pub live: bool,
    /// Also run it with the discipline inside the kernel, in real time, and compare
    #[arg(long)]
    pub kernel: bool,
    /// Also run it with the discipline as a queue discipline inside the kernel (Linux 6.16 or later), and compare
    #[arg(long)]
    pub kernel_queue: bool,
}

impl Real {
    /// Whether any are asked for.
    #[must_use]
    pub(crate) fn any(self) -> bool {
        self.live || self.kernel || self.kernel_queue
    }
}

/// Full (as published) or quick (shortened).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    /// Shortened.
    Quick,
    /// As published.
    Full,
}

impl From<Scale> for aqmkit_experiment::Scale {
    fn from(scale: Scale) -> Self {
        match scale {
            Scale::Quick => aqmkit_experiment::Scale::Quick,
            Scale::Full => aqmkit_experiment::Scale::Full,
        }
    }
}

/// `calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit calibrate my.toml
  aqmkit calibrate my.toml --set traffic.web.load=98%

A load is the throughput of a population on the link without congestion: a percentage of the link's rate, or a \
rate. `aqmkit run` calibrates populations automatically and stores them.")]
pub(crate) struct Calibrate {
    /// An id such as cbt/blast, or a file
    pub experiment: String,
    /// Change a value by its path, such as topology.rate=20mbit
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Full (as published) or quick (shortened)
    #[arg(long, default_value = "full")]
    pub scale: Scale,
    /// Parallel runs (default: all cores)
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
  aqmkit reproduce                       everything at quick scale
  aqmkit reproduce cbt/blast             one experiment at full scale
  aqmkit reproduce cbt/blast --scale quick
  aqmkit reproduce dualq                 a study
  aqmkit reproduce --null                the null test: claims that are also met without the scheme
  aqmkit reproduce --live                the experiments of live/, simulated and over the kernel's TCP (root)
  aqmkit reproduce --kernel              live/kernel, simulated and with each discipline inside the kernel (root)")]
pub(crate) struct Reproduce {
    /// Experiments or studies (default: all, at quick scale)
    pub ids: Vec<String>,
    /// Where else to run them (default: the experiments of live/)
    #[command(flatten)]
    pub real: Real,
    /// The null test (default: at quick scale): judge every measured claim with its scheme replaced by drop-tail or switched off
    #[arg(long, conflicts_with_all = ["live", "kernel", "kernel_queue"])]
    pub null: bool,
    /// Store the verdicts (with --null, its outcomes) in this directory of experiments
    #[arg(long, value_name = "DIR", conflicts_with_all = ["live", "kernel", "kernel_queue"])]
    pub record: Option<PathBuf>,
    /// With --null: fail if an outcome differs from the stored one
    #[arg(long, requires = "null", conflicts_with = "record")]
    pub check: bool,
    /// Full (as published) or quick (shortened)
    #[arg(long)]
    pub scale: Option<Scale>,
    /// Parallel runs (default: all cores)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Output directory, with a subdirectory for each experiment
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Print JSON: every published value with its measured value
    #[arg(long)]
    pub json: bool,
    /// Print every published value, with the reason of each miss, and how well tables are reproduced beside constants
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
}

/// `scoreboard`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit scoreboard
  aqmkit scoreboard --scale full
  aqmkit scoreboard --update README.md experiments/*/README.md
  aqmkit scoreboard --check README.md

<!-- numbers: WHAT --> and <!-- end --> in a document enclose the numbers: docs/experiment-format.md, \"Kept verdicts\".")]
pub(crate) struct Scoreboard {
    /// Full (as published) or quick (shortened)
    #[arg(long, default_value = "quick")]
    pub scale: Scale,
    /// Update the numbers of these documents
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "check")]
    pub update: Vec<PathBuf>,
    /// Fail if a number of these documents differs from the stored one
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub check: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit report results/cbt/blast
  aqmkit report results/cbt/blast --page-beside

The report opens its runs in the page of `aqmkit play`, which is inside the report where both have less than 2 MB \
together, and beside it as play.html otherwise.")]
pub(crate) struct Report {
    /// A directory of results
    pub dir: PathBuf,
    /// Put the page of `aqmkit play` beside the report even where it has room inside; the report is 1 MB smaller
    #[arg(long)]
    pub page_beside: bool,
}

/// `bench`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  aqmkit bench\n  aqmkit bench --flows 1,1000,1000000\n  aqmkit bench --scenarios s1,s2,s3 --profile\n  aqmkit bench --json"
)]
pub(crate) struct Bench {
    /// Simulated time of the engine benchmark
    #[arg(long, default_value = "100s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Duration,
    /// Disciplines to measure [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub disciplines: Vec<String>,
    /// Packets through each discipline
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: u64,
    /// Scenarios of the engine benchmark
    #[arg(long, value_name = "NAME,…", default_value = "s1", value_delimiter = ',')]
    pub scenarios: Vec<Scenario>,
    /// Print where the time of a packet goes in these scenarios, by kind of event, and measure nothing else
    #[arg(long)]
    pub profile: bool,
    /// Number of flows; several numbers give a table
    #[arg(long, value_name = "N,…", default_value = "1000", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..))]
    pub flows: Vec<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `link`.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    override_usage = "aqmkit link [OPTIONS] --rate <RATE> -- <COMMAND>...
       aqmkit link [OPTIONS] --trace <FILE> -- <COMMAND>...
       aqmkit link --cleanup",
    after_help = "Examples:
  aqmkit link --rate 40mbit --delay 5ms --aqm dualpi2 --ecn --server 'iperf3 -s -1' -- sh -c 'iperf3 -Rc $AQMKIT_BASE'
  aqmkit link --rate 10mbit/1mbit --delay 20ms --aqm codel:target=5ms -- ping -c 5 198.18.0.1
  aqmkit link --cleanup

The command runs in the client's network namespace, that of --server in the server's, whose address is in \
$AQMKIT_BASE (198.18.0.1; fd61:716d:6b69::1 in $AQMKIT_BASE6). Down is from the server to the client; --down-rate and --up-rate give the two rates apart. The exit code \
is that of the command; 1 if the machine could not keep up. docs/guide/live.md has more."
)]
pub(crate) struct Link {
    /// Rate of both directions, or two: DOWN/UP
    #[arg(long, allow_hyphen_values = true)]
    pub rate: Option<Rates>,
    /// Delay of each direction
    #[arg(long, value_parser = parse_duration, allow_hyphen_values = true, default_value = "0ms")]
    pub delay: Duration,
    /// Discipline of both directions, a name or NAME:PARAMETER=VALUE,…
    #[arg(long, default_value = "fifo")]
    pub aqm: String,
    /// The first rate, as an option of its own
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true, hide = true)]
    pub down_rate: Option<BitRate>,
    /// Delay from the server to the client
    #[arg(long, value_name = "DELAY", value_parser = parse_duration, allow_hyphen_values = true)]
    pub down_delay: Option<Duration>,
    /// Discipline from the server to the client
    #[arg(long, value_name = "AQM")]
    pub down_aqm: Option<String>,
    /// The second rate, as an option of its own
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true, hide = true)]
    pub up_rate: Option<BitRate>,
    /// Delay from the client to the server
    #[arg(long, value_name = "DELAY", value_parser = parse_duration, allow_hyphen_values = true)]
    pub up_delay: Option<Duration>,
    /// Discipline from the client to the server
    #[arg(long, value_name = "AQM")]
    pub up_aqm: Option<String>,
    /// A mahimahi trace of delivery opportunities, instead of both rates
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
    /// Enable ECN for TCP at both ends
    #[arg(long, conflicts_with = "no_ecn")]
    pub ecn: bool,
    /// Disable ECN for TCP
    #[arg(long)]
    pub no_ecn: bool,
    /// Let the command reach the networks of this machine, which is then on the server's side and translates addresses
    /// (NAT)
    #[arg(long)]
    pub nat: bool,
    /// Run the command and the servers as this user, by name or number
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// A command for the server's namespace, ended with the link
    #[arg(long, value_name = "COMMAND")]
    pub server: Vec<String>,
    /// A traffic class and its rules: video=udp:5004-5010, web=tcp:80,tcp:443, voice=dscp:46, rest=*
    #[arg(long, value_name = "NAME=RULE,…")]
    pub class: Vec<String>,
    /// Impairments of the wire, in both directions
    #[command(flatten)]
    pub wire: wire::WireArgs,
    /// Framing of packets
    #[command(flatten)]
    pub framing: wire::FramingArgs,
    /// Largest packet; below 1280, the minimum of IPv6 (RFC 8200), the link is IPv4 only
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub mtu: u32,
    /// Seed of the disciplines' random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threads that move packets: 1 for both directions, or 2, one for each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub threads: u8,
    /// Print statistics every second
    #[arg(long)]
    pub watch: bool,
    /// Show the queues in the browser: prints the address of a page on this machine. --play=change lets the page change parameters and rates
    #[arg(long, value_name = "ACCESS", num_args = 0..=1, require_equals = true, default_missing_value = "look")]
    pub play: Option<wire::Access>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Also write the summary as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Read options from the link table of this file; options of the command line take precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Only clean up after killed links and bridges
    #[arg(long, exclusive = true)]
    pub cleanup: bool,
    /// The command, after --
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  aqmkit doctor\n  aqmkit doctor --json")]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
