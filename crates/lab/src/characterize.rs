//! Report cards by RFC 7928 and RFC 9743: their subjects, and their composition from finished experiments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aqmkit_advise::attack::target::Control;
use aqmkit_aqm::Catalogue;
use aqmkit_base::ParamError;
use aqmkit_base::near::suggest;
use aqmkit_base::read::Value as Tree;
use aqmkit_characterize::card::{Finished, card};
use aqmkit_characterize::cases::Hosts;
use aqmkit_characterize::contestant::Contestant;
use aqmkit_characterize::guide::Guide;
use aqmkit_experiment::{Catalogues, Problem};
use aqmkit_report::write_card;
use aqmkit_results::card::Card;
use aqmkit_stack::Spec;
use aqmkit_transport::{Kind, LossDetection, Overrides, Profile, congestion, profile};
use toml::{Table, Value};

use crate::bench::speed;
use crate::error::{LabError, wrong};
use crate::parameters::{known, written};

/// The numbers of packets and flows in the benchmark of a discipline.
const BENCHMARK: (u64, u64) = (400_000, 1000);

/// Parses a discipline with parameters, such as `pie:target=5ms`.
///
/// # Errors
/// When there is no such discipline, or a parameter is invalid or missing.
pub fn one(text: &str) -> Result<Contestant, LabError> {
    let (name, parameters) = written(text, &Catalogue::default())?;
    known(&name, &Catalogue::default())?;
    Contestant::new(text, &name, &parameters).map_err(|e| {
        Problem::new(format!("{text}: {e}")).right(format!("aqmkit describe {name} lists its parameters")).into()
    })
}

/// Parses a congestion control: with the hosts of the experiments, as `PROFILE/CONTROL` with hosts of that profile, or as `STACK:CONTROL`
/// of a stack from outside, where a stack alone stands for its default control.
///
/// # Errors
/// When there is no such control, profile or stack, or the control is not one of TCP.
pub fn control(text: &str, catalogues: &Catalogues) -> Result<Contestant, LabError> {
    if let Some(control) = of_stack(text, catalogues)? {
        let (stack, name) = (control.stack.unwrap_or_default(), control.name);
        let has_ecn = stack_with(stack, name, true, catalogues).is_ok();
        return Ok(Contestant::stack(&control.written(), stack, name, has_ecn));
    }
    let (hosts, name) = text.split_once('/').map_or((None, text), |(hosts, name)| (Some(hosts), name));
    let controls = || congestion::ALL.iter().map(|entry| entry.name);
    if !controls().any(|control| control == name) {
        return wrong(format!("no congestion control of TCP is called {name:?}"), suggest(name, controls()));
    }
    let mut transport = Table::new();
    if let Some(hosts) = hosts {
        if !profile::NAMES.contains(&hosts) {
            return wrong(format!("no profile of TCP is called {hosts:?}"), suggest(hosts, profile::NAMES));
        }
        transport.insert("profile".to_owned(), Value::String(hosts.to_owned()));
    }
    transport.insert("congestion".to_owned(), Value::String(name.to_owned()));
    Ok(Contestant::connection(text, transport))
}

/// The control of a stack that is named, if one is.
fn of_stack(text: &str, catalogues: &Catalogues) -> Result<Option<Control>, LabError> {
    let found = match text.split_once(':') {
        Some((stack, control)) => Control::of_stack(stack.trim(), Some(control.trim()), catalogues),
        None if catalogues.stacks.find(text).is_some() => Control::of_stack(text, None, catalogues),
        None => return Ok(None),
    };
    found.map(Some).map_err(|(what, right)| Problem::new(what).right(right).into())
}

/// A stack with a control and its default parameters.
fn stack_with(stack: &str, control: &str, ecn: bool, catalogues: &Catalogues) -> Result<Spec, ParamError> {
    let keys = [("congestion", Tree::from(control)), ("ecn", Tree::from(ecn))];
    let table = Tree::Table(keys.map(|(key, value)| (key.to_owned(), value)).into());
    catalogues.stacks.spec(stack, table)
}

/// The hosts of the example cases of BBR with a control, named as for [`control`]: Linux 6, or of the profile that is named. Where the
/// control wants losses found one by one, so do they.
///
/// # Errors
/// As for [`control`].
pub fn hosts(text: &str, catalogues: &Catalogues) -> Result<Hosts, LabError> {
    if let Some(control) = of_stack(text, catalogues)? {
        let spec = stack_with(control.stack.unwrap_or_default(), control.name, false, catalogues);
        let spec = spec.map_err(|e| Problem::new(format!("{text}: {e}")))?;
        return Ok(Hosts { profile: Profile::rfc(), stack: Some(Arc::clone(spec.factory())) });
    }
    let transport = control(text, catalogues)?;
    let named = |key: &str| transport.transport(key).unwrap_or_default();
    let kind: Kind = serde_json::from_value(named("congestion").into()).map_err(|e| Problem::new(e.to_string()))?;
    let rack = kind.wants_rack();
    let changes = Overrides {
        congestion: Some(kind),
        sack: rack.then_some(true),
        loss_detection: rack.then_some(LossDetection::Rack),
        ..Overrides::default()
    };
    let profile = Some(named("profile")).filter(|name| !name.is_empty()).unwrap_or("linux-6");
    let profile =
        Profile::named(profile).ok_or_else(|| Problem::new(format!("no profile of TCP is called {profile:?}")))?;
    Ok(changes.apply(profile).map_err(|e| Problem::new(e.to_string()))?.into())
}

/// The default results directory of a card. The same command finds its finished runs there.
#[must_use]
pub fn directory(subjects: &[Contestant], quick: bool) -> PathBuf {
    let names: Vec<String> = subjects.iter().map(|c| c.label().to_owned()).collect();
    let all = names.join("-");
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let short: String = match names.first() {
        Some(first) if all.len() > 40 => format!("{first}-and-{}-more", names.len() - 1),
        _ => all.clone(),
    };
    let hash = blake3::hash(all.as_bytes()).to_hex();
    let scale = if quick { "quick" } else { "full" };
    let short: String = short.chars().map(plain).collect();
    Path::new("results/characterize").join(format!("{short}-{}-{scale}", &hash[..6]))
}

/// Composes the card of finished experiments and writes it to `file`.
///
/// # Errors
/// When results are missing, or the file cannot be written.
pub fn compose(
    guide: &Guide,
    contestants: &[Contestant],
    subjects: usize,
    names: &[String],
    dir: &Path,
    file: &Path,
) -> Result<Card, LabError> {
    let finished = Finished::read(dir, names, costs(contestants))?;
    let card = card(guide, contestants, subjects, &finished);
    write_card(file, &card)?;
    Ok(card)
}

/// Measures the time per packet of each built-in discipline, with default parameters.
fn costs(contestants: &[Contestant]) -> BTreeMap<String, f64> {
    let (packets, flows) = BENCHMARK;
    // The minimum of three measurements, which has the least interference.
    let least = |name: &str| (0..3).filter_map(|_| speed(name, packets, flows).ok()).reduce(f64::min);
    contestants.iter().filter_map(|c| Some((c.label().to_owned(), least(c.spec()?.name())?))).collect()
}
