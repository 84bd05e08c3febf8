//! Opens the service's own certificate authorities. They are in the database: all replicas sign by the same ones.

use anyhow::{Context, Result};
use muster_core::record::Secret;
use muster_kube_api::Authority;
use muster_operations::now;
use muster_store::Store;

/// Files of an earlier version in the data dir, with the authority of the built-in Kubernetes API: certificate and key.
pub const EARLIER_FILES: [&str; 2] = ["kube-ca.crt", "kube-ca.key"];

/// Returns the authority with that common name, which is also the name of the setting. If there is none, stores `earlier` (PEM) or a new
/// one.
///
/// # Errors
/// Fails if the database does, or if the stored value is not an authority.
pub async fn open(store: &Store, name: &str, earlier: Option<String>) -> Result<Authority> {
    let known = match store.setting(name).await? {
        Some(known) => known,
        None => {
            let made = match earlier {
                Some(pem) => Authority::from_pem(name, &pem)
                    .context("the one in the data dir")?
                    .to_pem(),
                None => Authority::generate(name)?.to_pem(),
            };
            store.setting_or_insert(name, now(), || Secret::new(made)).await?
        }
    };
    Ok(Authority::from_pem(name, known.reveal())?)
}
