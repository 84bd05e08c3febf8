//! A service with tokens on a database of its own, without a listener.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use metrics_exporter_prometheus::PrometheusBuilder;
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::{BASE_PATH, MUSTER_PATH};
use muster_core::record::{HostState, InfraEnv};
use muster_core::rules::limits::WaitLimits;
use muster_core::rules::requirements::Requirements;
use muster_operations::auth::{Auth, Claims, Keys};
use muster_operations::bridge::{BridgeState, BridgeStatus};
use muster_operations::clock::SystemClock;
use muster_operations::hosts::HostSettings;
use muster_operations::image_options::ImageOptions;
use muster_operations::jobs::retention::Retention;
use muster_operations::live_image::LiveImages;
use muster_operations::urls::Urls;
use muster_operations::{OperationSettings, Operations, now};
use muster_rest::Rest;
use muster_store::{HistoryEntry, Store};
use muster_tests::plain_host::{inventory, reply};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

pub const PULL_SECRET: &str = r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNzd29yZA=="}}}"#;

/// File name of the live image.
const LIVE_IMAGE: &str = "live.iso";

/// A credential as a client carries it.
#[derive(Debug, Clone)]
pub enum Credential {
    Nothing,
    Operator(String),
    Agent(String),
    Url(String),
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    async fn of(answer: Response<Body>) -> Self {
        let (status, headers) = (answer.status(), answer.headers().clone());
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        Self {
            status,
            headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// # Panics
    /// When the status is another.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

pub struct World {
    pub operations: Arc<Operations>,
    pub operator: Credential,
    router: Router,
    keys: String,
    folder: Arc<TempDir>,
}

impl World {
    pub async fn open() -> Self {
        Self::with_url_lifetime(None).await
    }

    pub async fn with_url_lifetime(lifetime: Option<Duration>) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::on(folder, Keys::generate(), lifetime, true).await
    }

    /// With a service that leaves running agents as they are.
    pub async fn without_agent_upgrades() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::on(folder, Keys::generate(), None, false).await
    }

    /// The place of the live image.
    pub fn live_image(&self) -> PathBuf {
        self.folder.path().join(LIVE_IMAGE)
    }

    /// Another service with the same database and keys.
    pub async fn replica(&self) -> Self {
        Self::on(self.folder.clone(), self.keys.clone(), None, true).await
    }

    async fn on(
        folder: Arc<TempDir>,
        pem: String,
        lifetime: Option<Duration>,
        replaces_agents: bool,
    ) -> Self {
        let store = Store::open(&format!("sqlite://{}/muster.db", folder.path().display()))
            .await
            .unwrap();
        let keys = Keys::from_pem(&pem).unwrap();
        let operator = keys.sign(&Claims::operator());
        let image_options = ImageOptions::open(&store, String::new(), "", now())
            .await
            .unwrap();
        let settings = OperationSettings {
            hosts: HostSettings {
                requirements: Requirements::default(),
                agent_version: "muster-agent/0".into(),
                agent_image: None,
                replaces_agents,
                listening_since: now(),
                installer_image: None,
                controller_image: None,
                node_agent: true,
                limits: WaitLimits::default(),
                max_hosts: 1000,
                max_inventories: 1 << 30,
            },
            urls: Urls {
                public: "https://muster.example.test".into(),
                boot: "http://muster.example.test:8091".into(),
            },
            image_options,
            openshift_versions: vec!["4.20".into()],
            os_images: Vec::new(),
            downloaded_images: std::env::temp_dir(),
            retention: Retention::default(),
            disk: None,
            bmcs: muster_core::record::BmcLimits::default(),
            clock: Arc::new(SystemClock::default()),
        };
        let operations = Arc::new(Operations::new(
            store,
            Auth::new(true, keys, lifetime),
            LiveImages::new([folder.path().join(LIVE_IMAGE)], [], None),
            BridgeState::new(BridgeStatus::Off, false),
            settings,
        ));
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let router = muster_rest::api(Rest {
            operations: operations.clone(),
            metrics,
        });
        Self {
            operations,
            operator: Credential::Operator(operator),
            router,
            keys: pem,
            folder,
        }
    }

    /// Asks below the API's base path.
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
        Answer::of(self.respond(credential, method, path, body, headers).await).await
    }

    /// Sends a body of another type than JSON.
    pub async fn post_text(&self, credential: &Credential, path: &str, body: (&str, String)) -> Answer {
        Answer::of(self.respond(credential, "POST", path, Some(body), &[]).await).await
    }

    /// The answer to `GET`, whose body is not read yet.
    pub async fn answer(&self, credential: &Credential, path: &str) -> Response<Body> {
        self.respond(credential, "GET", path, None, &[]).await
    }

    async fn respond(
        &self,
        credential: &Credential,
        method: &str,
        path: &str,
        body: Option<(&str, String)>,
        headers: &[(&str, String)],
    ) -> Response<Body> {
        // What is no part of the protocol has a path of its own.
        let base = if path.starts_with(MUSTER_PATH) {
            ""
        } else {
            BASE_PATH
        };
        let mut url = format!("{base}{path}");
        let mut request = Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        match credential {
            Credential::Nothing => {}
            Credential::Operator(token) => {
                request = request.header("authorization", format!("Bearer {token}"))
            }
            Credential::Agent(token) => request = request.header("x-secret-key", token),
            Credential::Url(token) => {
                let join = if url.contains('?') { '&' } else { '?' };
                url = format!("{url}{join}api_key={token}");
            }
        }
        if let Some((media_type, _)) = body {
            request = request.header("content-type", media_type);
        }
        let body = body.map_or_else(Body::empty, |(_, text)| Body::from(text));
        self.router
            .clone()
            .oneshot(request.uri(url).body(body).unwrap())
            .await
            .unwrap()
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

    /// What an image of the InfraEnv holds.
    pub async fn agent(&self, id: InfraEnvId) -> Credential {
        let record = self.record(id).await;
        Credential::Agent(self.operations.auth.infra_env_token(&record).unwrap())
    }

    /// What a signed URL of the InfraEnv holds.
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

    /// A host that registers with the token of its image, and tells what it is made of; its path.
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

    /// The host replies to a step.
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
            .store
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

pub fn host_id(number: u32) -> String {
    format!("00000000-0000-0000-0000-{number:012}")
}
