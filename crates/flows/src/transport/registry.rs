//! What there is of transports: profiles and congestion controls, for those who list them.

use super::congestion;

/// The profiles, each with what it is in one line.
const PROFILES: &[(&str, &str)] = &[
    ("bsd44", "4.4BSD as Parris 2001 describes it: Reno, 16 KB windows, ticks of 500 ms"),
    ("freebsd22", "FreeBSD 2.2.8 as its source has it"),
    ("freebsd45", "FreeBSD 4.5: NewReno, ticks of 10 ms"),
    ("linux-3.18", "Linux 3.18: CUBIC, SACK with forward acknowledgement, tail loss probes"),
    ("linux-6", "Linux 6: CUBIC, RACK and tail loss probes"),
    ("rfc", "TCP as the RFCs recommend it"),
    ("ns2", "the agents of ns-2"),
];

/// The names of all profiles, then of all congestion controls, each with what it is in one line.
pub fn summaries() -> impl Iterator<Item = (&'static str, String)> {
    let profiles = PROFILES.iter().map(|(name, about)| (*name, (*about).to_owned()));
    profiles.chain(congestion::ALL.iter().map(|e| (e.name, format!("congestion control: {}", e.summary()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::profile::NAMES;

    #[test]
    fn every_profile_and_control_is_listed_once() {
        assert!(PROFILES.iter().map(|p| p.0).eq(NAMES));
        let mut names: Vec<_> = summaries().map(|s| s.0).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]), "{names:?}");
        assert!(summaries().all(|s| !s.1.is_empty()));
    }
}
