//! `logs-gather`: the requests that reach the service, their order, and the missing ones.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use muster_agent::logs::ring;
use serde_json::json;

use super::{TOKEN, dependencies, run, server, settings};
use crate::{HOST, INFRA_ENV};

const CLUSTER: &str = "0f3e7a52-0b0d-4c3c-9a9e-222222222222";

/// Method with path and query, media type, body.
type Seen = (String, String, Vec<u8>);

#[derive(Clone)]
struct Service {
    seen: Arc<Mutex<Vec<Seen>>>,
    upload: StatusCode,
}

async fn service(upload: StatusCode) -> (String, Service) {
    let service = Service {
        seen: Arc::default(),
        upload,
    };
    let routes = Router::new().fallback(take).with_state(service.clone());
    (format!("http://{}", server::plain(routes).await), service)
}

async fn take(State(service): State<Service>, request: Request) -> StatusCode {
    let line = format!("{} {}", request.method(), request.uri());
    let kind = request.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(request.headers()["x-secret-key"], TOKEN);
    let body = to_bytes(request.into_body(), 64 << 20).await.unwrap().to_vec();
    let is_upload = line.starts_with("POST");
    service.seen.lock().unwrap().push((line, kind, body));
    if is_upload {
        service.upload
    } else {
        StatusCode::NO_CONTENT
    }
}

fn request() -> String {
    json!({"cluster_id": CLUSTER, "host_id": HOST, "infra_env_id": INFRA_ENV, "bootstrap": false, "installer_gather": true,
        "master_ips": null})
    .to_string()
}

/// The archive in a form of one part called `upfile`.
fn archive(kind: &str, body: &[u8]) -> BTreeMap<String, String> {
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let find = |text: &[u8]| {
        body.windows(text.len())
            .position(|window| window == text)
            .unwrap()
    };
    let start = find(b"\r\n\r\n") + 4;
    let head = std::str::from_utf8(&body[..start]).unwrap();
    assert!(head.starts_with(&format!("--{boundary}\r\n")), "{head}");
    assert!(
        head.contains("name=\"upfile\"; filename=\"logs.tar.gz\""),
        "{head}"
    );
    assert!(head.contains("Content-Type: application/x-gzip"), "{head}");
    let end = find(format!("\r\n--{boundary}--\r\n").as_bytes());
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&body[start..end]));
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        files.insert(path, text);
    }
    files
}

#[tokio::test]
async fn logs_reach_the_service_in_order_and_without_secrets() {
    tracing_subscriber::fmt()
        .with_writer(ring::Lines)
        .with_ansi(false)
        .init();
    let (url, service) = service(StatusCode::NO_CONTENT).await;
    tracing::info!("somebody logged {TOKEN} and hunter22-pw by mistake");
    let mut settings = settings(&url, "");
    settings.proxy.https_proxy = "http://user:hunter22-pw@127.0.0.1:3128".to_owned();
    let reply = run(&dependencies(settings), "logs-gather", &[&request()]).await;
    assert_eq!((reply.exit_code, reply.error.as_str()), (0, ""));
    let seen = service.seen.lock().unwrap();
    let lines: Vec<&str> = seen.iter().map(|(line, ..)| line.as_str()).collect();
    let progress = format!("PUT /api/assisted-install/v2/infra-envs/{INFRA_ENV}/hosts/{HOST}/logs-progress");
    let upload = format!(
        "POST /api/assisted-install/v2/clusters/{CLUSTER}/logs?host_id={HOST}&infra_env_id={INFRA_ENV}&logs_type=host"
    );
    assert_eq!(lines, [progress.as_str(), &progress, &upload, &progress]);
    for (index, state) in [(0, "requested"), (1, "collecting"), (3, "completed")] {
        let body: serde_json::Value = serde_json::from_slice(&seen[index].2).unwrap();
        assert_eq!(body, json!({"logs_state": state}));
    }
    let files = archive(&seen[2].1, &seen[2].2);
    for name in [
        "agent.logs",
        "network.logs",
        "mount.logs",
        "inventory.json",
        "machine.logs",
        "report.logs",
    ] {
        assert!(
            files.contains_key(&format!("logs_host_{HOST}/{name}")),
            "{name}: {:?}",
            files.keys()
        );
    }
    let told = &files[&format!("logs_host_{HOST}/agent.logs")];
    assert!(told.contains("somebody logged *** and *** by mistake"), "{told}");
    for (name, text) in &files {
        assert!(
            !text.contains(TOKEN) && !text.contains("hunter22"),
            "a secret is in {name}"
        );
    }
}

#[tokio::test]
async fn logs_of_a_host_without_a_cluster_go_to_a_place_of_its_own() {
    let (url, service) = service(StatusCode::NO_CONTENT).await;
    let request = json!({"cluster_id": "", "host_id": HOST, "infra_env_id": INFRA_ENV}).to_string();
    let reply = run(&dependencies(settings(&url, "")), "logs-gather", &[&request]).await;
    assert_eq!((reply.exit_code, reply.error.as_str()), (0, ""));
    let seen = service.seen.lock().unwrap();
    let [(line, kind, body)] = &seen[..] else {
        panic!("{} requests", seen.len());
    };
    assert_eq!(
        *line,
        format!("POST /api/muster/v1/infra-envs/{INFRA_ENV}/hosts/{HOST}/logs/archive")
    );
    let files = archive(kind, body);
    assert!(files.contains_key(&format!("logs_host_{HOST}/inventory.json")));
    assert!(files.values().all(|text| !text.contains(TOKEN)));
}

#[tokio::test]
async fn logs_that_the_service_does_not_take_are_a_failure_with_its_reason() {
    let (url, service) = service(StatusCode::NOT_FOUND).await;
    let reply = run(&dependencies(settings(&url, "")), "logs-gather", &[&request()]).await;
    assert_eq!(reply.exit_code, -1);
    assert!(reply.error.contains("404"), "{}", reply.error);
    let completed = service
        .seen
        .lock()
        .unwrap()
        .iter()
        .any(|(_, _, body)| body.ends_with(b"completed\"}"));
    assert!(!completed);
}

#[tokio::test]
async fn ids_that_are_none_are_refused() {
    let dependencies = dependencies(settings("http://127.0.0.1:1", ""));
    for args in [
        &["{}"][..],
        &[r#"{"cluster_id":"","host_id":"../../x","infra_env_id":"b"}"#],
        &[r#"{"cluster_id":"../../x","host_id":"a","infra_env_id":"b"}"#],
        &[],
    ] {
        let reply = run(&dependencies, "logs-gather", args).await;
        assert!(
            reply.exit_code == -1 && reply.error.contains("logs-gather"),
            "{}",
            reply.error
        );
    }
}
