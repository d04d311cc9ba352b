//! "Did you mean …?"

/// The candidate that is closest to what was written, if one is close at all.
pub fn closest<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = written.chars().count() / 3 + 1;
    let scored = candidates.map(|c| (distance(written, c), c));
    scored.filter(|(d, _)| *d <= allowed).min().map(|(_, c)| c)
}

/// How many characters must be inserted, deleted or replaced to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
