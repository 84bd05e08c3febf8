use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use muster_api::ids::BmcId;
use muster_api::time::Timestamp;
use muster_core::record::ImageReads;
use muster_store::{Store, StoreError};

/// BMCs with unwritten reads. More are not counted: any BMC can be named with knowledge of a boot URL.
const MOST: usize = 10_000;

/// Reads of images that are not written yet.
#[derive(Debug, Default)]
pub(super) struct Reads(Mutex<HashMap<BmcId, ImageReads>>);

impl Reads {
    fn unwritten(&self) -> MutexGuard<'_, HashMap<BmcId, ImageReads>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, id: BmcId, bytes: u64, at: Timestamp) {
        self.add(
            id,
            ImageReads {
                requests: 1,
                bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
                last_at: Some(at),
            },
        );
    }

    fn add(&self, id: BmcId, more: ImageReads) {
        let mut unwritten = self.unwritten();
        if unwritten.len() >= MOST && !unwritten.contains_key(&id) {
            return;
        }
        let noted = unwritten.entry(id).or_default();
        noted.requests += more.requests;
        noted.bytes = noted.bytes.saturating_add(more.bytes);
        noted.last_at = noted.last_at.max(more.last_at);
    }

    pub(super) async fn write(&self, store: &Store) -> Result<(), StoreError> {
        let taken: Vec<(BmcId, ImageReads)> = std::mem::take(&mut *self.unwritten()).into_iter().collect();
        if taken.is_empty() {
            return Ok(());
        }
        let written = store.add_bmc_image_reads(&taken).await;
        if written.is_err() {
            for (id, more) in taken {
                self.add(id, more);
            }
        }
        written
    }
}
