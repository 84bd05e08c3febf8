//! What every controller needs.

use std::sync::Arc;

use kube::Client;
use muster_operations::Operations;
use muster_operations::changes::Changes;

/// Shared by all controllers of a replica.
pub struct Context {
    /// To the Kubernetes API.
    pub client: Client,
    /// Everything that can be done in the service.
    pub app: Arc<Operations>,
    /// What changed in the database.
    pub changes: Changes,
}

impl Context {
    /// Of a service that reaches its Kubernetes API through `client`.
    pub fn new(client: Client, app: Arc<Operations>) -> Self {
        let changes = app.changes.clone();
        Self { client, app, changes }
    }
}
