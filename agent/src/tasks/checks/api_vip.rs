//! Downloads the ignition of the cluster that this host is to join. Source:
//! docs/protocol/agent-protocol.md#6.
//!
//! Unlike upstream's agents, this one limits time and size, and sends the request's headers only to the host
//! that they are meant for.

mod error;
pub mod ignition;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_api::steps::{ApiVipConnectivityRequest, ApiVipConnectivityResponse};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use url::Url;

use crate::config::system_certificates;
use crate::net::http::{self, BodyError, HttpError};
use crate::net::names::Names;
use crate::net::trust;
use crate::net::unanswered::why;
use error::DownloadError;
pub use error::IgnitionError;

/// The accepted media type and version.
const IGNITION: &str = "application/vnd.coreos.ignition+json; version=3.2.0";
const CONNECTING: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(60);
/// Machine configs have a megabyte or two.
const LARGEST: usize = 32 << 20;
const MOST_REDIRECTS: usize = 10;
/// Bytes of a body that is no ignition to quote in the error.
const SHOWN: usize = 512;

/// Downloads the ignition. Errors are part of the response.
pub async fn check(names: &Names, request: &ApiVipConnectivityRequest) -> ApiVipConnectivityResponse {
    let mut response = ApiVipConnectivityResponse {
        url: request.url.clone(),
        ..ApiVipConnectivityResponse::default()
    };
    let downloaded = async { Ok::<_, DownloadError>(ignition::reduce(&download(names, request).await?)?) };
    match downloaded.await {
        Ok(ignition) => {
            response.is_success = true;
            response.ignition = ignition;
        }
        Err(error) => response.download_error = error.to_string(),
    }
    response
}

async fn download(names: &Names, request: &ApiVipConnectivityRequest) -> Result<Vec<u8>, DownloadError> {
    let url = Url::parse(&request.url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or(DownloadError::Url)?;
    let client = client(names, &url, request)?;
    let answer = client
        .get(url)
        .headers(headers(request)?)
        .send()
        .await
        .map_err(|error| DownloadError::Transport(why_not(error)))?;
    let status = answer.status();
    if status.is_redirection() {
        return Err(DownloadError::Redirect(status));
    }
    let body = http::body(answer, LARGEST).await.map_err(|error| match error {
        BodyError::TooLarge => DownloadError::TooLarge,
        BodyError::Transport(reason) => DownloadError::Transport(reason),
    })?;
    if !status.is_success() {
        return Err(DownloadError::Status(status, quoted(&body)));
    }
    if body.is_empty() {
        return Err(DownloadError::Empty(status));
    }
    if serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_err() {
        return Err(DownloadError::NotJson(quoted(&body)));
    }
    Ok(body)
}

/// As [`why`], with the time that was waited.
fn why_not(error: reqwest::Error) -> String {
    let waited = if error.is_connect() { CONNECTING } else { WHOLE };
    match error.is_timeout() {
        true => format!("no answer within {} s", waited.as_secs()),
        false => why(error),
    }
}

/// The beginning of an unexpected body, without control characters.
fn quoted(body: &[u8]) -> String {
    let start = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    let clean: String = start
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match clean.trim() {
        "" => String::new(),
        text => format!("; it begins with: {text}"),
    }
}

fn client(
    names: &Names,
    url: &Url,
    request: &ApiVipConnectivityRequest,
) -> Result<reqwest::Client, DownloadError> {
    let asked = url.clone();
    let builder = http::builder(names)
        .connect_timeout(CONNECTING)
        .timeout(WHOLE)
        .redirect(Policy::custom(move |attempt| {
            if attempt.previous().len() > MOST_REDIRECTS {
                attempt.error("it sends us on and on")
            } else if is_same_server(&asked, attempt.url()) {
                attempt.follow()
            } else {
                attempt.stop()
            }
        }));
    let given = request.ca_certificate.as_deref().unwrap_or_default();
    let builder = if given.is_empty() && url.scheme() == "http" {
        builder.tls_certs_only([])
    } else {
        builder.tls_backend_preconfigured(trusted(given)?)
    };
    Ok(builder.build().map_err(HttpError::client)?)
}

/// True for the same host, unless the redirect leads from TLS to plain text: the headers are sent there too.
fn is_same_server(asked: &Url, next: &Url) -> bool {
    next.host_str() == asked.host_str() && (next.scheme() == "https" || asked.scheme() == "http")
}

/// Trusts only the given authorities if there are any, else the system's.
fn trusted(given: &str) -> Result<rustls::ClientConfig, DownloadError> {
    if given.is_empty() {
        let system = system_certificates();
        return Ok(trust::client_config(&system, &[]).map_err(HttpError::from)?);
    }
    let pem = STANDARD
        .decode(given.trim())
        .map_err(DownloadError::Certificate)?;
    Ok(trust::client_config(&[], &pem).map_err(HttpError::from)?)
}

/// The token first; the named headers override it.
fn headers(request: &ApiVipConnectivityRequest) -> Result<HeaderMap, DownloadError> {
    let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(IGNITION))]);
    let token = request.ignition_endpoint_token.as_deref().unwrap_or_default();
    if !token.is_empty() {
        headers.insert(AUTHORIZATION, secret(&format!("Bearer {token}"))?);
    }
    for header in request.request_headers.iter().flatten() {
        let name =
            HeaderName::try_from(&header.key).map_err(|_| DownloadError::HeaderName(header.key.clone()))?;
        headers.insert(name, secret(&header.value)?);
    }
    Ok(headers)
}

fn secret(text: &str) -> Result<HeaderValue, DownloadError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| DownloadError::HeaderValue)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
