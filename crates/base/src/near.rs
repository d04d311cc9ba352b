//! "Did you mean …?" for unknown names.

/// The candidate that is closest to `written`, regardless of case, if one is close. A candidate is close if it differs
/// by at most one wrong, missing, additional or transposed character, plus one for every three characters of `written`,
/// and if at least one character is right; or if one of the two names is a prefix of the other and has at least three
/// characters.
pub fn closest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    let length = written.chars().count();
    let rank = |candidate: &'a str| {
        let lower = candidate.to_lowercase();
        let other = lower.chars().count();
        let distance = strsim::osa_distance(&written, &lower);
        // With two wrong characters, a name of three letters is a different name.
        let allowed = (length / 3 + 1).min(other.saturating_sub(1) / 2 + 1);
        // Any two names of one letter differ by one substitution.
        let similar = distance <= allowed && distance < length.max(other);
        let begins = length >= 3 && lower.starts_with(&written) || other >= 3 && written.starts_with(&lower);
        (similar || begins).then_some((!similar, distance, candidate))
    };
    candidates.into_iter().filter_map(rank).min().map(|(.., name)| name)
}

/// All candidates, the closest to `written` first, regardless of case: by the part of their letters that is wrong, where a part of a name
/// with several, such as `cbt/blast`, may stand for it.
pub fn ranked<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let written = written.to_lowercase();
    let wrong = |name: &str| {
        let longer = written.chars().count().max(name.chars().count()).max(1);
        strsim::osa_distance(&written, name) as f64 / longer as f64
    };
    let rank = |candidate: &str| {
        let lower = candidate.to_lowercase();
        lower.split('/').map(wrong).fold(wrong(&lower), f64::min)
    };
    let mut all: Vec<(f64, &str)> = candidates.into_iter().map(|name| (rank(name), name)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
    all.into_iter().map(|(_, name)| name)
}

/// The help for an unknown name: the closest known name, and all known names.
pub fn suggest<'a>(got: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() {
        return "none are allowed here".to_owned();
    }
    let list = known.join(", ");
    match closest(got, known) {
        Some(name) => format!("did you mean {name}? Known are {list}"),
        None => format!("known are {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_slip_and_not_a_stranger() {
        let names = ["fifo", "red", "red-pd", "codel"];
        assert_eq!(closest("coddel", names), Some("codel"));
        assert_eq!(closest("wfq2+", names), None);
        assert_eq!(closest("rde", ["erd", "red"]), Some("red"));
        assert_eq!(closest("RED", names), Some("red"));
    }

    #[test]
    fn a_transposition_is_one_slip() {
        assert_eq!(closest("mxa", ["limit", "min", "max", "max_p", "ecn"]), Some("max"));
        assert_eq!(closest("tagret", ["limit", "target", "interval"]), Some("target"));
    }

    #[test]
    fn the_beginning_of_a_name_is_near_to_it() {
        assert_eq!(closest("goodput", ["goodput_bps", "drop_rate"]), Some("goodput_bps"));
        assert_eq!(closest("go", ["goodput_bps", "drop_rate"]), None);
    }

    #[test]
    fn a_name_with_something_added_is_near_to_it() {
        let names = ["limit", "min", "max", "max_p"];
        assert_eq!(closest("minimum", names), Some("min"));
        assert_eq!(closest("maximum", names), Some("max"));
        assert_eq!(closest("pints", ["pi", "p"]), None, "two letters are the beginning of too many words");
    }

    #[test]
    fn the_closest_come_first_by_any_part() {
        let first = |written| ranked(written, ["cbt/blast", "red/fig3", "red-pd/fig11", "fred/table1"]).next();
        let wanted = [Some("cbt/blast"), Some("cbt/blast"), Some("red/fig3")];
        assert_eq!([first("blast"), first("cbt/blats"), first("RED")], wanted);
        assert_eq!(ranked("x", ["b", "a"]).collect::<Vec<_>>(), ["a", "b"], "the alphabet decides between equals");
    }

    #[test]
    fn no_letter_is_near_to_another() {
        assert_eq!(closest("q", ["p", "r"]), None);
        assert_eq!(closest("P", ["p", "r"]), Some("p"));
        assert_eq!(closest("t", ["tc", "s"]), Some("tc"));
        assert_eq!(closest("q", ["", "p"]), None);
    }

    #[test]
    fn every_known_name_is_listed() {
        assert_eq!(suggest("mxa", ["min", "max"]), "did you mean max? Known are min, max");
        assert_eq!(suggest("quantum", ["min", "max"]), "known are min, max");
        assert_eq!(suggest("x", []), "none are allowed here");
    }
}
