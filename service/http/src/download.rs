//! Responses with small files that are made on request, with the protocol's headers.

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use muster_api::time::Timestamp;

use crate::problem::Problem;

/// The media type of every download.
const OCTET_STREAM: &str = "application/octet-stream";

/// Download operations offer `application/octet-stream` only; any other `Accept` is a 400 (docs/protocol/rest-behaviour.md#1).
pub fn check_accept(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(accept) = headers.get(header::ACCEPT) else {
        return Ok(());
    };
    let accept = accept.to_str().unwrap_or_default();
    let wanted = |range: &str| {
        matches!(
            range.split(';').next().unwrap_or_default().trim(),
            "*/*" | "application/*" | OCTET_STREAM | ""
        )
    };
    if accept.split(',').any(wanted) {
        return Ok(());
    }
    Err(Problem::bad_request(format!(
        "this operation answers {OCTET_STREAM}, not {accept:?}"
    )))
}

/// An attachment. An empty file has neither name nor length, as with the protocol's first implementation.
pub fn attachment(file_name: &str, modified: Timestamp, content: impl Into<Bytes>) -> Response {
    let content = content.into();
    let mut response = if content.is_empty() {
        named("", Body::empty())
    } else {
        let length = content.len() as u64;
        streamed(file_name, length, Body::from(content))
    };
    response
        .headers_mut()
        .insert(header::LAST_MODIFIED, http_date(modified));
    response
}

/// The client's `User-Agent`; empty if it is missing or not readable.
pub fn user_agent(headers: &http::HeaderMap) -> &str {
    let told = headers.get(header::USER_AGENT);
    told.and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// An attachment of `length` bytes that are not all in memory.
pub fn streamed(file_name: &str, length: u64, content: Body) -> Response {
    let mut response = named(file_name, content);
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    response
}

fn named(file_name: &str, content: Body) -> Response {
    // Names come from clusters and hosts, too: a quote would end the name here.
    let name = file_name.replace(|c: char| !c.is_ascii_graphic() || c == '"' || c == '\\', "_");
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let mut response = Response::new(content);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(OCTET_STREAM));
    headers.insert(
        header::CONTENT_DISPOSITION,
        disposition.expect("the name is plain ASCII"),
    );
    // It may hold secrets: no cache may store it.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// `Sat, 21 Nov 2026 14:00:00 GMT`.
pub fn http_date(moment: Timestamp) -> HeaderValue {
    HeaderValue::from_str(&moment.format("%a, %d %b %Y %H:%M:%S GMT").to_string()).expect("dates are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(text: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, text.parse().unwrap());
        check_accept(&headers).is_ok()
    }

    #[test]
    fn json_is_no_download() {
        assert!(check_accept(&HeaderMap::new()).is_ok());
        assert!(accepts("*/*"));
        assert!(accepts("text/html, application/octet-stream;q=0.9"));
        assert!(!accepts("application/json"));
    }
}
