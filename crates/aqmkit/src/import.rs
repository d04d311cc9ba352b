//! `import`: makes an experiment of the queues that a router has.

use aqmkit_files::put;
use aqmkit_import::Known;
use aqmkit_lab::import::{Source, import as read};

use super::args::import::Import;
use super::fail::Failure;
use super::say;

/// `aqmkit import`.
///
/// # Errors
/// When the configuration cannot be read, or the file not be written.
pub(super) fn import(args: &Import) -> Result<(), Failure> {
    let source = args.from.clone().map_or_else(|| Source::Files(args.files.clone()), Source::Device);
    let known = Known {
        device: args.dev.clone(),
        rate: args.rate.map(|rates| rates.first),
        up: args.rate.and_then(|rates| rates.second),
        rtt: args.rtt,
        site: args.site.clone(),
    };
    let import = read(&source, &known)?;
    import.notes.iter().for_each(|note| say::message(&format!("note: {note}")));
    match &args.save {
        None => Ok(say::print(&import.text)?),
        Some(file) => {
            put(file, &import.text)?;
            let shown = file.display();
            Ok(say::print(&format!(
                "Wrote {shown}. aqmkit check {shown} lists its runs; aqmkit run {shown} runs them."
            ))?)
        }
    }
}
