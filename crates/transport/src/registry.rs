//! Lists of all profiles, congestion controls and rate-based transports.

use super::{congestion, rate};
use aqmkit_base::page::Entry;

/// The profiles, each with a one-line description.
const PROFILES: &[(&str, &str)] = &[
    ("bsd44", "4.4BSD as in Parris 2001: Reno, 16 KB windows, ticks of 500 ms"),
    ("freebsd22", "FreeBSD 2.2.8 as in its source code"),
    ("freebsd45", "FreeBSD 4.5: NewReno, ticks of 10 ms"),
    ("linux-3.18", "Linux 3.18: CUBIC, SACK with forward acknowledgement, tail loss probes"),
    ("linux-6", "Linux 6: CUBIC, RACK and tail loss probes"),
    ("rfc", "TCP as the RFCs recommend it"),
    ("ns2", "the agents of ns-2"),
];

/// Finds a congestion control or rate-based transport, which have reference pages, by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    congestion::find(name).or_else(|| rate::find(name))
}

/// The reference page of a congestion control or a rate-based transport, in Markdown.
#[must_use]
pub fn page(name: &str) -> Option<String> {
    congestion::page(name).or_else(|| rate::page(name))
}

/// The names of all profiles, congestion controls and rate-based transports, each with a one-line description.
pub fn summaries() -> impl Iterator<Item = (&'static str, String)> {
    let profiles = PROFILES.iter().map(|(name, about)| (*name, (*about).to_owned()));
    let entry = |what: &'static str| move |e: &'static Entry| (e.name, format!("{what}: {}", e.summary()));
    let controls = congestion::ALL.iter().map(entry("congestion control"));
    profiles.chain(controls).chain(rate::ALL.iter().map(entry("rate-based transport")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::NAMES;

    #[test]
    fn every_profile_and_control_is_listed_once() {
        assert!(PROFILES.iter().map(|p| p.0).eq(NAMES));
        let mut names: Vec<_> = summaries().map(|s| s.0).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]), "{names:?}");
        assert!(summaries().all(|s| !s.1.is_empty()));
    }
}
