//! Parses and creates the keys of a key file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::NoRandomness;

/// Bytes of a key.
const KEY: usize = 32;

/// Bytes of a key's digest that name it.
const ID: usize = 8;

/// First line of a key file, in place of a key.
const PLAIN: &str = "plain";

/// A key with its name.
pub(super) struct Key {
    /// Hexadecimal; reveals nothing of the key.
    pub(super) id: String,
    pub(super) cipher: LessSafeKey,
}

/// A key file that cannot be used. The messages never quote the file.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("line {0} is no key: a key is 32 bytes in base64, as `muster secrets-key create` makes one")]
    NoKey(usize),
    #[error("it holds no key: `muster secrets-key create` makes a file with one")]
    Empty,
}

/// A new key, as a line of a key file.
///
/// # Errors
/// `NoRandomness`.
pub fn new_key() -> Result<String, NoRandomness> {
    let mut key = [0; KEY];
    SystemRandom::new().fill(&mut key).map_err(|_| NoRandomness)?;
    Ok(STANDARD.encode(key))
}

/// The keys in their order, and whether values are to be written plain.
pub(super) fn parse(content: &[u8]) -> Result<(Vec<Key>, bool), KeyFileError> {
    // In base64 a key is longer.
    if let Some(key) = <&[u8; KEY]>::try_from(content).ok().and_then(|bytes| key(bytes)) {
        return Ok((vec![key], false));
    }
    let (mut keys, mut writes_plain) = (Vec::new(), false);
    for (number, line) in content.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        if line == PLAIN.as_bytes() && keys.is_empty() {
            writes_plain = true;
            continue;
        }
        let found = STANDARD.decode(line).ok().and_then(|bytes| key(&bytes));
        keys.push(found.ok_or(KeyFileError::NoKey(number + 1))?);
    }
    if keys.is_empty() {
        return Err(KeyFileError::Empty);
    }
    Ok((keys, writes_plain))
}

fn key(bytes: &[u8]) -> Option<Key> {
    let cipher = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, bytes).ok()?);
    let mut digest = Context::new(&SHA256);
    digest.update(b"the id of a muster secrets key\0");
    digest.update(bytes);
    let digest = digest.finish();
    let id = digest.as_ref()[..ID]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Some(Key { id, cipher })
}

/// True for a valid id of a key.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 2 * ID && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_lines_of_base64_or_32_bytes() {
        let line = new_key().unwrap();
        let bytes = STANDARD.decode(&line).unwrap();
        let ids = |content: &[u8]| -> Vec<String> {
            parse(content).unwrap().0.into_iter().map(|key| key.id).collect()
        };
        assert_eq!(ids(format!("# a\n{line}\r\n").as_bytes()), ids(&bytes));
        assert!(is_id(&ids(&bytes)[0]));
        for (content, wanted) in [
            ("", "holds no key"),
            ("plain\n", "holds no key"),
            ("\nAAAA\n", "line 2 is no key"),
            (&format!("{line}\nplain\n"), "line 2 is no key"),
        ] {
            let error = parse(content.as_bytes()).err().unwrap().to_string();
            assert!(error.contains(wanted), "{content:?}: {error}");
        }
    }
}
