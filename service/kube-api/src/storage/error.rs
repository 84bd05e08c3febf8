//! Errors of the storage, and the HTTP answers they become.

use std::sync::Arc;

use muster_sql::damage;

use crate::error::ApiError;

/// The database could not be read or written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StorageError {
    #[error("{attempted}")]
    Unavailable {
        /// The operation, as a phrase for the log: "reading an object".
        attempted: &'static str,
        source: Arc<sqlx::Error>,
    },
    /// A stored document is not valid JSON.
    #[error("the object written by revision {revision} cannot be read: {reason}")]
    Corrupt { revision: u64, reason: String },
}

impl StorageError {
    /// For `map_err`: an `Unavailable` that names the operation.
    pub(super) fn unavailable(attempted: &'static str) -> impl Fn(sqlx::Error) -> Self {
        move |source| {
            damage::note(&source);
            Self::Unavailable {
                attempted,
                source: Arc::new(source),
            }
        }
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Unavailable { .. } => {
                tracing::warn!(%error, "the database does not answer");
                Self::unavailable()
            }
            StorageError::Corrupt { .. } => Self::internal("stored data cannot be read", &error),
        }
    }
}
