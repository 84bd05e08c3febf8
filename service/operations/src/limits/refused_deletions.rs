//! Reports a refused deletion at most once an hour per reason: clients retry it continuously.

use std::hash::Hash;
use std::time::Duration;

use moka::sync::Cache;
use muster_core::record::NewEvent;
use muster_store::Store;

use crate::{OperationError, Result, request_id};

const INTERVAL: Duration = Duration::from_secs(3600);

/// The reason in the last event about each refused deletion, by id.
pub(crate) struct RefusedDeletions<Id>(Cache<Id, String>);

impl<Id> Default for RefusedDeletions<Id>
where
    Id: Copy + Eq + Hash + Send + Sync + 'static,
{
    fn default() -> Self {
        Self(Cache::builder().time_to_live(INTERVAL).build())
    }
}

impl<Id> RefusedDeletions<Id>
where
    Id: Copy + Eq + Hash + Send + Sync + 'static,
{
    /// Stores the event that `event` makes of the reason, unless the last one has the same reason.
    ///
    /// # Errors
    /// If the database fails.
    pub(crate) async fn tell(
        &self,
        store: &Store,
        id: Id,
        refused: &OperationError,
        event: impl FnOnce(&str) -> NewEvent,
    ) -> Result<()> {
        let why = refused.to_string();
        if self.0.get(&id).as_deref() != Some(why.as_str()) {
            request_id::naming(store).insert_events(&[event(&why)]).await?;
            self.0.insert(id, why);
        }
        Ok(())
    }
}
