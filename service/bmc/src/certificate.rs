//! The trust in a BMC's certificate.

use std::sync::Arc;

use muster_trust::{AnyServer, Fingerprint, Pin, Trust, Witness};
use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

use crate::error::BmcError;

/// Certificates that are taken from a BMC (docs/protocol/redfish.md#7).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CertificateMode {
    /// Signed by an authority that the system trusts, for the name in the address.
    #[default]
    System,
    /// Signed by one of these authorities (PEM), for the name in the address.
    Bundle(String),
    /// This one, whatever its name. `None`: the one that is shown first; store [`crate::Bmc::certificate`] then.
    Pin(Option<Fingerprint>),
    /// Any: whoever is in between reads the password.
    Insecure,
}

/// Looks at the certificates of one BMC.
#[derive(Debug, Clone)]
pub(crate) struct Inspector {
    witness: Arc<Witness>,
    pin: Option<Arc<Pin>>,
}

impl Inspector {
    /// # Errors
    /// [`BmcError::Certificates`]: a bundle without a certificate that can be used.
    pub fn new(mode: &CertificateMode) -> Result<(Self, ClientConfig), BmcError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let wrong = |why: String| BmcError::Certificates(why);
        let mut pin = None;
        let verifier: Arc<dyn ServerCertVerifier> = match mode {
            CertificateMode::System => {
                let system = Verifier::new(Arc::clone(&provider));
                Arc::new(system.map_err(|error| wrong(error.to_string()))?)
            }
            CertificateMode::Bundle(pem) => {
                let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
                let certificates = read.map_err(|error| wrong(error.to_string()))?;
                let trust = Trust::only(certificates, &provider);
                Arc::new(trust.map_err(|error| wrong(error.to_string()))?)
            }
            CertificateMode::Pin(pinned) => {
                let made = Arc::new(Pin::new(*pinned, &provider));
                pin = Some(Arc::clone(&made));
                made
            }
            CertificateMode::Insecure => Arc::new(AnyServer::new(&provider)),
        };
        let witness = Arc::new(Witness::new(verifier));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(witness.clone())
            .with_no_client_auth();
        Ok((Self { witness, pin }, config))
    }

    /// The certificate that was shown last.
    pub fn shown(&self) -> Option<Fingerprint> {
        self.witness.shown()
    }

    /// The error of a handshake in which the certificate was refused for the reason `why`.
    pub fn refused(&self, why: String) -> BmcError {
        let shown = self.witness.shown();
        match (self.pin.as_ref().and_then(|pin| pin.taken()), shown) {
            (Some(stored), Some(shown)) if stored != shown => BmcError::CertificateChanged { stored, shown },
            _ => BmcError::CertificateUntrusted { shown, why },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_needs_a_certificate() {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for bundle in ["", "nothing", broken] {
            let refused = Inspector::new(&CertificateMode::Bundle(bundle.to_owned())).unwrap_err();
            assert!(
                refused.to_string().contains("the certificates given"),
                "{refused}"
            );
        }
        let good = include_str!("../../../agent/fixtures/self-signed.pem");
        assert!(Inspector::new(&CertificateMode::Bundle(good.to_owned())).is_ok());
    }
}
