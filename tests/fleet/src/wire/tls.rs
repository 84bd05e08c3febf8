//! Certificates that the agents trust.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use muster_trust::{AnyServer, Trust};
use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::options::Options;

/// A connector for http and https; the options define the trust for https.
pub fn connector(options: &Options) -> Result<HttpsConnector<HttpConnector>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .context("TLS cannot be set up")?;
    let verifier: Arc<dyn ServerCertVerifier> = match &options.ca_cert {
        // A URL with http needs no certificate, and https without a file is refused before.
        None => Arc::new(AnyServer),
        Some(file) => Arc::new(Trust::only(certificates(file)?, &provider).with_context(|| named(file))?),
    };
    let config = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(std::time::Duration::from_secs(30)));
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp))
}

fn named(file: &Path) -> String {
    format!("--ca-cert {}", file.display())
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let found: Vec<_> = read.with_context(|| named(file))?;
    ensure!(!found.is_empty(), "{} holds no PEM certificate", named(file));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use rustls_pki_types::{ServerName, UnixTime};

    use super::*;

    /// Made by `openssl req -x509` for localhost and 127.0.0.1: an authority that serves.
    const SELF_SIGNED: &[u8] = include_bytes!("../../../../agent/fixtures/self-signed.pem");

    #[test]
    fn a_self_signed_certificate_that_was_given_is_believed() {
        let provider = Arc::new(ring::default_provider());
        let own: Vec<_> = CertificateDer::pem_slice_iter(SELF_SIGNED)
            .collect::<Result<_, _>>()
            .unwrap();
        let trust = Trust::only(own.clone(), &provider).unwrap();
        let believes = |name: &'static str| {
            let name = ServerName::try_from(name).unwrap();
            trust.verify_server_cert(&own[0], &[], &name, &[], UnixTime::now())
        };
        assert!(believes("127.0.0.1").is_ok());
        assert!(
            believes("elsewhere.example.test").is_err(),
            "its name is asked for"
        );
    }
}
