//! The trust in a BMC's certificate.

use std::sync::Arc;

use muster_trust::{AnyServer, Fingerprint, Pin, Trust, Witness, is_authority_that_serves, unusable_key};
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConfig, Error};
use rustls_platform_verifier::Verifier;

use crate::error::BmcError;

/// What helps where a certificate has to be known.
const GIVE_IT: &str = "Give the fingerprint of the BMC's own, or the authority that signed it: the service takes no other (--bmc-known-certificates)";

/// Certificates that are taken from a BMC (docs/protocol/redfish.md#7).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CertificateMode {
    /// Signed by an authority that the system trusts, for the name in the address.
    #[default]
    System,
    /// Signed by one of these authorities (PEM), for the name in the address.
    Bundle(String),
    /// This one, whatever its name. `None`: the first one that the BMC presents; store [`crate::Bmc::certificate`] then.
    Pin(Option<Fingerprint>),
    /// Any: an attacker in between can read the password.
    Insecure,
}

/// Looks at the certificates of one BMC.
#[derive(Debug, Clone)]
pub(crate) struct Inspector {
    witness: Arc<Witness>,
    pin: Option<Arc<Pin>>,
    /// Authorities decide.
    by_authority: bool,
    /// None is taken at the first contact.
    known: bool,
}

impl Inspector {
    /// # Errors
    /// [`BmcError::Certificates`]: a bundle without a certificate that can be used, or a mode that takes any where it has to be `known`.
    pub fn new(mode: &CertificateMode, known: bool) -> Result<(Self, ClientConfig), BmcError> {
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
                let made = Arc::new(match known {
                    true => Pin::known(*pinned),
                    false => Pin::new(*pinned),
                });
                pin = Some(Arc::clone(&made));
                made
            }
            CertificateMode::Insecure if known => {
                return Err(wrong(format!("the mode insecure takes any. {GIVE_IT}")));
            }
            CertificateMode::Insecure => Arc::new(AnyServer),
        };
        let witness = Arc::new(Witness::new(verifier));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(witness.clone())
            .with_no_client_auth();
        let by_authority = matches!(mode, CertificateMode::System | CertificateMode::Bundle(_));
        let inspector = Self {
            witness,
            pin,
            by_authority,
            known,
        };
        Ok((inspector, config))
    }

    /// The certificate that was presented last.
    pub fn shown(&self) -> Option<Fingerprint> {
        self.witness.shown()
    }

    /// The error of a handshake in which the certificate was refused.
    pub fn refused(&self, why: &CertificateError) -> BmcError {
        let shown = self.witness.shown();
        let unusable = |why: String| BmcError::CertificateUnusable { shown, why };
        match (self.pin.as_ref().and_then(|pin| pin.taken()), shown) {
            (Some(stored), Some(shown)) if stored != shown => BmcError::CertificateChanged { stored, shown },
            (None, Some(_)) if self.known && self.pin.is_some() => BmcError::CertificateUntrusted {
                shown,
                why: "it is seen for the first time, and the service takes none for that (--bmc-known-certificates)"
                    .to_owned(),
                advice: "Compare the fingerprint with the BMC's own page, then accept it",
            },
            _ => match (unusable_key(why), self.by_authority) {
                (Some(key), _) => unusable(key.to_string()),
                (None, false) => unusable("the server that answers does not sign with its key".to_owned()),
                (None, true) => BmcError::CertificateUntrusted {
                    shown,
                    why: why.to_string(),
                    advice: advice(why),
                },
            },
        }
    }
}

/// Advice for certificates that are verified by authorities.
fn advice(why: &CertificateError) -> &'static str {
    match why {
        CertificateError::UnknownIssuer => {
            "Give the authority that signed it, or trust it by its fingerprint"
        }
        other if is_authority_that_serves(&Error::InvalidCertificate(other.clone())) => {
            "Give the authority that signed it, or trust it by its fingerprint"
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "Look at the clocks, renew it on the BMC, or trust it by its fingerprint"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "Address the BMC by a name that stands in it, or trust it by its fingerprint"
        }
        // Version 1, weak keys, unknown extensions and the like.
        _ => {
            "No authority makes such a certificate trusted: trust it by its fingerprint, or give the BMC another"
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
            let refused = Inspector::new(&CertificateMode::Bundle(bundle.to_owned()), false).unwrap_err();
            assert!(
                refused.to_string().contains("the certificates given"),
                "{refused}"
            );
        }
        let good = include_str!("../../../../agent/fixtures/self-signed.pem");
        assert!(Inspector::new(&CertificateMode::Bundle(good.to_owned()), true).is_ok());
    }
}
