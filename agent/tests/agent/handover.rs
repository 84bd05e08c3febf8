//! A running agent becomes another program, as a process and against a service made for the test. A copy of the program with more bytes
//! at its end is another program.

use std::collections::HashSet;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use cpio::newc;
use futures_util::StreamExt;
use muster_agent::handover::build::digest;
use muster_api::host_key::{HOST_KEY_HEADER, HOST_PROOF_HEADER, Proof, signed_text};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::session::registration;
use crate::{HOST, INFRA_ENV};

/// Between two polls of an agent that waits for nothing.
const SILENCE: Duration = Duration::from_secs(90);

/// A program that the service holds.
#[derive(Clone)]
struct Held {
    packed: Bytes,
    program: Value,
    sha256: String,
}

impl Held {
    fn of(content: &[u8]) -> Self {
        let size = u32::try_from(content.len()).unwrap();
        let mut entry = newc::Builder::new("init").mode(0o100_755).write(Vec::new(), size);
        entry.write_all(content).unwrap();
        let archive = newc::trailer(entry.finish().unwrap()).unwrap();
        let packed = zstd::bulk::compress(&archive, 1).unwrap();
        let sha256 = digest(content).unwrap();
        let program = json!({"sha256": sha256, "size": content.len(), "packed_size": packed.len()});
        Self {
            packed: packed.into(),
            program,
            sha256,
        }
    }
}

fn own() -> Vec<u8> {
    std::fs::read(env!("CARGO_BIN_EXE_muster-agent")).unwrap()
}

/// Another program that does the same.
fn another() -> Held {
    Held::of(&[own().as_slice(), b"one more"].concat())
}

/// The service's state.
#[derive(Default)]
struct Told {
    offered: Option<Held>,
    /// Ends the first download in its middle.
    interrupts: bool,
}

/// The part of a request that tests look at.
#[derive(Debug)]
struct Seen {
    line: String,
    headers: HeaderMap,
    body: Value,
}

impl Seen {
    fn build(&self) -> Option<&str> {
        self.headers.get("x-muster-agent-build")?.to_str().ok()
    }

    fn is_poll(&self) -> bool {
        self.line.starts_with("GET") && self.line.contains("/instructions")
    }

    /// The outcome and reason of an upgrade, when this is its reply.
    fn outcome(&self) -> Option<(String, String)> {
        if self.body["step_type"] != "upgrade-agent" {
            return None;
        }
        let answer: Value = serde_json::from_str(self.body["output"].as_str()?).unwrap();
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        Some((text("result"), text("reason")))
    }
}

#[derive(Clone)]
struct Shared {
    told: Arc<Mutex<Told>>,
    seen: mpsc::UnboundedSender<Seen>,
}

/// A service with one host; the host's agent is a process.
struct World {
    told: Arc<Mutex<Told>>,
    seen: mpsc::UnboundedReceiver<Seen>,
    agent: Child,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

impl World {
    async fn start(offered: Held, interrupts: bool) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, seen) = mpsc::unbounded_channel();
        let told = Arc::new(Mutex::new(Told {
            offered: Some(offered),
            interrupts,
        }));
        let shared = Shared {
            told: told.clone(),
            seen: sender,
        };
        tokio::spawn(async move {
            axum::serve(listener, Router::new().fallback(answer).with_state(shared))
                .await
                .unwrap();
        });
        let agent = Command::new(env!("CARGO_BIN_EXE_muster-agent"))
            .args(["run", "--url", &format!("http://127.0.0.1:{port}")])
            .args(["--infra-env-id", INFRA_ENV, "--host-id", HOST])
            .env("PULL_SECRET_TOKEN", "the-token")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { told, seen, agent }
    }

    async fn next(&mut self) -> Seen {
        let next = tokio::time::timeout(Duration::from_secs(60), self.seen.recv()).await;
        let seen = next.expect("no request came").unwrap();
        assert_eq!(seen.headers["x-secret-key"], "the-token");
        seen
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 16 << 20).await.unwrap();
    if parts.method == "HEAD" {
        return StatusCode::OK.into_response();
    }
    let seen = Seen {
        line: format!("{} {}", parts.method, parts.uri),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let mut told = shared.told.lock().unwrap();
    let answered = if seen.line.starts_with("POST") && seen.line.ends_with("/hosts") {
        (StatusCode::CREATED, registration("muster-agent/0.1.0")).into_response()
    } else if seen.line.starts_with("POST") {
        StatusCode::NO_CONTENT.into_response()
    } else if seen.line.contains("/agent-program") {
        program(&mut told, &seen.line)
    } else {
        let mut steps = vec![
            json!({"step_type": "ntp-synchronizer", "step_id": "n-1", "args": ["{\"ntp_source\":\"\"}"]}),
        ];
        if let (Some(offered), Some(build)) = (&told.offered, seen.build())
            && build != offered.sha256
        {
            let request = json!({"agent_image": "muster-agent/9", "program": offered.program});
            steps.push(json!({"step_type": "upgrade-agent", "args": [request.to_string()]}));
        }
        let answer =
            json!({"next_instruction_seconds": 1, "post_step_action": "continue", "instructions": steps});
        (StatusCode::OK, answer.to_string()).into_response()
    };
    let _ = shared.seen.send(seen);
    answered
}

fn program(told: &mut Told, line: &str) -> Response {
    let held = told.offered.clone().unwrap();
    let (_, offset) = line.split_once("offset=").unwrap();
    let rest = held.packed.slice(offset.parse::<usize>().unwrap()..);
    if std::mem::take(&mut told.interrupts) {
        let half = rest.slice(..rest.len() / 2);
        let pieces = futures_util::stream::iter([Ok(half)]).chain(futures_util::stream::once(async {
            // Until the former requests are on their way.
            tokio::time::sleep(Duration::from_millis(300)).await;
            Err(std::io::Error::other("the cable is out"))
        }));
        return Body::from_stream(pieces).into_response();
    }
    rest.into_response()
}

#[tokio::test]
async fn an_agent_becomes_a_newer_program_as_the_same_host_and_never_goes_back() {
    let (first, newer) = (Held::of(&own()), another());
    let mut world = World::start(newer.clone(), true).await;
    let (mut offsets, mut replied, mut polled) = (Vec::new(), HashSet::new(), Instant::now());
    let mut key = String::new();
    let mut registrations = 0;
    let last = loop {
        let seen = world.next().await;
        if seen.line.ends_with("/hosts") {
            registrations += 1;
            key = seen.headers[HOST_KEY_HEADER].to_str().unwrap().to_owned();
        } else if let Some((_, offset)) = seen.line.split_once("offset=") {
            offsets.push(offset.parse::<usize>().unwrap());
        } else if let Some((result, reason)) = seen.outcome() {
            assert_eq!((result.as_str(), reason.as_str()), ("success", ""));
            replied.insert("upgrade-agent".to_owned());
        } else if seen.line.starts_with("POST") {
            replied.insert(seen.body["step_type"].as_str().unwrap().to_owned());
        } else if seen.is_poll() {
            assert!(polled.elapsed() < SILENCE);
            polled = Instant::now();
            if seen.build() == Some(&newer.sha256) {
                break seen;
            }
            // The program that tries the other one reports no build.
            assert!(seen.build().is_none_or(|build| build == first.sha256));
        }
    };
    assert_eq!(registrations, 1, "the host stays registered");
    assert_eq!(offsets.len(), 2, "{offsets:?}");
    assert!(offsets[0] == 0 && offsets[1] > 0, "{offsets:?}");
    assert_eq!(replied.len(), 2, "all steps were answered before: {replied:?}");
    assert!(last.line.contains(HOST), "{}", last.line);
    let proof: Proof = last.headers[HOST_PROOF_HEADER].to_str().unwrap().parse().unwrap();
    let path = last.line["GET ".len()..].split('?').next().unwrap();
    let text = signed_text("GET", path, HOST.parse().unwrap(), proof.time, &proof.nonce);
    UnparsedPublicKey::new(&ED25519, hex::decode(&key).unwrap())
        .verify(text.as_bytes(), &hex::decode(&proof.signature).unwrap())
        .expect("the host's key is the same");
    assert!(
        world.agent.try_wait().unwrap().is_none(),
        "the same process goes on"
    );

    // A replica of the service that is not upgraded yet offers the first one.
    world.told.lock().unwrap().offered = Some(first);
    loop {
        let seen = world.next().await;
        assert!(
            !seen.line.ends_with("/hosts") && !seen.line.contains("offset="),
            "{}",
            seen.line
        );
        if let Some((result, reason)) = seen.outcome() {
            assert_eq!(result, "failure");
            assert!(reason.contains("was that program before"), "{reason}");
            break;
        }
    }
}

#[tokio::test]
async fn an_agent_goes_on_when_the_other_program_is_not_as_promised_or_does_not_work() {
    let mut wrong = another();
    wrong.sha256 = "00".repeat(32);
    wrong.program["sha256"] = wrong.sha256.clone().into();
    let garbage = Held::of(&[b"\x7fELF\x02\x01\x01".as_slice(), &[9; 5000]].concat());
    let silent = Held::of(&std::fs::read("/bin/true").unwrap());
    for (offered, words) in [
        (wrong, "SHA-256"),
        (garbage, "does not start"),
        (silent, "ended without a word"),
    ] {
        let mut world = World::start(offered, false).await;
        let (mut downloads, mut failures, mut polls_since) = (0, 0, 0);
        let mut registrations = 0;
        while polls_since < 3 {
            let seen = world.next().await;
            registrations += usize::from(seen.line.ends_with("/hosts"));
            downloads += usize::from(seen.line.contains("offset="));
            if let Some((result, reason)) = seen.outcome() {
                assert_eq!(result, "failure");
                assert!(reason.contains(words), "{reason}");
                failures += 1;
            }
            polls_since += usize::from(failures > 0 && seen.is_poll());
        }
        assert_eq!(
            (registrations, downloads, failures),
            (1, 1, 1),
            "{words}: told and tried once"
        );
        assert!(world.agent.try_wait().unwrap().is_none());
    }
}
