//! Answers to probes and scrapes, as controller-runtime's programs give them. Source: docs/protocol/capi-agent-provider.md#1.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use muster_connections::{Connections, Listener};
use muster_controllers::manager::record_lease;
use muster_operations::bridge::BridgeState;
use muster_rest::record_process;

use crate::cli::manager::{Bind, ManagerArgs};
use crate::listen::{self, API_HEAD};

/// The two listeners; `None`: there is none.
pub(super) struct Listeners {
    pub(super) probes: Option<Listener>,
    pub(super) metrics: Option<Listener>,
}

impl Listeners {
    /// # Errors
    /// For a port that is taken.
    pub(super) fn bind(args: &ManagerArgs, budget: usize) -> Result<Self> {
        let bind = |bind, flag, name| match bind {
            Bind::Off => Ok(None),
            Bind::At(address) => {
                listen::bind(address, flag, Connections::new(name, budget), API_HEAD).map(Some)
            }
        };
        Ok(Self {
            probes: bind(
                args.health_probe_bind_address,
                "--health-probe-bind-address",
                "status",
            )?,
            metrics: bind(args.metrics_bind_address, "--metrics-bind-address", "metrics")?,
        })
    }
}

/// `/healthz` and `/readyz`. A replica that waits for its turn is ready, too; the body of `/readyz` has what it does.
pub(super) fn probes(state: Arc<BridgeState>) -> Router {
    Router::new()
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .with_state(state)
}

async fn healthy() -> &'static str {
    "ok"
}

async fn ready(State(state): State<Arc<BridgeState>>) -> String {
    state.status().to_string()
}

/// `/metrics`.
pub(super) fn metrics(state: Arc<BridgeState>, recorded: PrometheusHandle) -> Router {
    Router::new()
        .route("/metrics", get(scrape))
        .with_state((state, recorded))
}

async fn scrape(State((state, recorded)): State<(Arc<BridgeState>, PrometheusHandle)>) -> impl IntoResponse {
    record_lease(&state);
    record_process();
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], recorded.render())
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::{Request, StatusCode};
    use muster_operations::bridge::BridgeStatus;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn probes_are_answered_whatever_the_state() {
        let state = Arc::new(BridgeState::new(BridgeStatus::Starting, false));
        let router = probes(state.clone());
        for (status, body) in [
            (BridgeStatus::Starting, "starting"),
            (BridgeStatus::Following("pod-1".into()), "ok, pod-1 leads"),
        ] {
            state.set(status);
            for (path, body) in [("/healthz", "ok"), ("/readyz", body)] {
                let request = Request::get(path).body(Body::empty()).unwrap();
                let answer = router.clone().oneshot(request).await.unwrap();
                assert_eq!(answer.status(), StatusCode::OK, "{path}");
                let bytes = to_bytes(answer.into_body(), 1024).await.unwrap();
                assert_eq!(bytes, body.as_bytes(), "{path}");
            }
        }
    }
}
