//! The key by which this machine proves that it is the one that registered. It is in memory, and lost when the machine restarts; an
//! installed node reads it from a file that the installer wrote.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Context;
use muster_api::host_key::{Proof, signed_text};
use muster_api::ids::HostId;
use ring::signature::{Ed25519KeyPair, KeyPair};
use tracing::warn;

use super::inherited;

/// Copy in the memory of the discovery image, for the program that replaces this one there.
const IN_MEMORY: &str = "/run/muster/host-key";

static KEY: OnceLock<HostKey> = OnceLock::new();

/// A key pair.
pub struct HostKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

/// A file that holds no key.
#[derive(Debug, thiserror::Error)]
#[error("it holds no key of 64 hexadecimal digits")]
pub struct BadKey;

impl HostKey {
    fn from_seed(seed: [u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed);
        Self {
            seed,
            pair: pair.expect("any 32 bytes are the seed of a key"),
        }
    }

    /// A new key.
    pub fn generate() -> Self {
        Self::from_seed(rand::random())
    }

    /// From the form of [`Self::secret`].
    ///
    /// # Errors
    /// [`BadKey`], which quotes nothing.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let mut seed = [0; 32];
        hex::decode_to_slice(text.trim(), &mut seed).map_err(|_| BadKey)?;
        Ok(Self::from_seed(seed))
    }

    /// The private part, hexadecimal.
    pub fn secret(&self) -> String {
        hex::encode(self.seed)
    }

    /// The public part, hexadecimal.
    pub fn public(&self) -> String {
        hex::encode(self.pair.public_key())
    }

    /// A proof for one request. `time`: seconds since 1970 of the service's clock.
    pub fn prove(&self, method: &str, path: &str, host: HostId, time: i64) -> Proof {
        let nonce = hex::encode(rand::random::<[u8; 12]>());
        let text = signed_text(method, path, host, time, &nonce);
        Proof {
            time,
            nonce,
            signature: hex::encode(self.pair.sign(text.as_bytes())),
        }
    }
}

/// The key of this process, made at its first use.
pub fn own() -> &'static HostKey {
    KEY.get_or_init(|| {
        let inherited = inherited::state().map(|state| HostKey::parse(&state.host_key));
        if let Some(Ok(key)) = inherited {
            return key;
        }
        // Only process 1 is the machine's agent.
        if std::process::id() != 1 {
            return HostKey::generate();
        }
        let path = Path::new(IN_MEMORY);
        let kept = std::fs::read_to_string(path).ok();
        kept.and_then(|text| HostKey::parse(&text).ok())
            .unwrap_or_else(|| {
                let made = HostKey::generate();
                if let Err(error) = keep(path, &made) {
                    warn!("the host's key is not kept for the next program: {error}");
                }
                made
            })
    })
}

fn keep(path: &Path, key: &HostKey) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(key.secret().as_bytes())
}

/// Takes this key, before any is made.
///
/// # Errors
/// [`BadKey`]
pub fn inherit(text: &str) -> Result<(), BadKey> {
    // A key that is there already is this process' own.
    let _ = KEY.set(HostKey::parse(text)?);
    Ok(())
}

/// Takes the key that the installer has written for this node, if any, before one is made.
///
/// # Errors
/// Fails for a file that exists and cannot be used.
pub fn take_from(path: &Path) -> anyhow::Result<()> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        read => read.with_context(|| format!("{}: cannot be read", path.display()))?,
    };
    let key = HostKey::parse(&text).with_context(|| path.display().to_string())?;
    // A key that is there already is this process' own.
    let _ = KEY.set(key);
    Ok(())
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_proof_verifies_with_the_public_part_and_a_key_reads_back() {
        let key = HostKey::generate();
        let host = HostId(uuid::Uuid::from_u128(7));
        let proof = key.prove("GET", "/a", host, 1_795_000_000);
        let again: Proof = proof.to_string().parse().unwrap();
        assert_eq!(again, proof);
        let text = signed_text("GET", "/a", host, proof.time, &proof.nonce);
        let public = UnparsedPublicKey::new(&ED25519, hex::decode(key.public()).unwrap());
        public
            .verify(text.as_bytes(), &hex::decode(&proof.signature).unwrap())
            .unwrap();
        assert_ne!(key.prove("GET", "/a", host, 1_795_000_000).nonce, proof.nonce);
        let read = HostKey::parse(&format!("{}\n", key.secret())).unwrap();
        assert_eq!(read.public(), key.public());
        assert!(HostKey::parse("00").is_err());
    }

    #[test]
    fn a_kept_key_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("muster/host-key");
        let key = HostKey::generate();
        keep(&path, &key).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let read = HostKey::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read.public(), key.public());
    }
}
