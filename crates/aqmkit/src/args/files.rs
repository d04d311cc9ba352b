//! The arguments of commands that write or check files.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::Scale;

/// `init`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  aqmkit init mine.toml && aqmkit run mine.toml

To start from a comparison: aqmkit compare fifo codel --preset cable --save mine.toml")]
pub(crate) struct Init {
    /// File to create; it must not exist
    #[arg(default_value = "experiment.toml")]
    pub file: PathBuf,
}

/// `play`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit play
  aqmkit play cbt/blast
  aqmkit play mine.toml --no-open
  aqmkit play --save play.html        # the page as a file, which needs no server
  aqmkit play cbt/blast --save blast.html

The page has the simulator inside and sends nothing anywhere. It is served to this machine only. It simulates the same \
packets as `aqmkit run`: the page shows the digest of the run, and saves it with all changes as an experiment.")]
pub(crate) struct Play {
    /// An id such as cbt/blast, or a file, to open (default: a link to configure in the page)
    pub experiment: Option<String>,
    /// Do not start a browser
    #[arg(long)]
    pub no_open: bool,
    /// Port of the address 127.0.0.1 (default: any that is free)
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Write the page, with the experiment in it, to a file instead of serving it
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
}

/// `check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit check mine.toml
  aqmkit check cbt/blast --set topology.rate=20mbit
  aqmkit check wan.toml

Reports the first mistake with its line, warns of what is allowed but doubtful, and lists what would run. \
A file with a table [bridge], [shape] or [link] is a configuration for --config; no interface is touched. \
Exit code 2 if there is a mistake.")]
pub(crate) struct Check {
    /// An id such as cbt/blast, a file, or a configuration file of bridge, shape or link
    pub experiment: String,
    /// Change a value by its path, such as topology.rate=20mbit
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Full (as published) or quick (shortened)
    #[arg(long, default_value = "full")]
    pub scale: Scale,
}

/// `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit completions bash > ~/.local/share/bash-completion/completions/aqmkit
  aqmkit completions zsh > ~/.zfunc/_aqmkit
  aqmkit completions fish > ~/.config/fish/completions/aqmkit.fish")]
pub(crate) struct Completions {
    /// The shell
    pub shell: Shell,
}

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  aqmkit man ~/.local/share/man/man1 && man aqmkit-compare")]
pub(crate) struct Man {
    /// Directory; it gets one page for each command
    pub directory: PathBuf,
}

/// `diff`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  aqmkit run mine.toml --out before
  aqmkit run mine.toml --set topology.rate=20mbit --out after
  aqmkit diff before after

Runs with the same seed have the same users and sizes and are compared in pairs; other runs as two samples (Welch). Shown are the \
differences whose 95 % confidence interval excludes zero; without repeats, those above 2 %.")]
pub(crate) struct Diff {
    /// A directory of results
    pub before: PathBuf,
    /// Another directory of results
    pub after: PathBuf,
    /// Show every quantity
    #[arg(long)]
    pub all: bool,
}
