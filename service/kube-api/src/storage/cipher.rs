//! Encrypts documents before they are stored, if the program that embeds the API has a cipher for them.

use std::fmt;

use super::records::{Key, Revision};

/// Encrypts and decrypts documents. Each belongs to one object and revision.
pub trait Cipher: fmt::Debug + Send + Sync + 'static {
    /// The text to store in place of `document`.
    ///
    /// # Errors
    /// The reason; the write is refused.
    fn seal(&self, key: &Key, revision: Revision, document: &str) -> Result<String, CipherError>;

    /// The document, from what is stored in its place.
    ///
    /// # Errors
    /// The reason, which quotes nothing of the document.
    fn open(&self, key: &Key, revision: Revision, stored: String) -> Result<String, CipherError>;
}

/// The reason why a document cannot be encrypted or decrypted.
pub type CipherError = Box<dyn std::error::Error + Send + Sync>;

/// Leaves documents as they are.
#[derive(Debug)]
pub struct Plain;

impl Cipher for Plain {
    fn seal(&self, _: &Key, _: Revision, document: &str) -> Result<String, CipherError> {
        Ok(document.to_owned())
    }

    fn open(&self, _: &Key, _: Revision, stored: String) -> Result<String, CipherError> {
        Ok(stored)
    }
}
