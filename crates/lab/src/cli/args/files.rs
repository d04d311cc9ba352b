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
pub struct Init {
    /// The file; it must not exist
    #[arg(default_value = "experiment.toml")]
    pub file: PathBuf,
}

/// `check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit check mine.toml
  aqmkit check cbt/blast --set topology.rate=20mbit

Reports the first mistake with its line, warns of what is allowed but doubtful, and lists what would run.
Exit code 2 if there is a mistake.")]
pub struct Check {
    /// An id such as cbt/blast, or a file
    pub experiment: String,
    /// Change a value by its path
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
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  aqmkit man ~/.local/share/man/man1 && man aqmkit-compare")]
pub struct Man {
    /// The directory; one page for each command
    pub directory: PathBuf,
}

/// `diff`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  aqmkit run mine.toml --out before
  aqmkit run mine.toml --set topology.rate=20mbit --out after
  aqmkit diff before after

Runs with the same seed have the same users and sizes and are compared in pairs; other runs as two samples (Welch). Shown are the
differences whose 95 % confidence interval excludes zero; without repeats, those above 2 %.")]
pub struct Diff {
    /// A directory of results
    pub before: PathBuf,
    /// Another one
    pub after: PathBuf,
    /// Show every quantity
    #[arg(long)]
    pub all: bool,
}
