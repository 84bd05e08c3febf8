//! A service of a few lines: responds as the test sets it, and records the requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use muster_api::REPLACING_TOKEN_HEADER;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use url::Url;

use crate::{HOST, INFRA_ENV};

/// A request as it came in.
pub struct Seen {
    /// Method, path and query.
    pub line: String,
    /// JSON, or null.
    pub body: Value,
    headers: axum::http::HeaderMap,
}

impl Seen {
    pub fn header(&self, name: &str) -> String {
        self.headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
            .unwrap_or_default()
    }
}

#[derive(Default)]
struct Answers {
    registrations: VecDeque<(u16, String)>,
    instructions: VecDeque<(u16, String)>,
    redirect: Option<String>,
    replacing_token: Option<String>,
}

#[derive(Clone)]
struct Shared {
    answers: Arc<Mutex<Answers>>,
    seen: mpsc::UnboundedSender<Seen>,
}

pub struct FakeService {
    port: u16,
    answers: Arc<Mutex<Answers>>,
    seen: mpsc::UnboundedReceiver<Seen>,
}

impl FakeService {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, seen) = mpsc::unbounded_channel();
        let answers = Arc::<Mutex<Answers>>::default();
        let shared = Shared {
            answers: Arc::clone(&answers),
            seen: sender,
        };
        tokio::spawn(async move {
            axum::serve(listener, Router::new().fallback(answer).with_state(shared))
                .await
                .unwrap();
        });
        Self { port, answers, seen }
    }

    pub fn url(&self, path: &str) -> Url {
        format!("http://127.0.0.1:{}{path}", self.port).parse().unwrap()
    }

    /// The next response to a registration; the last one stays.
    pub fn register_with(&self, status: u16, body: &str) {
        self.answers
            .lock()
            .unwrap()
            .registrations
            .push_back((status, body.to_owned()));
    }

    /// The next response to a poll; the last one stays.
    pub fn instruct_with(&self, status: u16, body: &str) {
        let mut answers = self.answers.lock().unwrap();
        answers.instructions.push_back((status, body.to_owned()));
    }

    pub fn redirect_to(&self, url: &str) {
        self.answers.lock().unwrap().redirect = Some(url.to_owned());
    }

    /// Makes every response carry this token.
    pub fn replace_token(&self, token: &str) {
        self.answers.lock().unwrap().replacing_token = Some(token.to_owned());
    }

    pub async fn next(&mut self) -> Seen {
        let next = tokio::time::timeout(Duration::from_secs(60), self.seen.recv()).await;
        next.expect("no request came").expect("the service runs")
    }

    pub async fn next_that(&mut self, test: impl Fn(&Seen) -> bool) -> Seen {
        loop {
            let seen = self.next().await;
            if test(&seen) {
                return seen;
            }
        }
    }

    pub fn is_untouched(&self) -> bool {
        self.seen.is_empty()
    }
}

/// The response to a good registration.
pub fn registration(version: &str) -> String {
    let args = json!({"agent_version": version, "host_id": HOST, "infra_env_id": INFRA_ENV}).to_string();
    json!({"id": HOST, "kind": "Host", "status": null, "next_step_runner_command": {"args": [args]}})
        .to_string()
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    // Requested for its date alone, whenever that is not known yet.
    if parts.method == "HEAD" && parts.uri.path().ends_with("/health") {
        return StatusCode::OK.into_response();
    }
    let line = format!("{} {}", parts.method, parts.uri);
    let is_reply = parts.method == "POST" && line.ends_with("/instructions");
    let is_registration = parts.method == "POST" && line.ends_with("/hosts");
    let _ = shared.seen.send(Seen {
        line,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        headers: parts.headers,
    });
    let mut answers = shared.answers.lock().unwrap();
    if let Some(to) = &answers.redirect {
        return (StatusCode::TEMPORARY_REDIRECT, [("location", to.clone())]).into_response();
    }
    if is_reply {
        return StatusCode::NO_CONTENT.into_response();
    }
    let (queue, otherwise) = if is_registration {
        (&mut answers.registrations, (201, registration("v")))
    } else {
        (
            &mut answers.instructions,
            (200, r#"{"next_instruction_seconds":60}"#.to_owned()),
        )
    };
    let (status, body) = match queue.len() {
        0 => otherwise,
        1 => queue[0].clone(),
        _ => queue.pop_front().expect("not empty"),
    };
    let mut response = (
        StatusCode::from_u16(status).unwrap(),
        [("content-type", "application/json")],
        body,
    )
        .into_response();
    if let Some(token) = &answers.replacing_token {
        response
            .headers_mut()
            .insert(REPLACING_TOKEN_HEADER, token.parse().unwrap());
    }
    response
}
