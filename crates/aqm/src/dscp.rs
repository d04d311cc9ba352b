//! Differentiated services codepoints, by the names of RFC 2474, RFC 2597, RFC 3246, RFC 5865 and RFC 8622.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The six upper bits of the DS field of an IP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Dscp(u8);

/// The names that are not made of a class and a precedence.
const NAMES: [(&str, u8); 4] = [("ef", 46), ("va", 44), ("le", 1), ("be", 0)];

impl Dscp {
    /// The codepoint of these six bits; further bits are left out.
    #[must_use]
    pub const fn new(bits: u8) -> Self {
        Dscp(bits & 0x3f)
    }

    /// The codepoint as an index, from 0 to 63.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl FromStr for Dscp {
    type Err = String;

    /// Reads a name such as `ef`, `cs1` or `af41`, or a number from 0 to 63.
    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.to_ascii_lowercase();
        let digits =
            |prefix: &str| name.strip_prefix(prefix)?.bytes().map(|b| b.checked_sub(b'0')).collect::<Option<Vec<u8>>>();
        let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, bits)| *bits);
        let found = known.or(match (digits("cs").as_deref(), digits("af").as_deref()) {
            (Some(&[class @ 0..=7]), _) => Some(8 * class),
            (_, Some(&[class @ 1..=4, drop @ 1..=3])) => Some(8 * class + 2 * drop),
            _ => name.parse().ok().filter(|bits| *bits < 64),
        });
        let right = "it must be ef, va, le, be, cs0 to cs7, af11 to af43, or a number from 0 to 63";
        found.map(Dscp).ok_or_else(|| format!("{text:?} is not a DSCP: {right}"))
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, rest) = (self.0 / 8, self.0 % 8);
        match NAMES.iter().find(|(_, bits)| *bits == self.0) {
            Some((name, _)) => f.write_str(name),
            None if rest == 0 => write!(f, "cs{class}"),
            None if (1..=4).contains(&class) && [2, 4, 6].contains(&rest) => write!(f, "af{class}{}", rest / 2),
            None => write!(f, "{}", self.0),
        }
    }
}

impl TryFrom<String> for Dscp {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Dscp> for String {
    fn from(dscp: Dscp) -> String {
        dscp.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_have_the_names_of_their_rfcs() {
        let bits = |name: &str| name.parse::<Dscp>().unwrap().index();
        assert_eq!(
            ["ef", "EF", "va", "le", "be", "cs0", "cs1", "cs7", "af11", "af43", "17"].map(bits),
            [46, 46, 44, 1, 0, 0, 8, 56, 10, 38, 17]
        );
        for codepoint in 0..64 {
            assert_eq!(Dscp::new(codepoint).to_string().parse(), Ok(Dscp::new(codepoint)));
        }
        for wrong in ["", "cs8", "af14", "af50", "64", "-1", "voice", "cs", "cs11"] {
            assert!(wrong.parse::<Dscp>().unwrap_err().contains("af11 to af43"), "{wrong}");
        }
    }
}
