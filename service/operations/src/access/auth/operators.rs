//! The operators' tokens that were made, of which some are revoked.

use muster_api::time::Timestamp;
use muster_store::Store;

use crate::records::StoreError;

/// Cloning is cheap.
#[derive(Clone)]
pub struct OperatorTokens {
    store: Store,
}

impl OperatorTokens {
    pub(crate) fn new(store: Store) -> Self {
        Self { store }
    }

    /// True if a token with this id was made, and is neither revoked nor expired at that time.
    pub async fn is_in_force(&self, id: &str, at: Timestamp) -> Result<bool, StoreError> {
        let made = self.store.find_operator_token(id).await?;
        Ok(made.is_some_and(|made| made.is_in_force(at)))
    }
}
