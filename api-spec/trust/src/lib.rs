//! Believes TLS servers as another verifier does, and a certificate that is itself configured.
//!
//! The last is the result of `openssl req -x509`: it declares itself an authority and serves with the same certificate, which the
//! usual verifiers refuse although it was configured as trusted.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Verifies servers for a TLS client.
#[derive(Debug)]
pub struct Trust {
    usual: Arc<dyn ServerCertVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl Trust {
    /// Believes what `usual` believes, which trusts the certificates `own` as authorities, and these as servers' own.
    pub fn new(usual: Arc<dyn ServerCertVerifier>, own: Vec<CertificateDer<'static>>) -> Self {
        Self { usual, own }
    }
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

/// True for the refusal of a certificate that serves although it says that it is an authority.
pub fn is_authority_that_serves(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other))
        if format!("{other:?}").contains("CaUsedAsEndEntity"))
}
