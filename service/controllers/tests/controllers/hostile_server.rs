//! The bridge with an API server that refuses everything for a while, responds slowly, or does not respond to some requests at all.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use muster_api::ids::HostId;
use muster_controllers::bridge;
use muster_core::lifecycle::host::Machine;
use muster_core::record::{InfraEnv as Stored, KubeRef};
use muster_operations::bridge::BridgeStatus;
use muster_operations::now;
use muster_resources::{Agent, InfraEnv};
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::service_fn;

use crate::backend::{Backend, eventually};
use crate::plain_bridge::plain_bridge;

const NAMESPACE: &str = "default";

/// The behaviour of the server.
#[derive(Clone, Default)]
struct Mood {
    mode: Arc<AtomicU8>,
    refused: Arc<AtomicU32>,
    swallowed: Arc<AtomicU32>,
    /// Number of those requests that the client does not wait for any more.
    given_up: Arc<AtomicU32>,
    /// Writes of this Agent succeed in any mood.
    spared: Arc<OnceLock<HostId>>,
}

/// Counts a request when it is given up.
struct Swallowed(Arc<AtomicU32>);

impl Drop for Swallowed {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

const GOOD: u8 = 0;
/// Every request is refused as one too many (429).
const TOO_MANY: u8 = 1;
/// Every response takes a second.
const SLOW: u8 = 2;
/// Writes of Agents never get a response.
const SILENT: u8 = 3;

impl Mood {
    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }

    fn spares(&self, path: &str) -> bool {
        self.spared.get().is_some_and(|id| path.contains(&id.to_string()))
    }

    /// A client of `client`'s server in that mood.
    fn over(&self, client: Client) -> Client {
        let mood = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let (client, mood) = (client.clone(), mood.clone());
            async move {
                match mood.mode.load(Ordering::SeqCst) {
                    TOO_MANY => {
                        mood.refused.fetch_add(1, Ordering::SeqCst);
                        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429,
                            "reason": "TooManyRequests", "message": "too many requests, please try again later"});
                        let answer = Response::builder()
                            .status(StatusCode::TOO_MANY_REQUESTS)
                            .header("retry-after", "1");
                        Ok(answer.body(Body::from(status.to_string().into_bytes())).unwrap())
                    }
                    SILENT
                        if request.method() == "PATCH"
                            && request.uri().path().contains("/agents/")
                            && !mood.spares(request.uri().path()) =>
                    {
                        mood.swallowed.fetch_add(1, Ordering::SeqCst);
                        let _swallowed = Swallowed(mood.given_up.clone());
                        std::future::pending().await
                    }
                    mode => {
                        if mode == SLOW {
                            sleep(Duration::from_secs(1)).await;
                        }
                        client.send(request).await
                    }
                }
            }
        });
        Client::new(service, NAMESPACE)
    }
}

struct World {
    backend: Backend,
    mood: Mood,
    infra_env: Arc<Stored>,
    _stop: DropGuard,
}

impl World {
    /// Starts the bridge in this mood, which ends once it has been noticed.
    async fn start_in(mode: u8) -> Self {
        let backend = Backend::open(now()).await;
        let mood = Mood::default();
        mood.set(mode);
        let stop = CancellationToken::new();
        let bridge = plain_bridge(mood.over(backend.client.clone()));
        tokio::spawn(bridge::run(backend.operations.clone(), bridge, stop.clone()));
        if mode == TOO_MANY {
            eventually("the refusals to be told", async || {
                let status = backend.operations.bridge.status();
                matches!(status, BridgeStatus::Unreachable { why, .. } if why.contains("429")).then_some(())
            })
            .await;
            mood.set(GOOD);
        }
        let api = |client: &Client| Api::<Secret>::namespaced(client.clone(), NAMESPACE);
        let secret = serde_json::from_value(json!({"metadata": {"name": "pull-secret"},
            "stringData": {".dockerconfigjson": r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNz"}}}"#}}));
        api(&backend.client)
            .create(&PostParams::default(), &secret.unwrap())
            .await
            .unwrap();
        let infra_env = serde_json::from_value(
            json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": "hw"}, "spec": {"pullSecretRef": {"name": "pull-secret"}}}),
        );
        let infra_envs = Api::<InfraEnv>::namespaced(backend.client.clone(), NAMESPACE);
        infra_envs
            .create(&PostParams::default(), &infra_env.unwrap())
            .await
            .unwrap();
        let name = KubeRef::new(NAMESPACE, "hw");
        let infra_env = eventually("the InfraEnv to be stored", async || {
            backend.operations.infra_envs.find_by_kube(&name).await.unwrap()
        })
        .await;
        Self {
            backend,
            mood,
            infra_env,
            _stop: stop.drop_guard(),
        }
    }

    async fn register(&self) -> HostId {
        let id = HostId::random();
        let hosts = &self.backend.operations.hosts;
        hosts
            .register(self.infra_env.id, id, "v", Machine::default())
            .await
            .unwrap();
        id
    }

    fn agents(&self) -> Api<Agent> {
        Api::namespaced(self.backend.client.clone(), NAMESPACE)
    }

    async fn await_agent(&self, id: HostId) {
        eventually("the Agent with its status", async || {
            self.agents().get_opt(&id.to_string()).await.unwrap()?.status
        })
        .await;
    }

    async fn approve(&self, id: HostId) {
        self.set_approved(id, true).await;
    }

    async fn set_approved(&self, id: HostId, approved: bool) {
        let patch = Patch::Merge(json!({"spec": {"approved": approved}}));
        let params = PatchParams::default();
        self.agents()
            .patch(&id.to_string(), &params, &patch)
            .await
            .unwrap();
    }

    /// Waits until the status refers to the spec with the approval.
    async fn await_approval(&self, id: HostId) {
        self.await_approved(id, true).await;
    }

    async fn await_approved(&self, id: HostId, approved: bool) {
        eventually(
            "the Agent to be reconciled as it is approved or not",
            async || {
                let agent = self.agents().get(&id.to_string()).await.unwrap();
                let observed = agent.status.as_ref()?.observed_generation;
                (agent.spec.approved == approved && observed == agent.metadata.generation).then_some(())
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_everything_is_told_and_asked_again() {
    let world = World::start_in(TOO_MANY).await;
    let id = world.register().await;
    world.await_agent(id).await;
    // Again, in the middle of its work: requests made meanwhile are carried out afterwards.
    world.mood.set(TOO_MANY);
    world.approve(id).await;
    let more = world.register().await;
    let before = world.mood.refused.load(Ordering::SeqCst);
    eventually("something to be refused", async || {
        (world.mood.refused.load(Ordering::SeqCst) > before).then_some(())
    })
    .await;
    world.mood.set(GOOD);
    world.await_approval(id).await;
    world.await_agent(more).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_server_is_waited_for() {
    let world = World::start_in(SLOW).await;
    let id = world.register().await;
    world.await_agent(id).await;
    world.approve(id).await;
    world.await_approval(id).await;
}

/// Without a deadline such requests would hold all workers for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_never_answered_are_given_up_and_sent_again() {
    let world = World::start_in(GOOD).await;
    let mut hosts = Vec::new();
    for _ in 0..24 {
        hosts.push(world.register().await);
    }
    for id in &hosts {
        world.await_agent(*id).await;
    }
    world.mood.set(SILENT);
    for id in &hosts {
        world.approve(*id).await;
    }
    // The number of workers for what users request.
    eventually("all workers to hang", async || {
        (world.mood.swallowed.load(Ordering::SeqCst) >= 4).then_some(())
    })
    .await;
    world.mood.set(GOOD);
    for id in &hosts {
        world.await_approval(*id).await;
    }
}

/// Requests of users have workers of their own, and do not wait for the reports of hosts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_overtakes_what_hosts_report() {
    let world = World::start_in(GOOD).await;
    let approved = world.register().await;
    world.await_agent(approved).await;
    world.mood.spared.set(approved).unwrap();
    world.mood.set(SILENT);
    let mut others = Vec::new();
    for _ in 0..12 {
        others.push(world.register().await);
    }
    // The number of workers for what hosts report.
    eventually("all other workers to hang", async || {
        (world.mood.swallowed.load(Ordering::SeqCst) >= 6).then_some(())
    })
    .await;
    // In the end they are given up, which frees their workers. A slow computer may get that far meanwhile, but not each time.
    let mut is_overtaken = false;
    for is_approved in [true, false, true, false, true] {
        let before = world.mood.given_up.load(Ordering::SeqCst);
        world.set_approved(approved, is_approved).await;
        world.await_approved(approved, is_approved).await;
        is_overtaken |= world.mood.given_up.load(Ordering::SeqCst) == before;
    }
    assert!(is_overtaken, "each time a worker had to be freed first");
    world.mood.set(GOOD);
    for id in others {
        world.await_agent(id).await;
    }
}
