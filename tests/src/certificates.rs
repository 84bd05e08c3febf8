//! Throw-away certificate authorities, and their certificates.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// An authority of one test.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    key: String,
}

/// A certificate with its key, PEM.
#[derive(Debug, Clone)]
pub struct Signed {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// A new one with that common name.
    ///
    /// # Panics
    /// If the computer has no randomness.
    pub fn new(name: &str) -> Self {
        let key = key_pair();
        let mut parameters = parameters(&[]);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        parameters.distinguished_name.push(DnType::CommonName, name);
        let certificate = parameters.self_signed(&key).expect("a key can sign").pem();
        let text = key.serialize_pem();
        Self {
            issuer: Issuer::new(parameters, key),
            certificate,
            key: text,
        }
    }

    /// Its certificate, PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its key, PEM.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// A certificate for a server of these names and addresses.
    ///
    /// # Panics
    /// If one of them is neither.
    pub fn server(&self, names: &[&str]) -> Signed {
        let mut server = parameters(names);
        let first = names.first().copied().unwrap_or_default();
        server.distinguished_name.push(DnType::CommonName, first);
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&server)
    }

    /// A certificate for a client of that name in that group, as Kubernetes reads it.
    ///
    /// # Panics
    /// If the computer has no randomness.
    pub fn client(&self, name: &str, group: &str) -> Signed {
        let mut client = parameters(&[]);
        client.distinguished_name.push(DnType::OrganizationName, group);
        client.distinguished_name.push(DnType::CommonName, name);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&client)
    }

    fn sign(&self, parameters: &CertificateParams) -> Signed {
        let key = key_pair();
        let certificate = parameters.signed_by(&key, &self.issuer);
        Signed {
            certificate: certificate.expect("an authority can sign").pem(),
            key: key.serialize_pem(),
        }
    }
}

/// A new key.
///
/// # Panics
/// If the computer has no randomness.
pub fn key_pair() -> KeyPair {
    KeyPair::generate().expect("a computer has randomness")
}

fn parameters(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).expect("names of a certificate")
}
