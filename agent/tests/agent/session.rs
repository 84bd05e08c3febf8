//! The session against a service made for the test, over real HTTP.

mod fake_service;
mod node;

use std::sync::Arc;
use std::time::Duration;

pub use fake_service::registration;
use fake_service::{FakeService, Seen};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_agent::client::Client;
use muster_agent::net::names::Names;
use muster_agent::session::runner::{self, Environment};
use muster_agent::session::steps::Registry;
use muster_agent::step::{Running, StepHandler, StepOutput, StepType};
use muster_agent::view::session::{Phase, SessionView};
use muster_api::fingerprint::Fingerprint;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{HOST, INFRA_ENV, settings};

/// Returns its first argument.
struct Echo;

impl StepHandler for Echo {
    fn step_type(&self) -> StepType {
        StepType::Inventory
    }
    fn deadline(&self) -> Duration {
        Duration::from_secs(10)
    }
    fn run(&self, args: Vec<String>, _: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        async move { StepOutput::good(args.concat()) }.boxed()
    }
}

fn client(service: &FakeService, token: &str) -> Client {
    Client::new(
        &settings(service.url("/prefix"), token),
        &Names::configured_by("/nonexistent"),
    )
    .unwrap()
}

struct Agent {
    view: watch::Receiver<SessionView>,
    changes: watch::Sender<u64>,
    stop: CancellationToken,
    done: tokio::task::JoinHandle<()>,
}

impl Agent {
    fn start(service: &FakeService, token: &str) -> Self {
        let (settings, client) = (settings(service.url("/prefix"), token), client(service, token));
        let (view_sender, view) = watch::channel(SessionView::default());
        let (changes, changes_receiver) = watch::channel(0);
        let stop = CancellationToken::new();
        let environment = Environment {
            identity: Arc::new(|| HOST.parse().unwrap()),
            fingerprint: Arc::new(|| Fingerprint {
                board_serial: "B1".into(),
                ..Fingerprint::default()
            }),
            registry: Arc::new(Registry::new(vec![Arc::new(Echo)])),
            interval: settings.interval,
            own_version: settings.agent_version,
            handover: None,
            view: view_sender,
            changes: changes_receiver,
        };
        let done = tokio::spawn(runner::run(client, environment, stop.clone()));
        Self {
            view,
            changes,
            stop,
            done,
        }
    }

    async fn until(&mut self, what: &str, test: impl FnMut(&SessionView) -> bool) -> SessionView {
        let waiting = timeout(Duration::from_secs(60), self.view.wait_for(test)).await;
        waiting
            .unwrap_or_else(|_| panic!("never: {what}"))
            .expect("the session ended")
            .clone()
    }

    async fn end(self) {
        self.stop.cancel();
        timeout(Duration::from_secs(60), self.done)
            .await
            .expect("stops when told")
            .unwrap();
    }
}

#[tokio::test]
async fn a_host_registers_polls_runs_a_step_and_replies() {
    let mut service = FakeService::start().await;
    service.register_with(201, &fake_service::registration("quay.io/agent:9"));
    service.instruct_with(
        200,
        &json!({"next_instruction_seconds": 60, "post_step_action": "continue", "instructions": [
            {"step_type": "inventory", "step_id": "inventory-11111111", "args": ["{\"a\":1}"]},
            {"step_type": "frobnicate", "step_id": "frobnicate-22222222", "args": []},
        ]})
        .to_string(),
    );
    let mut agent = Agent::start(&service, "the-token");

    let registration = service.next().await;
    assert_eq!(
        registration.line,
        format!("POST /prefix/api/assisted-install/v2/infra-envs/{INFRA_ENV}/hosts")
    );
    assert_eq!(
        registration.body,
        json!({"host_id": HOST, "discovery_agent_version": "0.0.9"})
    );
    assert_eq!(registration.header("x-secret-key"), "the-token");
    assert_eq!(
        registration.header("x-muster-fingerprint"),
        r#"{"board_serial":"B1"}"#
    );

    let poll = service.next().await;
    let instructions =
        format!("/prefix/api/assisted-install/v2/infra-envs/{INFRA_ENV}/hosts/{HOST}/instructions");
    assert!(
        poll.line.starts_with(&format!("GET {instructions}?timestamp=1")),
        "{}",
        poll.line
    );
    assert_eq!(
        poll.header("discovery_agent_version"),
        "quay.io/agent:9",
        "the service named us"
    );

    let mut replies = [service.next().await, service.next().await];
    replies.sort_by_key(|reply| reply.body["step_type"].to_string());
    for reply in &replies {
        assert_eq!(reply.line, format!("POST {instructions}"));
        assert_eq!(reply.header("x-request-id"), poll.header("x-request-id"));
    }
    assert_eq!(
        replies.map(|reply| reply.body),
        [
            json!({"step_type": "frobnicate", "step_id": "frobnicate-22222222", "exit_code": -1,
                   "error": "failed to find action for step type frobnicate"}),
            json!({"step_type": "inventory", "step_id": "inventory-11111111", "output": "{\"a\":1}"}),
        ]
    );
    let view = agent
        .until("registered", |view| view.phase == Phase::Registered)
        .await;
    assert_eq!(view.problem, None);
    agent.end().await;
}

#[tokio::test]
async fn an_equal_output_is_sent_once_and_again_after_a_failed_poll() {
    let mut service = FakeService::start().await;
    let step = json!({"next_instruction_seconds": 1, "instructions": [
        {"step_type": "inventory", "step_id": "inventory-1", "args": ["{}"]}]})
    .to_string();
    service.instruct_with(200, &step);
    let agent = Agent::start(&service, "");
    let is_reply = |seen: &Seen| seen.line.starts_with("POST") && seen.line.ends_with("instructions");
    service.next_that(is_reply).await;
    // Three more polls bring the same step and the same output: nothing is posted.
    for _ in 0..3 {
        let seen = service.next().await;
        assert!(seen.line.starts_with("GET"), "{}", seen.line);
    }
    service.instruct_with(500, "broken");
    service.instruct_with(200, &step);
    service.next_that(is_reply).await;
    agent.end().await;
}

#[tokio::test]
async fn a_refusal_slows_down_shows_its_reason_and_does_not_end() {
    for (status, body, word) in [
        (
            401,
            r#"{"code":401,"message":"unauthenticated for invalid credentials"}"#,
            "unauthenticated",
        ),
        (403, r#"{"code":403,"message":"forbidden"}"#, "forbidden"),
        (
            404,
            r#"{"code":"404","href":"","id":404,"kind":"Error","reason":"infraEnv not found"}"#,
            "infraEnv not found",
        ),
        (
            409,
            r#"{"code":"409","href":"","id":409,"kind":"Error","reason":"no new hosts"}"#,
            "no new hosts",
        ),
    ] {
        let service = FakeService::start().await;
        service.register_with(status, body);
        let mut agent = Agent::start(&service, "the-token");
        let view = agent.until("trouble", |view| view.problem.is_some()).await;
        let problem = view.problem.unwrap();
        assert!(
            problem.contains(&status.to_string()) && problem.contains(word),
            "{problem}"
        );
        assert!(!problem.contains("the-token"));
        assert!(!view.advice.is_empty());
        let wait = view.next_request.unwrap() - tokio::time::Instant::now();
        assert!(wait > Duration::from_secs(240), "{status} waits {wait:?}");
        assert!(!agent.done.is_finished());
        agent.end().await;
    }
}

#[tokio::test]
async fn answers_that_make_no_sense_are_survived() {
    let mut service = FakeService::start().await;
    for (status, body) in [
        (201, "{"),
        (201, ""),
        (200, "[]"),
        (500, "<html>"),
        (201, "{\"next_step_runner_command\":{\"args\":[\"x\"]}}"),
    ] {
        service.register_with(status, body);
    }
    service.register_with(201, &fake_service::registration("v"));
    for body in [
        "",
        "{\"instructions\":7}",
        "null",
        "{\"next_instruction_seconds\":1}",
    ] {
        service.instruct_with(200, body);
    }
    let mut agent = Agent::start(&service, "");
    // A new network ends the waits, so that the test need not wait for them.
    let network = agent.changes.clone();
    let poking = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            network.send_modify(|n| *n += 1);
        }
    });
    service.next_that(|seen| seen.line.starts_with("GET")).await;
    let view = agent
        .until("polling goes well", |view| {
            view.phase == Phase::Registered && view.problem.is_none()
        })
        .await;
    assert_eq!(view.host_id.unwrap().to_string(), HOST);
    poking.abort();
    agent.end().await;
}

#[tokio::test]
async fn busy_services_are_asked_again_quickly() {
    let mut service = FakeService::start().await;
    service.register_with(503, "busy");
    service.register_with(504, "busy");
    service.register_with(201, &fake_service::registration("v"));
    let mut agent = Agent::start(&service, "");
    agent
        .until("registered", |view| {
            view.phase == Phase::Registered && view.next_request.is_some()
        })
        .await;
    for _ in 0..3 {
        assert!(service.next().await.line.starts_with("POST"));
    }
    agent.end().await;
}

#[tokio::test]
async fn exit_registers_again_at_once() {
    let mut service = FakeService::start().await;
    service.instruct_with(200, r#"{"post_step_action":"exit","instructions":null}"#);
    service.instruct_with(200, r#"{"next_instruction_seconds":60}"#);
    let agent = Agent::start(&service, "");
    let methods: Vec<String> = [
        service.next().await,
        service.next().await,
        service.next().await,
        service.next().await,
    ]
    .map(|seen| seen.line.split(' ').next().unwrap().to_owned())
    .into();
    assert_eq!(methods, ["POST", "GET", "POST", "GET"]);
    agent.end().await;
}

#[tokio::test]
async fn a_redirect_is_reported_and_the_token_does_not_follow_it() {
    let elsewhere = FakeService::start().await;
    let service = FakeService::start().await;
    service.redirect_to(elsewhere.url("/").as_str());
    let mut agent = Agent::start(&service, "the-token");
    let view = agent.until("trouble", |view| view.problem.is_some()).await;
    assert!(view.problem.unwrap().contains("use that as the service URL"));
    assert!(elsewhere.is_untouched());
    agent.end().await;
}
