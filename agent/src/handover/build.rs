//! Identifies the running program by its digest.

use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};
use tracing::warn;

static OWN: OnceLock<Option<String>> = OnceLock::new();

/// SHA-256 of the running program, hexadecimal; `None`: its file cannot be read. Reads all of it the first time.
pub fn own() -> Option<&'static str> {
    let read = || match File::open("/proc/self/exe").and_then(digest) {
        Ok(digest) => Some(digest),
        Err(error) => {
            warn!("this program's own file cannot be read, so it is never replaced by a newer one: {error}");
            None
        }
    };
    OWN.get_or_init(read).as_deref()
}

/// SHA-256 of all that is read, hexadecimal.
///
/// # Errors
/// Fails if the reader does.
pub fn digest(mut from: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut from, &mut hash)?;
    Ok(hex::encode(hash.finalize()))
}
