//! Limits how much the hosts of one InfraEnv store: their token is in every image, and an inventory may be as large as a request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use muster_api::ids::InfraEnvId;

/// Inventories of this size are always accepted: the number of hosts is limited. A machine with 24 disks and eight
/// cards has some 30 kB.
const USUAL: usize = 64 << 10;

/// The inventories of an InfraEnv have reached the limit; the text has the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the inventories of the InfraEnv have {stored_kib} KiB together, and beyond {most_mib} MiB none of more than {usual_kib} KiB is taken \
     (--max-inventories): delete hosts that are gone, or raise the limit",
    usual_kib = USUAL >> 10
)]
pub struct QuotaExceeded {
    stored_kib: u64,
    most_mib: u64,
}

/// Bytes of inventories that each InfraEnv stores: as measured, plus later reports.
#[derive(Debug)]
pub struct InventoryQuota {
    most: u64,
    stored: Mutex<HashMap<InfraEnvId, u64>>,
}

impl InventoryQuota {
    /// At most so many bytes an InfraEnv.
    pub fn new(most: u64) -> Self {
        Self {
            most,
            stored: Mutex::default(),
        }
    }

    /// Accepts or refuses an inventory of so many bytes.
    ///
    /// # Errors
    /// Fails if the InfraEnv would store more than the limit.
    pub fn take(&self, infra_env_id: InfraEnvId, bytes: usize) -> Result<(), QuotaExceeded> {
        if bytes <= USUAL {
            return Ok(());
        }
        let mut all = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = all.entry(infra_env_id).or_default();
        let with = stored.saturating_add(bytes as u64);
        if with > self.most {
            metrics::counter!("muster_inventories_refused_total").increment(1);
            return Err(QuotaExceeded {
                stored_kib: *stored >> 10,
                most_mib: self.most >> 20,
            });
        }
        *stored = with;
        Ok(())
    }

    /// Stores the measured sizes; InfraEnvs that are not included have none.
    pub fn set(&self, measured: impl IntoIterator<Item = (InfraEnvId, u64)>) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        *stored = measured.into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infra_env_that_has_used_its_share_stores_only_usual_inventories() {
        let quota = InventoryQuota::new(10 << 20);
        let [loud, quiet] = [(); 2].map(|()| InfraEnvId::random());
        let taken = (0..100).filter(|_| quota.take(loud, 3 << 20).is_ok()).count();
        assert_eq!(taken, 3);
        let why = quota.take(loud, 3 << 20).unwrap_err().to_string();
        assert!(
            why.contains("9216 KiB") && why.contains("--max-inventories"),
            "{why}"
        );
        assert_eq!(quota.take(loud, 30_000), Ok(()));
        assert_eq!(quota.take(quiet, 3 << 20), Ok(()));
        // A report in place of one of the same size adds nothing: the stored size is measured repeatedly.
        quota.set([(loud, 3 << 20)]);
        assert_eq!(quota.take(loud, 3 << 20), Ok(()));
    }
}
