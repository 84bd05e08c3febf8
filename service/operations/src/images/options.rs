//! Stores the service's own options in images, with the time of their last change, which downloads have as
//! `Last-Modified`.

use std::sync::{Arc, PoisonError, RwLock};

use muster_api::time::Timestamp;
use muster_core::record::Secret;
use muster_store::Store;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Result;

/// The setting that all replicas share: an image has the same time on each of them, and after a restart.
const SETTING: &str = "image_options";

/// The present options.
#[derive(Debug)]
pub struct ImageOptions {
    /// All but the CA, which can change while the service runs.
    fixed: String,
    current: RwLock<Current>,
}

#[derive(Debug, Clone)]
struct Current {
    service_ca: Arc<str>,
    since: Timestamp,
}

/// The setting's value.
#[derive(Serialize, Deserialize)]
struct Stored {
    digest: String,
    since: Timestamp,
}

impl ImageOptions {
    /// Reads since when these options are in effect, or stores the present time if they are new. `fixed` is any text
    /// that differs if the options differ. `service_ca`: PEM of the CA that hosts need to trust the service; empty if
    /// public CAs suffice.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn open(store: &Store, fixed: String, service_ca: &str, now: Timestamp) -> Result<Self> {
        let since = since(store, &fixed, service_ca, now).await?;
        Ok(Self {
            fixed,
            current: RwLock::new(Current {
                service_ca: service_ca.into(),
                since,
            }),
        })
    }

    /// Adds this CA to images that are downloaded from now on.
    ///
    /// # Errors
    /// If the database fails. The CA is used nevertheless.
    pub async fn set_service_ca(&self, store: &Store, service_ca: &str, now: Timestamp) -> Result<()> {
        let since = since(store, &self.fixed, service_ca, now).await;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.service_ca = service_ca.into();
        current.since = *since.as_ref().unwrap_or(&now);
        since.map(drop)
    }

    /// PEM of the CA that hosts need to trust the service; empty if public CAs suffice.
    pub fn service_ca(&self) -> Arc<str> {
        self.current().service_ca
    }

    /// Time since which the images of unchanged InfraEnvs are the same.
    pub fn since(&self) -> Timestamp {
        self.current().since
    }

    fn current(&self) -> Current {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

async fn since(store: &Store, fixed: &str, service_ca: &str, now: Timestamp) -> Result<Timestamp> {
    let digest = Sha256::new()
        .chain_update(fixed)
        .chain_update("\0")
        .chain_update(service_ca);
    let digest = hex::encode(digest.finalize());
    let known = store.setting(SETTING).await?;
    let known = known.and_then(|text| serde_json::from_str::<Stored>(text.reveal()).ok());
    if let Some(known) = known.filter(|known| known.digest == digest) {
        return Ok(known.since);
    }
    // If two replicas have different options, as while one replaces the other, the setting is that of the last one to
    // start.
    let stored = Stored { digest, since: now };
    let text = serde_json::to_string(&stored).unwrap_or_default();
    store.set_setting(SETTING, now, &Secret::new(text)).await?;
    Ok(now)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn images_keep_their_time_over_restarts_until_an_option_changes() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/muster.db", folder.path().display());
        let store = Store::open(&url).await.unwrap();
        let begin = chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let open = async |fixed: &str, ca: &str, seconds| {
            ImageOptions::open(&store, fixed.into(), ca, at(seconds))
                .await
                .unwrap()
        };
        assert_eq!(open("a", "ca", 0).await.since(), at(0));
        let again = open("a", "ca", 10).await;
        assert_eq!(again.since(), at(0));
        again.set_service_ca(&store, "new ca", at(20)).await.unwrap();
        assert_eq!((again.since(), &*again.service_ca()), (at(20), "new ca"));
        assert_eq!(open("a", "new ca", 30).await.since(), at(20));
        assert_eq!(open("b", "new ca", 40).await.since(), at(40));
    }
}
