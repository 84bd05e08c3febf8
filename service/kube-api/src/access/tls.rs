//! Issues certificates from the API's own authority, and writes kubeconfigs that trust it.

use std::fs;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use chrono::{Datelike as _, Utc};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};

use crate::request::Caller;

/// The first line of a key.
const PRIVATE_KEY: &str = "-----BEGIN PRIVATE KEY-----";
/// Validity of certificates in years.
const YEARS: i32 = 10;

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    #[error("a certificate cannot be made")]
    Make(#[from] rcgen::Error),
    /// The files hold no usable certificate and key.
    #[error("{0}")]
    Unusable(String),
}

/// A certificate authority: signs certificates of servers, at each start of one, and those of clients.
pub struct Authority {
    /// Its common name, which issued certificates carry as their issuer.
    name: String,
    certificate_pem: String,
    key: KeyPair,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// A certificate with its key, in PEM.
pub struct Identity {
    pub certificate_pem: String,
    /// Secret.
    pub key_pem: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

impl Authority {
    /// A new one.
    ///
    /// # Errors
    /// If its certificate cannot be made.
    pub fn generate(name: &str) -> Result<Self, TlsError> {
        let key = KeyPair::generate()?;
        let certificate_pem = authority_parameters(name)?.self_signed(&key)?.pem();
        let name = name.to_owned();
        Ok(Self {
            name,
            certificate_pem,
            key,
        })
    }

    /// One that was made under this name: its certificate and its key, PEM.
    ///
    /// # Errors
    /// If there is no certificate or no key.
    pub fn from_pem(name: &str, text: &str) -> Result<Self, TlsError> {
        let unusable = |error: &dyn std::fmt::Display| TlsError::Unusable(format!("{name}: {error}"));
        CertificateDer::from_pem_slice(text.as_bytes()).map_err(|error| unusable(&error))?;
        let begin = text
            .find(PRIVATE_KEY)
            .ok_or_else(|| unusable(&"there is no private key"))?;
        let key = KeyPair::from_pem(&text[begin..]).map_err(|error| unusable(&error))?;
        Ok(Self {
            name: name.to_owned(),
            certificate_pem: text[..begin].to_owned(),
            key,
        })
    }

    /// What [`Authority::from_pem`] reads. It is a secret.
    pub fn to_pem(&self) -> String {
        format!("{}{}", self.certificate_pem, self.key.serialize_pem())
    }

    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Issues a client certificate: the user is the common name, its group the organization.
    ///
    /// # Errors
    /// If signing fails, and for more than one group in addition to `system:authenticated`.
    pub fn client(&self, caller: &Caller) -> Result<Identity, TlsError> {
        let mut parameters = leaf_parameters(Vec::new(), &caller.name)?;
        // The API adds this group to every user with a certificate.
        let groups: Vec<&String> = caller
            .groups
            .iter()
            .filter(|group| *group != "system:authenticated")
            .collect();
        match groups.as_slice() {
            [] => {}
            [group] => parameters
                .distinguished_name
                .push(DnType::OrganizationName, group.as_str()),
            _ => {
                return Err(TlsError::Unusable(
                    "a client certificate of this authority carries one group".into(),
                ));
            }
        }
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(parameters)
    }

    /// Issues the certificate of a server with these names and addresses, in addition to those of loopback.
    ///
    /// # Errors
    /// If a certificate cannot be made.
    pub fn server(&self, common_name: &str, names: &[String]) -> Result<Identity, TlsError> {
        let mut all = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        let is_one = |name: &str| {
            let ip = name.parse::<IpAddr>();
            ip.map_or(!name.is_empty(), |ip| !ip.is_unspecified())
        };
        all.extend(names.iter().filter(|name| is_one(name)).cloned());
        let mut parameters = leaf_parameters(all, common_name)?;
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(parameters)
    }

    /// TLS for a Kubernetes API with these names and addresses, in addition to the usual ones. Clients may present a certificate of this
    /// authority.
    ///
    /// # Errors
    /// If a certificate cannot be made or used.
    pub fn server_config(&self, names: &[String]) -> Result<ServerConfig, TlsError> {
        let usual = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(str::to_owned);
        let identity = self.server("kube-apiserver", &[&usual[..], names].concat())?;
        let unusable = |error: &dyn std::fmt::Display| TlsError::Unusable(error.to_string());
        let read =
            |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| unusable(&error));
        let mut roots = RootCertStore::empty();
        roots
            .add(read(&self.certificate_pem)?)
            .map_err(|error| unusable(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(|error| unusable(&error))?;
        let key =
            PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes()).map_err(|error| unusable(&error))?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![read(&identity.certificate_pem)?], key)
            .map_err(|error| unusable(&error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    fn sign(&self, parameters: CertificateParams) -> Result<Identity, TlsError> {
        let key = KeyPair::generate()?;
        let issuer = Issuer::new(authority_parameters(&self.name)?, &self.key);
        Ok(Identity {
            certificate_pem: parameters.signed_by(&key, &issuer)?.pem(),
            key_pem: key.serialize_pem(),
        })
    }
}

fn authority_parameters(name: &str) -> Result<CertificateParams, TlsError> {
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    set_validity(&mut parameters);
    Ok(parameters)
}

fn leaf_parameters(names: Vec<String>, name: &str) -> Result<CertificateParams, TlsError> {
    let mut parameters = CertificateParams::new(names)?;
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    parameters.use_authority_key_identifier_extension = true;
    set_validity(&mut parameters);
    Ok(parameters)
}

fn set_validity(parameters: &mut CertificateParams) {
    // Clocks of machines in a lab may be behind.
    let year = Utc::now().year();
    parameters.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(year + YEARS, 12, 31);
}

/// The credentials in a kubeconfig.
#[derive(Debug)]
pub enum Credentials<'a> {
    Token(&'a str),
    Certificate(&'a Identity),
}

/// A kubeconfig for a server (`https://HOST:PORT`) with a certificate of this authority. It holds a secret.
pub fn kubeconfig(server: &str, authority_pem: &str, credentials: &Credentials<'_>) -> String {
    let encoded = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let user: Value = match credentials {
        Credentials::Token(token) => json!({"token": token}),
        Credentials::Certificate(identity) => json!({
            "client-certificate-data": encoded(&identity.certificate_pem),
            "client-key-data": encoded(&identity.key_pem),
        }),
    };
    let name = "muster";
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": encoded(authority_pem)}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        "current-context": name,
    });
    // JSON is YAML, but less readable.
    serde_saphyr::to_string(&config).unwrap_or_else(|_| config.to_string())
}

/// Writes a file that only its owner can read, atomically; a file with this content is left as it is, so that a full disk is no obstacle.
///
/// # Errors
/// If the file cannot be written.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), TlsError> {
    if fs::read(path).is_ok_and(|present| present == content) {
        let owner_only = fs::Permissions::from_mode(0o600);
        return fs::set_permissions(path, owner_only).map_err(|source| file_error(path, source));
    }
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}", std::process::id()));
    let unfinished = Path::new(&unfinished);
    let write = || {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(unfinished)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(unfinished, path)
    };
    write().map_err(|source| {
        // It is empty or incomplete.
        let _ = fs::remove_file(unfinished);
        file_error(path, source)
    })
}

fn file_error(path: &Path, source: io::Error) -> TlsError {
    TlsError::File {
        path: path.display().to_string(),
        source,
    }
}
