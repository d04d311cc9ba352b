//! Measures how good the estimates are, on links whose truth is known: the simulator runs sparse packets and bulk flows on links with every discipline, and
//! the files that programs would have written are estimated.
//!
//! ```text
//! cargo run --release -p aqmkit-estimate --example known_truth
//! cargo run --release -p aqmkit-estimate --example known_truth -- rounds=1 most=50 load=30 seed=7 cases
//! cargo run --release -p aqmkit-estimate --example known_truth -- files=DIR
//! ```
//!
//! `rounds` is the number of links for each discipline, `most` the highest rate in Mbit/s, `load` how long the flows run in seconds; `cases` prints every
//! estimate, `only` takes the links of one discipline. `files` writes the files of one test, for `aqmkit measure`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

mod files;
mod scene;
mod score;

use std::path::Path;
use std::process::ExitCode;

use rayon::prelude::*;
use scene::{Case, cases, record};
use score::{Scored, scored, table};

/// The arguments of the command.
struct Asked {
    rounds: usize,
    most: f64,
    load: f64,
    seed: u64,
    cases: bool,
    only: Option<String>,
    files: Option<String>,
}

fn asked() -> Result<Asked, String> {
    let mut asked = Asked { rounds: 4, most: 1000.0, load: 60.0, seed: 1, cases: false, only: None, files: None };
    for word in std::env::args().skip(1) {
        let wrong = |_| format!("{word} is not a number");
        match word.split_once('=') {
            Some(("rounds", number)) => asked.rounds = number.parse().map_err(wrong)?,
            Some(("seed", number)) => asked.seed = number.parse().map_err(wrong)?,
            Some(("most", number)) => asked.most = number.parse().map_err(|_| format!("{word} is not a number"))?,
            Some(("load", number)) => asked.load = number.parse().map_err(|_| format!("{word} is not a number"))?,
            Some(("only", name)) => asked.only = Some(name.to_owned()),
            Some(("files", directory)) => asked.files = Some(directory.to_owned()),
            None if word == "cases" => asked.cases = true,
            _ => {
                return Err(format!(
                    "{word} is not an argument: rounds=4 most=1000 load=60 seed=1 only=NAME cases files=DIR"
                ));
            }
        }
    }
    Ok(asked)
}

fn main() -> ExitCode {
    let done = asked().and_then(|asked| match &asked.files {
        Some(directory) => write(Path::new(directory)),
        None => measure(&asked),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(asked: &Asked) -> Result<(), String> {
    let mut list = cases(asked.seed, asked.rounds, asked.most, asked.load);
    list.retain(|case| asked.only.as_ref().is_none_or(|only| case.discipline == only));
    let all: Result<Vec<Vec<Scored>>, String> =
        list.par_iter().map(|case| record(case).and_then(|recording| scored(&recording))).collect();
    let all: Vec<Scored> = all?.into_iter().flatten().collect();
    if asked.cases {
        all.iter().for_each(|one| println!("{}", one.line()));
    }
    println!("{} links\n\n{}", list.len(), table(&all));
    Ok(())
}

/// Writes the files of one test: a FIFO of 200 ms at 20 Mbit/s.
fn write(directory: &Path) -> Result<(), String> {
    let case = Case { discipline: "fifo", rate_bps: 20e6, rtt_s: 0.03, flows: 4, limit: 333, load: 30.0, seed: 1 };
    let recording = record(&case)?;
    let files: [(&str, Vec<u8>); 5] = [
        ("irtt.json", files::irtt(&recording).into()),
        ("ping.txt", files::ping(&recording, true).into()),
        ("iperf3.json", files::iperf3(&recording, true).into()),
        ("tcp_ndown.flent.gz", files::flent(&recording)),
        ("transfer.pcap", files::capture(&case)?),
    ];
    for (name, contents) in files {
        std::fs::write(directory.join(name), contents).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}
