use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use crate::{AnyServer, Fingerprint};

/// Takes one certificate, whatever its names, dates and issuer are: the pinned one, or without a pin the first that is shown, unless that is
/// forbidden.
#[derive(Debug)]
pub struct Pin {
    taken: OnceLock<Fingerprint>,
    takes_first: bool,
}

impl Pin {
    pub fn new(pinned: Option<Fingerprint>) -> Self {
        Self {
            taken: pinned.map_or_else(OnceLock::new, OnceLock::from),
            takes_first: true,
        }
    }

    /// Takes the pinned certificate alone; without a pin none.
    pub fn known(pinned: Option<Fingerprint>) -> Self {
        Self {
            takes_first: false,
            ..Self::new(pinned)
        }
    }

    /// The certificate that is taken; `None` until one was shown when none was pinned.
    pub fn taken(&self) -> Option<Fingerprint> {
        self.taken.get().copied()
    }
}

impl ServerCertVerifier for Pin {
    /// # Errors
    /// `ApplicationVerificationFailure` for another certificate than the pinned one.
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = Fingerprint::of(certificate);
        let taken = match self.takes_first {
            true => Some(self.taken.get_or_init(|| shown)),
            false => self.taken.get(),
        };
        match taken == Some(&shown) {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        AnyServer.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        AnyServer.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        AnyServer.supported_verify_schemes()
    }
}

/// Remembers the certificate that was presented last, whether `verifier` accepts it or not, so that a refusal can name it.
#[derive(Debug)]
pub struct Witness {
    verifier: Arc<dyn ServerCertVerifier>,
    shown: Mutex<Option<Fingerprint>>,
}

impl Witness {
    pub fn new(verifier: Arc<dyn ServerCertVerifier>) -> Self {
        Self {
            verifier,
            shown: Mutex::default(),
        }
    }

    pub fn shown(&self) -> Option<Fingerprint> {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(Fingerprint::of(certificate));
        self.verifier
            .verify_server_cert(certificate, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(verifier: &dyn ServerCertVerifier, certificate: &'static [u8]) -> bool {
        let name = ServerName::try_from("bmc.example.test").expect("a name");
        let certificate = CertificateDer::from(certificate);
        verifier
            .verify_server_cert(&certificate, &[], &name, &[], UnixTime::now())
            .is_ok()
    }

    #[test]
    fn only_the_pinned_certificate_is_taken() {
        let pinned = Fingerprint::of(&CertificateDer::from(b"one".to_vec()));
        let pin = Pin::new(Some(pinned));
        assert!(!verify(&pin, b"two"));
        assert!(verify(&pin, b"one"));
        assert_eq!(pin.taken(), Some(pinned));
    }

    #[test]
    fn without_a_pin_none_is_taken_where_the_first_is_not() {
        let pin = Pin::known(None);
        assert!(!verify(&pin, b"one") && !verify(&pin, b"one"));
        assert_eq!(pin.taken(), None);
        let pinned = Fingerprint::of(&CertificateDer::from(b"one".to_vec()));
        let pin = Pin::known(Some(pinned));
        assert!(verify(&pin, b"one") && !verify(&pin, b"two"));
    }

    #[test]
    fn without_a_pin_the_first_is_taken_and_then_no_other() {
        let pin = Arc::new(Pin::new(None));
        assert_eq!(pin.taken(), None);
        let witness = Witness::new(pin.clone());
        assert!(verify(&witness, b"one"));
        assert!(!verify(&witness, b"two"));
        assert!(verify(&witness, b"one"));
        assert!(!verify(&witness, b"two"));
        let of = |text: &'static [u8]| Some(Fingerprint::of(&CertificateDer::from(text)));
        assert_eq!(
            (pin.taken(), witness.shown()),
            (of(b"one"), of(b"two")),
            "a refusal can name both"
        );
    }
}
