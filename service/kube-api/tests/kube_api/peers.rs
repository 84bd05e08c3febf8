//! The same clients against two servers: this API over TLS, and a real one.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use http::StatusCode;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use muster_connections::{Connections, Listener};
use muster_kube_api::{Authority, Caller, Credentials, Kind, KubeApi, Tokens, kubeconfig, write_private};
use muster_tests::kube::{ControlPlane, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::http::send;
use crate::world::{World, crd};

const TOKEN: &str = "token-of-the-administrator";

/// A server with the CRD of books, and the URL and credentials for clients.
pub struct Peer {
    pub name: &'static str,
    pub url: String,
    pub token: String,
    pub authority: PathBuf,
    pub client: Client,
    kubeconfig: PathBuf,
    server: Server,
}

enum Server {
    BuiltIn {
        world: Box<World>,
        _folder: TempDir,
        _listening: DropGuard,
    },
    Real {
        _plane: Arc<ControlPlane>,
    },
}

impl Peer {
    /// This API on a database of its own.
    pub async fn built_in(database: Kind) -> Self {
        let world = World::new(database).await;
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::generate("ours").unwrap();
        let (url, stop, _) = listen(&world.api, &authority, TOKEN);
        let identity = authority.client(&Caller::administrator()).unwrap();
        let path = folder.path().join("kubeconfig");
        let text = kubeconfig(
            &url,
            authority.certificate_pem(),
            &Credentials::Certificate(&identity),
        );
        write_private(&path, text.as_bytes()).unwrap();
        let ca = folder.path().join("ca.crt");
        write_private(&ca, authority.certificate_pem().as_bytes()).unwrap();
        Self {
            name: "built in",
            url,
            token: TOKEN.to_owned(),
            authority: ca,
            client: client(&path).await,
            kubeconfig: path,
            server: Server::BuiltIn {
                world: Box::new(world),
                _folder: folder,
                _listening: stop.drop_guard(),
            },
        }
    }

    /// The real server that tests of this program share.
    pub async fn real() -> Self {
        Self::of(tokio::task::block_in_place(ControlPlane::shared)).await
    }

    /// A real server that compacts replaced versions after a second or two.
    pub async fn forgetful() -> Self {
        let settings = Settings::default().without_controllers();
        let settings = settings.server_argument("--etcd-compaction-interval=1s");
        Self::of(Arc::new(tokio::task::block_in_place(|| settings.start()))).await
    }

    async fn of(plane: Arc<ControlPlane>) -> Self {
        let peer = Self {
            name: "real",
            url: plane.url(),
            token: plane.token().to_owned(),
            authority: plane.authority(),
            client: client(&plane.kubeconfig()).await,
            kubeconfig: plane.kubeconfig(),
            server: Server::Real { _plane: plane },
        };
        let declared = peer.ask("POST", DEFINITIONS, &crd()).await.0.as_u16();
        assert!([201, 409].contains(&declared), "the CRD: {declared}");
        let book = format!("{DEFINITIONS}/books.library.example.com");
        peer.await_that("books are served", async || {
            let definition = peer.ask("GET", &book, &Value::Null).await.1;
            let conditions = definition["status"]["conditions"].as_array()?.clone();
            conditions
                .iter()
                .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
                .then_some(())
        })
        .await;
        peer
    }

    /// Creates a namespace; returns the path of its books.
    pub async fn shelf(&self, namespace: &str) -> String {
        let (status, body) = self
            .ask(
                "POST",
                "/api/v1/namespaces",
                &json!({"metadata": {"name": namespace}}),
            )
            .await;
        assert!([201, 409].contains(&status.as_u16()), "{body}");
        let books = format!("/apis/library.example.com/v1/namespaces/{namespace}/books");
        // A real server serves a new resource shortly after it is established.
        self.await_that("the namespace's books", async || {
            let (status, _) = self.ask("GET", &books, &Value::Null).await;
            status.is_success().then_some(())
        })
        .await;
        books
    }

    /// Sends a request (patches are merge patches); returns status and body. `Null` is no body.
    pub async fn ask(&self, method: &str, path: &str, body: &Value) -> (StatusCode, Value) {
        let form = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let bytes = match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        let answer = send(&self.client, method, path, &[("content-type", form)], bytes).await;
        (answer.status, answer.body)
    }

    /// Compacts replaced versions. A real server does so within seconds on its own.
    pub async fn forget(&self) {
        if let Server::BuiltIn { world, .. } = &self.server {
            world.api.compact().await.unwrap();
        }
    }

    /// Waits until `check` returns a value.
    pub async fn await_that<T>(&self, what: &str, check: impl AsyncFn() -> Option<T>) -> T {
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            if let Some(seen) = check().await {
                return seen;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "{}: {what}: not in time",
                self.name
            );
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// The kubeconfig as a file in `folder`, for a client that requires one.
    pub fn kubeconfig_in(&self, folder: &std::path::Path) -> PathBuf {
        let path = folder.join("kubeconfig");
        fs::copy(&self.kubeconfig, &path).unwrap();
        path
    }
}

/// Serves an API over TLS, with a token of the administrator. Returns the URL, and how to stop.
pub fn listen(
    api: &KubeApi,
    authority: &Authority,
    token: &str,
) -> (String, CancellationToken, JoinHandle<std::io::Result<()>>) {
    let address = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(address, Connections::new("kubernetes", 100), 64 * 1024).unwrap();
    let url = format!("https://{}", listener.tcp.local_addr().unwrap());
    let stop = CancellationToken::new();
    let (api, tls) = (api.clone(), authority.server_config(&[]).unwrap());
    let (tokens, stopping) = (
        Tokens::default().with(token, Caller::administrator()),
        stop.clone(),
    );
    let serving = tokio::spawn(async move { api.listen(listener, tls, tokens, stopping).await });
    (url, stop, serving)
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async fn client(kubeconfig: &std::path::Path) -> Client {
    let options = KubeConfigOptions::default();
    let config = Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config = Config::from_custom_kubeconfig(config, &options).await.unwrap();
    // The lab's environment may name a proxy for what is outside.
    config.proxy_url = None;
    Client::try_from(config).unwrap()
}
