//! Seals secret values before they are stored, and opens them again.
//!
//! A sealed value is `muster:sealed:1:KEY:VALUE`: the id of the key (16 hexadecimal digits) and the base64 of nonce (12 random bytes),
//! ciphertext and tag of AES-256-GCM. The associated data is the value's [`Place`], so a value can be opened only where it was sealed. A
//! value without this prefix is plain, and read as it is: it was stored before there was a key.

mod key_file;
mod place;

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, NONCE_LEN, Nonce};
use ring::rand::{SecureRandom as _, SystemRandom};

use key_file::Key;
pub use key_file::{KeyFileError, new_key};
pub(crate) use place::{CHECK, SEALED, SealedColumn};
pub use place::{KUBE_RESOURCES, Place};

/// The beginning of every sealed value.
pub(crate) const PREFIX: &str = "muster:sealed:1:";

/// The keys of a service: the first seals, all open. Without one, values stay plain.
#[derive(Default)]
pub struct Vault {
    keys: Vec<Key>,
    writes_plain: bool,
}

/// There was no randomness for a key.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct NoRandomness;

/// A value that cannot be sealed, because of its length or because there is no randomness. It must not be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot encrypt {table}.{column}")]
pub struct SealingFailed {
    table: &'static str,
    column: &'static str,
}

impl Vault {
    /// The keys of a key file: one per line, in base64, the newest first; or 32 bytes, the only key. Lines that begin with `#` are
    /// comments. With the word `plain` in the first line, sealed values can be read, and values are stored plain from now on.
    ///
    /// # Errors
    /// Fails with the number of the first line that is not a key.
    pub fn from_key_file(content: &[u8]) -> Result<Self, KeyFileError> {
        let (keys, writes_plain) = key_file::parse(content)?;
        Ok(Self { keys, writes_plain })
    }

    /// The same keys, for a program that only reads what a service has stored.
    pub fn reading_only(self) -> Self {
        Self {
            writes_plain: true,
            ..self
        }
    }

    /// The text to be stored at `place` for `text`.
    ///
    /// # Errors
    /// `SealingFailed`; nothing may be stored then.
    pub fn seal(&self, place: &Place<'_>, text: String) -> Result<String, SealingFailed> {
        let Some(key) = self.sealing() else {
            return Ok(text);
        };
        let failed = |_| SealingFailed {
            table: place.table,
            column: place.column,
        };
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(failed)?;
        let mut sealed = Vec::with_capacity(NONCE_LEN + text.len() + key.cipher.algorithm().tag_len());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(text.as_bytes());
        let nonce = Nonce::assume_unique_for_key(nonce);
        let ciphertext = &mut sealed[NONCE_LEN..];
        // Fails for texts of 64 GiB only.
        let tag = key
            .cipher
            .seal_in_place_separate_tag(nonce, Aad::from(place.associated_data()), ciphertext)
            .map_err(failed)?;
        sealed.extend_from_slice(tag.as_ref());
        Ok(format!("{PREFIX}{}:{}", key.id, STANDARD.encode(sealed)))
    }

    /// The text that was sealed at `place`, or the text as it is when it was stored plain.
    ///
    /// # Errors
    /// The reason, which quotes nothing of the value.
    pub fn open(&self, place: &Place<'_>, stored: String) -> Result<String, Cow<'static, str>> {
        let Some(envelope) = stored.strip_prefix(PREFIX) else {
            return Ok(stored);
        };
        let Some((id, sealed)) = envelope.split_once(':').filter(|(id, _)| key_file::is_id(id)) else {
            return Err("encrypted in a way that this version does not know".into());
        };
        let Some(key) = self.keys.iter().find(|key| key.id == id) else {
            return Err(match self.keys.is_empty() {
                true => "encrypted, and no --secrets-key is given".into(),
                false => {
                    format!("encrypted by the key {id}, which the file of --secrets-key does not hold").into()
                }
            });
        };
        let damaged = "encrypted for another row, or damaged";
        let mut sealed = STANDARD.decode(sealed).map_err(|_| damaged)?;
        let (nonce, ciphertext) = sealed.split_first_chunk_mut::<NONCE_LEN>().ok_or(damaged)?;
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let text = key
            .cipher
            .open_in_place(nonce, Aad::from(place.associated_data()), ciphertext)
            .map_err(|_| damaged)?;
        String::from_utf8(text.to_vec()).map_err(|_| damaged.into())
    }

    /// True when there are keys, even if values are written plain.
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// True when values that are stored from now on are sealed.
    pub fn seals(&self) -> bool {
        self.sealing().is_some()
    }

    /// The id of the key that seals; `None`: values are written plain.
    pub(crate) fn key_id(&self) -> Option<&str> {
        self.sealing().map(|key| key.id.as_str())
    }

    fn sealing(&self) -> Option<&Key> {
        self.keys.first().filter(|_| !self.writes_plain)
    }

    pub(crate) fn holds(&self, id: &str) -> bool {
        self.keys.iter().any(|key| key.id == id)
    }

    /// The prefix of values that [`Vault::seal`] returns now; `None`: plain text.
    pub(crate) fn current_prefix(&self) -> Option<String> {
        self.sealing().map(|key| format!("{PREFIX}{}:", key.id))
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&str> = self.keys.iter().map(|key| key.id.as_str()).collect();
        f.debug_struct("Vault")
            .field("keys", &ids)
            .field("writes_plain", &self.writes_plain)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place<'_> = Place {
        table: "clusters",
        column: "data",
        id: "one",
    };

    fn vault(lines: &[&str]) -> Vault {
        Vault::from_key_file(lines.join("\n").as_bytes()).unwrap()
    }

    #[test]
    fn a_value_opens_at_its_place_and_nowhere_else() {
        let key = new_key().unwrap();
        let vault = vault(&[&key]);
        let sealed = vault.seal(&HERE, "hunter2".into()).unwrap();
        assert!(sealed.starts_with(PREFIX) && !sealed.contains("hunter2"));
        assert_ne!(
            vault.seal(&HERE, "hunter2".into()).unwrap(),
            sealed,
            "a nonce of its own"
        );
        assert_eq!(vault.open(&HERE, sealed.clone()).unwrap(), "hunter2");
        for elsewhere in [
            Place {
                table: "hosts",
                ..HERE
            },
            Place {
                column: "mirror",
                ..HERE
            },
            Place {
                id: "another",
                ..HERE
            },
        ] {
            let refused = vault.open(&elsewhere, sealed.clone()).unwrap_err();
            assert_eq!(refused, "encrypted for another row, or damaged");
        }
        let mut damaged = sealed.clone();
        damaged.replace_range(damaged.len() - 6..damaged.len() - 5, "*");
        vault.open(&HERE, damaged).unwrap_err();
        vault
            .open(&HERE, sealed[..PREFIX.len() + 20].to_owned())
            .unwrap_err();
        assert_eq!(
            vault.open(&HERE, "{}".into()).unwrap(),
            "{}",
            "plain stays readable"
        );
        assert!(!format!("{vault:?}").contains(&key));
    }

    #[test]
    fn the_first_key_seals_and_all_open() {
        let (old, new) = (new_key().unwrap(), new_key().unwrap());
        let sealed = vault(&[&old]).seal(&HERE, "x".into()).unwrap();
        let both = vault(&["# newest first", &new, "", &old]);
        assert_eq!(both.open(&HERE, sealed.clone()).unwrap(), "x");
        let resealed = both.seal(&HERE, "x".into()).unwrap();
        assert_eq!(vault(&[&new]).open(&HERE, resealed).unwrap(), "x");
        let error = vault(&[&new]).open(&HERE, sealed.clone()).unwrap_err();
        assert!(error.contains("does not hold"), "{error}");
        let error = Vault::default().open(&HERE, sealed.clone()).unwrap_err();
        assert!(error.contains("no --secrets-key"), "{error}");
        let ending = vault(&["plain", &old]);
        assert_eq!(ending.open(&HERE, sealed).unwrap(), "x");
        assert_eq!(ending.seal(&HERE, "x".into()).unwrap(), "x");
    }
}
