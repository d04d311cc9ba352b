//! The ends of the connections of a comparison: profiles of TCP, stacks from outside, congestion controls.

use aqmkit_base::near::suggest;
use aqmkit_experiment::Catalogues;
use aqmkit_transport::{Profile, profile, rate, registry as transports};
use toml::{Table, Value};

use super::Comparison;
use super::text::{string, table};
use crate::error::{LabError, wrong};

/// The default hosts: Linux 6 with its congestion control. Its servers accept ECN but its clients do not request it
/// (`net.ipv4.tcp_ecn = 2`), so ECN is not used without `--ecn`.
const HOSTS: &str = "linux-6";
const CONTROL: &str = "cubic";

/// The ends of some of the connections that share a link.
pub(super) struct Ends {
    /// The congestion control, or the stack and its congestion control.
    pub(super) name: String,
    /// The table `transport` of their traffic.
    pub(super) transport: Table,
}

/// The ends among which bulk flows are divided: one for each congestion control, or for each stack and congestion control that it has.
/// Empty if none are named.
///
/// # Errors
/// When a stack, a profile or a congestion control is unknown.
pub(super) fn sharing(asked: &Comparison, catalogues: &Catalogues) -> Result<Vec<Ends>, LabError> {
    if asked.mix.stack.is_some() {
        return of_stacks(asked, catalogues);
    }
    let of = |name: String| Ends { transport: table([("congestion", string(&name))]), name };
    Ok(controls(asked, catalogues)?.into_iter().map(of).collect())
}

/// The table `[transport]` of a comparison; the default hosts if none are specified. Traffic that is not divided among
/// several ends uses the first ones.
///
/// # Errors
/// When the profile, a stack or a congestion control is unknown.
pub(super) fn transport(asked: &Comparison, catalogues: &Catalogues) -> Result<Table, LabError> {
    if asked.mix.stack.is_some() {
        return Ok(of_stacks(asked, catalogues)?.into_iter().next().map(|ends| ends.transport).unwrap_or_default());
    }
    let name = asked.mix.transport.as_deref().unwrap_or(HOSTS);
    if Profile::named(name).is_none() {
        return no_profile(name);
    }
    let own = controls(asked, catalogues)?.into_iter().next();
    let control = own.or(asked.mix.transport.is_none().then(|| usual(asked).to_owned()));
    Ok(hosts(asked, "profile", name, control.as_deref()))
}

/// The table `transport` with a profile or a stack.
fn hosts(asked: &Comparison, key: &str, name: &str, control: Option<&str>) -> Table {
    let mut keys = table([(key, string(name))]);
    keys.extend(control.map(|control| ("congestion".to_owned(), string(control))));
    if asked.marks() {
        keys.insert("ecn".to_owned(), Value::Boolean(true));
    }
    keys
}

/// The default congestion control.
fn usual(asked: &Comparison) -> &'static str {
    if asked.is_datacentre() { "dctcp" } else { CONTROL }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|name| name.trim().to_owned()).collect()
}

/// The congestion controls listed in `--cc`.
fn controls(asked: &Comparison, catalogues: &Catalogues) -> Result<Vec<String>, LabError> {
    let Some(names) = asked.mix.cc.as_deref().map(list) else { return Ok(Vec::new()) };
    let known = of_tcp(catalogues);
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(names),
        Some(name) => wrong(format!("no congestion control of TCP is called {name:?}"), suggest(name, known)),
    }
}

/// The congestion controls of TCP. Rate-based transports are not accepted, because web traffic, which most comparisons have, needs TCP.
pub(crate) fn of_tcp(catalogues: &Catalogues) -> Vec<&'static str> {
    catalogues.controls.names().filter(|name| rate::find(name).is_none()).collect()
}

/// A stack from outside, or the hosts of a profile.
struct Hosts {
    name: String,
    /// The key of `[transport]` that names them.
    key: &'static str,
    controls: Vec<&'static str>,
}

fn find(name: &str, catalogues: &Catalogues) -> Result<Hosts, LabError> {
    let of = |key, controls| Ok(Hosts { name: name.to_owned(), key, controls });
    if let Some(about) = catalogues.stacks.find(name) {
        return of("stack", about.controls.to_vec());
    }
    if Profile::named(name).is_some() {
        return of("profile", of_tcp(catalogues));
    }
    let what = format!("no stack and no profile of TCP is called {name:?}");
    if catalogues.stacks.names().next().is_none() {
        return wrong(what, format!("{}; profiles are {}", catalogues.stacks.help(name), profile::NAMES.join(", ")));
    }
    wrong(what, suggest(name, catalogues.stacks.names().chain(profile::NAMES)))
}

/// The stacks of `--stack`, each with those congestion controls of `--cc` that it has.
fn of_stacks(asked: &Comparison, catalogues: &Catalogues) -> Result<Vec<Ends>, LabError> {
    if asked.mix.transport.is_some() {
        return wrong("--stack and --transport both say what the hosts are", "give one: --stack also takes profiles");
    }
    let wanted = asked.mix.stack.as_deref().map(list).unwrap_or_default();
    let stacks = wanted.iter().map(|name| find(name, catalogues)).collect::<Result<Vec<_>, _>>()?;
    let Some(controls) = asked.mix.cc.as_deref().map(list) else {
        let of = |of: &Hosts| Ends { name: of.name.clone(), transport: hosts(asked, of.key, &of.name, None) };
        return Ok(stacks.iter().map(of).collect());
    };
    let has = |stack: &Hosts, control: &String| stack.controls.contains(&control.as_str());
    if let Some(name) = controls.iter().find(|control| !stacks.iter().any(|stack| has(stack, control))) {
        let known: Vec<&str> = stacks.iter().flat_map(|stack| stack.controls.iter().copied()).collect();
        return wrong(format!("{} have no congestion control {name:?}", wanted.join(", ")), suggest(name, known));
    }
    let mut all = Vec::new();
    for stack in &stacks {
        let own: Vec<&String> = controls.iter().filter(|control| has(stack, control)).collect();
        if own.is_empty() {
            let what = format!("{} has none of the congestion controls {}", stack.name, controls.join(", "));
            return wrong(what, format!("it has {}", stack.controls.join(", ")));
        }
        all.extend(own.into_iter().map(|control| Ends {
            name: format!("{}-{control}", stack.name),
            transport: hosts(asked, stack.key, &stack.name, Some(control)),
        }));
    }
    Ok(all)
}

/// The error for an unknown profile, with suggestions.
fn no_profile<T>(name: &str) -> Result<T, LabError> {
    if transports::find(name).is_some() {
        let help = format!("write --cc {name}; profiles are {}", profile::NAMES.join(", "));
        return wrong(format!("{name} is a congestion control, and --transport takes a profile"), help);
    }
    wrong(format!("no profile of TCP is called {name:?}"), suggest(name, profile::NAMES))
}

#[cfg(test)]
mod tests {
    use super::super::Mix;
    use super::*;

    fn asked(stack: &str, cc: Option<&str>) -> Comparison {
        let mix = Mix { stack: Some(stack.to_owned()), cc: cc.map(str::to_owned), ecn: true, ..Mix::default() };
        Comparison { mix, ..Comparison::default() }
    }

    #[test]
    fn profiles_share_a_link_as_stacks_do_each_with_all_its_keys() {
        let of = |stack: &str, cc| sharing(&asked(stack, cc), &Catalogues::default()).unwrap();
        let all = of("linux-6, rfc", Some("cubic,bbr"));
        let names: Vec<&str> = all.iter().map(|ends| ends.name.as_str()).collect();
        assert_eq!(names, ["linux-6-cubic", "linux-6-bbr", "rfc-cubic", "rfc-bbr"]);
        let keys = &all[3].transport;
        assert_eq!((keys["profile"].as_str(), keys["congestion"].as_str()), (Some("rfc"), Some("bbr")));
        assert_eq!(keys["ecn"].as_bool(), Some(true));
        assert!(!of("rfc", None)[0].transport.contains_key("congestion"), "the default of the profile");
    }

    #[test]
    fn what_is_not_there_is_named() {
        let refused = |asked: Comparison| transport(&asked, &Catalogues::default()).unwrap_err().to_string();
        assert!(refused(asked("quinn", None)).contains("quinn"));
        assert!(refused(asked("rfc,linux-6", Some("cubik"))).contains("have no congestion control"));
        let mut both = asked("rfc", None);
        both.mix.transport = Some("rfc".to_owned());
        assert!(refused(both).contains("--stack and --transport"));
    }
}
