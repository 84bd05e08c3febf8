//! Encrypts objects of the built-in Kubernetes API by the service's key.

use std::sync::Arc;

use muster_kube_api::{Cipher, CipherError, Key, Revision};
use muster_store::{KUBE_RESOURCES, Place, Vault};

/// Seals the objects that may hold secrets, and leaves others as they are.
#[derive(Debug)]
pub struct SealedObjects(pub Arc<Vault>);

impl Cipher for SealedObjects {
    fn seal(&self, key: &Key, revision: Revision, document: &str) -> Result<String, CipherError> {
        let document = document.to_owned();
        if !is_sealed(key) {
            return Ok(document);
        }
        Ok(self.0.seal(&place(&id(key, revision)), document)?)
    }

    fn open(&self, key: &Key, revision: Revision, stored: String) -> Result<String, CipherError> {
        if !is_sealed(key) {
            return Ok(stored);
        }
        Ok(self.0.open(&place(&id(key, revision)), stored)?)
    }
}

fn is_sealed(key: &Key) -> bool {
    KUBE_RESOURCES.contains(&&*key.resource)
}

fn id(key: &Key, revision: Revision) -> String {
    format!("{}/{}/{}/{revision}", key.resource, key.namespace, key.name)
}

fn place(id: &str) -> Place<'_> {
    Place {
        table: "kube_versions",
        column: "document",
        id,
    }
}
