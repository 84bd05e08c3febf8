//! The public key of a certificate, whatever its other content: firmware writes versions, serial numbers, dates and extensions that
//! strict parsers of the whole certificate refuse.

/// Tags of ASN.1.
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// A key as its certificate has it (`SubjectPublicKeyInfo` of RFC 5280, 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PublicKey<'a> {
    /// Object identifier, encoded.
    pub algorithm: &'a [u8],
    /// Object identifier of the curve, encoded; empty for keys without one.
    pub curve: &'a [u8],
    pub bits: &'a [u8],
}

impl<'a> PublicKey<'a> {
    /// `None`: there is no key in it where one must be.
    pub fn of(certificate: &'a [u8]) -> Option<Self> {
        let mut outer = Elements(certificate);
        let mut fields = Elements(Elements(outer.expect(SEQUENCE)?).expect(SEQUENCE)?);
        // Version 1 is left out. Serial number, algorithm, issuer, dates and subject follow.
        if fields.next()?.0 == VERSION {
            fields.next()?;
        }
        let (_, key) = fields.nth(4)?;
        let mut key = Elements(key);
        let mut algorithm = Elements(key.expect(SEQUENCE)?);
        let identifier = algorithm.expect(OBJECT_IDENTIFIER)?;
        // The first byte is the number of unused bits of the last.
        let (_, bits) = key.expect(BIT_STRING)?.split_first()?;
        Some(Self {
            algorithm: identifier,
            curve: algorithm.expect(OBJECT_IDENTIFIER).unwrap_or_default(),
            bits,
        })
    }

    /// Modulus and exponent of an RSA key, big-endian.
    pub fn rsa(&self) -> Option<(&'a [u8], &'a [u8])> {
        let mut numbers = Elements(Elements(self.bits).expect(SEQUENCE)?);
        Some((numbers.expect(INTEGER)?, numbers.expect(INTEGER)?))
    }
}

/// Reads encoded elements one after the other: tag and content. A length may be written with more bytes than it needs.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next()
            .and_then(|(found, content)| (found == tag).then_some(content))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[tag, length], rest) = self.0.split_first_chunk()?;
        let (length, rest) = match length {
            0..0x80 => (usize::from(length), rest),
            // Without a length: in no certificate that a server can show.
            0x80 => return None,
            _ => {
                let (bytes, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
                let add = |sum: usize, byte: &u8| sum.checked_mul(256)?.checked_add(usize::from(*byte));
                (bytes.iter().try_fold(0, add)?, rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a length of `bytes` bytes more than its first.
    fn long(tag: u8, content: &[u8], bytes: u8) -> Vec<u8> {
        let mut all = vec![tag, 0x80 | bytes];
        let length = content.len().to_be_bytes();
        all.extend(&length[length.len() - usize::from(bytes)..]);
        all.extend(content);
        all
    }

    fn short(tag: u8, content: &[u8]) -> Vec<u8> {
        long(tag, content, 2)
    }

    /// A certificate with these elements before its key.
    fn certificate(fields: &[Vec<u8>]) -> Vec<u8> {
        let algorithm = [short(OBJECT_IDENTIFIER, &[1, 2]), short(OBJECT_IDENTIFIER, &[3])].concat();
        let key = [short(SEQUENCE, &algorithm), short(BIT_STRING, &[0, 7, 8, 9])].concat();
        let signed = [fields.concat(), short(SEQUENCE, &key), vec![0xa3, 1, 0xff]].concat();
        // What follows is no signature.
        short(SEQUENCE, &[short(SEQUENCE, &signed), vec![0xff]].concat())
    }

    #[test]
    fn the_key_is_found_whatever_stands_around_it() {
        let version = short(VERSION, &[2, 1, 2]);
        let negative = short(INTEGER, &[0xff]);
        let name = short(SEQUENCE, &[]);
        // No dates at all, and a name of a type that is no sequence.
        let dates = short(SEQUENCE, b"\x17\x05never");
        let odd = short(0x0c, "Ä".as_bytes());
        let overlong = long(SEQUENCE, b"x", 4);
        for fields in [
            vec![&version, &negative, &name, &name, &dates, &odd],
            vec![&negative, &name, &name, &dates, &odd],
            vec![&negative, &overlong, &overlong, &dates, &overlong],
        ] {
            let fields: Vec<Vec<u8>> = fields.into_iter().cloned().collect();
            let made = certificate(&fields);
            let wanted = PublicKey {
                algorithm: &[1, 2],
                curve: &[3],
                bits: &[7, 8, 9],
            };
            assert_eq!(PublicKey::of(&made), Some(wanted), "{fields:?}");
        }
    }

    #[test]
    fn what_is_cut_or_no_certificate_has_no_key() {
        let name = short(SEQUENCE, &[]);
        let whole = certificate(&vec![name; 5]);
        assert!(PublicKey::of(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(PublicKey::of(&whole[..length]), None, "{length}");
        }
        let endless = [0x30, 0x80, 0x30, 0x80, 0, 0, 0, 0];
        let huge = [0x30, 0x89, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        for none in [&b"not a certificate"[..], &endless, &huge] {
            assert_eq!(PublicKey::of(none), None);
        }
    }
}
