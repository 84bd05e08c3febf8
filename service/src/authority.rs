//! Opens the service's own certificate authorities. They are in the database: all replicas sign by the same ones.

use anyhow::{Context, Result};
use muster_core::record::Secret;
use muster_kube_api::Authority;
use muster_operations::now;
use muster_store::Store;

/// Where an earlier version kept the one of the built-in Kubernetes API in the data dir: certificate and key.
pub const EARLIER_FILES: [&str; 2] = ["kube-ca.crt", "kube-ca.key"];

/// The authority of that common name, which is the setting's name, too. Where there is none, `earlier` (PEM) becomes it, or a new one.
///
/// # Errors
/// Those of the database, and when what is there is no authority.
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
