//! IP prefixes.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An IP prefix such as `192.0.2.0/24` or `2001:db8::/32`; a single address is one too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// The text of a prefix that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network: write an address or a prefix, for example 192.0.2.0/24 or 2001:db8::/32")]
pub struct NoPrefix(String);

impl Prefix {
    /// Whether the prefix contains an address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(32 - u32::from(self.length)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(128 - u32::from(self.length)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Prefix {
    type Err = NoPrefix;

    fn from_str(text: &str) -> Result<Self, NoPrefix> {
        let no = || NoPrefix(text.to_owned());
        let (address, length) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
        let address: IpAddr = address.parse().map_err(|_| no())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), |l| l.parse().map_err(|_| no()))?;
        if length > most { Err(no()) } else { Ok(Prefix { address, length }) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_its_networks() {
        let inside =
            |network: &str, address: &str| network.parse::<Prefix>().unwrap().contains(address.parse().unwrap());
        assert!(inside("192.0.2.0/24", "192.0.2.255") && !inside("192.0.2.0/24", "192.0.3.0"));
        assert!(inside("192.0.2.7", "192.0.2.7") && !inside("192.0.2.7", "192.0.2.6"));
        assert!(inside("0.0.0.0/0", "255.1.2.3") && !inside("0.0.0.0/0", "::1"));
        assert!(inside("2001:db8::/33", "2001:db8:7fff::1") && !inside("2001:db8::/33", "2001:db8:8000::1"));
        assert!(inside("::/0", "2001:db8::1"));
        for wrong in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/", "a/1"] {
            assert!(wrong.parse::<Prefix>().is_err(), "{wrong}");
        }
    }
}
