//! `tang-connectivity-check`.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::{Value, json};

use super::{dependencies, run, server, settings};

const STEP: &str = "tang-connectivity-check";

async fn tang() -> String {
    let general = json!({"payload": "cGF5", "signatures": [{"protected": "cHJv", "signature": "c2ln"}]});
    let flat = json!({"payload": "cGF5", "protected": "cHJv", "signature": "c2ln"});
    let unsigned = json!({"payload": "cGF5"});
    let text = |value: Value| get(move || async move { value.to_string() });
    let routes = Router::new()
        .route("/adv/general", text(general))
        .route("/base/adv/flat", text(flat))
        .route("/adv/unsigned", text(unsigned))
        .route("/adv/broken", get(|| async { "<html>" }))
        .route("/adv/refused", get(|| async { StatusCode::NOT_FOUND }));
    format!("http://{}", server::plain(routes).await)
}

async fn ask(servers: Value) -> (i64, Value, String) {
    let request = json!({"tang_servers": servers.to_string()}).to_string();
    let reply = run(
        &dependencies(settings("http://127.0.0.1:1", "")),
        STEP,
        &[&request],
    )
    .await;
    let output = serde_json::from_str(&reply.output).unwrap_or_default();
    (reply.exit_code, output, reply.error)
}

#[tokio::test]
async fn advertisements_of_all_servers_are_handed_on() {
    let url = tang().await;
    let based = format!("{url}/base/");
    let (code, output, error) = ask(json!([
        {"url": url, "thumbprint": "general"},
        {"url": based, "thumbprint": "flat"},
    ]))
    .await;
    assert_eq!((code, error.as_str()), (0, ""));
    let signed = |url: &str| {
        json!({"tang_url": url, "payload": "cGF5",
            "signatures": [{"protected": "cHJv", "signature": "c2ln"}]})
    };
    assert_eq!(
        output,
        json!({"is_success": true, "tang_server_response": [signed(&url), signed(&based)]})
    );
}

#[tokio::test]
async fn one_server_that_fails_fails_all_and_is_named() {
    let url = tang().await;
    for (thumbprint, word) in [
        ("refused", "404"),
        ("broken", "no advertisement"),
        ("unsigned", "not signed"),
        ("../x", "no thumbprint"),
        ("", "no thumbprint"),
    ] {
        let (code, output, error) = ask(json!([
            {"url": url, "thumbprint": "general"},
            {"url": url, "thumbprint": thumbprint},
        ]))
        .await;
        assert_eq!(code, -1, "{thumbprint}");
        assert_eq!(output, json!({"tang_server_response": null}));
        assert!(error.contains(word) && error.contains(&url), "{error}");
    }
    let (code, _, error) = ask(json!([{"url": "http://127.0.0.1:1", "thumbprint": "a"}])).await;
    assert!(code == -1 && error.contains("127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn wrong_arguments_are_refused() {
    let dependencies = dependencies(settings("http://127.0.0.1:1", ""));
    for args in [
        &[][..],
        &["{}"],
        &[r#"{"tang_servers":"x"}"#],
        &[r#"{"tang_servers":"[]"}"#],
    ] {
        let reply = run(&dependencies, STEP, args).await;
        assert_eq!(reply.exit_code, -1, "{args:?}");
        assert!(reply.error.contains(STEP), "{}", reply.error);
    }
}
