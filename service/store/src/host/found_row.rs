//! The row of a host, as it was read.

use sqlx::any::AnyRow;

use super::document_cache::KnownDocuments;

pub(crate) struct FoundRow {
    pub(super) row: AnyRow,
    /// Its inventory and reports, when they were known and so not read.
    pub(super) known: Option<KnownDocuments>,
}
