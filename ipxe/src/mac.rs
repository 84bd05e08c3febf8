//! Parses the `mac` parameter as iPXE and people write it.
//!
//! `${net0/mac}` in a URL arrives percent-encoded (`52%3A54%3A..`, decoded by the HTTP layer or not), and
//! `${net0/mac:hexhyp}` with hyphens (docs/protocol/ipxe.md#4).

use std::fmt;
use std::str::FromStr;

/// A MAC address; printed in lower case with colons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress([u8; 6]);

/// The text is no MAC address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "mac is not a MAC address: give six bytes in hexadecimal with colons or hyphens, such as 52:54:00:12:34:56"
)]
pub struct MacError;

impl MacAddress {
    /// The six bytes in order.
    pub fn octets(self) -> [u8; 6] {
        self.0
    }
}

impl FromStr for MacAddress {
    type Err = MacError;

    /// Takes either letter case; colons, percent-encoded colons, hyphens or nothing between the bytes.
    fn from_str(text: &str) -> Result<Self, MacError> {
        let plain = text.trim().replace("%3A", ":").replace("%3a", ":");
        let separated: Vec<&str> = match plain.find([':', '-']) {
            Some(at) => plain.split(char::from(plain.as_bytes()[at])).collect(),
            None if plain.len() == 12 && plain.is_ascii() => {
                (0..6).map(|index| &plain[index * 2..][..2]).collect()
            }
            None => return Err(MacError),
        };
        let pairs: [&str; 6] = separated.try_into().map_err(|_| MacError)?;
        let mut octets = [0; 6];
        for (octet, pair) in octets.iter_mut().zip(pairs) {
            // from_str_radix accepts "+f", too.
            if pair.len() != 2 || !pair.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(MacError);
            }
            *octet = u8::from_str_radix(pair, 16).map_err(|_| MacError)?;
        }
        Ok(Self(octets))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_that_ipxe_and_people_write_is_the_same_address() {
        for text in [
            "52:54:00:ab:cd:ef",
            "52:54:00:AB:CD:EF",
            "52-54-00-ab-cd-ef",
            "52%3A54%3A00%3Aab%3Acd%3Aef",
            "52%3a54%3a00%3aAB%3aCD%3aEF",
            "525400abcdef",
            " 52:54:00:ab:cd:ef ",
        ] {
            assert_eq!(
                text.parse::<MacAddress>().unwrap().to_string(),
                "52:54:00:ab:cd:ef",
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "${net0/mac}",
            "52:54:00:ab:cd",
            "52:54:00:ab:cd:ef:00",
            "52:54:00:ab:cd:e",
            "52:54-00:ab:cd:ef",
            "+2:54:00:ab:cd:ef",
            "5254:00ab:cdef",
            "gg:54:00:ab:cd:ef",
            "ébcdefghij",
        ] {
            assert!(text.parse::<MacAddress>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(octets: [u8; 6]) {
            prop_assert_eq!(MacAddress(octets).to_string().parse(), Ok(MacAddress(octets)));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,20}") {
            let _ = text.parse::<MacAddress>();
        }
    }
}
