//! Defines the proof by which our agent shows that it is the machine that registered: a signature in a header. Agents and services of other
//! makes ignore it.
//!
//! At registration the agent sends the public part of an Ed25519 key pair that it has generated, in [`HOST_KEY_HEADER`]. With each request
//! for the host it sends [`HOST_PROOF_HEADER`]. A proof is valid once, around one moment of the service's clock, which the agent knows from
//! the `Date` of responses.

use std::fmt;
use std::str::FromStr;

use crate::ids::HostId;
use crate::{BASE_PATH, MUSTER_PATH};

/// Name of the header with the public key: 32 bytes in hexadecimal.
pub const HOST_KEY_HEADER: &str = "x-muster-host-key";

/// Name of the header with a [`Proof`].
pub const HOST_PROOF_HEADER: &str = "x-muster-host-proof";

/// Longest nonce, characters.
const MAX_NONCE: usize = 32;

/// A signature, and what it signs in addition to the request's own parts. On the wire: `v1;TIME;NONCE;SIGNATURE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Seconds since 1970, of the service's clock.
    pub time: i64,
    /// Another one each time; letters and digits.
    pub nonce: String,
    /// Of [`signed_text`], hexadecimal.
    pub signature: String,
}

/// A header that holds no proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadProof;

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1;{};{};{}", self.time, self.nonce, self.signature)
    }
}

impl FromStr for Proof {
    type Err = BadProof;

    fn from_str(text: &str) -> Result<Self, BadProof> {
        let mut parts = text.split(';');
        let (Some("v1"), Some(time), Some(nonce), Some(signature), None) = (
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
        ) else {
            return Err(BadProof);
        };
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_word(nonce) || nonce.len() > MAX_NONCE || !is_word(signature) || signature.len() != 128 {
            return Err(BadProof);
        }
        Ok(Self {
            time: time.parse().map_err(|_| BadProof)?,
            nonce: nonce.to_owned(),
            signature: signature.to_owned(),
        })
    }
}

/// The text that a proof signs. `path`: of the request; a proxy may add or remove anything before the base paths of the APIs. No operation
/// of a host is below both.
pub fn signed_text(method: &str, path: &str, host: HostId, time: i64, nonce: &str) -> String {
    let bases = [BASE_PATH, MUSTER_PATH];
    let below = bases.iter().find_map(|base| path.split_once(base));
    let below = below.map_or(path, |(_, below)| below);
    format!("muster host proof v1\n{method}\n{below}\n{host}\n{time}\n{nonce}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_read_as_it_is_written_and_nothing_else_is() {
        let proof = Proof {
            time: 1_795_000_000,
            nonce: "a1".into(),
            signature: "0f".repeat(64),
        };
        assert_eq!(proof.to_string().parse(), Ok(proof.clone()));
        let long = "n".repeat(MAX_NONCE + 1);
        for bad in [
            "",
            "v1;1;n",
            "v2;1;n;00",
            &format!("v1;x;n;{}", proof.signature),
            &format!("v1;1;;{}", proof.signature),
            &format!("v1;1;n-;{}", proof.signature),
            &format!("v1;1;{long};{}", proof.signature),
            &format!("v1;1;n;{};", proof.signature),
        ] {
            assert_eq!(bad.parse::<Proof>(), Err(BadProof), "{bad}");
        }
    }

    #[test]
    fn what_is_before_the_base_path_is_not_signed() {
        let host = HostId(uuid::Uuid::nil());
        let text = |path: &str| signed_text("GET", path, host, 1, "n");
        assert_eq!(text(&format!("/prefix{BASE_PATH}/a/b")), text("/a/b"));
        assert_eq!(text(&format!("/prefix{MUSTER_PATH}/a/b")), text("/a/b"));
        assert_ne!(text("/a/b"), text("/a/c"));
    }
}
