//! What the service tells of itself: `/health`, `/ready`, `/metrics`, its description. None of it waits behind downloads.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::{StatusCode, header};
use muster_api::host::HostStatus;
use serde::Serialize;
use strum::VariantArray;

use crate::app::App;
use muster_operations::chain;

/// How long `/ready` waits for the database: who asks wants to know how it is now, and has limits of their own.
const DATABASE_PATIENCE: Duration = Duration::from_secs(3);

/// Alive: the process answers.
pub async fn health() -> StatusCode {
    StatusCode::OK
}

/// How the parts are, in words.
#[derive(Debug, Serialize)]
pub struct Readiness {
    status: &'static str,
    database: String,
    live_image: String,
    kubernetes: String,
}

/// 200 while REST works; 503 while the database is away. The body says which part is not well, also with 200.
pub async fn ready(State(app): State<Arc<App>>) -> (StatusCode, Json<Readiness>) {
    let database = match tokio::time::timeout(DATABASE_PATIENCE, app.store.ping()).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!(
            "the database has not answered for {} s",
            DATABASE_PATIENCE.as_secs()
        )),
    };
    let (code, status) = match &database {
        Ok(()) => (StatusCode::OK, "ready"),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    let kubernetes = if database.is_err() && app.bridge.is_in_database() {
        "waits for the database, which it is kept in".to_owned()
    } else {
        app.bridge.status().to_string()
    };
    let readiness = Readiness {
        status,
        kubernetes,
        database: database.err().unwrap_or_else(|| "ok".into()),
        live_image: live_image(&app).await,
    };
    (code, Json(readiness))
}

/// Prometheus text.
pub async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    let before = app.store.statement_counts();
    metrics::counter!("muster_database_reads_total").absolute(before.reads);
    metrics::counter!("muster_database_writes_total").absolute(before.writes);
    if let Ok(counts) = app.store.count_hosts_by_status().await {
        // A status that its last host has left is told, too: otherwise its old number would stand for ever.
        for &status in HostStatus::VARIANTS {
            let found = counts.iter().find(|(counted, _)| *counted == status);
            let count = found.map_or(0, |(_, count)| *count);
            metrics::gauge!("muster_hosts", "status" => status.name()).set(count as f64);
        }
    }
    metrics::gauge!("muster_downloads", "state" => "running").set(app.downloads.running() as f64);
    metrics::gauge!("muster_downloads", "state" => "waiting").set(app.downloads.waiting() as f64);
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        app.metrics.render(),
    )
}

/// The live image, or why there is none and what to do.
pub async fn live_image(app: &App) -> String {
    match app.live_images.current().await {
        Ok(open) => format!("{} (agent {})", open.path.display(), open.image.agent_version),
        Err(error) => chain(&error),
    }
}
