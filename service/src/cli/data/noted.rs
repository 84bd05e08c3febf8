//! Records commands that change the service's data in its audit.

use muster_core::text::chain;
use muster_operations::now;
use muster_store::{AuditEntry, AuditedObject, Store};

/// Records a command that has succeeded. A failure is a warning: what the command is for was done. Older tables have no audit.
pub async fn note(store: &Store, command: &'static str, object: AuditedObject) {
    let entry = AuditEntry {
        at: now(),
        request_id: String::new(),
        who: "command line".to_owned(),
        token_id: None,
        session_id: None,
        method: String::new(),
        operation: command.to_owned(),
        object,
        status: 0,
    };
    // The service deletes the oldest with its own next ones: its limit is not known here.
    if let Err(error) = store.add_audit_entries(&[entry], None).await {
        eprintln!(
            "warning: the audit has no entry of this command: {}",
            chain(&error)
        );
    }
}
