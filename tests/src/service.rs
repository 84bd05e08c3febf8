//! A Muster service that a test owns.

pub mod balancer;
pub mod clock;
pub mod description;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::artifacts;
use crate::certificates::Authority;
use crate::condition::await_condition;
use crate::http::HttpClient;
use crate::kube::Kubectl;
use crate::process::ports::ReservedPort;
use crate::process::{Program, command, run};
use crate::qemu::USER_NETWORK_HOST;
use crate::rest::Client;

/// Time limit of a service's start. A debug build in parallel to two emulated machines is slow.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The default list of the operator: hosts may be installed, and none of them uses this server.
pub const OS_IMAGES: &str = r#"[{"openshift_version":"4.20","cpu_architecture":"x86_64","version":"420.1","default":true,
    "metal_url":"http://images.example.test/metal.raw.zst",
    "metal_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}]"#;

/// Arguments of `muster` for a service on free ports of the loopback address.
pub const SERVE_ON_FREE_PORTS: [&str; 7] = [
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--boot-listen",
    "127.0.0.1:0",
    "--kube-listen",
    "127.0.0.1:0",
];

/// The Kubernetes API with a service's custom resources.
#[derive(Debug, Clone)]
enum KubeApi {
    Off,
    /// That of other replicas.
    Elsewhere,
    /// Its own API.
    Builtin,
    /// The server of that kubeconfig.
    Server(PathBuf),
}

/// Options of a service.
#[derive(Debug, Clone)]
pub struct Settings {
    program: PathBuf,
    address: String,
    seen_as: String,
    public_port: Option<u16>,
    database_url: Option<String>,
    auth: &'static str,
    live_image: Option<PathBuf>,
    kube: KubeApi,
    tls: Tls,
    /// The address of the boot listener for BMCs; `None`: the same as for machines.
    boot_seen_as: Option<String>,
    more: Vec<String>,
}

/// The protocol of the API's listener.
#[derive(Debug, Clone)]
enum Tls {
    Off,
    /// A certificate of its own authority.
    Own,
    /// A certificate in files.
    Given(Certificate),
}

/// A certificate in files.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// PEM.
    pub chain: PathBuf,
    /// PEM.
    pub key: PathBuf,
    /// PEM file with the authorities that clients trust.
    pub authorities: PathBuf,
}

impl Certificate {
    /// Files in a folder: none of them is written yet.
    pub fn in_folder(folder: &Path) -> Self {
        let [chain, key, authorities] =
            ["cert.pem", "key.pem", "authorities.pem"].map(|name| folder.join(name));
        Self {
            chain,
            key,
            authorities,
        }
    }

    /// Writes one by `authority` for the loopback address, with its key.
    ///
    /// # Panics
    /// If the files cannot be written.
    #[track_caller]
    pub fn issue(&self, authority: &Authority) {
        let signed = authority.server(&["127.0.0.1"]);
        for (file, text) in [(&self.chain, signed.certificate), (&self.key, signed.key)] {
            fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
    }
}

impl Settings {
    /// On the loopback address, which machines on user networks can reach; SQLite, no authentication, the live image.
    pub fn for_user_networks() -> Self {
        Self {
            program: artifacts::muster_program(),
            address: "127.0.0.1".to_owned(),
            seen_as: USER_NETWORK_HOST.to_owned(),
            public_port: None,
            database_url: None,
            auth: "none",
            live_image: Some(artifacts::live_image()),
            kube: KubeApi::Builtin,
            tls: Tls::Off,
            boot_seen_as: None,
            more: Vec::new(),
        }
    }

    /// On an address that machines reach directly, e.g. [`segment::ADDRESS`](crate::segment::ADDRESS).
    pub fn on_address(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            seen_as: address.to_owned(),
            ..Self::for_user_networks()
        }
    }

    /// With another name or address for machines.
    #[must_use]
    pub fn known_as(mut self, name: &str) -> Self {
        name.clone_into(&mut self.seen_as);
        self
    }

    /// For machines on user networks, which reach this computer's loopback by another address.
    #[must_use]
    pub fn seen_from_user_networks(mut self) -> Self {
        USER_NETWORK_HOST.clone_into(&mut self.seen_as);
        self
    }

    /// Boot URLs name the listener's own address: BMCs of the lab are on this computer and not in a machine.
    #[must_use]
    pub fn boot_seen_from_here(mut self) -> Self {
        self.boot_seen_as = Some(self.address.clone());
        self
    }

    /// With another build of the program.
    #[must_use]
    pub fn program(mut self, program: &Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// With another port of the same address for agents: that of a [`Recorder`](crate::evidence::recorder::Recorder).
    #[must_use]
    pub fn public_port(mut self, port: u16) -> Self {
        self.public_port = Some(port);
        self
    }

    /// With that database in place of SQLite in the data folder.
    #[must_use]
    pub fn database(mut self, url: &str) -> Self {
        self.database_url = Some(url.to_owned());
        self
    }

    /// With `--auth local`; [`Service::client`] then has the operator's token.
    #[must_use]
    pub fn auth_local(mut self) -> Self {
        self.auth = "local";
        self
    }

    /// With that image.
    #[must_use]
    pub fn live_image(mut self, image: &Path) -> Self {
        self.live_image = Some(image.to_owned());
        self
    }

    /// With no image.
    #[must_use]
    pub fn without_live_image(mut self) -> Self {
        self.live_image = None;
        self
    }

    /// With the API server of that kubeconfig in place of the built-in Kubernetes API.
    #[must_use]
    pub fn kubeconfig(mut self, file: &Path) -> Self {
        self.kube = KubeApi::Server(file.to_owned());
        self
    }

    /// With no Kubernetes API at all.
    #[must_use]
    pub fn without_kube_api(mut self) -> Self {
        self.kube = KubeApi::Off;
        self
    }

    /// With controllers in other replicas.
    #[must_use]
    pub fn kube_api_elsewhere(mut self) -> Self {
        self.kube = KubeApi::Elsewhere;
        self
    }

    /// With TLS by an authority of its own, like on an address outside of the loopback.
    #[must_use]
    pub fn own_tls(mut self) -> Self {
        self.tls = Tls::Own;
        self
    }

    /// With TLS by that certificate.
    #[must_use]
    pub fn certificate(mut self, certificate: &Certificate) -> Self {
        self.tls = Tls::Given(certificate.clone());
        self
    }

    /// With one more argument of `muster serve`.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.more.push(argument.to_owned());
        self
    }

    /// The file with the authorities that clients trust, if it uses TLS.
    fn authorities(&self, folder: &Path) -> Option<PathBuf> {
        match &self.tls {
            Tls::Off => None,
            Tls::Own => Some(folder.join("data/muster-ca.crt")),
            Tls::Given(certificate) => Some(certificate.authorities.clone()),
        }
    }

    /// Starts the service and waits until it is ready.
    #[track_caller]
    pub fn start(self) -> Service {
        Service::start(self)
    }
}

/// A running service with a data folder of its own. Dropping it kills it; if the test fails, its log is
/// shown.
pub struct Service {
    program: Program,
    settings: Settings,
    port: ReservedPort,
    boot_port: ReservedPort,
    kube_port: ReservedPort,
    client: Client,
    folder: TempDir,
}

impl Service {
    #[track_caller]
    fn start(settings: Settings) -> Self {
        let folder = tempfile::Builder::new().prefix("muster-service-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let [port, boot_port, kube_port] = std::array::from_fn(|_| ReservedPort::reserve());
        let mut client = Client::new(&format!("http://{}:{}", settings.address, port.number()));
        let ports = [&port, &boot_port, &kube_port].map(ReservedPort::number);
        let mut program = launch(&settings, ports, folder.path());
        if let Some(file) = settings.authorities(folder.path()) {
            program.await_output("(listening on https)", START_LIMIT);
            let authority = std::fs::read(&file);
            let authority = authority.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            client = Client::trusting(&format!("https://{}:{}", settings.address, ports[0]), &authority);
        }
        let mut service = Self {
            program,
            settings,
            port,
            boot_port,
            kube_port,
            client,
            folder,
        };
        service.await_ready();
        if service.settings.auth == "local" {
            let data_dir = service.data_dir().display().to_string();
            let mut arguments = vec!["token", "--operator", "--data-dir", &data_dir];
            if let Some(url) = &service.settings.database_url {
                arguments.extend(["--database-url", url]);
            }
            let token = service.muster(&arguments);
            service.client = service.client.with_token(token.trim());
        }
        service
    }

    #[track_caller]
    fn await_ready(&mut self) {
        let Self { program, client, .. } = self;
        await_condition("the service to be ready", START_LIMIT, || {
            assert!(
                program.is_running(),
                "the service ended:\n{}",
                program.transcript().tail()
            );
            client.is_ready().map_err(|error| error.to_string())
        });
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.program.id()
    }

    /// A client with the operator's rights.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// PEM file with the authorities that its clients trust; `None`: plain HTTP.
    pub fn authorities(&self) -> Option<PathBuf> {
        self.settings.authorities(self.folder.path())
    }

    /// A client of the main port (REST and more), without a credential.
    pub fn http(&self) -> HttpClient {
        HttpClient::new(&format!("http://127.0.0.1:{}", self.port()))
    }

    /// A client of the boot listener.
    pub fn boot_http(&self) -> HttpClient {
        HttpClient::new(&format!("http://127.0.0.1:{}", self.boot_port()))
    }

    /// The main port (REST and more).
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The port of the boot listener.
    pub fn boot_port(&self) -> u16 {
        self.boot_port.number()
    }

    /// The port of the built-in Kubernetes API.
    pub fn kube_port(&self) -> u16 {
        self.kube_port.number()
    }

    /// `kubectl` for its Kubernetes API.
    pub fn kubectl(&self) -> Kubectl {
        match &self.settings.kube {
            KubeApi::Server(file) => Kubectl::new(file),
            KubeApi::Builtin | KubeApi::Elsewhere | KubeApi::Off => {
                Kubectl::new(&self.data_dir().join("kubeconfig"))
            }
        }
    }

    /// Its data folder.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Converts a URL for machines to one that this computer reaches.
    pub fn reachable(&self, url: &str) -> String {
        let seen = format!("//{}:", self.settings.seen_as);
        url.replacen(&seen, &format!("//{}:", self.settings.address), 1)
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.program.transcript().text()
    }

    /// Runs the `muster` program with these arguments and returns its standard output.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn muster(&self, arguments: &[&str]) -> String {
        run(command(&self.settings.program).args(arguments))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.program.signal(signal);
    }

    /// Ends it like a power cut.
    pub fn kill(&mut self) {
        self.program.kill();
    }

    /// Terminates it and waits for its end.
    #[track_caller]
    pub fn terminate(&mut self) -> ExitStatus {
        self.program.signal(Signal::SIGTERM);
        self.program.await_exit(Duration::from_secs(45))
    }

    /// Starts it again, with the same data and ports, after [`kill`](Self::kill) or
    /// [`terminate`](Self::terminate).
    #[track_caller]
    pub fn start_again(&mut self) {
        let ports = [&self.port, &self.boot_port, &self.kube_port].map(ReservedPort::number);
        self.program = launch(&self.settings, ports, self.folder.path());
        self.await_ready();
    }

    /// The same on another Kubernetes API server, for a user with that kubeconfig.
    #[track_caller]
    pub fn start_again_on(&mut self, kubeconfig: &Path) {
        self.settings.kube = KubeApi::Server(kubeconfig.to_owned());
        self.start_again();
    }

    /// The same with another build of the program.
    #[track_caller]
    pub fn start_again_as(&mut self, program: &Path) {
        program.clone_into(&mut self.settings.program);
        self.start_again();
    }
}

/// With these ports: of REST, of boot artifacts, of the built-in Kubernetes API.
fn launch(settings: &Settings, [port, boot_port, kube_port]: [u16; 3], folder: &Path) -> Program {
    let Settings { address, seen_as, .. } = settings;
    let public_port = settings.public_port.unwrap_or(port);
    let mut serve = command(&settings.program);
    // Settings of the surrounding shell are not the test's.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MUSTER_")) {
        serve.env_remove(name);
    }
    serve.arg("serve").arg("--data-dir").arg(folder.join("data"));
    serve.arg("--listen").arg(format!("{address}:{port}"));
    serve.arg("--boot-listen").arg(format!("{address}:{boot_port}"));
    let scheme = match &settings.tls {
        Tls::Off => "http",
        Tls::Own | Tls::Given(_) => "https",
    };
    if let Tls::Given(Certificate { chain, key, .. }) = &settings.tls {
        serve.arg("--tls-cert").arg(chain).arg("--tls-key").arg(key);
    }
    serve
        .arg("--public-url")
        .arg(format!("{scheme}://{seen_as}:{public_port}"));
    let boot_seen_as = settings.boot_seen_as.as_ref().unwrap_or(seen_as);
    serve
        .arg("--boot-url")
        .arg(format!("http://{boot_seen_as}:{boot_port}"));
    match &settings.kube {
        KubeApi::Off => serve.args(["--kube-api", "off"]),
        KubeApi::Elsewhere => serve.args(["--kube-api", "elsewhere"]),
        KubeApi::Server(file) => serve.args(["--kube-api", "cluster", "--kubeconfig"]).arg(file),
        KubeApi::Builtin => serve
            .args(["--kube-api", "builtin", "--kube-listen"])
            .arg(format!("127.0.0.1:{kube_port}")),
    };
    serve.args(["--auth", settings.auth]);
    // The lab's workload clusters are on this computer.
    serve.args(["--workload-networks", "127.0.0.0/8,0.0.0.0/0"]);
    if let Some(url) = &settings.database_url {
        serve.arg("--database-url").arg(url);
    }
    if let Some(image) = &settings.live_image {
        serve.arg("--live-image").arg(image);
    }
    if !settings
        .more
        .iter()
        .any(|argument| argument.starts_with("--os-images"))
    {
        serve.arg(format!("--os-images={OS_IMAGES}"));
    }
    serve.args(&settings.more);
    Program::start("muster serve", &mut serve, &folder.join("service.log"))
}
