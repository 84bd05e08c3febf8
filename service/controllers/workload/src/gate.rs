//! Puts a deadline, limits and the circuit around the client of one cluster.

use std::error::Error as StdError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::api::TypeMeta;
use kube::client::Body;
use muster_api::time::now;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tower::service_fn;

use super::circuit::{Circuit, Open};

/// Limit of one request, with its response; of watches, until they begin.
pub const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// Requests to one cluster at the same time.
const CONCURRENCY: usize = 8;

/// The longest response, bytes: 500 Nodes with all their fields take some MB.
const LONGEST_ANSWER: usize = 32 * 1024 * 1024;

type BoxError = Box<dyn StdError + Send + Sync>;

/// The gate that requests to one cluster pass through.
pub struct Gate {
    circuit: Mutex<Circuit>,
    permits: Semaphore,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            circuit: Mutex::default(),
            permits: Semaphore::new(CONCURRENCY),
        }
    }
}

/// Returns `client`, with `gate` before its requests.
pub fn behind(gate: Arc<Gate>, client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (gate, client) = (gate.clone(), client.clone());
        async move { gate.send(client, request).await }
    });
    Client::new(service, namespace)
}

impl Gate {
    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a cluster that does not respond.
    pub fn silence(&self) -> Option<Open> {
        self.circuit().silence()
    }

    async fn send(&self, client: Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        self.circuit().enter(Instant::now(), REQUEST_LIMIT)?;
        let outcome = timeout(REQUEST_LIMIT, self.exchange(client, request))
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {} s", REQUEST_LIMIT.as_secs()).into()));
        match &outcome {
            Ok(response) if is_answer(response.status()) => self.circuit().answered(),
            Ok(response) => self.failed(format!("it answers {}", response.status())),
            Err(error) => self.failed(words(&**error)),
        }
        outcome
    }

    async fn exchange(&self, client: Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let _permit = self.permits.acquire().await?;
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"));
        let response = client.send(request).await?;
        if is_watch && response.status().is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let bytes = Limited::new(body, LONGEST_ANSWER).collect().await?.to_bytes();
        let bytes = match parts.status.is_success() || is_status(&bytes) {
            true => bytes,
            false => no_status(parts.status).into(),
        };
        Ok(Response::from_parts(parts, Body::from(bytes)))
    }

    fn failed(&self, why: String) {
        self.circuit().failed(why, Instant::now(), now());
    }
}

fn is_status(body: &[u8]) -> bool {
    let read: Result<TypeMeta, _> = serde_json::from_slice(body);
    read.is_ok_and(|meta| meta.kind == "Status" && meta.api_version == "v1")
}

/// Replaces the text of a server that is not a Kubernetes API: the author of the kubeconfig must not read the responses of such a server
/// through this service.
fn no_status(status: StatusCode) -> Vec<u8> {
    let code = status.as_u16();
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "message": format!("{status}, from a server whose answer is none of a Kubernetes API"),
    })
    .to_string()
    .into_bytes()
}

/// False for the response of a proxy in front of a cluster that is unavailable.
fn is_answer(status: StatusCode) -> bool {
    !matches!(
        status,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
    )
}

/// An error with its causes, each text once.
fn words(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let reason = inner.to_string();
        if !text.ends_with(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = inner.source();
    }
    text
}
