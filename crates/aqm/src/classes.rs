//! Mapping of a link's traffic classes to the entries of a parameter list.

use aqmkit_base::ClassId;
use serde::{Deserialize, Serialize};

use crate::link::Link;
use crate::params::{ParamError, in_range};

/// The name of the entry for all classes without their own entry.
pub const REST: &str = "*";

/// The names of the link's classes; only `*` if it names none.
#[must_use]
pub fn names_or_rest(link: &Link) -> Vec<String> {
    if link.classes.is_empty() { vec![REST.to_owned()] } else { link.classes.clone() }
}

/// Maps each class of a link to an entry of a discipline's list of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassMap {
    /// By [`ClassId`].
    entry: Vec<usize>,
    /// The entry for unknown classes: `*`, else the last.
    rest: usize,
}

impl ClassMap {
    /// Matches the names of the entries with the classes of `link`.
    ///
    /// # Errors
    /// When a name is not a class of the link or comes twice, or a class of the link has no entry and
    /// there is no entry `*`.
    pub fn new<'a>(link: &Link, names: impl Iterator<Item = &'a str>) -> Result<Self, ParamError> {
        let names: Vec<&str> = names.collect();
        for (i, name) in names.iter().enumerate() {
            let error = |want: String| Err(ParamError::new(format!("classes[{i}].class"), name, want));
            if names[..i].contains(name) {
                return error("each class can have one entry".to_owned());
            }
            if *name != REST && !link.classes.iter().any(|c| c == name) {
                return error(format!("it must be one of the link's classes ({}) or \"*\"", link.classes.join(", ")));
            }
        }
        let place = |name: &str| names.iter().position(|n| *n == name);
        let rest = place(REST);
        let uncovered: Vec<&str> =
            link.classes.iter().map(String::as_str).filter(|c| rest.or(place(c)).is_none()).collect();
        if names.is_empty() || !uncovered.is_empty() {
            let want = format!(
                "every class needs an entry, or there must be one for \"*\"; missing: {}",
                uncovered.join(", ")
            );
            return Err(ParamError::new("classes", format!("[{}]", names.join(", ")), want));
        }
        let rest = rest.unwrap_or(names.len() - 1);
        Ok(ClassMap { entry: link.classes.iter().map(|c| place(c).unwrap_or(rest)).collect(), rest })
    }

    /// The entry for packets of this class.
    #[must_use]
    pub fn entry(&self, class: ClassId) -> usize {
        self.entry.get(class.index()).copied().unwrap_or(self.rest)
    }
}

/// Some of the classes of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSet {
    /// By [`ClassId`].
    within: Vec<bool>,
    /// For classes that the link does not name.
    rest: bool,
}

impl ClassSet {
    /// The classes of `link` with these names; `*` stands for all.
    ///
    /// # Errors
    /// When a name is not a class of the link.
    pub fn new(field: &str, link: &Link, names: &[String]) -> Result<Self, ParamError> {
        let rest = names.iter().any(|name| name == REST);
        let unknown = names.iter().position(|name| name != REST && !link.classes.contains(name));
        if let Some(i) = unknown {
            let want = format!("it must be one of the link's classes ({}) or \"*\"", link.classes.join(", "));
            return Err(ParamError::new(format!("{field}[{i}]"), &names[i], want));
        }
        Ok(ClassSet { within: link.classes.iter().map(|class| rest || names.contains(class)).collect(), rest })
    }

    /// Whether packets of this class are in the set.
    #[must_use]
    pub fn contains(&self, class: ClassId) -> bool {
        self.within.get(class.index()).copied().unwrap_or(self.rest)
    }
}

/// The weight of a class: the relative share of its flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassWeight {
    /// The name of a class of the link, or `*`.
    pub class: String,
    /// Its weight.
    pub weight: f64,
}

impl Default for ClassWeight {
    fn default() -> Self {
        ClassWeight { class: REST.to_owned(), weight: 1.0 }
    }
}

/// The weights of a link's classes; without any entry every class weighs 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    map: ClassMap,
    weights: Vec<f64>,
}

impl Weights {
    /// Matches the entries with the classes of `link`.
    ///
    /// # Errors
    /// As [`ClassMap::new`], and when a weight is not from a thousandth to a million.
    pub fn new(link: &Link, entries: &[ClassWeight]) -> Result<Self, ParamError> {
        for (i, entry) in entries.iter().enumerate() {
            in_range("weight", entry.weight, 1e-3, 1e6).map_err(|e| e.within(&format!("classes[{i}]")))?;
        }
        if entries.is_empty() {
            return Ok(Weights { map: ClassMap::new(link, [REST].into_iter())?, weights: vec![1.0] });
        }
        let map = ClassMap::new(link, entries.iter().map(|e| e.class.as_str()))?;
        Ok(Weights { map, weights: entries.iter().map(|e| e.weight).collect() })
    }

    /// The entry of a class.
    #[must_use]
    pub fn entry(&self, class: ClassId) -> usize {
        self.map.entry(class)
    }

    /// The weight of a class.
    #[must_use]
    pub fn of(&self, class: ClassId) -> f64 {
        self.weights[self.entry(class)]
    }

    /// The weights by entry.
    #[must_use]
    pub fn all(&self) -> &[f64] {
        &self.weights
    }

    /// Refuses a different assignment of classes to entries; weights may differ.
    ///
    /// # Errors
    /// When a class goes to another entry than in `other`.
    pub fn same_classes(&self, other: &Weights) -> Result<(), ParamError> {
        if self.map == other.map {
            return Ok(());
        }
        Err(ParamError::new("classes", "another list", "the classes cannot change while packets wait"))
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::BitRate;

    use super::*;

    fn map(names: &[&str]) -> Result<ClassMap, ParamError> {
        let classes = ["tcp", "multimedia", "other"].map(str::to_owned).to_vec();
        ClassMap::new(&Link { classes, ..Link::new(BitRate::from_mbps(10)) }, names.iter().copied())
    }

    #[test]
    fn each_class_finds_its_entry() {
        let m = map(&["other", "*"]).unwrap();
        assert_eq!([0, 1, 2, 9].map(|c| m.entry(ClassId(c))), [1, 1, 0, 1]);
        let all = map(&["other", "tcp", "multimedia"]).unwrap();
        assert_eq!([0, 1, 2, 9].map(|c| all.entry(ClassId(c))), [1, 2, 0, 2]);
    }

    #[test]
    fn errors_name_the_classes() {
        let text = |names: &[&str]| map(names).unwrap_err().to_string();
        assert_eq!(
            text(&["tcp", "video"]),
            "classes[1].class = video is not valid: it must be one of the link's classes (tcp, multimedia, other) or \
             \"*\""
        );
        assert!(text(&["tcp", "tcp"]).contains("one entry"));
        assert!(text(&["tcp"]).ends_with("missing: multimedia, other"));
        assert!(map(&[]).is_err());
    }
}
