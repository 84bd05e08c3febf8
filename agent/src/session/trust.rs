//! Whom to believe over TLS: the system's authorities, the configured ones, and a certificate that is itself among
//! the configured ones. The last is what `openssl req -x509` makes: it calls itself an authority and serves with the
//! same certificate, which the usual verifier refuses although it was named as trusted.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// A TLS client that believes the authorities in `system` and `configured` (PEM texts).
///
/// # Errors
/// In words: a text that holds no readable certificate, or nobody to believe.
pub fn client_config(system: &[u8], configured: &[u8]) -> Result<ClientConfig, String> {
    let own = certificates(configured).map_err(|error| format!("the configured certificates: {error}"))?;
    let mut roots = RootCertStore::empty();
    for certificate in &own {
        roots
            .add(certificate.clone())
            .map_err(|error| format!("a configured certificate cannot be used: {error}"))?;
    }
    let public = certificates(system).map_err(|error| format!("the system's certificates: {error}"))?;
    // Old authorities that this library cannot read are passed over, as elsewhere.
    roots.add_parsable_certificates(public);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(|error| format!("no certificate is trusted, so no https service can be: {error}"))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trust { chain, own }))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, rustls::pki_types::pem::Error> {
    CertificateDer::pem_slice_iter(pem).collect()
}

#[derive(Debug)]
struct Trust {
    chain: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let usual = self
            .chain
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match usual {
            // Its dates were looked at before this complaint, its name was not.
            Err(error) if is_authority_that_serves(&error) && self.own.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            usual => usual,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

fn is_authority_that_serves(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other))
        if format!("{other:?}").contains("CaUsedAsEndEntity"))
}

#[cfg(test)]
mod tests {
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
        let trust = Trust {
            chain,
            own: certificates(configured).unwrap(),
        };
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
    fn nobody_to_believe_and_broken_texts_are_said() {
        assert!(
            client_config(b"", b"")
                .unwrap_err()
                .contains("no certificate is trusted")
        );
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(client_config(b"", broken).unwrap_err().contains("configured"));
        assert!(client_config(b"", SELF_SIGNED).is_ok());
    }
}
