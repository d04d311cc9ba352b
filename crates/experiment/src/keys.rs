//! The keys of an experiment file, with their scope.

/// The scope of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// The experiment as a whole.
    Whole,
    /// Claims about results, and the display of results; the same for quick and full runs.
    Results,
    /// Single runs; such keys can be swept.
    Run,
}

/// Every key, in the order of `docs/experiment-format.md`.
const KEYS: &[(&str, About)] = &[
    ("title", About::Whole),
    ("source", About::Whole),
    ("about", About::Whole),
    ("plot", About::Whole),
    ("repeat", About::Whole),
    ("seed", About::Whole),
    ("seeds", About::Whole),
    ("sweep", About::Whole),
    ("quick", About::Results),
    ("null", About::Results),
    ("expect", About::Results),
    ("expect_table", About::Results),
    ("predict", About::Results),
    ("overview", About::Results),
    ("figure", About::Results),
    ("aqm", About::Run),
    ("topology", About::Run),
    ("transport", About::Run),
    ("params", About::Run),
    ("traffic", About::Run),
    ("use", About::Run),
    ("classes", About::Run),
    ("duration", About::Run),
    ("warmup", About::Run),
    ("interval", About::Run),
    ("windows", About::Run),
    ("changes", About::Run),
    ("bottleneck", About::Run),
];

fn about(key: &str) -> Option<About> {
    KEYS.iter().find(|(name, _)| *name == key).map(|(_, about)| *about)
}

/// Whether a key of this name exists.
pub(super) fn is_known(key: &str) -> bool {
    about(key).is_some()
}

/// Whether a key applies to the whole file. Such keys are changed before the sweep, all others in each combination.
pub(super) fn is_of_the_file(key: &str) -> bool {
    about(key).is_some_and(|about| about != About::Run)
}

/// Whether a key has the same value in quick and full runs.
pub(super) fn is_of_the_results(key: &str) -> bool {
    about(key) == Some(About::Results)
}

/// Whether a key may differ between runs.
pub(super) fn is_swept(key: &str) -> bool {
    about(key) == Some(About::Run)
}

/// The keys that may differ between runs.
pub(super) fn swept() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(|(_, about)| *about == About::Run).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::shape::Root;
    use super::KEYS;

    #[test]
    fn the_table_has_the_keys_that_are_read() {
        let message = toml::from_str::<Root>("nonsense = 1").unwrap_err().to_string();
        let mut read: Vec<&str> =
            message.split("expected one of").nth(1).unwrap().split('`').skip(1).step_by(2).collect();
        // Abbreviated paths are expanded elsewhere.
        read.extend(["aqm", "bottleneck"]);
        let mut listed: Vec<&str> = KEYS.iter().map(|(name, _)| *name).collect();
        read.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, read);
    }
}
