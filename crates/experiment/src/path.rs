//! Paths to keys of an experiment: `topology.aqm.limit`, `traffic.blast.rate`, `classes[2].share`.

use std::fmt;

/// A path from the root of an experiment, or from a table in it.
///
/// A part is a key, the index of an element (from zero), or the name of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path(pub(super) Vec<String>);

impl Path {
    /// Parses a path. Dots separate parts; quotes protect dots; `[2]` is an element.
    pub(super) fn parse(text: &str) -> Option<Path> {
        let mut parts = Vec::new();
        let mut rest = text.trim();
        loop {
            let (part, after) = next_part(rest)?;
            parts.push(part);
            rest = match after.strip_prefix('.') {
                Some(more) => more,
                None if after.is_empty() => return Some(Path(parts)),
                None => after,
            };
        }
    }

    /// Expands an abbreviated path: `aqm` is `topology.aqm`, `bottleneck` is `topology`.
    pub(super) fn normal(mut self) -> Path {
        match self.0.first().map(String::as_str) {
            Some("aqm") => self.0.insert(0, "topology".to_owned()),
            Some("bottleneck") => self.0[0] = "topology".to_owned(),
            _ => {}
        }
        self
    }

    /// The first part.
    pub(super) fn root(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// The path of `key` below this one.
    pub(super) fn below(&self, key: &str) -> Path {
        let mut parts = self.0.clone();
        parts.push(key.to_owned());
        Path(parts)
    }
}

/// Splits a non-empty path into its first part and the rest.
fn next_part(text: &str) -> Option<(String, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (part, after) = quoted.split_once('"')?;
        return Some((part.to_owned(), after));
    }
    if let Some(index) = text.strip_prefix('[') {
        let (part, after) = index.split_once(']')?;
        return part.parse::<usize>().ok().map(|i| (i.to_string(), after));
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let part = text[..end].trim();
    (!part.is_empty()).then(|| (part.to_owned(), &text[end..]))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            if part.contains(['.', '[']) {
                write!(f, "{dot}\"{part}\"")?;
            } else {
                write!(f, "{dot}{part}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_keys_elements_and_quoted_keys() {
        let parts = |text| Path::parse(text).map(|p| p.0.join("|"));
        assert_eq!(parts("topology.aqm.limit").as_deref(), Some("topology|aqm|limit"));
        assert_eq!(parts("classes[2].share").as_deref(), Some("classes|2|share"));
        assert_eq!(parts("params.\"a.b\".x").as_deref(), Some("params|a.b|x"));
        assert_eq!(parts("a..b"), None);
        assert_eq!(parts("a."), None);
        assert_eq!(parts("classes[x]"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(parts in prop::collection::vec("[a-z.\\[]{1,5}", 1..4)) {
            let path = Path(parts);
            prop_assert_eq!(Path::parse(&path.to_string()), Some(path));
        }
    }
}
