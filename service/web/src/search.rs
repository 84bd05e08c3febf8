//! One box for hosts, pools, clusters and BMCs: as a page, and as JSON for the box that scripts show.

use askama::Template;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::search::{FoundKind, FoundRecord, FoundRecords};
use serde::Serialize;
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use crate::bmcs;
use crate::clusters;
use crate::hosts;
use crate::html::{Frame, answer};
use crate::pools;
use crate::rest::{Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    frame: Frame,
    query: String,
    /// What is wrong with the text.
    problem: Option<String>,
    found: Option<Found>,
}

/// The records that fit.
#[derive(Serialize)]
struct Found {
    hits: Vec<Hit>,
    /// Number of all that fit, in words.
    total: String,
    is_all: bool,
    /// The text as the shell reads it.
    argument: String,
}

/// A record, and the page that shows it.
#[derive(Serialize)]
struct Hit {
    kind: &'static str,
    name: String,
    detail: String,
    address: String,
}

impl Found {
    fn of(found: FoundRecords, query: &str) -> Self {
        Self {
            argument: words::quoted(query),
            is_all: found.total <= found.records.len(),
            total: words::count(found.total, "record"),
            hits: found.records.into_iter().filter_map(Hit::of).collect(),
        }
    }
}

impl Hit {
    fn of(record: FoundRecord) -> Option<Self> {
        let kind = match record.kind {
            FoundKind::InfraEnv => "pool",
            FoundKind::Cluster => "cluster",
            FoundKind::Host => "host",
            FoundKind::Bmc => "BMC",
        };
        Some(Self {
            kind,
            address: address(&record)?,
            name: record.name,
            detail: record.detail,
        })
    }
}

/// The path of the page that shows a record: of a BMC its pool.
/// The path of the page that shows a record: of a cluster the list of its hosts.
fn address(record: &FoundRecord) -> Option<String> {
    Some(match record.kind {
        FoundKind::InfraEnv => pools::address(record.id.parse().ok()?),
        FoundKind::Cluster => clusters::address(record.id.parse().ok()?),
        FoundKind::Host => hosts::address(record.infra_env_id?, record.id.parse().ok()?),
        FoundKind::Bmc => bmcs::address(record.infra_env_id?, record.id.parse().ok()?),
    })
}

async fn find(visitor: &Visitor, query: &str) -> Result<Found, Refusal> {
    let text: String = byte_serialize(query.as_bytes()).collect();
    let found: FoundRecords = visitor.get(&format!("{MUSTER_PATH}/search?q={text}")).await?;
    Ok(Found::of(found, query))
}

pub async fn page(visitor: Visitor) -> Result<Response, Refusal> {
    let [query] = visitor.parameters(["q"]);
    let (found, problem) = match find(&visitor, &query).await {
        Ok(_) if query.trim().is_empty() => (None, None),
        Ok(found) => (Some(found), None),
        Err(refusal) if refusal.status == StatusCode::BAD_REQUEST => (None, Some(refusal.reason)),
        Err(refusal) => return Err(refusal),
    };
    let status = match problem {
        Some(_) => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    };
    let page = SearchPage {
        frame: frame(&visitor).await?,
        query,
        problem,
        found,
    };
    Ok((status, answer(&page)).into_response())
}

/// The same as JSON: `hits` with `kind`, `name`, `detail` and `address`, `total`, `is_all`; or `problem`.
pub async fn hits(visitor: Visitor) -> Response {
    let [query] = visitor.parameters(["q"]);
    match find(&visitor, &query).await {
        Ok(found) => Json(found).into_response(),
        Err(refusal) => (refusal.status, Json(json!({"problem": refusal.reason}))).into_response(),
    }
}
