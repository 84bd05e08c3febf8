//! Reads the hosts of a list a part at a time, each while the previous one is being written: two processors work on one list.

use std::vec;

use tokio_util::task::AbortOnDropHandle;

use super::listed::ListedHost;
use crate::Result;
use crate::error::runtime_ended;
use crate::host::change::HostKey;
use crate::host::form::HostForm;
use crate::store::Store;

/// The most hosts of a part.
const MOST_AT_ONCE: usize = 100;

/// Hosts in the first part, before their size is known.
const FIRST: usize = 1;

/// Bytes of inventories and reports in a part; a single host may have more. Two parts are in memory at a time.
const BYTES_AT_ONCE: usize = 1 << 20;

/// The parts of a list of hosts.
pub struct ListedParts {
    store: Store,
    form: HostForm,
    /// Hosts that are not being read yet.
    keys: vec::IntoIter<HostKey>,
    reading: Option<AbortOnDropHandle<Result<Vec<ListedHost>>>>,
}

impl Store {
    /// These hosts in this order, a part at a time; hosts that are deleted meanwhile, or that cannot be read, are left out.
    pub fn listed_parts(&self, keys: Vec<HostKey>, form: HostForm) -> ListedParts {
        ListedParts {
            store: self.clone(),
            form,
            keys: keys.into_iter(),
            reading: None,
        }
    }
}

impl ListedParts {
    /// The next part, which may be empty; `None` at the end.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn next(&mut self) -> Result<Option<Vec<ListedHost>>> {
        let Some(reading) = self.reading.take().or_else(|| self.begin(FIRST)) else {
            return Ok(None);
        };
        let part = reading
            .await
            .map_err(|_| runtime_ended("reading hosts of a list"))??;
        self.reading = self.begin(count_of_next(&part));
        Ok(Some(part))
    }

    fn begin(&mut self, count: usize) -> Option<AbortOnDropHandle<Result<Vec<ListedHost>>>> {
        let keys: Vec<_> = self.keys.by_ref().take(count).collect();
        if keys.is_empty() {
            return None;
        }
        let (store, form) = (self.store.clone(), self.form);
        let read = async move { store.read_listed_hosts(&keys, form).await };
        Some(AbortOnDropHandle::new(tokio::spawn(read)))
    }
}

/// As many hosts as make a part when they are like these.
fn count_of_next(part: &[ListedHost]) -> usize {
    let bytes: usize = part
        .iter()
        .map(|listed| listed.texts.inventory.len() + listed.texts.connectivity.len())
        .sum();
    let of_one = bytes / part.len().max(1);
    (BYTES_AT_ONCE / of_one.max(1)).clamp(1, MOST_AT_ONCE)
}
