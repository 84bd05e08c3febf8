//! Gives every request an id, which is in its response, its events and its log lines.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use tracing::Instrument;
use uuid::Uuid;

static HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Middleware: takes the caller's id when it is printable and short, makes one otherwise; logs and measures the request.
pub async fn trace(request: Request, next: Next) -> Response {
    let given = request
        .headers()
        .get(&HEADER)
        .and_then(|value| value.to_str().ok());
    let acceptable = |id: &&str| (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    let id = given
        .filter(acceptable)
        .map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);

    // The route, not the path: paths may hold tokens and would make metrics without end.
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "unmatched".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().clone();
    let span = tracing::info_span!("request", request_id = %id, %method, route);
    let started = Instant::now();
    let answered = next.run(request).instrument(span.clone());
    let mut response = muster_operations::request_id::scope(&id, answered).await;

    let status = response.status();
    let seconds = started.elapsed().as_secs_f64();
    metrics::histogram!("muster_http_request_duration_seconds", "method" => known(&method), "route" => route, "code" => status.as_str().to_owned())
        .record(seconds);
    span.in_scope(|| {
        let milliseconds = seconds * 1e3;
        if status.is_server_error() {
            tracing::warn!(status = status.as_u16(), milliseconds, "answered");
        } else {
            tracing::debug!(status = status.as_u16(), milliseconds, "answered");
        }
    });
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER.clone(), value);
    }
    response
}

/// The method as a label. Clients may invent methods, and each label exists as long as the process.
fn known(method: &http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
