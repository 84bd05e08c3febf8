//! Verifies TLS servers: [`Trust`] accepts those that another verifier accepts, and certificates that are configured themselves; [`Pin`]
//! accepts one certificate by its [`Fingerprint`]; [`AnyServer`] accepts all.
//!
//! A certificate that is itself configured is the result of `openssl req -x509`: it declares itself an authority and serves with the
//! same certificate, which the usual verifiers refuse although it was configured as trusted.

mod any_server;
mod fingerprint;
mod handshake;
mod pin;
mod public_key;

pub use any_server::{AnyServer, unusable_key};
pub use fingerprint::{Fingerprint, NoFingerprint};
pub use handshake::UnusableKey;
pub use pin::{Pin, Witness};

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Verifies servers for a TLS client.
#[derive(Debug)]
pub struct Trust {
    usual: Arc<dyn ServerCertVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl Trust {
    /// Accepts servers that `usual` accepts, which has to trust the certificates `own` as authorities, and servers with one of these
    /// certificates.
    pub fn new(usual: Arc<dyn ServerCertVerifier>, own: Vec<CertificateDer<'static>>) -> Self {
        Self { usual, own }
    }

    /// Accepts servers with a certificate that one of these authorities signed, or with one of these certificates.
    ///
    /// # Errors
    /// If a certificate cannot be an authority's, or there is none.
    pub fn only(
        certificates: Vec<CertificateDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, UnusableCertificates> {
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone())?;
        }
        let usual =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build()?;
        Ok(Self::new(usual, certificates))
    }
}

/// Certificates that cannot verify any server.
#[derive(Debug, thiserror::Error)]
pub enum UnusableCertificates {
    #[error("a certificate cannot be used: {0}")]
    Certificate(#[from] Error),
    #[error("no certificate is there: {0}")]
    None(#[from] VerifierBuilderError),
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

/// True if a server's certificate was refused because it declares itself an authority.
pub fn is_authority_that_serves(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other))
        if format!("{other:?}").contains("CaUsedAsEndEntity"))
}
