//! The service's router on a database of its own, with all layers of a listener.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, header};
use http_body_util::BodyExt;
use metrics_exporter_prometheus::PrometheusBuilder;
use muster_api::bmc::BmcCreateParams;
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::{BASE_PATH, MUSTER_PATH};
use muster_core::record::{HostState, InfraEnv};
use muster_core::rules::os_image;
use muster_http::listener::whole;
use muster_http::only_known_names;
use muster_operations::auth::{Auth, Claims, Keys};
use muster_operations::bridge::{BridgeState, BridgeStatus};
use muster_operations::disk::Disk;
use muster_operations::images::live::LiveImages;
use muster_operations::{Operations, now, testing};
use muster_rest::Rest;
use muster_store::HistoryEntry;
use muster_tests::hosts::plain::{inventory, reply};
use muster_tests::http::Answer;
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::OS_IMAGES;
use muster_web::BmcTable;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::log;

/// The name of the service in its addresses and in requests.
pub const HOST: &str = "muster.example.test";

/// File name of the live image.
const LIVE_IMAGE: &str = "live.iso";

/// File name of the live image for ARM; the file is missing until a test adds it.
const LIVE_IMAGE_OF_ARM: &str = "live-aarch64.iso";

/// A credential as a client carries it.
#[derive(Debug, Clone)]
pub enum Credential {
    Nothing,
    Operator(String),
    /// The secret of a session.
    Session(String),
    Agent(String),
    Url(String),
}

/// Options of a service.
#[derive(Debug, Clone)]
pub struct Settings {
    /// With `--auth local`.
    pub asks_for_tokens: bool,
    /// `--url-lifetime`.
    pub url_lifetime: Option<Duration>,
    /// Without `--no-agent-upgrade`.
    pub replaces_agents: bool,
    /// `--os-images`.
    pub os_images: &'static str,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            asks_for_tokens: true,
            url_lifetime: None,
            replaces_agents: true,
            os_images: OS_IMAGES,
        }
    }
}

pub struct World {
    pub operations: Arc<Operations>,
    pub operator: Credential,
    pub router: Router,
    settings: Settings,
    keys: String,
    folder: Arc<TempDir>,
}

impl World {
    pub async fn open() -> Self {
        Self::with(Settings::default()).await
    }

    /// A service with other options.
    pub async fn with(settings: Settings) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::on(folder, Keys::generate(), settings).await
    }

    /// The path of the live image.
    pub fn live_image(&self) -> PathBuf {
        self.folder.path().join(LIVE_IMAGE)
    }

    /// Puts a file in the place of the live image for ARM.
    pub fn add_live_image_of_arm(&self) {
        std::fs::write(self.folder.path().join(LIVE_IMAGE_OF_ARM), "no image").unwrap();
    }

    /// Another service with the same database and keys.
    pub async fn replica(&self) -> Self {
        Self::on(self.folder.clone(), self.keys.clone(), self.settings.clone()).await
    }

    async fn on(folder: Arc<TempDir>, pem: String, given: Settings) -> Self {
        log::start();
        let store = testing::store(folder.path()).await;
        let keys = Keys::from_pem(&pem).unwrap();
        let operator = keys.sign(&Claims::operator());
        let mut settings = testing::settings(&store, folder.path(), now()).await;
        settings.hosts.replaces_agents = given.replaces_agents;
        settings.urls.public = format!("https://{HOST}");
        settings.urls.boot = format!("http://{HOST}:8091");
        settings.openshift_versions = ["4.18", "4.19", "4.20", "4.21", "4.22", "5.0"]
            .map(str::to_owned)
            .into();
        settings.os_images = os_image::parse(given.os_images).unwrap();
        settings.disk = Some(Disk::of(&folder.path().join("muster.db")));
        let operations = Arc::new(Operations::new(
            store,
            Auth::new(given.asks_for_tokens, keys, given.url_lifetime),
            LiveImages::new(
                [folder.path().join(LIVE_IMAGE)],
                [folder.path().join(LIVE_IMAGE_OF_ARM)],
                None,
            ),
            BridgeState::new(BridgeStatus::Off, false),
            settings,
        ));
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let rest = Rest {
            operations: operations.clone(),
            metrics,
            page: Some(muster_web::PAGE),
        };
        // The same as in `service/src/serve/run.rs`, without images.
        let api = muster_rest::api(rest.clone());
        let pages = muster_web::pages(api.clone(), true, read_bmcs);
        let mut router = whole(api.merge(pages).merge(muster_rest::metrics(rest)));
        if !given.asks_for_tokens {
            router = only_known_names(router, &operations.urls);
        }
        Self {
            operations,
            operator: Credential::Operator(operator),
            router,
            settings: given,
            keys: pem,
            folder,
        }
    }

    /// Sends a request to a path below the API's base path.
    pub async fn ask(
        &self,
        credential: &Credential,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        self.send(credential, method, path, body, &[]).await
    }

    /// The same with further headers.
    pub async fn send(
        &self,
        credential: &Credential,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, String)],
    ) -> Answer {
        let body = body.map(|body| ("application/json", body.to_string()));
        let request = request(credential, method, path, body, headers);
        answer(&self.router, request).await
    }

    /// Sends a body of another type than JSON.
    pub async fn post_text(&self, credential: &Credential, path: &str, body: (&str, String)) -> Answer {
        let request = request(credential, "POST", path, Some(body), &[]);
        answer(&self.router, request).await
    }

    /// Sends a change whose body does not come, and goes away while the service waits for it.
    pub async fn give_up(&self, credential: &Credential, method: &str, path: &str) {
        let (waits, waited) = tokio::sync::oneshot::channel::<()>();
        let body = stream::once(async move {
            waits.send(()).ok();
            std::future::pending::<io::Result<Bytes>>().await
        });
        let kind = [("content-type", "application/json".to_owned())];
        let mut request = request(credential, method, path, None, &kind);
        *request.body_mut() = Body::from_stream(body);
        let sent = tokio::spawn(self.router.clone().oneshot(request));
        waited.await.unwrap();
        sent.abort();
        assert!(sent.await.is_err());
    }

    /// The response to `GET`, with a body that is not read yet.
    pub async fn unread(&self, credential: &Credential, path: &str) -> Response<Body> {
        let request = request(credential, "GET", path, None, &[]);
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// The same to a client that follows a stream of events.
    pub async fn stream(&self, credential: &Credential, path: &str) -> Response<Body> {
        let accept = ("accept", "text/event-stream".to_owned());
        let request = request(credential, "GET", path, None, &[accept]);
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub async fn get(&self, credential: &Credential, path: &str) -> Answer {
        self.ask(credential, "GET", path, None).await
    }

    pub async fn post(&self, credential: &Credential, path: &str, body: &Value) -> Answer {
        self.ask(credential, "POST", path, Some(body)).await
    }

    pub async fn patch(&self, credential: &Credential, path: &str, body: &Value) -> Answer {
        self.ask(credential, "PATCH", path, Some(body)).await
    }

    /// A new InfraEnv.
    pub async fn infra_env(&self, extra: Value) -> InfraEnvId {
        let mut body = json!({"name": "hw", "pull_secret": PULL_SECRET});
        body.as_object_mut()
            .unwrap()
            .extend(extra.as_object().cloned().unwrap_or_default());
        let made = self
            .post(&self.operator, "/infra-envs", &body)
            .await
            .expect(201)
            .json();
        made["id"].as_str().unwrap().parse().unwrap()
    }

    pub async fn record(&self, id: InfraEnvId) -> Arc<InfraEnv> {
        self.operations.infra_envs.get(id).await.unwrap()
    }

    /// The credential in an image of the InfraEnv.
    pub async fn agent(&self, id: InfraEnvId) -> Credential {
        let record = self.record(id).await;
        Credential::Agent(self.operations.auth.infra_env_token(&record).unwrap())
    }

    /// The credential in a signed URL of the InfraEnv.
    pub async fn url(&self, id: InfraEnvId) -> Credential {
        let record = self.record(id).await;
        Credential::Url(self.operations.auth.url_token(&record, now()).token.unwrap())
    }

    /// A new cluster.
    pub async fn cluster(&self) -> ClusterId {
        let body = json!({
            "name": "day2", "api_vip_dnsname": "api.day2.example.test",
            "openshift_cluster_id": "00000000-0000-0000-0000-000000000009",
        });
        let made = self
            .post(&self.operator, "/clusters/import", &body)
            .await
            .expect(201)
            .json();
        made["id"].as_str().unwrap().parse().unwrap()
    }

    /// Registers a host with the token of its image and reports its inventory; returns its path.
    pub async fn host(&self, infra_env: InfraEnvId, number: u32) -> String {
        let (id, hosts) = (host_id(number), format!("/infra-envs/{infra_env}/hosts"));
        let agent = self.agent(infra_env).await;
        self.post(&agent, &hosts, &json!({"host_id": id}))
            .await
            .expect(201);
        let host = format!("{hosts}/{id}");
        self.report(infra_env, &host, "inventory", &inventory(number.into()))
            .await;
        host
    }

    /// Sends the host's reply to a step.
    pub async fn report(&self, infra_env: InfraEnvId, host: &str, step: &str, output: &Value) {
        let agent = self.agent(infra_env).await;
        let path = format!("{host}/instructions");
        self.post(&agent, &path, &reply(step, output)).await.expect(204);
    }

    /// Puts a host into this state.
    pub async fn put(&self, infra_env: InfraEnvId, number: u32, state: HostState) {
        let id = host_id(number).parse().unwrap();
        let mut host = self.operations.hosts.get(infra_env, id).await.unwrap();
        let history = HistoryEntry {
            at: now(),
            who: "test".into(),
            event: "put".into(),
            from: Some(host.state.status()),
            to: state.status(),
            reason: String::new(),
        };
        host.state = state;
        self.operations
            .store()
            .save_host(&host, Some(&history), &[])
            .await
            .unwrap();
    }

    pub async fn bind(&self, host: &str, cluster: ClusterId) {
        let body = json!({"cluster_id": cluster});
        self.post(&self.operator, &format!("{host}/actions/bind"), &body)
            .await
            .expect(200);
    }
}

/// Reads lines of an address and a password. The program's own reader is a part of it (`cli::bmc`), which has tests of its own.
fn read_bmcs(table: &BmcTable) -> Result<Vec<(u64, BmcCreateParams)>, Vec<String>> {
    let read = |(line, number): (&str, u64)| -> Result<(u64, BmcCreateParams), Vec<String>> {
        let (address, password) = line
            .split_once(',')
            .ok_or_else(|| vec![format!("line {number}: it has no password")])?;
        let params = json!({"address": address, "user_name": table.user, "password": password});
        let params = serde_json::from_value(params);
        params
            .map(|params| (number, params))
            .map_err(|_| vec![format!("line {number}: it has no user")])
    };
    table.text.lines().zip(1..).map(read).collect()
}

/// A request with that credential to a path below the API's base path.
fn request(
    credential: &Credential,
    method: &str,
    path: &str,
    body: Option<(&str, String)>,
    headers: &[(&str, String)],
) -> Request<Body> {
    // Additions to the protocol have a path of their own.
    let base = if path.starts_with(MUSTER_PATH) {
        ""
    } else {
        BASE_PATH
    };
    let mut url = format!("{base}{path}");
    let mut request = Request::builder().method(method).header(header::HOST, HOST);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    match credential {
        Credential::Nothing => {}
        Credential::Operator(token) => request = request.header("authorization", format!("Bearer {token}")),
        Credential::Session(secret) => request = request.header("cookie", format!("__Host-muster={secret}")),
        Credential::Agent(token) => request = request.header("x-secret-key", token),
        Credential::Url(token) => {
            let join = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{join}api_key={token}");
        }
    }
    if let Some((media_type, text)) = &body {
        request = request.header(header::CONTENT_TYPE, *media_type);
        request = request.header(header::CONTENT_LENGTH, text.len());
    }
    let body = body.map_or_else(Body::empty, |(_, text)| Body::from(text));
    request.uri(url).body(body).unwrap()
}

/// Sends a request to a router, and reads the whole response.
pub async fn answer(router: &Router, request: Request<Body>) -> Answer {
    let asked = format!("{} {}", request.method(), request.uri());
    let began = Instant::now();
    let (head, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer {
        asked,
        status: head.status.as_u16(),
        headers: head.headers,
        body: body.into(),
        took: began.elapsed(),
    }
}

pub fn host_id(number: u32) -> String {
    format!("00000000-0000-0000-0000-{number:012}")
}
