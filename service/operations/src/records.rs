//! Records as the database returns them, and the queries for them. Who calls the operations needs no crate of the database.

pub use muster_store::audit::kind as audit_kind;
pub use muster_store::{
    AuditEntry, AuditPart, AuditedObject, EventCounts, EventQuery, EventsById, HistoryRecord, HostBrief,
    HostForm, ListedParts, LogOwner, Order, StatementCounts, StoreError, StoredCluster, StoredEvent,
    StoredLog, Subject, damage,
};
