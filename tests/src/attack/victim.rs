//! The service under attack: one InfraEnv with hosts that must not be affected, one with a token that the attacker has.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;

use socket2::{Domain, Socket, Type};

use super::probe::Question;
use crate::artifacts::{live_image, muster_program};
use crate::hosts::plain::{infra_env, known_host};
use crate::http::HttpClient;
use crate::process::resident;
use crate::service::{Service, Settings};

/// Agents send their keys in this header (docs/protocol/rest-behaviour.md#8).
const AGENT_KEY: &str = "X-Secret-Key";

/// The address of attackers: the service divides its connections among addresses.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 66, 0, 1);

/// True when an attack has lasted long enough.
pub(super) type Enough<'a> = dyn Fn() -> bool + Sync + 'a;

/// A service with its test data.
pub struct Victim {
    pub service: Service,
    /// With the operator's token.
    pub client: HttpClient,
    /// InfraEnv of the hosts that must not be affected.
    infra_env: String,
    host: String,
    token: String,
    /// InfraEnv of the attacker.
    pub attackers_infra_env: String,
    pub attackers_host: String,
    pub attackers_token: String,
    _folder: tempfile::TempDir,
}

impl Victim {
    /// Starts a service that may open so many files, with tokens.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn with_files(files: u32, with_kubernetes: bool) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("muster");
        let script = format!(
            "#!/bin/sh\nulimit -n {files}\nexec {} \"$@\"\n",
            muster_program().display()
        );
        fs::write(&program, script).expect("a script");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
        let mut settings = Settings::on_address("127.0.0.1")
            .program(&program)
            .live_image(&live_image())
            .auth_local();
        if !with_kubernetes {
            settings = settings.without_kube_api();
        }
        let service = settings.start();
        let operator = service.client().token().expect("it has tokens").to_owned();
        let client = service.http().with_token(&operator);
        let (infra_env, attackers_infra_env) = (infra_env(&client), infra_env(&client));
        let token = |of: &str| {
            let id = of.trim_start_matches("/infra-envs/");
            let folder = service.data_dir().display().to_string();
            let printed = service.muster(&["token", "--infra-env", id, "--data-dir", &folder]);
            printed.trim().to_owned()
        };
        let (token, attackers_token) = (token(&infra_env), token(&attackers_infra_env));
        let host = known_host(&client, &infra_env, 1);
        let attackers_host = known_host(&client, &attackers_infra_env, 2);
        // The live image is opened and hashed at the first request.
        service.http().request("GET", "/ready", None).expect(200);
        Self {
            service,
            client,
            infra_env,
            host,
            token,
            attackers_infra_env,
            attackers_host,
            attackers_token,
            _folder: folder,
        }
    }

    /// A client with the credentials of an agent in the attacker's InfraEnv.
    pub fn attacker(&self) -> HttpClient {
        let client = HttpClient::from(ATTACKER.into(), self.service.http().base());
        client.with(AGENT_KEY, &self.attackers_token)
    }

    /// A connection of an attacker without credentials.
    ///
    /// # Errors
    /// If it is refused.
    pub fn connect(port: u16) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((ATTACKER, 0)).into())?;
        socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
        Ok(socket.into())
    }

    pub(super) fn questions(&self) -> Vec<Question> {
        let get = |name, port, path: &str, headers: &str, status| Question {
            name,
            port,
            head: format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n"),
            status,
        };
        let (api, boot) = (self.service.port(), self.service.boot_port());
        let poll = format!("/api/assisted-install/v2{}/instructions", self.host);
        let key = format!("{AGENT_KEY}: {}\r\n", self.token);
        let image = self
            .client
            .get(&format!("{}/downloads/image-url", self.infra_env));
        let image = image.expect(200).json();
        let url = image["url"].as_str().expect("a URL");
        let (_, path) = url
            .split_once("://")
            .and_then(|(_, after)| after.split_once('/'))
            .expect("a URL with a path");
        let path = &format!("/{path}");
        vec![
            get("a poll", api, &poll, &key, 200),
            get("a BMC's range", boot, path, "Range: bytes=32768-36863\r\n", 206),
            get("health", api, "/health", "", 200),
        ]
    }

    /// The path of the host that must not be affected.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Resident memory of the process, MiB.
    pub fn resident_mib(&self) -> u64 {
        resident(self.service.id()) >> 20
    }

    /// Open files of the process.
    ///
    /// # Panics
    /// If it has ended.
    pub fn open_files(&self) -> usize {
        let listed = fs::read_dir(format!("/proc/{}/fd", self.service.id()));
        listed.expect("the service runs").count()
    }
}
