//! Certificates of a BMC.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;

/// A certificate with its key, PEM.
#[derive(Clone)]
pub struct Certificate {
    pem: String,
    key: String,
}

impl Certificate {
    /// A self-signed certificate for these names and addresses.
    ///
    /// # Panics
    /// If one of them is neither, or the computer has no randomness.
    pub fn self_signed(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let signed = rcgen::generate_simple_self_signed(names).expect("names of a certificate");
        Self {
            pem: signed.cert.pem(),
            key: signed.signing_key.serialize_pem(),
        }
    }

    /// A given certificate: its chain, the leaf first, and its key.
    pub fn given(pem: &str, key: &str) -> Self {
        Self {
            pem: pem.to_owned(),
            key: key.to_owned(),
        }
    }

    /// Its chain, PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// SHA-256 of the leaf's DER form.
    ///
    /// # Panics
    /// If there is no certificate in it.
    pub fn sha256(&self) -> [u8; 32] {
        let leaf = CertificateDer::from_pem_slice(self.pem.as_bytes()).expect("a certificate is PEM");
        Sha256::digest(&leaf).into()
    }

    pub(crate) fn acceptor(&self) -> io::Result<TlsAcceptor> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.pem.as_bytes()).collect();
        let chain = chain.map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(io::Error::other)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
        Ok(TlsAcceptor::from(Arc::new(config.map_err(io::Error::other)?)))
    }
}
