//! Converts a comparison to the table of an experiment file.

use aqmkit_experiment::Catalogues;
use toml::{Table, Value};

use super::link::ComparedLink;
use super::sweep::{Sweep, Swept};
use super::text::{string, table};
use super::traffic::traffic;
use super::{Comparison, disciplines, ends};
use crate::error::{LabError, wrong};

/// The named disciplines, followed by those mentioned only in a sweep.
fn compared(asked: &Comparison, sweeps: &[Sweep]) -> Vec<String> {
    let mut all = asked.disciplines.clone();
    for sweep in sweeps {
        let Swept::Parameter { discipline, .. } = &sweep.what else { continue };
        if !all.iter().any(|text| text.split(':').next() == Some(discipline.as_str())) {
            all.push(discipline.clone());
        }
    }
    all
}

impl Comparison {
    /// The table of an experiment file; names are looked up in `catalogues`.
    ///
    /// # Errors
    /// When a discipline, the link, the traffic or a sweep is invalid.
    pub fn experiment(&self, catalogues: &Catalogues) -> Result<Table, LabError> {
        let sweeps = self.sweep.iter().map(|text| Sweep::read(text)).collect::<Result<Vec<_>, _>>()?;
        let disciplines = compared(self, &sweeps);
        if let Some((_, twice)) = disciplines.iter().enumerate().find(|(i, d)| disciplines[..*i].contains(d)) {
            return wrong(
                format!("{twice} is given twice"),
                format!("give it once, or with different parameters: {twice}:limit=50"),
            );
        }
        let link = ComparedLink::of(self)?;
        let transport = ends::transport(self, catalogues)?;
        // Keeps the title short: many disciplines are only counted.
        let names = match disciplines.len() {
            many if many > 8 => format!("{many} disciplines"),
            _ => disciplines.join(", "),
        };
        let mut file = table([
            ("title", string(format!("{names} on a link of {}", link.words()))),
            ("about", string(format!("One link of {}, round trips of {}.", link.words(), link.rtt))),
            ("duration", string(self.duration())),
            ("warmup", string(self.warmup())),
            ("topology", Value::Table(link.topology())),
            ("sweep", Value::Table(axes(&disciplines, self, &link, &sweeps, &catalogues.disciplines)?)),
            ("traffic", Value::Array(traffic(self, &link, &ends::sharing(self, catalogues)?)?)),
        ]);
        if !transport.is_empty() {
            file.insert("transport".to_owned(), Value::Table(transport));
        }
        Ok(file)
    }
}

/// The table `[sweep]`: the disciplines, one of which may have several values of a parameter, then rates and round-trip
/// times.
fn axes(
    disciplines: &[String],
    asked: &Comparison,
    link: &ComparedLink,
    sweeps: &[Sweep],
    catalogue: &aqmkit_aqm::Catalogue,
) -> Result<Table, LabError> {
    let mut queues = Vec::new();
    for text in disciplines {
        queues.extend(disciplines::entries(text, asked, sweeps, link.rtt, catalogue)?);
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
