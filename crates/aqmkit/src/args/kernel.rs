//! Arguments of `kernel`.

use clap::{Args, Subcommand};

/// `kernel`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit kernel install dcn dev eth0 rate 40mbit ecn
  aqmkit kernel install red dev eth0 rate 100mbit min=20 max=60 max_p=0.05
  aqmkit kernel install dcn dev eth0 rate 40mbit queue
  aqmkit kernel install cbt dev eth0 rate 20mbit class tcp=tcp class video=udp:5004-5010
  aqmkit kernel show
  aqmkit kernel set dev eth0 q_ref=40 rate 30mbit
  aqmkit kernel remove dev eth0

The discipline decides about each packet that leaves the interface, in the kernel, before a shaper (tbf) of the given rate; \
with queue (Linux 6.16 with NET_SCH_BPF), it is itself the queue discipline, with a shaper of its own. It stays when aqmkit ends. Parameters have the names of aqmkit describe; aqmkit list disciplines says which \
disciplines run in the kernel, aqmkit doctor what this kernel can do. docs/guide/kernel.md has more.")]
pub(crate) struct Kernel {
    /// The action.
    #[command(subcommand)]
    pub what: KernelCommand,
}

/// The actions of `kernel`.
#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Install a discipline on an interface.
    #[command(
        about = "Install a discipline: DISCIPLINE dev IF rate RATE [class NAME=RULES]… [NAME=VALUE…] [ecn] [queue]"
    )]
    Install {
        /// Discipline, as in aqmkit list disciplines
        discipline: String,
        /// The interface, the rate and the parameters.
        #[arg(
            value_name = "WORDS",
            required = true,
            allow_hyphen_values = true,
            help = "dev IF rate RATE [class NAME=RULES]… [NAME=VALUE…] [ecn] [queue]"
        )]
        words: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show statistics, gauges and parameters: [dev IF]
    Show {
        /// dev IF (default: every interface)
        #[arg(value_name = "WORDS")]
        words: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change parameters or the rate while packets flow.
    #[command(about = "Change parameters or the rate while packets flow: dev IF [rate RATE] [NAME=VALUE…] [ecn]")]
    Set {
        /// The interface and the changes.
        #[arg(
            value_name = "WORDS",
            required = true,
            allow_hyphen_values = true,
            help = "dev IF [rate RATE] [NAME=VALUE…] [ecn]"
        )]
        words: Vec<String>,
    },
    /// Remove the discipline and its shaper: dev IF
    Remove {
        /// dev IF
        #[arg(value_name = "WORDS", required = true)]
        words: Vec<String>,
    },
}
