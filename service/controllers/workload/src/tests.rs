//! Tests clients of clusters that are dead in different ways. The management cluster is a function that returns one Secret.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use muster_core::record::KubeRef;
use muster_outgoing::Networks;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tower::service_fn;

use super::{REQUEST_LIMIT, Unreachable, Workloads};

/// A management cluster with a Secret that can be changed; `None`: it does not exist.
struct Hub {
    data: Arc<Mutex<Option<Value>>>,
    workloads: Workloads,
    name: KubeRef,
}

fn hub(data: Option<Value>) -> Hub {
    let data = Arc::new(Mutex::new(data));
    let answered = data.clone();
    let service = service_fn(move |_: Request<Body>| {
        let data = answered.lock().unwrap().clone();
        async move {
            let (status, answer) = match data {
                Some(data) => (
                    200,
                    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kc", "namespace": "lab", "uid": "u"}, "data": data}),
                ),
                None => (
                    404,
                    json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "no"}),
                ),
            };
            Response::builder()
                .status(status)
                .body(Body::from(answer.to_string().into_bytes()))
        }
    });
    Hub {
        workloads: Workloads::new(
            Client::new(service, "default"),
            Networks::of_api_servers(&[], true),
        ),
        data,
        name: KubeRef::new("lab", "kc"),
    }
}

fn encoded(text: &str) -> Value {
    json!(k8s_openapi::ByteString(text.as_bytes().to_vec()))
}

fn kubeconfig(server: &str, authority: Option<&str>) -> String {
    let mut cluster = json!({"server": server});
    if let Some(pem) = authority {
        cluster["certificate-authority-data"] = encoded(pem);
    }
    json!({
        "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": cluster}], "users": [{"name": "x", "user": {"token": "hunter2"}}],
    })
    .to_string()
}

/// An address without a listener.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("https://{}", listener.local_addr().unwrap())
}

fn install_provider() {
    // Another test may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[tokio::test]
async fn a_client_is_the_same_while_its_kubeconfig_is() {
    install_provider();
    let server = nobody().await;
    let hub = hub(Some(json!({"kubeconfig": encoded(&kubeconfig(&server, None))})));
    let of = async || hub.workloads.of_secret(&hub.name).await;
    let first = of().await.unwrap();
    assert!(Arc::ptr_eq(&first, &of().await.unwrap()));
    // Cluster API's key.
    *hub.data.lock().unwrap() = Some(json!({"value": encoded(&kubeconfig(&server, None))}));
    assert!(Arc::ptr_eq(&first, &of().await.unwrap()));
    *hub.data.lock().unwrap() = Some(json!({"value": encoded(&kubeconfig("https://127.0.0.1:1", None))}));
    let second = of().await.unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    hub.workloads.forget(&hub.name);
    assert!(!Arc::ptr_eq(&second, &of().await.unwrap()));
}

#[tokio::test]
async fn a_secret_that_cannot_be_used_says_what_to_do() {
    let absent = hub(None);
    let why = absent.workloads.of_secret(&absent.name).await.err().unwrap();
    assert!(
        matches!(&why, Unreachable::Secret(text) if text.contains("create it with the key kubeconfig")),
        "{why}"
    );
    let empty = hub(Some(json!({"other": encoded("x")})));
    let why = empty.workloads.of_secret(&empty.name).await.err().unwrap();
    assert!(
        matches!(&why, Unreachable::Secret(text) if text.contains("lab/kc")),
        "{why}"
    );
    let bad = hub(Some(json!({"kubeconfig": encoded("hunter2")})));
    let why = bad.workloads.of_secret(&bad.name).await.err().unwrap();
    assert!(
        matches!(why, Unreachable::Kubeconfig(..)) && !why.to_string().contains("hunter2"),
        "{why}"
    );
}

#[tokio::test]
async fn a_cluster_that_refuses_connections_is_asked_less_and_less() {
    install_provider();
    let server = nobody().await;
    let hub = hub(Some(json!({"kubeconfig": encoded(&kubeconfig(&server, None))})));
    let workload = hub.workloads.of_secret(&hub.name).await.unwrap();
    assert_eq!(workload.silence(), None);
    assert!(workload.client.apiserver_version().await.is_err());
    let silence = workload.silence().unwrap();
    assert!(
        silence.contains("refused") && silence.contains("growing intervals"),
        "{silence}"
    );
    assert!(!silence.contains("hunter2"), "{silence}");
    assert!(workload.client.apiserver_version().await.is_err());
    // A later request, e.g. in the next reconcile, finds the same circuit.
    assert!(
        hub.workloads
            .of_secret(&hub.name)
            .await
            .unwrap()
            .silence()
            .is_some()
    );
}

#[tokio::test]
async fn a_cluster_with_another_authority_is_not_trusted() {
    install_provider();
    let (server_key, other) = (
        rcgen::KeyPair::generate().unwrap(),
        rcgen::KeyPair::generate().unwrap(),
    );
    let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.clone().self_signed(&server_key).unwrap();
    let stranger = params.self_signed(&other).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(server_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("https://{}", listener.local_addr().unwrap());
    let accepting = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // This handshake fails as it should.
            let _ = acceptor.accept(stream).await;
        }
    });
    let hub = hub(Some(
        json!({"kubeconfig": encoded(&kubeconfig(&server, Some(&stranger.pem())))}),
    ));
    let workload = hub.workloads.of_secret(&hub.name).await.unwrap();
    assert!(workload.client.apiserver_version().await.is_err());
    let silence = workload.silence().unwrap().to_lowercase();
    assert!(silence.contains("certificate"), "{silence}");
    accepting.abort();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_silent_fails_after_the_deadline() {
    let silent = Client::new(
        service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, std::io::Error>>()),
        "default",
    );
    let gate = Arc::new(super::gate::Gate::default());
    let client = super::gate::behind(gate.clone(), silent);
    let began = tokio::time::Instant::now();
    assert!(client.apiserver_version().await.is_err());
    assert_eq!(began.elapsed(), REQUEST_LIMIT);
    assert!(gate.silence().unwrap().why.contains("no answer within 10 s"));
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_off() {
    let endless = |_: Request<Body>| async {
        let (mut writer, reader) = tokio::io::duplex(64 * 1024);
        tokio::spawn(async move { while writer.write_all(&[b' '; 4096]).await.is_ok() {} });
        let chunks = futures_util::stream::unfold(reader, |mut reader| async move {
            let mut chunk = vec![0; 64 * 1024];
            let length = reader.read(&mut chunk).await.ok()?;
            chunk.truncate(length);
            Some((
                Ok::<_, std::io::Error>(http_body::Frame::data(bytes::Bytes::from(chunk))),
                reader,
            ))
        });
        Response::builder().body(http_body_util::StreamBody::new(chunks))
    };
    let gate = Arc::new(super::gate::Gate::default());
    let client = super::gate::behind(gate.clone(), Client::new(service_fn(endless), "default"));
    let error = client.apiserver_version().await.unwrap_err().to_string();
    assert!(error.contains("length limit"), "{error}");
}

#[tokio::test]
async fn a_gateway_without_a_cluster_behind_it_counts_as_silence_and_a_refusal_does_not() {
    let status = Arc::new(Mutex::new(503));
    let answered = status.clone();
    let service = service_fn(move |_: Request<Body>| {
        let status = *answered.lock().unwrap();
        async move {
            Response::builder()
                .status(status)
                .body(Body::from(b"{}".to_vec()))
        }
    });
    let gate = Arc::new(super::gate::Gate::default());
    let client = super::gate::behind(gate.clone(), Client::new(service, "default"));
    assert!(client.apiserver_version().await.is_err());
    assert!(gate.silence().unwrap().why.contains("503"));
    *status.lock().unwrap() = 403;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(client.apiserver_version().await.is_err());
    assert_eq!(gate.silence(), None);
}

#[tokio::test]
async fn errors_quote_a_status_and_no_page_of_another_server() {
    for (answer, quoted, left_out) in [
        ("CANARY internal admin page", "none of a Kubernetes API", "CANARY"),
        (r#"{"message": "CANARY"}"#, "none of a Kubernetes API", "CANARY"),
        (
            r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "message": "nodes is forbidden"}"#,
            "nodes is forbidden",
            "none of",
        ),
    ] {
        let service = service_fn(move |_: Request<Body>| async move {
            Response::builder()
                .status(403)
                .body(Body::from(answer.as_bytes().to_vec()))
        });
        let gate = Arc::new(super::gate::Gate::default());
        let client = super::gate::behind(gate, Client::new(service, "default"));
        let error = client.apiserver_version().await.unwrap_err().to_string();
        assert!(error.contains(quoted) && !error.contains(left_out), "{error}");
    }
}

#[tokio::test]
async fn a_name_that_leads_to_this_service_is_not_connected_to() {
    install_provider();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // A host name, for code that does not resolve it, with the address 127.0.0.1.
    let named = format!("https://2130706433:{port}");
    let mut text: Value = serde_json::from_str(&kubeconfig(&named, None)).unwrap();
    text["clusters"][0]["cluster"]["tls-server-name"] = json!("api.example.test");
    let data = json!({"kubeconfig": encoded(&text.to_string())});
    let at = |trial| {
        let mut hub = hub(Some(data.clone()));
        hub.workloads.networks = Arc::new(Networks::of_api_servers(&[], trial));
        hub
    };
    let hub = at(false);
    let refused = hub.workloads.of_secret(&hub.name).await.unwrap();
    assert!(refused.client.apiserver_version().await.is_err());
    let silence = refused.silence().unwrap();
    assert!(silence.contains("loopback"), "{silence}");
    let hub = at(true);
    let allowed = hub.workloads.of_secret(&hub.name).await.unwrap();
    let (accepted, answered) = tokio::join!(
        async {
            let accepted = listener.accept().await;
            drop(listener);
            accepted.is_ok()
        },
        allowed.client.apiserver_version()
    );
    assert!(accepted && answered.is_err());
}

/// A proxy that answers one request for a tunnel with a refusal; returns what was requested.
async fn refusing_proxy(listener: TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = vec![0; 4096];
    let length = stream.read(&mut head).await.unwrap();
    stream
        .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
        .await
        .unwrap();
    String::from_utf8_lossy(&head[..length]).into_owned()
}

#[tokio::test]
async fn a_proxy_of_the_kubeconfig_gets_its_password() {
    install_provider();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://lab:p%40ss@{}", listener.local_addr().unwrap());
    let mut text: Value = serde_json::from_str(&kubeconfig("https://api.example.test:6443", None)).unwrap();
    text["clusters"][0]["cluster"]["proxy-url"] = json!(proxy);
    let hub = hub(Some(json!({"kubeconfig": encoded(&text.to_string())})));
    let workload = hub.workloads.of_secret(&hub.name).await.unwrap();
    let (requested, answered) = tokio::join!(refusing_proxy(listener), workload.client.apiserver_version());
    assert!(answered.is_err());
    assert!(
        requested.starts_with("CONNECT api.example.test:6443 ") && requested.contains("Basic bGFiOnBAc3M="),
        "{requested}"
    );
}
