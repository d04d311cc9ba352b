//! `play`: opens the browser with a page that contains the simulator.

mod request;
pub(super) mod server;
pub(super) mod watched;

use aqmkit_experiment::{Experiment, Overrides, find};
use aqmkit_files::put;
use aqmkit_lab::LabError;
use aqmkit_lab::player::{page, page_with};

use super::args::files::Play;
use super::fail::Failure;
use super::progress::Talk;
use super::say;
use server::Site;

/// The URL fragment that makes the page load the served experiment.
const FRAGMENT: &str = "#file";

/// `aqmkit play`.
///
/// # Errors
/// When the experiment is wrong, the page cannot be written, or no port is available.
pub(super) fn play(args: &Play, talk: Talk) -> Result<(), Failure> {
    if let Some(file) = &args.save {
        let page = args.experiment.as_deref().map_or_else(|| Ok(page().to_owned()), page_with)?;
        return put(file, &page)
            .map_err(|e| LabError::unwritten(&e, "free space on that disk", "choose a writable directory").into());
    }
    let experiment = args.experiment.as_deref().map(read).transpose()?;
    let fragment = if experiment.is_some() { FRAGMENT } else { "" };
    let site = Site::open(args.port, page(), experiment, None)
        .map_err(|e| Failure::Environment(format!("cannot listen on 127.0.0.1:{}: {e}", args.port)))?;
    let address = format!("http://127.0.0.1:{}/{fragment}", site.port());
    say::print(&address)?;
    if !args.no_open && open::that_detached(&address).is_err() {
        say::message("No browser could be started: open the address above.");
    }
    if talk != Talk::Quiet {
        say::message("Serving the page to this machine only; Ctrl-C ends it.");
    }
    Err(Failure::Environment(format!("cannot accept connections: {}", site.serve())))
}

/// Reads an experiment and checks it, because messages here show the offending line.
fn read(name_or_path: &str) -> Result<String, Failure> {
    Experiment::load(name_or_path, &Overrides::default())?;
    Ok(find(name_or_path)?.1)
}
