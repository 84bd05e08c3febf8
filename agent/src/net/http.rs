//! Builds HTTP clients with the agent's resolver, proxies and trust, and reads bodies of bounded length.

use std::time::Duration;

use reqwest::{ClientBuilder, NoProxy, Proxy, Response};

use super::names::Names;
use super::trust::{self, TrustError};
use super::unanswered::why;
use crate::config::{Settings, system_certificates};

/// Settings that give no HTTP client.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Holds the URL without its password.
    #[error("the proxy `{0}` is no URL")]
    Proxy(String),
    #[error("no HTTP client: {0}")]
    Client(String),
}

impl HttpError {
    /// The client builder's error, with its causes.
    pub fn client(error: reqwest::Error) -> Self {
        Self::Client(causes(&error))
    }
}

/// A body that was not received whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyError {
    TooLarge,
    /// The reason.
    Transport(String),
}

/// A client builder with the agent's resolver and no proxies.
pub fn builder(names: &Names) -> ClientBuilder {
    // Fails only when another part of the program has installed one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().dns_resolver(names.clone()).no_proxy()
}

/// A client builder for the service of `settings`, without its token. Reads the system's certificates when the URL is
/// `https`.
///
/// # Errors
/// [`HttpError`]
pub fn service_client(settings: &Settings, names: &Names) -> Result<ClientBuilder, HttpError> {
    let mut builder = builder(names)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(30))
        .timeout(Duration::from_secs(60))
        .tcp_keepalive(Duration::from_secs(30))
        // A service that moved silently leaves dead connections, on which every request would time out.
        .tcp_user_timeout(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(90))
        .pool_max_idle_per_host(2);
    builder = match settings.service_url.scheme() {
        "https" if !settings.insecure => {
            // The file may be absent: then only the configured authorities count.
            let system = system_certificates();
            let config = trust::client_config(&system, settings.ca_certificates.as_bytes())?;
            builder.tls_backend_preconfigured(config)
        }
        _ => builder.tls_certs_only([]).tls_danger_accept_invalid_certs(true),
    };
    with_proxies(builder, settings)
}

/// A client builder for large files anywhere: without a limit of the whole time, and following redirections.
///
/// # Errors
/// [`HttpError`]
pub fn file_client(
    settings: &Settings,
    names: &Names,
    read_timeout: Duration,
) -> Result<ClientBuilder, HttpError> {
    let system = system_certificates();
    let builder = builder(names)
        .redirect(reqwest::redirect::Policy::limited(10))
        .connect_timeout(Duration::from_secs(30))
        .read_timeout(read_timeout)
        .tcp_keepalive(Duration::from_secs(30))
        .tcp_user_timeout(Duration::from_secs(30))
        // A compressed file must arrive as it is.
        .no_gzip();
    let builder = match trust::client_config(&system, settings.ca_certificates.as_bytes()) {
        Ok(config) => builder.tls_backend_preconfigured(config),
        // Then no https server is trusted; a request to one reports that.
        Err(TrustError::NothingTrusted(_)) => builder.tls_certs_only([]),
        Err(error) => return Err(error.into()),
    };
    with_proxies(builder, settings)
}

/// Adds the proxies of `settings`.
///
/// # Errors
/// [`HttpError::Proxy`]
pub fn with_proxies(mut builder: ClientBuilder, settings: &Settings) -> Result<ClientBuilder, HttpError> {
    let except = NoProxy::from_string(&settings.proxy.no_proxy);
    for (url, make) in [
        (
            &settings.proxy.http_proxy,
            Proxy::http as fn(String) -> reqwest::Result<Proxy>,
        ),
        (&settings.proxy.https_proxy, Proxy::https),
    ] {
        if !url.is_empty() {
            let proxy = make(url.clone()).map_err(|_| HttpError::Proxy(without_password(url)))?;
            builder = builder.proxy(proxy.no_proxy(except.clone()));
        }
    }
    Ok(builder)
}

fn without_password(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, host)) => format!("...@{host}"),
        None => url.to_owned(),
    }
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
/// [`BodyError`]
pub async fn body(mut response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => return Err(BodyError::TooLarge),
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(error) => return Err(BodyError::Transport(why(error))),
        }
    }
}

/// An error with its causes on one line. Unlike `{:#}` of anyhow it leaves out a cause that the text already holds,
/// as the errors of HTTP libraries often do.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
