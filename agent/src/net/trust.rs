//! The trust in TLS servers: the system's authorities, the configured ones, and a certificate that is itself
//! configured.

use std::sync::Arc;

use muster_trust::Trust;
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, Error, RootCertStore};

/// Certificates that give no TLS client.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// No certificate of a bundle that is not empty can be used.
    #[error("none of the configured certificates can be used: {0}")]
    Configured(String),
    #[error("the system's certificates: {0}")]
    System(pem::Error),
    #[error("no certificate is trusted, so no https service can be: {0}")]
    NothingTrusted(VerifierBuilderError),
    #[error(transparent)]
    Protocol(Error),
}

/// A TLS client that trusts the authorities in `system` and `configured` (PEM texts). Configured ones that cannot be used are
/// skipped and logged: bundles are often the store of a whole company.
///
/// # Errors
/// [`TrustError`]: no configured certificate can be used, or no trust anchors.
pub fn client_config(system: &[u8], configured: &[u8]) -> Result<ClientConfig, TrustError> {
    let mut roots = RootCertStore::empty();
    let own = configured_certificates(configured, &mut roots)?;
    let public = certificates(system).map_err(TrustError::System)?;
    // Old authorities that this library cannot parse are skipped, as in other programs.
    roots.add_parsable_certificates(public);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(TrustError::NothingTrusted)?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Protocol)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trust::new(chain, own)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Adds the certificates that can be used to `roots`, and returns them.
fn configured_certificates(
    pem: &[u8],
    roots: &mut RootCertStore,
) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let mut usable = Vec::new();
    let mut refused = Vec::new();
    for (index, certificate) in CertificateDer::pem_slice_iter(pem).enumerate() {
        let number = index + 1;
        let added = certificate
            .map_err(|error| error.to_string())
            .and_then(|certificate| match roots.add(certificate.clone()) {
                Ok(()) => Ok(certificate),
                Err(error) => Err(error.to_string()),
            });
        match added {
            Ok(certificate) => usable.push(certificate),
            Err(reason) => refused.push(format!("number {number}: {reason}")),
        }
    }
    if usable.is_empty() && !refused.is_empty() {
        return Err(TrustError::Configured(refused.join("; ")));
    }
    for reason in refused {
        tracing::warn!("a configured certificate is skipped, {reason}");
    }
    Ok(usable)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
    CertificateDer::pem_slice_iter(pem).collect()
}

#[cfg(test)]
mod tests {
    use rustls::client::danger::{ServerCertVerified, ServerCertVerifier};
    use rustls::pki_types::{ServerName, UnixTime};

    use super::*;

    /// `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=lab
    /// -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:TRUE`
    const SELF_SIGNED: &[u8] = include_bytes!("../../fixtures/self-signed.pem");

    fn verify(configured: &[u8], name: &str) -> Result<ServerCertVerified, Error> {
        let mut roots = RootCertStore::empty();
        let own = certificates(SELF_SIGNED).unwrap();
        roots.add(own[0].clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .unwrap();
        let trust = Trust::new(chain, certificates(configured).unwrap());
        let name = ServerName::try_from(name.to_owned()).unwrap();
        trust.verify_server_cert(&own[0], &[], &name, &[], UnixTime::now())
    }

    #[test]
    fn a_self_signed_certificate_that_is_configured_is_believed_under_its_names() {
        assert!(verify(SELF_SIGNED, "localhost").is_ok());
        assert!(verify(SELF_SIGNED, "127.0.0.1").is_ok());
        assert!(
            verify(SELF_SIGNED, "muster.example").is_err(),
            "the name must match"
        );
        assert!(verify(b"", "localhost").is_err(), "it must be configured");
    }

    #[test]
    fn missing_trust_anchors_and_broken_texts_are_reported() {
        assert!(
            client_config(b"", b"")
                .unwrap_err()
                .to_string()
                .contains("no certificate is trusted")
        );
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(
            client_config(b"", broken)
                .unwrap_err()
                .to_string()
                .contains("configured")
        );
        assert!(client_config(b"", SELF_SIGNED).is_ok());
    }

    #[test]
    fn one_bad_certificate_of_a_bundle_is_skipped_wherever_it_is() {
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".as_slice();
        let garbled = b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n".as_slice();
        for bundle in [
            [broken, SELF_SIGNED].concat(),
            [SELF_SIGNED, broken].concat(),
            [garbled, SELF_SIGNED, broken].concat(),
        ] {
            let mut roots = RootCertStore::empty();
            let usable = configured_certificates(&bundle, &mut roots).unwrap();
            assert_eq!((usable.len(), roots.len()), (1, 1));
        }
    }
}
