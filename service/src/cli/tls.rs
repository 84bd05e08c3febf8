//! Trusts TLS servers: the system's authorities, those of `--ca`, and a certificate that itself is in `--ca`.
//!
//! The last is the result of `openssl req -x509`: it declares itself an authority and serves with the same certificate, which the
//! usual verifier refuses although it was configured as trusted.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// A TLS client that also trusts the certificates in `ca` (PEM).
///
/// # Errors
/// When there is no certificate in it, or one that cannot be used.
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
        .with_custom_certificate_verifier(Arc::new(Trust { usual, own }))
        .with_no_client_auth())
}

/// True for the refusal of a certificate that serves although it says that it is an authority.
pub fn is_authority_that_serves(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other))
        if format!("{other:?}").contains("CaUsedAsEndEntity"))
}

#[derive(Debug)]
struct Trust {
    usual: Verifier,
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
            .usual
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match usual {
            // Its dates were checked before this error was found, its name was not.
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
        self.usual.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}
