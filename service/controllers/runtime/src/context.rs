//! Holds what every controller needs.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::client::Body;
use tokio::time::timeout;
use tower::service_fn;

use crate::events::Events;
use crate::namespaces::Namespaces;
use crate::own_writes::WrittenStatuses;
use crate::waits::Waits;
use crate::watches::Watches;

/// Limit of one request, until the answer begins: its retries included. Watches answer at once and go on.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// Shared by all controllers of a replica.
pub struct Context {
    /// To the Kubernetes API. No request waits for an answer longer than [`REQUEST_LIMIT`].
    pub client: Client,
    /// The namespaces that are watched.
    pub namespaces: Namespaces,
    /// Kubernetes Events to publish.
    pub events: Events,
    /// Waits of objects, for Events.
    pub waits: Waits,
    /// Statuses that were written.
    pub statuses: WrittenStatuses,
    /// Receives which watches fail.
    pub watches: Arc<dyn Watches>,
    /// False where nothing may be written about objects that cannot be read: the log shows them.
    pub tells_unreadable: bool,
}

impl Context {
    pub fn new(client: &Client, events: Events, namespaces: Namespaces, watches: Arc<dyn Watches>) -> Self {
        Self {
            client: with_deadline(client.clone()),
            namespaces,
            events,
            waits: Waits::default(),
            statuses: WrittenStatuses::default(),
            watches,
            tells_unreadable: true,
        }
    }
}

/// The client, with its requests counted under the name that Kubernetes' own clients have (`rest_client_requests_total`).
pub fn counted(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move {
            let method = request.method().as_str().to_owned();
            let answered = client.send(request).await;
            let code = match &answered {
                Ok(response) => response.status().as_str().to_owned(),
                Err(_) => "<error>".to_owned(),
            };
            metrics::counter!("rest_client_requests_total", "method" => method, "code" => code).increment(1);
            answered
        }
    });
    Client::new(service, namespace)
}

/// The client with a limit of each request.
pub fn with_deadline(client: Client) -> Client {
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
