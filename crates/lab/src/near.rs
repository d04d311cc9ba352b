//! "Did you mean …?"

/// The candidate that is closest to what was written, if one is close at all.
pub fn closest<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = written.chars().count() / 3 + 1;
    let scored = candidates.map(|c| (strsim::osa_distance(written, c), c));
    scored.filter(|(d, _)| *d <= allowed).min().map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_slip_and_not_a_stranger() {
        let names = ["fifo", "red", "red-pd", "codel"];
        assert_eq!(closest("coddel", names.into_iter()), Some("codel"));
        assert_eq!(closest("rde", names.into_iter()), Some("red"));
        assert_eq!(closest("wfq2+", names.into_iter()), None);
        assert_eq!(closest("rde", ["erd", "red"].into_iter()), Some("red"));
    }
}
