//! Defines the options of `muster serve`: flags and `MUSTER_*` variables, read once in `main`.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use ipnet::IpNet;
use muster_core::record::EventLimits;
use muster_images::Limits;
use muster_operations::disk::Disk;
use muster_outgoing::Networks;
use url::{Host, Url};

use crate::addresses;
use crate::bmcs::BmcArgs;
use crate::installation::InstallationArgs;
use crate::kubernetes::{self, KubeApiChoice, Metal3Choice, Source};
use crate::requirements::RequirementArgs;
use crate::retention::RetentionArgs;
use crate::secrets_key::SecretsKeyArgs;

/// The authentication of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AuthMode {
    /// Every client that reaches the listener.
    None,
    /// Holders of a token: the operator's, or one scoped to an InfraEnv.
    Local,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The folder of a service, for `muster serve` and the commands that use the same folder.
#[derive(Debug, Clone, Args)]
pub struct DataDirArgs {
    /// The service's data dir
    #[arg(
        long,
        env = "MUSTER_DATA_DIR",
        default_value = "muster-data",
        value_name = "DIR"
    )]
    pub data_dir: PathBuf,
}

/// The options of `muster serve`, as given.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Where it keeps its data.
    #[command(flatten)]
    pub data: DataDirArgs,

    /// Address of the API: REST, images, /health, /ready, /metrics
    /// (ADDRESS:PORT, NAME:PORT, :PORT for every address, PORT for this computer alone)
    #[arg(
        long,
        env = "MUSTER_LISTEN",
        default_value = "127.0.0.1:8090",
        value_name = "ADDR:PORT",
        value_parser = addresses::api
    )]
    pub listen: SocketAddr,

    /// Address of the plain-HTTP listener that serves boot artifacts and nothing else
    /// [default: port 8091 of the address in --listen]
    #[arg(long, env = "MUSTER_BOOT_LISTEN", value_name = "ADDR:PORT", value_parser = addresses::boot)]
    boot_listen: Option<SocketAddr>,

    /// URL under which hosts reach the API [default: from --listen]
    #[arg(long, env = "MUSTER_PUBLIC_URL", value_name = "URL", value_parser = addresses::url)]
    pub public_url: Option<Url>,

    /// URL under which firmware reaches the boot artifacts [default: from --boot-listen]
    #[arg(long, env = "MUSTER_BOOT_URL", value_name = "URL", value_parser = addresses::url)]
    pub boot_url: Option<Url>,

    /// sqlite://FILE or postgres://USER:PASSWORD@HOST/DB [default: SQLite in the data dir]
    #[arg(long, env = "MUSTER_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database_url: Option<String>,

    /// Connections of this replica to PostgreSQL at most
    #[arg(long, env = "MUSTER_DATABASE_CONNECTIONS", default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u32).range(12..=1000))]
    pub database_connections: u32,

    /// Who may call the API [default: none on loopback, local on any other address]
    #[arg(long, env = "MUSTER_AUTH", value_name = "MODE")]
    pub auth: Option<AuthMode>,

    /// PEM file with the P-256 private key that signs tokens [default: made once, kept in the database]
    #[arg(long, env = "MUSTER_AUTH_KEY", value_name = "FILE")]
    pub auth_key: Option<PathBuf>,

    /// PEM file with a private key that signed tokens before --auth-key: they stay good. May be given several times; the word database means
    /// the key that was made there once
    #[arg(
        long = "auth-key-previous",
        env = "MUSTER_AUTH_KEY_PREVIOUS",
        value_name = "FILE",
        value_delimiter = ',',
        requires = "auth_key"
    )]
    pub auth_keys_previous: Vec<PathBuf>,

    /// How secrets are kept.
    #[command(flatten)]
    pub secrets: SecretsKeyArgs,

    /// Seconds for which signed URLs are good [default: until they are revoked]
    #[arg(long, env = "MUSTER_URL_LIFETIME", value_name = "SECONDS", value_parser = seconds)]
    pub url_lifetime: Option<Duration>,

    /// PEM file with the certificate chain of the API listener; needs --tls-key. Both are read again when they change
    /// [default: beyond loopback a certificate of the service's own authority]
    #[arg(long, env = "MUSTER_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// PEM file with the private key of the API listener; needs --tls-cert
    #[arg(long, env = "MUSTER_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Speak plain HTTP beyond loopback, too: a machine on the way reads tokens and pull secrets. For where TLS ends before this service
    #[arg(long, env = "MUSTER_INSECURE_HTTP", conflicts_with = "tls_cert", value_parser = clap::builder::FalseyValueParser::new())]
    insecure_http: bool,

    /// Address of a listener with /health, /ready and /metrics alone: plain HTTP, no tokens. /metrics is there only, then
    #[arg(long, env = "MUSTER_STATUS_LISTEN", value_name = "ADDR:PORT", value_parser = addresses::status)]
    pub status_listen: Option<SocketAddr>,

    /// PEM file with the CA that hosts need to trust the API [default: the certificate of --tls-cert, or the service's own authority]
    #[arg(long, env = "MUSTER_SERVICE_CA", value_name = "FILE")]
    pub service_ca: Option<PathBuf>,

    /// The Muster live image [default: muster-live-x86_64.iso next to the program or in the data dir]
    #[arg(long, env = "MUSTER_LIVE_IMAGE", value_name = "FILE")]
    pub live_image: Option<PathBuf>,

    /// The Muster live image for ARM servers [default: muster-live-aarch64.iso at the same places; without one they are discovered with CoreOS images alone]
    #[arg(long, env = "MUSTER_LIVE_IMAGE_AARCH64", value_name = "FILE")]
    pub live_image_aarch64: Option<PathBuf>,

    /// Image downloads served at once; further ones wait
    #[arg(long, env = "MUSTER_MAX_DOWNLOADS", default_value_t = 400, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_downloads: u32,

    /// Those of them to one address (IPv6: to one /64), as many more wait: raise it for machines behind NAT or a proxy [default: half of --max-downloads]
    #[arg(long, env = "MUSTER_MAX_DOWNLOADS_PER_ADDRESS", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_downloads_per_address: Option<u32>,

    /// Versions offered to clients, oldest first; the last is the default. The live image serves any other version, too
    #[arg(
        long,
        env = "MUSTER_OPENSHIFT_VERSIONS",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "4.18,4.19,4.20,4.21,4.22,5.0"
    )]
    pub openshift_versions: Vec<String>,

    /// How often events of a name are stored about the same thing, on top of the built-in limits, e.g. {"host_validation_failed":"10m"}
    #[arg(long, env = "EVENT_RATE_LIMITS", value_name = "JSON", default_value = "{}", value_parser = EventLimits::with)]
    pub event_limits: EventLimits,

    /// The requirements of hosts.
    #[command(flatten)]
    pub requirements: RequirementArgs,

    /// How hosts are installed.
    #[command(flatten)]
    pub installation: InstallationArgs,

    /// Image of agents that are not ours: those of another version are upgraded to it. Without it none is
    #[arg(long, env = "MUSTER_AGENT_IMAGE", value_name = "IMAGE")]
    pub agent_image: Option<String>,

    /// Leave running agents of ours as they are. Else those on hosts in discovery become the agent of the live image where that is newer
    #[arg(long, env = "MUSTER_NO_AGENT_UPGRADE")]
    pub no_agent_upgrade: bool,

    /// The Kubernetes API whose custom resources are reconciled
    #[arg(long, env = "MUSTER_KUBE_API", default_value = "auto", value_name = "WHICH")]
    pub kube_api: KubeApiChoice,

    /// Kubeconfig of an API server, in place of the built-in one
    #[arg(long, env = "MUSTER_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Address of the built-in Kubernetes API (TLS); its kubeconfig is written to the data dir
    /// [default: 127.0.0.1:6443, or a free port where that is taken]
    #[arg(long, env = "MUSTER_KUBE_LISTEN", value_name = "ADDR:PORT", value_parser = addresses::kube)]
    pub kube_listen: Option<SocketAddr>,

    /// URL under which others reach the built-in Kubernetes API: in its certificate and its kubeconfigs [default: from --kube-listen]
    #[arg(long, env = "MUSTER_KUBE_PUBLIC_URL", value_name = "URL", value_parser = addresses::url)]
    pub kube_public_url: Option<Url>,

    /// Namespace of the Lease by which replicas agree who runs the controllers [default: that of the pod or of the kubeconfig]
    #[arg(long, env = "MUSTER_KUBE_NAMESPACE", value_name = "NAMESPACE")]
    pub kube_namespace: Option<String>,

    /// Look after custom resources in these namespaces alone, on an API server: rights in them are enough [default: all]
    #[arg(long, env = "MUSTER_NAMESPACES", value_name = "LIST", value_delimiter = ',')]
    pub namespaces: Vec<String>,

    /// Networks that API servers of workload clusters may be in, e.g. 10.0.0.0/8,fd00::/8: kubeconfigs of tenants lead to no others.
    /// Without it any but link-local ones, and loopback where the service itself is only on loopback
    #[arg(
        long,
        env = "MUSTER_WORKLOAD_NETWORKS",
        value_name = "LIST",
        value_delimiter = ','
    )]
    pub workload_networks: Vec<IpNet>,

    /// Run controllers although another service of this sort (assisted-service of MCE) runs some on the same API server
    #[arg(long, env = "MUSTER_TAKE_OVER", value_parser = clap::builder::FalseyValueParser::new())]
    pub take_over: bool,

    /// Take Agents for the Machines of Cluster API (AgentCluster, AgentMachine), in namespaces in which no other provider does, as
    /// HyperShift's do
    #[arg(long, env = "MUSTER_CAPI_PROVIDER", value_parser = clap::builder::FalseyValueParser::new())]
    pub capi_provider: bool,

    /// With --capi-provider: only objects whose label cluster.x-k8s.io/watch-filter has this value, for several instances of the provider
    #[arg(long, env = "MUSTER_WATCH_FILTER", value_name = "VALUE")]
    watch_filter: Option<String>,

    /// Leave out the page for browsers (/ui)
    #[arg(long, env = "MUSTER_NO_WEB", value_parser = clap::builder::FalseyValueParser::new())]
    pub no_web: bool,

    /// Do not show what REST made as custom resources of the built-in Kubernetes API
    #[arg(long, env = "MUSTER_NO_MIRROR", value_parser = clap::builder::FalseyValueParser::new())]
    pub no_mirror: bool,

    /// How BareMetalHosts of Metal3 get to the discovery image, where the Kubernetes API has them
    #[arg(long, env = "MUSTER_METAL3", default_value = "live-iso", value_name = "HOW")]
    pub metal3: Metal3Choice,

    /// Seconds that running requests get to finish after SIGTERM
    #[arg(long, env = "MUSTER_DRAIN_TIMEOUT", default_value = "30", value_name = "SECONDS", value_parser = seconds)]
    pub drain_timeout: Duration,

    /// How log lines look
    #[arg(
        long,
        env = "MUSTER_LOG_FORMAT",
        default_value = "text",
        value_name = "FORMAT"
    )]
    pub log_format: LogFormat,

    /// What is logged, e.g. info or muster=debug,sqlx=warn
    #[arg(
        long,
        env = "MUSTER_LOG",
        default_value = "info,sqlx=warn",
        value_name = "FILTER"
    )]
    pub log: String,

    /// BMCs.
    #[command(flatten)]
    pub bmcs: BmcArgs,

    /// What is kept, and for how long.
    #[command(flatten)]
    pub retention: RetentionArgs,
}

/// The protocol of the API listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol<'a> {
    /// HTTP that only this machine reaches.
    Plain,
    /// HTTP that others reach.
    PlainBeyondLoopback,
    /// TLS with a given certificate.
    Files { cert: &'a Path, key: &'a Path },
    /// TLS with a certificate of the service's own authority.
    OwnAuthority,
}

impl Protocol<'_> {
    /// The scheme of the listener's URLs.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Plain | Self::PlainBeyondLoopback => "http",
            Self::Files { .. } | Self::OwnAuthority => "https",
        }
    }
}

/// A hundred years.
const LONGEST_SECS: u64 = 100 * 365 * 24 * 3600;

fn seconds(text: &str) -> Result<Duration, String> {
    text.trim_end_matches('s')
        .parse()
        .ok()
        .filter(|seconds| *seconds <= LONGEST_SECS)
        .map(Duration::from_secs)
        .ok_or_else(|| "give whole seconds, e.g. 30".into())
}

impl ServeArgs {
    /// The database to open: as given, or a file in the data dir.
    pub fn database_url(&self) -> String {
        self.database_url
            .clone()
            .unwrap_or_else(|| default_database_url(&self.data.data_dir))
    }

    /// Where downloaded images are.
    pub fn os_images_dir(&self) -> PathBuf {
        let given = self.installation.os_images_dir.clone();
        given.unwrap_or_else(|| self.data.data_dir.join("os-images"))
    }

    /// The disk of a database that is this process's own file; `None` for PostgreSQL.
    pub fn own_disk(&self) -> Option<Disk> {
        sqlite_file(&self.database_url()).map(Disk::of)
    }

    /// `local` unless the options name one or only this machine can reach the service.
    pub fn auth_mode(&self) -> AuthMode {
        self.auth.unwrap_or(if self.is_trial() {
            AuthMode::None
        } else {
            AuthMode::Local
        })
    }

    /// As in [`Asked`](kubernetes::Asked). The variable may be set and empty.
    pub fn watch_filter(&self) -> Option<String> {
        self.watch_filter.clone().filter(|value| !value.is_empty())
    }

    /// The networks of API servers of workload clusters.
    pub fn workload_networks(&self) -> Networks {
        Networks::of_api_servers(&self.workload_networks, self.is_trial())
    }

    /// True when only this machine can reach the service. A URL that leads here from elsewhere means that a proxy does.
    fn is_trial(&self) -> bool {
        let here = |url: &Option<Url>| url.as_ref().is_none_or(is_loopback);
        let listeners = self.listen.ip().is_loopback() && self.boot_listen().ip().is_loopback();
        listeners && here(&self.public_url) && here(&self.boot_url)
    }

    /// The protocol of the API listener: plain HTTP on loopback, and where an option requests it.
    pub fn protocol(&self) -> Protocol<'_> {
        let asked = self.insecure_http || self.public_url.as_ref().is_some_and(|url| url.scheme() == "http");
        match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Protocol::Files { cert, key },
            _ if self.listen.ip().is_loopback() => Protocol::Plain,
            _ if asked => Protocol::PlainBeyondLoopback,
            _ => Protocol::OwnAuthority,
        }
    }

    /// The most downloads at once.
    pub fn download_limits(&self) -> Limits {
        let to_one_address = self.max_downloads_per_address.map(|most| most as usize);
        Limits::new(self.max_downloads as usize, to_one_address)
    }

    /// Address of the boot listener: as given, or next to the API's.
    pub fn boot_listen(&self) -> SocketAddr {
        self.boot_listen
            .unwrap_or_else(|| addresses::boot_beside(self.listen))
    }

    /// The Kubernetes API to use.
    pub fn kube_source(&self) -> Result<Source> {
        kubernetes::source(self.kube_api, self.kubeconfig.as_deref(), kubernetes::in_pod())
    }

    /// The URL that hosts use, once the listener is bound to `bound`.
    pub fn public_url(&self, bound: SocketAddr) -> Result<String> {
        base_url(
            self.public_url.as_ref(),
            self.protocol().scheme(),
            bound,
            "--public-url",
        )
    }

    /// The URL of boot artifacts, once the boot listener is bound to `bound`.
    pub fn boot_url(&self, bound: SocketAddr) -> Result<String> {
        base_url(self.boot_url.as_ref(), "http", bound, "--boot-url")
    }
}

/// The file of a SQLite database; `None` for PostgreSQL.
pub fn sqlite_file(url: &str) -> Option<&Path> {
    let file = url.strip_prefix("sqlite:")?.trim_start_matches("//");
    Some(Path::new(file.split('?').next().unwrap_or(file)))
}

/// A warning about a password that every user of this machine can read: in the URL of the database, which is an argument of this process.
pub fn password_in_arguments(url: &str) -> Option<&'static str> {
    let parsed = Url::parse(url).ok()?;
    let has_password =
        parsed.password().is_some() || parsed.query_pairs().any(|(name, _)| name == "password");
    let is_argument = || std::env::args_os().any(|argument| argument.to_string_lossy().contains(url));
    (has_password && is_argument()).then_some(
        "everybody on this machine can read the arguments of a process, and the password in --database-url is among them: give the URL by \
         MUSTER_DATABASE_URL, and change the password",
    )
}

/// The SQLite database of a data dir.
pub fn default_database_url(data_dir: &std::path::Path) -> String {
    format!("sqlite://{}", data_dir.join("muster.db").display())
}

/// Without trailing slash. A wildcard address is replaced by this machine's source address of packets to the world.
fn base_url(given: Option<&Url>, scheme: &str, bound: SocketAddr, flag: &str) -> Result<String> {
    if let Some(url) = given {
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() || url.query().is_some() {
            bail!("{flag} {url}: give an http:// or https:// URL without a query");
        }
        return Ok(url.as_str().trim_end_matches('/').to_owned());
    }
    let ip = if bound.ip().is_unspecified() {
        outward_address(bound.ip()).with_context(|| {
            format!("{bound} is every address of this machine and none leads out: set {flag} {scheme}://ADDRESS:{}, as hosts reach it", bound.port())
        })?
    } else {
        bound.ip()
    };
    Ok(format!("{scheme}://{}", SocketAddr::new(ip, bound.port())))
}

/// True when the URL names this machine and no other.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// The source address of packets to the world. Connecting a datagram socket sends nothing.
fn outward_address(any: IpAddr) -> Result<IpAddr> {
    let target = if any.is_ipv4() {
        "192.0.2.1:9"
    } else {
        "[2001:db8::1]:9"
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(target)?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        serve: ServeArgs,
    }

    fn parse(args: &[&str]) -> ServeArgs {
        Cli::parse_from([&["muster"], args].concat()).serve
    }

    #[test]
    fn loopback_is_open_and_anything_else_asks_for_tokens() {
        assert_eq!(parse(&[]).auth_mode(), AuthMode::None);
        assert_eq!(parse(&["--listen", "0.0.0.0:8090"]).auth_mode(), AuthMode::Local);
        assert_eq!(
            parse(&["--boot-listen", "192.0.2.7:80"]).auth_mode(),
            AuthMode::Local
        );
        assert_eq!(
            parse(&["--listen", "0.0.0.0:8090", "--auth", "none"]).auth_mode(),
            AuthMode::None
        );
        let behind_a_proxy = ["--public-url", "https://muster.example.test"];
        assert_eq!(parse(&behind_a_proxy).auth_mode(), AuthMode::Local);
        let named = [
            "--public-url",
            "http://localhost:8090",
            "--boot-url",
            "http://[::1]:8091",
        ];
        assert_eq!(parse(&named).auth_mode(), AuthMode::None);
    }

    #[test]
    fn the_boot_listener_goes_where_the_api_goes() {
        let boot = |args: &[&str]| parse(args).boot_listen().to_string();
        assert_eq!(boot(&[]), "127.0.0.1:8091");
        assert_eq!(boot(&["--listen", "0.0.0.0"]), "0.0.0.0:8091");
        assert_eq!(
            boot(&["--listen", "0.0.0.0", "--boot-listen", "192.0.2.7:80"]),
            "192.0.2.7:80"
        );
    }

    #[test]
    fn plain_http_is_spoken_on_loopback_and_where_somebody_said_so() {
        let protocol = |more: &[&str]| {
            let args = parse(more);
            match args.protocol() {
                Protocol::Plain => "plain",
                Protocol::PlainBeyondLoopback => "plain beyond loopback",
                Protocol::Files { .. } => "files",
                Protocol::OwnAuthority => "own",
            }
        };
        let files = ["--listen", ":1", "--tls-cert", "c", "--tls-key", "k"];
        let beyond = |more: &[&'static str]| protocol(&[&["--listen", ":1"], more].concat());
        assert_eq!(protocol(&[]), "plain");
        assert_eq!(protocol(&["--public-url", "https://x"]), "plain");
        assert_eq!(protocol(&files), "files");
        assert_eq!(beyond(&[]), "own");
        assert_eq!(beyond(&["--public-url", "https://x"]), "own");
        assert_eq!(beyond(&["--insecure-http"]), "plain beyond loopback");
        assert_eq!(beyond(&["--public-url", "http://x"]), "plain beyond loopback");
    }

    #[test]
    fn urls_follow_the_listener_unless_given() {
        let bound = "127.0.0.1:4711".parse().unwrap();
        assert_eq!(parse(&[]).public_url(bound).unwrap(), "http://127.0.0.1:4711");
        let given = parse(&["--public-url", "https://muster.example.test/base/"]);
        assert_eq!(
            given.public_url(bound).unwrap(),
            "https://muster.example.test/base"
        );
        assert!(parse(&["--public-url", "ftp://x"]).public_url(bound).is_err());
    }
}
