use std::fmt;
use std::str::FromStr;

use rustls::pki_types::CertificateDer;

/// SHA-256 of a certificate (DER). Shown as `openssl x509 -fingerprint -sha256` shows it: `AB:CD:...`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// A text that is no SHA-256 fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no SHA-256 fingerprint: 64 hexadecimal digits are expected, as `openssl x509 -fingerprint -sha256` prints them"
)]
pub struct NoFingerprint;

impl Fingerprint {
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let colon = if at == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Reads digits of either case, with or without colons.
impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    fn from_str(text: &str) -> Result<Self, NoFingerprint> {
        let text = text.trim();
        let pairs = match text.contains(':') {
            true => text.split(':').collect::<Vec<_>>(),
            false => (0..text.len())
                .step_by(2)
                .map(|at| text.get(at..at + 2).unwrap_or_default())
                .collect(),
        };
        let byte = |pair: &str| match pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            true => u8::from_str_radix(pair, 16).map_err(|_| NoFingerprint),
            false => Err(NoFingerprint),
        };
        let bytes: Vec<u8> = pairs.into_iter().map(byte).collect::<Result<_, _>>()?;
        bytes.try_into().map(Self).map_err(|_| NoFingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_is_shown_and_as_others_write_it() {
        let fingerprint = Fingerprint::of(&CertificateDer::from(b"abc".to_vec()));
        let shown = fingerprint.to_string();
        assert!(
            shown.starts_with("BA:78:16:BF:") && shown.len() == 95,
            "SHA-256 of abc: {shown}"
        );
        for text in [
            shown.clone(),
            shown.to_lowercase(),
            shown.replace(':', ""),
            format!(" {shown}\n"),
        ] {
            assert_eq!(text.parse(), Ok(fingerprint), "{text}");
        }
        for wrong in [
            "",
            ":",
            "BA:78",
            &shown[3..],
            &format!("{shown}:00"),
            &shown.replace("BA", "+A"),
            &"ä".repeat(32),
        ] {
            assert_eq!(wrong.parse::<Fingerprint>(), Err(NoFingerprint), "{wrong}");
        }
    }
}
