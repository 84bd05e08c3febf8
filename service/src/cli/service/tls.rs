//! Trusts TLS servers: by the system's authorities, by those of `--ca`, and by a server certificate in `--ca`.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use muster_trust::Trust;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

/// A TLS client that also trusts the certificates in `ca` (PEM).
///
/// # Errors
/// Fails if `ca` holds no certificate, or one that cannot be used.
pub fn client_config(ca: &[u8]) -> Result<ClientConfig> {
    let own: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(ca)
        .collect::<Result<_, _>>()
        .context("--ca holds no PEM certificates")?;
    if own.is_empty() {
        bail!("--ca holds no PEM certificate (-----BEGIN CERTIFICATE-----)");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let usual = Verifier::new_with_extra_roots(own.iter().cloned(), provider.clone())
        .context("--ca holds a certificate that cannot be used")?;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trust::new(Arc::new(usual), own)))
        .with_no_client_auth())
}
