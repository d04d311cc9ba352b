//! The experiment of a comparison, as the table of a file.

use aqmkit_experiment::Catalogues;
use toml::{Table, Value};

use super::disciplines;
use super::link::ComparedLink;
use super::sweep::{Sweep, Swept};
use super::text::{string, table};
use super::traffic::{traffic, transport};
use crate::cli::args::Compare;
use crate::cli::fail::{Failure, wrong};

/// The disciplines of a comparison: those that are named, then those of which only a parameter is swept.
fn compared(args: &Compare, sweeps: &[Sweep]) -> Vec<String> {
    let mut all = args.disciplines.clone();
    for sweep in sweeps {
        let Swept::Parameter { discipline, .. } = &sweep.what else { continue };
        if !all.iter().any(|text| text.split(':').next() == Some(discipline.as_str())) {
            all.push(discipline.clone());
        }
    }
    all
}

/// The experiment of these arguments.
///
/// # Errors
/// When a discipline, the link, the traffic or a sweep is wrong.
pub fn experiment(args: &Compare, catalogues: &Catalogues) -> Result<Table, Failure> {
    let sweeps = args.sweep.iter().map(|text| Sweep::read(text)).collect::<Result<Vec<_>, _>>()?;
    let disciplines = compared(args, &sweeps);
    if let Some((_, twice)) = disciplines.iter().enumerate().find(|(i, d)| disciplines[..*i].contains(d)) {
        return wrong(
            format!("{twice} is given twice"),
            format!("give it once, or with different parameters: {twice}:limit=50"),
        );
    }
    let link = ComparedLink::of(args)?;
    let transport = transport(args, &catalogues.controls)?;
    // The title stays short: it gives the number of disciplines if there are many.
    let names = match disciplines.len() {
        many if many > 8 => format!("{many} disciplines"),
        _ => disciplines.join(", "),
    };
    let mut file = table([
        ("title", string(format!("{names} on a link of {}", link.words()))),
        ("about", string(format!("One link of {}, round trips of {}.", link.words(), link.rtt))),
        ("duration", string(args.duration())),
        ("warmup", string(args.warmup())),
        ("topology", Value::Table(link.topology())),
        ("sweep", Value::Table(axes(&disciplines, args, &link, &sweeps, &catalogues.disciplines)?)),
        ("traffic", Value::Array(traffic(args, &link, &catalogues.controls)?)),
    ]);
    if !transport.is_empty() {
        file.insert("transport".to_owned(), Value::Table(transport));
    }
    Ok(file)
}

/// The table `[sweep]`: the disciplines, of which one may have several values of a parameter, then rates and round-trip
/// times.
fn axes(
    disciplines: &[String],
    args: &Compare,
    link: &ComparedLink,
    sweeps: &[Sweep],
    catalogue: &aqmkit_aqm::Catalogue,
) -> Result<Table, Failure> {
    let mut queues = Vec::new();
    for text in disciplines {
        queues.extend(disciplines::entries(text, args, sweeps, link.rtt, catalogue)?);
    }
    let mut axes = table([("aqm", Value::Array(queues))]);
    for sweep in sweeps {
        let key = match &sweep.what {
            Swept::Rate if link.up.is_some() => "topology.links.down.rate",
            Swept::Rate => "topology.rate",
            Swept::Rtt => "topology.delays",
            Swept::Parameter { .. } | Swept::Limit => continue,
        };
        axes.insert(key.to_owned(), Value::Array(sweep.values.iter().map(string).collect()));
    }
    Ok(axes)
}
