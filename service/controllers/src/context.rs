//! Holds the clients and services that every controller needs.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use muster_operations::Operations;
use muster_operations::changes::Changes;
use tokio::time::timeout;
use tower::service_fn;

use super::events::Events;

/// Limit of one request, until the answer begins: its retries included. Watches answer at once and go on.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// Shared by all controllers of a replica.
pub struct Context {
    /// To the Kubernetes API. No request waits for an answer longer than [`REQUEST_LIMIT`].
    pub client: Client,
    /// Everything that can be done in the service.
    pub app: Arc<Operations>,
    /// Changes of the database.
    pub changes: Changes,
    /// Kubernetes Events to publish.
    pub events: Events,
}

impl Context {
    pub fn new(client: &Client, app: Arc<Operations>, events: Events) -> Self {
        let changes = app.changes.clone();
        Self {
            client: with_deadline(client.clone()),
            app,
            changes,
            events,
        }
    }
}

fn with_deadline(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request| {
        let client = client.clone();
        async move {
            timeout(REQUEST_LIMIT, client.send(request))
                .await
                .unwrap_or_else(|_| {
                    let limit = REQUEST_LIMIT.as_secs();
                    Err(kube::Error::Service(format!("no answer within {limit} s").into()))
                })
        }
    });
    Client::new(service, namespace)
}
