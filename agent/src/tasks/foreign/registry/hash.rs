//! SHA-256 of a stream of bytes.

use sha2::{Digest, Sha256};

/// A digest in progress.
#[derive(Default)]
pub(super) struct Hash(Sha256);

impl Hash {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// `sha256:...`
    pub(super) fn finish(self) -> String {
        format!("sha256:{}", hex::encode(self.0.finalize()))
    }
}

/// `sha256:...` of these bytes.
pub(super) fn of(bytes: &[u8]) -> String {
    let mut hash = Hash::default();
    hash.update(bytes);
    hash.finish()
}
