//! Serves `/`, `/health`, `/ready` and `/metrics`. None of them waits for downloads.

pub mod process;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode, header};
use metrics_exporter_prometheus::PrometheusHandle;
use muster_api::host::HostStatus;
use muster_operations::Operations;
use muster_operations::disk::Disk;
use muster_operations::records::damage;
use muster_operations::urls::Urls;
use serde::Serialize;
use strum::VariantArray;

use self::process::record_process;
use crate::state::Rest;

/// Longest wait of `/ready` for the database: probes have deadlines of their own.
const DATABASE_PATIENCE: Duration = Duration::from_secs(3);

/// Alive: the process responds.
pub async fn health() -> StatusCode {
    StatusCode::OK
}

/// For a user who opens the address: what is here, and the next steps. Browsers are led to the page.
pub async fn front_page(State(rest): State<Rest>, headers: HeaderMap) -> Response {
    let Urls { public, boot } = &*rest.operations.urls;
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if let Some(page) = rest.page
        && accepted.is_some_and(|accepted| accepted.contains("text/html"))
    {
        return Redirect::to(page).into_response();
    }
    let page = rest
        .page
        .map_or_else(String::new, |page| format!("  {page:<27}the page for browsers\n"));
    let text = format!(
        "Muster {version}: discovers bare-metal machines and adds them to clusters

{page}  /api/assisted-install/v2   REST: the assisted-installer protocol; /openapi.json describes it
  /ready                     how database, live image and Kubernetes API are
  /metrics                   for Prometheus

Machines, by the command line:
  muster hosts --url {public}
Machines boot from {boot}: their addresses are those that `muster infra-env list` prints.
",
        version = env!("CARGO_PKG_VERSION"),
    );
    text.into_response()
}

/// The state of each part, as text.
#[derive(Debug, Serialize)]
pub struct Readiness {
    status: &'static str,
    database: String,
    live_image: String,
    /// Of the operator's list, by version and architecture.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    coreos_images: BTreeMap<String, String>,
    kubernetes: String,
    /// Work that no request causes.
    jobs: String,
}

/// 200 while REST works; 503 while the database is away, and once it was found damaged. The body names the part that is not well, also
/// with 200.
pub async fn ready(State(operations): State<Arc<Operations>>) -> (StatusCode, Json<Readiness>) {
    let database = database(&operations).await;
    let (code, status) = match &database {
        Ok(()) => (StatusCode::OK, "ready"),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    let kubernetes = if database.is_err() && operations.bridge.is_in_database() {
        "waits for the database, which it is kept in".to_owned()
    } else {
        operations.bridge.status().to_string()
    };
    let coreos = operations.discovery.coreos.states();
    let readiness = Readiness {
        coreos_images: coreos
            .into_iter()
            .map(|(name, state)| (name.to_owned(), state))
            .collect(),
        status,
        kubernetes,
        jobs: operations.rounds.describe(),
        database: database
            .err()
            .unwrap_or_else(|| writable(operations.disk.as_ref())),
        live_image: operations.live_images.describe().await,
    };
    (code, Json(readiness))
}

/// # Errors
/// The reason why the database cannot be used.
async fn database(operations: &Operations) -> Result<(), String> {
    if let Some(fault) = damage::noted() {
        return Err(format!(
            "damaged ({fault}): stop the service, look at its disk, and restore a backup; this stays until the service is started again"
        ));
    }
    if operations.disk.as_ref().is_some_and(Disk::is_replaced) {
        return Err(
            "its file was removed or replaced while it is in use: put it back, or restore a backup"
                .to_owned(),
        );
    }
    match tokio::time::timeout(DATABASE_PATIENCE, operations.ping_database()).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!(
            "the database has not answered for {} s",
            DATABASE_PATIENCE.as_secs()
        )),
    }
}

/// `ok`, or why nothing can be written although reads work.
fn writable(disk: Option<&Disk>) -> String {
    let full = disk.filter(|disk| disk.space().is_ok_and(|space| space.is_used_up()));
    full.map_or_else(
        || "ok".to_owned(),
        |disk| {
            format!(
                "cannot write: the disk of {} has no space left; free some",
                disk.folder().display()
            )
        },
    )
}

/// Prometheus text.
pub async fn metrics(
    State(operations): State<Arc<Operations>>,
    State(rendered): State<PrometheusHandle>,
) -> impl IntoResponse {
    for (job, age) in operations.rounds.ages() {
        metrics::gauge!("muster_job_round_age_seconds", "job" => job).set(age.as_secs_f64());
    }
    let before = operations.statement_counts();
    metrics::counter!("muster_database_reads_total").absolute(before.reads);
    metrics::counter!("muster_database_writes_total").absolute(before.writes);
    if let Ok(counts) = operations.hosts.count_by_status().await {
        // A status without hosts is reported, too: otherwise its last number would stay.
        for &status in HostStatus::VARIANTS {
            let found = counts.iter().find(|(counted, _)| *counted == status);
            let count = found.map_or(0, |(_, count)| *count);
            metrics::gauge!("muster_hosts", "status" => status.name()).set(count as f64);
        }
    }
    if let Ok(counts) = operations.hosts.count_unhealthy().await {
        for (kind, count) in counts {
            metrics::gauge!("muster_unhealthy_hosts", "finding" => kind).set(count as f64);
        }
    }
    // The name is the protocol's.
    if let Some(Ok(space)) = operations.disk.as_ref().map(Disk::space) {
        metrics::gauge!("service_assisted_installer_filesystem_usage_percentage").set(space.used_percent());
    }
    record_process();
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        rendered.render(),
    )
}
