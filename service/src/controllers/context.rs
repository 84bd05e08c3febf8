//! What every controller needs.

use std::sync::Arc;

use kube::Client;

use super::Pushed;
use crate::app::App;

/// Shared by all controllers of a replica.
pub struct Context {
    /// To the Kubernetes API.
    pub client: Client,
    /// The service.
    pub app: Arc<App>,
    /// What changed in the database.
    pub pushed: Pushed,
}

impl Context {
    /// Of a service that reaches its Kubernetes API through `client`.
    pub fn new(client: Client, app: Arc<App>) -> Self {
        let pushed = app.bridge.pushed().clone();
        Self { client, app, pushed }
    }
}
