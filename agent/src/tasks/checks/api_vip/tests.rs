use std::sync::Mutex;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use muster_api::host::KeyValue;

use super::*;

type Answer = fn(&Request) -> Response;

/// A server with one response; returns its URL.
async fn server(answer: Answer) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().fallback(move |request: Request| async move { answer(&request) });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://127.0.0.1:{port}/config/worker")
}

async fn ask(request: ApiVipConnectivityRequest) -> ApiVipConnectivityResponse {
    check(&Names::configured_by("/nonexistent/resolv.conf"), &request).await
}

async fn ask_url(url: String) -> ApiVipConnectivityResponse {
    ask(ApiVipConnectivityRequest {
        url,
        ..ApiVipConnectivityRequest::default()
    })
    .await
}

fn ignition() -> String {
    r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/hosts"}]}}"#.to_owned()
}

#[tokio::test]
async fn a_good_ignition_is_reduced_and_nothing_else_is_in_the_answer() {
    let url = server(|_| ignition().into_response()).await;
    let answer = serde_json::to_value(ask_url(url.clone()).await).unwrap();
    let expected = serde_json::json!({
        "is_success": true, "url": url,
        "ignition": r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[]}}"#,
    });
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn the_request_says_what_it_wants_and_named_headers_beat_the_token() {
    static SEEN: Mutex<Vec<HeaderMap>> = Mutex::new(Vec::new());
    let url = server(|request| {
        SEEN.lock().unwrap().push(request.headers().clone());
        ignition().into_response()
    })
    .await;
    let mut request = ApiVipConnectivityRequest {
        url,
        ignition_endpoint_token: Some("t0ken".into()),
        ..ApiVipConnectivityRequest::default()
    };
    assert!(ask(request.clone()).await.is_success);
    request.request_headers = Some(vec![
        KeyValue {
            key: "Authorization".into(),
            value: "Bearer other".into(),
        },
        KeyValue {
            key: "X-Pool".into(),
            value: "a".into(),
        },
    ]);
    assert!(ask(request).await.is_success);
    let seen = SEEN.lock().unwrap();
    assert_eq!(seen[0]["accept"], IGNITION);
    assert_eq!(seen[0]["authorization"], "Bearer t0ken");
    assert_eq!(seen[1]["authorization"], "Bearer other");
    assert_eq!(seen[1]["x-pool"], "a");
}

#[tokio::test]
async fn failures_are_reported_in_the_answer_and_hide_secrets() {
    let cases: [(Answer, &str); 6] = [
        (
            |_| (StatusCode::FORBIDDEN, "go\naway").into_response(),
            "status 403 Forbidden; it begins with: go away",
        ),
        (|_| StatusCode::NOT_FOUND.into_response(), "status 404 Not Found"),
        (|_| "".into_response(), "the answer is empty"),
        (
            |_| "<html>welcome</html>".into_response(),
            "no JSON; it begins with: <html>",
        ),
        (|_| r#"{"secret":"s3cret"}"#.into_response(), "no ignition config"),
        (
            |_| (StatusCode::FOUND, [("location", "http://other.example/")]).into_response(),
            "it sends us on to another host",
        ),
    ];
    for (answer, why) in cases {
        let found = ask_url(server(answer).await).await;
        assert!(!found.is_success && found.ignition.is_empty());
        assert!(found.download_error.contains(why), "{}", found.download_error);
        assert!(
            !found.download_error.contains("s3cret"),
            "{}",
            found.download_error
        );
    }
}

#[tokio::test]
async fn junk_is_quoted_to_512_bytes() {
    let url = server(|_| "x".repeat(5000).into_response()).await;
    let error = ask_url(url).await.download_error;
    assert_eq!(error.matches('x').count(), SHOWN, "{error}");
}

#[tokio::test]
async fn an_endless_answer_ends() {
    let url = server(|_| {
        let chunks = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
        axum::body::Body::from_stream(chunks).into_response()
    })
    .await;
    let error = ask_url(url).await.download_error;
    assert!(error.contains("larger than"), "{error}");
}

#[tokio::test]
async fn a_redirect_on_the_same_host_is_followed() {
    let url = server(|request| match request.uri().path() {
        "/config/worker" => (StatusCode::FOUND, [("location", "/new")]).into_response(),
        _ => ignition().into_response(),
    })
    .await;
    assert!(ask_url(url).await.is_success);
}

#[tokio::test]
async fn requests_that_cannot_be_made_say_why() {
    for (url, why) in [
        ("", "no http or https URL"),
        ("ftp://x/", "no http or https URL"),
        ("http://no.such.example/", "no name server is known"),
    ] {
        let error = ask_url(url.to_owned()).await.download_error;
        assert!(error.contains(why), "{error}");
    }
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", unused.local_addr().unwrap());
    drop(unused);
    assert_eq!(ask_url(url).await.download_error, "connection refused");
    let error = ask_url("http://no.such.example/".to_owned()).await.download_error;
    assert!(error.starts_with("no name server is known"), "{error}");
    let request = |ca: &str, header: &str| ApiVipConnectivityRequest {
        url: "https://127.0.0.1:1/".into(),
        ca_certificate: Some(ca.into()),
        request_headers: Some(vec![KeyValue {
            key: header.into(),
            value: "x".into(),
        }]),
        ..ApiVipConnectivityRequest::default()
    };
    let pem = STANDARD.encode(include_bytes!("../../../../fixtures/self-signed.pem"));
    for (ca, header, why) in [
        ("%%%", "x", "ca_certificate is no base64"),
        ("bm8gY2VydGlmaWNhdGU=", "x", "no certificate is trusted"),
        (pem.as_str(), "bad header", "no header's name"),
    ] {
        let error = ask(request(ca, header)).await.download_error;
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn headers_follow_to_the_same_host_and_never_out_of_tls() {
    let same = |asked: &str, next: &str| is_same_server(&asked.parse().unwrap(), &next.parse().unwrap());
    assert!(same("http://a.example:1/x", "http://a.example:2/y"));
    assert!(same("http://a.example/", "https://a.example/"));
    assert!(same("https://a.example/", "https://a.example/z"));
    assert!(!same("https://a.example/", "http://a.example/"));
    assert!(!same("http://a.example/", "http://b.example/"));
}
