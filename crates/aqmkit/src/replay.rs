//! `replay`: sends a capture through a discipline.

mod fates;
mod input;
mod networks;
mod places;
mod summary;

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use aqmkit_aqm::Catalogue;
use aqmkit_experiment::Problem;
use aqmkit_files::{ExportError, Temporary, full};
use aqmkit_lab::LabError;
use aqmkit_lab::parameters::{misfit, written};
use aqmkit_packets::replay::{
    self, CaptureError, Fate, Follow, OutputError, PcapWriter, Record, ReplayError, Selection, Sent,
};
use aqmkit_runs::clock;
use fates::Fates;
use indicatif::{ProgressBar, ProgressStyle};
use networks::Networks;
use summary::ReplaySummary;

use super::args::wire;
use super::fail::{Failure, wrong};
use super::progress::Talk;
use super::queue;
use super::say;
use super::stop;

/// `aqmkit replay`.
///
/// # Errors
/// When an argument or the capture is invalid, or a file cannot be written. If the capture is damaged or the command
/// was stopped, the error follows the summary of the packets read so far.
pub(super) fn replay(args: &wire::Replay, disciplines: &Catalogue, talk: Talk) -> Result<(), Failure> {
    let classes = queue::classes(&args.queue.class)?;
    let setup = queue::setup("replay", args.rate, &args.queue.aqm, &args.queue, disciplines)?;
    places::check_distinct(args)?;
    let (input, length) = input::open(&args.input)?;
    let cut = input.cut();
    // Files are written from here on.
    stop::listen()?;
    let mut outputs = Outputs::create(args, classes.names().to_vec(), length, talk)?;
    let selection = Selection { from: args.from.clone(), to: args.to.clone(), mtu: Some(args.mtu) };
    let start = clock::now();
    let mut replayed = match replay::replay_selected(input, &setup, &classes, &selection, &mut outputs) {
        Ok(replayed) => replayed,
        Err(ReplayError::Parameter(error)) => {
            return Err(misfit(setup.aqm.name(), &written(&args.queue.aqm, disciplines)?.1, error).into());
        }
        Err(ReplayError::Stopped(stopped)) => return Err(stopped.report(&args.input)),
    };
    // If reading was stopped, an incomplete packet is not an error of the capture.
    let stopped = cut.load(Ordering::Relaxed);
    replayed.damage = replayed.damage.filter(|_| !stopped);
    let nothing = replayed.window.total.offered_packets == 0 && replayed.left_out > 0;
    if nothing && !stopped && replayed.damage.is_none() {
        return wrong(
            format!("no packet of {} is selected by --from and --to", args.input.display()),
            outputs.networks.text(),
        );
    }
    if replayed.window.total.offered_packets == 0 && !stopped && replayed.damage.is_none() {
        return wrong(format!("{} holds no packet", args.input.display()), CAPTURE);
    }
    outputs.finish()?;
    let wall_s = clock::now().duration_since(start).as_secs_f64();
    let name = args.input.display().to_string();
    let told = ReplaySummary { input: name, setup: &setup, replayed: &replayed, mtu: args.mtu, top: args.top, wall_s };
    say::print(&if args.json { told.json()? } else { told.text() })?;
    match &replayed.damage {
        None if stopped => Err(Failure::Stopped("Stopped: the summary covers the packets read so far.".to_owned())),
        None => Ok(()),
        Some(damage) => wrong(
            format!("{}: byte {}: {}", args.input.display(), damage.offset, damage.what),
            format!("the {} packets before it were replayed, the rest was not", replayed.window.total.offered_packets),
        ),
    }
}

const CAPTURE: &str = "give a capture of tcpdump, Wireshark or dumpcap (.pcap, .pcapng)";

/// Number of packets between two updates of the progress bar.
const PULSE: u64 = 4096;

/// The progress bar and the output files.
struct Outputs {
    classes: Vec<String>,
    pcap: Option<(PathBuf, PcapWriter<BufWriter<Temporary>>)>,
    fates: Option<(PathBuf, Fates)>,
    bar: ProgressBar,
    /// The networks in the capture, to suggest values for `--from` and `--to`.
    networks: Networks,
}

/// Why a replay stopped.
#[derive(Debug)]
enum Stopped {
    Capture(CaptureError),
    Output(PathBuf, OutputError),
    Export(ExportError),
}

impl From<CaptureError> for Stopped {
    fn from(error: CaptureError) -> Self {
        Stopped::Capture(error)
    }
}

impl Stopped {
    fn report(self, input: &Path) -> Failure {
        match self {
            Stopped::Capture(error) => {
                Failure::Problem(Problem::new(format!("{}: {error}", input.display())).right(CAPTURE))
            }
            Stopped::Output(path, error) => unwritten(&path, &error),
            Stopped::Export(error) => unexported(&error),
        }
    }
}

/// Advice if a file cannot be written.
const ANOTHER: &str = "choose another file, or write none";

fn unexported(error: &ExportError) -> Failure {
    LabError::unwritten(error, full::FILE, ANOTHER).into()
}

fn unwritten(path: &Path, error: &OutputError) -> Failure {
    match full::caused(error) {
        true => LabError::without_room(path, &error.to_string(), full::FILE).into(),
        false => {
            Failure::Problem(Problem::new(format!("{} cannot be written: {error}", path.display())).right(ANOTHER))
        }
    }
}

impl Outputs {
    fn create(args: &wire::Replay, classes: Vec<String>, length: Option<u64>, talk: Talk) -> Result<Outputs, Failure> {
        let temporary = |path: &Path| Temporary::beside(path).map_err(|e| unexported(&e));
        let pcap = match &args.out {
            Some(path) => Some((path.clone(), PcapWriter::new(BufWriter::with_capacity(1 << 16, temporary(path)?)))),
            None => None,
        };
        let fates = args.fates.as_ref().map(|p| Fates::create(p).map(|f| (p.clone(), f))).transpose()?;
        // indicatif draws on standard error if that is a terminal.
        let bar = match length {
            Some(length) if talk != Talk::Quiet => ProgressBar::new(length),
            _ => ProgressBar::hidden(),
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {bytes_per_sec}  {eta} left") {
            bar.set_style(style);
        }
        Ok(Outputs { classes, pcap, fates, bar, networks: Networks::default() })
    }

    fn finish(self) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        if let Some((path, writer)) = self.pcap {
            let out = writer.finish().map_err(|e| unwritten(&path, &e))?;
            let file = out.into_inner().map_err(|e| unexported(&ExportError::new(&path, e.into_error())))?;
            file.take_its_place().map_err(|e| unexported(&e))?;
        }
        if let Some((path, fates)) = self.fates {
            fates.finish(&path).map_err(|e| unexported(&e))?;
        }
        Ok(())
    }
}

impl Follow for Outputs {
    type Error = Stopped;

    fn wants_bytes(&self) -> bool {
        self.pcap.is_some()
    }

    fn read(&mut self, record: &Record<'_>) -> Result<(), Stopped> {
        if record.number.is_multiple_of(PULSE) {
            self.bar.set_position(record.offset);
        }
        self.networks.note(record);
        Ok(())
    }

    fn fate(&mut self, fate: &Fate<'_>) -> Result<(), Stopped> {
        let Some((path, fates)) = &mut self.fates else { return Ok(()) };
        fates.add(fate, &self.classes, path).map_err(Stopped::Export)
    }

    fn sent(&mut self, sent: &Sent<'_>) -> Result<(), Stopped> {
        let Some((path, writer)) = &mut self.pcap else { return Ok(()) };
        let written = writer.write(sent.at, sent.link_type, sent.length, sent.bytes);
        written.map_err(|e| Stopped::Output(path.clone(), e))
    }
}
