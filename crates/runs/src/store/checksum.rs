//! The checksum of `results.json`, which detects manual changes.
//!
//! It is the last key of the file, `"checksum"`: the BLAKE3 hash, in hexadecimal, of the text without that key. It
//! detects changed numbers; it is not a signature, because anyone can compute a valid one.

use serde::Deserialize;

/// Whether a text is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// The checksum matches.
    Whole,
    /// The checksum does not match.
    Changed,
    /// Unknown: there is no checksum, as in files of earlier versions.
    Absent,
}

/// The text between contents and checksum.
const BEFORE: &str = ",\n  \"checksum\": \"";
const AFTER: &str = "\"\n}\n";
/// The end of a text without checksum.
const END: &str = "\n}";

/// Adds the checksum to indented JSON, which must be a non-empty object.
#[must_use]
pub fn seal(json: &str) -> String {
    let body = json.trim_end();
    let inner = body.strip_suffix(END).unwrap_or(body);
    format!("{inner}{BEFORE}{}{AFTER}", blake3::hash(body.as_bytes()))
}

/// Compares a text with its checksum.
#[must_use]
pub fn check(text: &str) -> Seal {
    /// Deserializes the checksum only.
    #[derive(Deserialize)]
    struct Mark {
        checksum: Option<serde::de::IgnoredAny>,
    }
    match written(text) {
        Some((body, sum)) if blake3::hash(body.as_bytes()).to_string() == sum => Seal::Whole,
        Some(_) => Seal::Changed,
        // Another program has reformatted the file.
        None if serde_json::from_str::<Mark>(text).is_ok_and(|mark| mark.checksum.is_some()) => Seal::Changed,
        None => Seal::Absent,
    }
}

/// Splits a text into the contents without checksum, and the checksum.
fn written(text: &str) -> Option<(String, &str)> {
    let (inner, sum) = text.strip_suffix(AFTER)?.rsplit_once(BEFORE)?;
    (!sum.contains(['"', '\n'])).then(|| (format!("{inner}{END}"), sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = "{\n  \"title\": \"a\",\n  \"runs\": [\n    1.5\n  ]\n}\n";

    #[test]
    fn a_change_is_noticed() {
        let sealed = seal(JSON);
        let value: serde_json::Value = serde_json::from_str(&sealed).unwrap();
        assert_eq!(value["checksum"].as_str().map(str::len), Some(64), "{sealed}");
        assert_eq!(check(&sealed), Seal::Whole);
        for (from, to) in [("1.5", "1.6"), ("  ]", " ]"), ("\n}\n", "\n}"), ("\n}\n", "\n}\n\n"), ("\"a\"", "\"b\"")] {
            assert_eq!(check(&sealed.replacen(from, to, 1)), Seal::Changed, "{from:?}");
        }
        assert_eq!(check(&serde_json::to_string(&value).unwrap()), Seal::Changed, "in one line");
    }

    #[test]
    fn a_file_without_checksum_is_none_that_was_changed() {
        assert_eq!(check(JSON), Seal::Absent);
        assert_eq!(check("{}"), Seal::Absent);
        assert_eq!(check(""), Seal::Absent);
    }
}
