use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};

use crate::handshake::{self, NotVerified, SCHEMES, UnusableKey};
use crate::public_key::PublicKey;

/// Accepts any certificate if the server has its key. Only the key is read.
#[derive(Debug, Clone, Copy)]
pub struct AnyServer;

/// Verifies the signature of a handshake by the key of the certificate.
fn verify(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    bound: bool,
) -> Result<HandshakeSignatureValid, Error> {
    let unusable = |key| CertificateError::Other(OtherError(Arc::new(key)));
    let key = PublicKey::of(certificate).ok_or_else(|| unusable(UnusableKey::Unreadable))?;
    match handshake::verify(&key, signed.scheme, bound, message, signed.signature()) {
        Ok(()) => Ok(HandshakeSignatureValid::assertion()),
        Err(NotVerified::Key(key)) => Err(unusable(key).into()),
        Err(NotVerified::Signature) => Err(CertificateError::BadSignature.into()),
    }
}

/// The key by which a server could not be verified, when that is why.
pub fn unusable_key(error: &CertificateError) -> Option<&UnusableKey> {
    match error {
        CertificateError::Other(other) => other.0.downcast_ref(),
        _ => None,
    }
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify(message, certificate, signed, false)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify(message, certificate, signed, true)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        SCHEMES.to_vec()
    }
}
