//! Whether this host is handed its ignition by the cluster that it is to join. Source: docs/protocol/agent-protocol.md#6.
//!
//! Unlike the field's agents this one has a limit on time and on size, and sends the request's headers on only to the
//! host that they were meant for.

pub mod ignition;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_api::steps::{ApiVipConnectivityRequest, ApiVipConnectivityResponse};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use url::Url;

use crate::config::SYSTEM_CERTIFICATES;
use crate::net::names::Names;
use crate::session::client::causes;
use crate::session::trust;

/// What is asked for, and no later version.
const IGNITION: &str = "application/vnd.coreos.ignition+json; version=3.2.0";
const CONNECTING: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(60);
/// Machine configs have a megabyte or two.
const LARGEST: usize = 32 << 20;
const MOST_REDIRECTS: usize = 10;
/// Of a body that is no ignition, this much is shown, bytes.
const SHOWN: usize = 512;

/// Downloads the ignition. Whatever goes wrong is in the answer.
pub async fn check(names: &Names, request: &ApiVipConnectivityRequest) -> ApiVipConnectivityResponse {
    let mut response = ApiVipConnectivityResponse {
        url: request.url.clone(),
        ..ApiVipConnectivityResponse::default()
    };
    let downloaded = async { ignition::reduce(&download(names, request).await?) };
    match downloaded.await {
        Ok(ignition) => {
            response.is_success = true;
            response.ignition = ignition;
        }
        Err(error) => response.download_error = error,
    }
    response
}

async fn download(names: &Names, request: &ApiVipConnectivityRequest) -> Result<Vec<u8>, String> {
    let url = Url::parse(&request.url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| "the URL is no http or https URL".to_owned())?;
    let client = client(names, &url, request)?;
    let failed = |error: reqwest::Error| causes(&error.without_url());
    let mut answer = client
        .get(url)
        .headers(headers(request)?)
        .send()
        .await
        .map_err(failed)?;
    let status = answer.status();
    if status.is_redirection() {
        return Err(format!(
            "status {status}: it sends us on to another host or from TLS to plain text, where the request's headers must not go; give that URL"
        ));
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > LARGEST {
            return Err(format!("the answer is larger than {LARGEST} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    if !status.is_success() {
        return Err(format!("status {status}{}", quoted(&body)));
    }
    if body.is_empty() {
        return Err(format!("status {status}, and the answer is empty"));
    }
    if serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_err() {
        return Err(format!("the answer is no JSON{}", quoted(&body)));
    }
    Ok(body)
}

/// The beginning of what came instead, fit for a screen.
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

fn client(names: &Names, url: &Url, request: &ApiVipConnectivityRequest) -> Result<reqwest::Client, String> {
    // Fails only when another part of the program has installed one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let asked = url.clone();
    let builder = reqwest::Client::builder()
        .dns_resolver(names.clone())
        .no_proxy()
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
    builder
        .build()
        .map_err(|error| format!("no HTTP client: {}", causes(&error)))
}

/// The same host, and not in plain text what was asked for by TLS: the headers go there, too.
fn is_same_server(asked: &Url, next: &Url) -> bool {
    next.host_str() == asked.host_str() && (next.scheme() == "https" || asked.scheme() == "http")
}

/// Only the given authorities when there are any, else the system's.
fn trusted(given: &str) -> Result<rustls::ClientConfig, String> {
    if given.is_empty() {
        return trust::client_config(&std::fs::read(SYSTEM_CERTIFICATES).unwrap_or_default(), &[]);
    }
    let pem = STANDARD
        .decode(given.trim())
        .map_err(|error| format!("ca_certificate is no base64: {error}"))?;
    trust::client_config(&[], &pem)
}

/// The token first, the named headers over it.
fn headers(request: &ApiVipConnectivityRequest) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(IGNITION))]);
    let token = request.ignition_endpoint_token.as_deref().unwrap_or_default();
    if !token.is_empty() {
        headers.insert(AUTHORIZATION, secret(&format!("Bearer {token}"))?);
    }
    for header in request.request_headers.iter().flatten() {
        let name =
            HeaderName::try_from(&header.key).map_err(|_| format!("`{}` is no header's name", header.key))?;
        headers.insert(name, secret(&header.value)?);
    }
    Ok(headers)
}

fn secret(text: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| "a header holds characters that cannot be sent".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
