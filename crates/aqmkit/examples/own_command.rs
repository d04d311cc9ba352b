//! The command `aqmkit` with an additional discipline, which `compare`, `run`, `replay`, `link` and `bridge` accept by
//! name.
//!
//! ```text
//! cargo run --release -p aqmkit --example own_command -- compare fifo half-full --rate 10mbit --rtt 40ms --bulk 4
//! ```
//!
//! `half-full` drops arrivals while the queue is more than half full. Congestion controls, rate-based transports and
//! traffic models are added in the same way (`Catalogues::controls`, `Catalogues::traffic`).

use std::ffi::OsString;
use std::process::ExitCode;

use aqmkit_aqm::params::usable_limit;
use aqmkit_aqm::{Addition, Aqm, Discipline, Env, Fifo, Link, Packet, PacketView, ParamError, Qdisc};
use aqmkit_aqm::{QueueView, Verdict, Why};
use aqmkit_base::{Amount, Instant};
use aqmkit_experiment::Catalogues;
use serde::{Deserialize, Serialize};

/// The parameters, as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    /// The capacity of the queue.
    limit: Amount,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Amount::Packets(100.0) }
    }
}

impl Discipline for Params {
    const NAME: &'static str = "half-full";

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        HalfFull::config(self, link).map(|_| self.clone())
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Fifo::<P, HalfFull>::new(self, link, now)?))
    }
}

struct HalfFull;

impl Aqm for HalfFull {
    type Params = Params;
    type Config = Amount;

    fn config(params: &Params, _link: &Link) -> Result<Amount, ParamError> {
        usable_limit("limit", params.limit)
    }

    fn limit(limit: &Amount) -> Amount {
        *limit
    }

    fn new(_limit: &Amount, _now: Instant) -> Self {
        HalfFull
    }

    fn on_arrival(&mut self, limit: &Amount, _pkt: PacketView, queue: QueueView, _env: &mut Env<'_>) -> Verdict {
        let full = match limit {
            Amount::Packets(packets) => f64::from(queue.packets) > packets / 2.0,
            Amount::Bytes(bytes) => queue.bytes > bytes / 2,
        };
        if full { Verdict::Drop(Why::Step) } else { Verdict::Pass }
    }
}

/// Runs the command with these arguments; returns its exit code.
fn command(args: impl IntoIterator<Item = OsString>) -> Result<u8, ParamError> {
    let mut catalogues = Catalogues::default();
    catalogues.disciplines.add(Addition::of::<Params>(1))?;
    Ok(aqmkit::run_with(args, &catalogues))
}

fn main() -> Result<ExitCode, ParamError> {
    command(std::env::args_os()).map(ExitCode::from)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use aqmkit_results::Results;

    use super::*;

    fn aqmkit(line: &str, out: &Path) -> u8 {
        let words = format!("aqmkit {line}");
        let out = ["--out".into(), out.as_os_str().to_owned(), "--quiet".into()];
        command(words.split(' ').map(OsString::from).chain(out)).unwrap()
    }

    #[test]
    fn its_queue_is_half_as_long_as_that_of_fifo() {
        let dir = tempfile::tempdir().unwrap();
        let line = "compare fifo half-full --rate 10mbit --rtt 40ms --bulk 4 --limit 100 --duration 20s";
        assert_eq!(aqmkit(line, dir.path()), 0);
        let text = std::fs::read_to_string(dir.path().join("results.json")).unwrap();
        let results: Results = serde_json::from_str(&text).unwrap();
        let longest = |aqm: &str| {
            let run = results.runs.iter().find(|run| run.labels["aqm"] == aqm).unwrap();
            run.links["bottleneck"].queue_delay_ms.as_ref().unwrap().max
        };
        let (half, full) = (longest("half-full"), longest("fifo"));
        assert!((half / full - 0.5).abs() < 0.03, "{half} of {full} ms");
        let own = dir.path().join("experiment.toml");
        assert_eq!(
            aqmkit(&format!("run {}", own.display()), &dir.path().join("again")),
            0,
            "its file can be run again"
        );
    }

    #[test]
    fn its_parameters_and_name_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(aqmkit("compare half-full:max=3", dir.path()), 2);
        assert_eq!(aqmkit("compare half-fool", dir.path()), 2);
    }
}
