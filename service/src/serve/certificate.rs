//! Opens the certificate of the API listener, and follows its files.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use axum_server::tls_rustls::RustlsConfig;
use muster_kube_api::{Authority, write_private};
use muster_operations::urls::Urls;
use muster_operations::{Operations, now};
use muster_store::Store;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::authority;
use crate::settings::{Protocol, ServeArgs};

/// Common name of the authority of the API, and the setting that holds it. Images in the field name it, so it must not change.
const AUTHORITY: &str = "muster-ca";

/// File in the data dir with that authority's certificate, for clients.
pub(super) const AUTHORITY_FILE: &str = "muster-ca.crt";

/// Time between two looks at the files. Mounted Secrets change once a minute at most.
const INTERVAL: Duration = Duration::from_secs(10);

/// The identity of the API listener, and the certificates that hosts need to trust it.
pub(super) struct Identity {
    /// `None`: plain HTTP.
    pub(super) tls: Option<RustlsConfig>,
    /// PEM; empty if public CAs suffice.
    pub(super) service_ca: String,
    /// File with the certificates that clients of this service need to trust.
    pub(super) ca_file: Option<PathBuf>,
    /// Files to follow, with what was read of them.
    files: Option<(Files, Content)>,
}

impl Identity {
    /// The certificate to serve before the database is open. Until [`Self::open`], the certificate of the service's own authority is one
    /// that no client trusts.
    ///
    /// # Errors
    /// Fails for files that hold no certificate.
    pub(super) fn new(args: &ServeArgs, names: &[String]) -> Result<Self> {
        let given = args.service_ca.as_deref().map(read_ca).transpose()?;
        let identity = |tls| Self {
            tls,
            service_ca: given.clone().unwrap_or_default(),
            ca_file: args.service_ca.clone(),
            files: None,
        };
        match args.protocol() {
            Protocol::Plain | Protocol::PlainBeyondLoopback => Ok(identity(None)),
            Protocol::OwnAuthority => {
                let tls = issued(&Authority::generate(AUTHORITY)?, names)?;
                Ok(identity(Some(RustlsConfig::from_config(tls))))
            }
            Protocol::Files { cert, key } => {
                let files = Files {
                    cert: cert.to_owned(),
                    key: key.to_owned(),
                    ca: args.service_ca.clone().unwrap_or_else(|| cert.to_owned()),
                };
                let content = files.read()?;
                let tls = RustlsConfig::from_config(files.config(&content)?);
                Ok(Self {
                    tls: Some(tls),
                    service_ca: content.ca.clone(),
                    ca_file: Some(files.ca.clone()),
                    files: Some((files, content)),
                })
            }
        }
    }

    /// Takes the certificate of the service's own authority, if the service serves that one.
    ///
    /// # Errors
    /// Fails if the database does, or if a file of the data dir cannot be read or written.
    pub(super) async fn open(&mut self, args: &ServeArgs, store: &Store, names: &[String]) -> Result<()> {
        let (Protocol::OwnAuthority, Some(tls)) = (args.protocol(), &self.tls) else {
            return Ok(());
        };
        let own = authority::open(store, AUTHORITY, None).await;
        let own = own.context("the service's own authority")?;
        tls.reload_from_config(issued(&own, names)?);
        let file = args.data.data_dir.join(AUTHORITY_FILE);
        write_private(&file, own.certificate_pem().as_bytes())?;
        self.ca_file = Some(file);
        // `--service-ca` is given if an operator serves this service by another name, with a CA of their own.
        if args.service_ca.is_none() {
            own.certificate_pem().clone_into(&mut self.service_ca);
        }
        Ok(())
    }

    /// Takes new content of the files until `stop`. Content that cannot be used is logged, and the former stays.
    pub(super) async fn follow(self, operations: Arc<Operations>, store: Store, stop: CancellationToken) {
        let (Some((files, mut last)), Some(tls)) = (self.files, self.tls) else {
            return stop.cancelled().await;
        };
        let mut ticks = tokio::time::interval(INTERVAL);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = stop.cancelled() => return,
            }
            // While files are replaced one by one they do not belong together: the next round finds both.
            let Ok(content) = files.read() else { continue };
            if last == content {
                continue;
            }
            match files.config(&content) {
                Ok(config) => {
                    tls.reload_from_config(config);
                    tracing::info!(cert = %files.cert.display(), "the API listener has a new certificate");
                    let options = &operations.image_options;
                    if *options.service_ca() != *content.ca
                        && let Err(error) = options.set_service_ca(&store, &content.ca, now()).await
                    {
                        tracing::warn!(%error, "since when images have the new CA could not be stored");
                    }
                }
                Err(error) => {
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "the changed certificate is not taken, the one before stays"
                    );
                }
            }
            last = content;
        }
    }
}

/// The names under which clients reach the API on the listener `bound`.
pub(super) fn names(urls: &Urls, bound: SocketAddr) -> Vec<String> {
    let public = Url::parse(&urls.public).ok();
    let public = public.and_then(|url| Some(url.host_str()?.trim_matches(['[', ']']).to_owned()));
    let system = rustix::system::uname().nodename().to_string_lossy().into_owned();
    [bound.ip().to_string(), system]
        .into_iter()
        .chain(public)
        .collect()
}

/// Paths of PEM files.
struct Files {
    cert: PathBuf,
    key: PathBuf,
    ca: PathBuf,
}

/// The content of the files.
#[derive(PartialEq, Eq)]
struct Content {
    cert: String,
    key: String,
    ca: String,
}

impl Files {
    fn read(&self) -> Result<Content> {
        let read = |flag: &str, path: &Path| {
            std::fs::read_to_string(path).with_context(|| format!("{flag} {} cannot be read", path.display()))
        };
        Ok(Content {
            cert: read("--tls-cert", &self.cert)?,
            key: read("--tls-key", &self.key)?,
            ca: read("--service-ca", &self.ca)?,
        })
    }

    fn config(&self, content: &Content) -> Result<Arc<ServerConfig>> {
        let config = server_config(&content.cert, &content.key).with_context(|| {
            format!(
                "--tls-cert {} and --tls-key {} do not make a certificate",
                self.cert.display(),
                self.key.display()
            )
        })?;
        ensure_certificate(&content.ca, &self.ca)?;
        Ok(config)
    }
}

fn read_ca(path: &Path) -> Result<String> {
    let pem = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    ensure_certificate(&pem, path)?;
    Ok(pem)
}

fn ensure_certificate(pem: &str, path: &Path) -> Result<()> {
    ensure!(
        pem.contains("-----BEGIN CERTIFICATE-----"),
        "{} holds no PEM certificate",
        path.display()
    );
    Ok(())
}

/// TLS with a new certificate of an authority.
fn issued(authority: &Authority, names: &[String]) -> Result<Arc<ServerConfig>> {
    let issued = authority.server("muster", names)?;
    server_config(&issued.certificate_pem, &issued.key_pem)
}

/// HTTP/1.1 only, on every listener: with HTTP/2 a client that reads nothing stalls its stream and not its connection,
/// and would keep a download's slot for ever.
fn server_config(cert: &str, key: &str) -> Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_slice_iter(cert.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    ensure!(!chain.is_empty(), "there is no certificate");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
