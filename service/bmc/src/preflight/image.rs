use std::sync::Arc;
use std::time::Duration;

use muster_trust::AnyServer;
use reqwest::header::{ACCEPT_RANGES, CONTENT_LENGTH};
use rustls::ClientConfig;

use crate::connection::innermost;

/// Longest wait for the answer to the HEAD.
const DEADLINE: Duration = Duration::from_secs(20);

/// The length of an image, requested with HEAD as a BMC does. BMCs do not verify certificates, as a rule; neither does this.
///
/// # Errors
/// The properties that a BMC would fail on.
pub(super) async fn probe(image: &str) -> Result<u64, Vec<String>> {
    let http = client().map_err(|why| vec![why])?;
    let answer = http.head(image).send().await;
    let answer = answer.map_err(|error| {
        vec![format!(
            "it is not answered from here: {}",
            innermost(&error.without_url())
        )]
    })?;
    let status = answer.status();
    if status.is_redirection() {
        return Err(vec![format!(
            "it is answered with a redirect (HTTP {})",
            status.as_u16()
        )]);
    }
    if !status.is_success() {
        return Err(vec![format!("HEAD is answered with HTTP {}", status.as_u16())]);
    }
    let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
    let length = header(CONTENT_LENGTH)
        .and_then(|text| text.parse().ok())
        .filter(|bytes| *bytes > 0);
    let ranges = header(ACCEPT_RANGES).is_some_and(|text| text.eq_ignore_ascii_case("bytes"));
    match (length, ranges) {
        (Some(bytes), true) => Ok(bytes),
        (length, ranges) => {
            let missing = [
                (length.is_none(), "HEAD is answered without Content-Length"),
                (!ranges, "HEAD is answered without Accept-Ranges: bytes"),
            ];
            let missing = missing.into_iter().filter(|(missing, _)| *missing);
            Err(missing.map(|(_, what)| what.to_owned()).collect())
        }
    }
}

fn client() -> Result<reqwest::Client, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer))
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .referer(false)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(DEADLINE)
        .build()
        .map_err(|error| error.to_string())
}
