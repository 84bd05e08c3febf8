//! `container-image-availability` against a registry over TLS and over plain HTTP.

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_agent::foreign::registry::check::{Download, check};
use muster_agent::foreign::registry::{Credentials, Mirrors, Registries, RegistryError, RegistryFiles};
use muster_agent::net::names::Names;
use serde_json::{Value, json};

use super::registry::{FakeRegistry, PASSWORD, USER};
use super::{TOKEN, dependencies, run, server, settings};
use crate::INFRA_ENV;

const LAYERS: [&[u8]; 2] = [b"first layer", &[7; 300_000]];

fn secret(place: &str, password: &str) -> String {
    json!({"auths": {place: {"auth": STANDARD.encode(format!("{USER}:{password}"))}}}).to_string()
}

fn files(credentials: Option<&str>, mirrors: &str) -> RegistryFiles {
    RegistryFiles {
        credentials: credentials.map(|text| Credentials::parse(text).unwrap()),
        mirrors: Mirrors::parse(mirrors).unwrap(),
        certificates: String::new(),
    }
}

async fn ask(certificate: &str, files: RegistryFiles, image: &str) -> Result<Download, RegistryError> {
    let settings = settings("http://127.0.0.1:1", certificate);
    let names = Names::configured_by("/nonexistent");
    let registries = Registries::new(&settings, &names, files).unwrap();
    check(&registries, image).await
}

fn insecure(place: &str) -> String {
    format!("[[registry]]\nlocation = \"{place}\"\ninsecure = true\n")
}

#[tokio::test]
async fn an_image_behind_tokens_is_found_for_our_platform_and_its_rate_measured() {
    let registry = FakeRegistry::default();
    let blobs = registry.image("org/app", "1.0", &LAYERS);
    let (place, certificate) = server::tls(registry.routes()).await;
    registry.ask_for_tokens(&format!("https://{place}"));
    let secret = secret(&place, PASSWORD);
    let image = format!("{place}/org/app:1.0");
    let found = ask(&certificate, files(Some(&secret), ""), &image).await.unwrap();
    let expected: usize = blobs.iter().map(|blob| registry.blob(blob).len()).sum();
    assert_eq!(found.bytes, expected as u64);
    assert!(found.rate() > 0.0);
    let asked = registry.seen();
    for blob in &blobs {
        let path = format!("/v2/org/app/blobs/{blob}");
        assert!(
            asked
                .iter()
                .any(|seen| seen.line.starts_with("HEAD ") && seen.line.ends_with(&path)),
            "{blob} was not asked for"
        );
    }
    // The password goes to the token service and nowhere else.
    let basic: Vec<_> = asked
        .iter()
        .filter(|seen| {
            seen.authorization
                .as_ref()
                .is_some_and(|text| text.starts_with("Basic"))
        })
        .collect();
    assert!(
        basic.iter().all(|seen| seen.line.contains("/token?")) && basic.len() == 1,
        "{basic:?}"
    );
}

#[tokio::test]
async fn a_wrong_and_a_missing_password_are_reported_without_it() {
    let registry = FakeRegistry::default();
    registry.image("app", "1", &LAYERS);
    let (place, certificate) = server::tls(registry.routes()).await;
    registry.ask_for_tokens(&format!("https://{place}"));
    let wrong = secret(&place, "not-the-password");
    for credentials in [Some(wrong.as_str()), None] {
        let error = ask(&certificate, files(credentials, ""), &format!("{place}/app:1"))
            .await
            .unwrap_err();
        assert!(matches!(error, RegistryError::Denied(..)), "{error}");
        assert!(error.to_string().contains("pull secret") && !error.to_string().contains("not-the-password"));
    }
}

#[tokio::test]
async fn a_registry_with_an_untrusted_certificate_is_refused() {
    let registry = FakeRegistry::default();
    registry.image("app", "1", &LAYERS);
    let (place, _) = server::tls(registry.routes()).await;
    let (_, other) = server::tls(Router::new()).await;
    let image = format!("{place}/app:1");
    let error = ask(&other, files(None, ""), &image).await.unwrap_err();
    assert!(matches!(error, RegistryError::Unreachable(..)), "{error}");
    assert!(ask(&other, files(None, &insecure(&place)), &image).await.is_ok());
}

#[tokio::test]
async fn plain_http_needs_a_word_in_registries_conf() {
    let registry = FakeRegistry::default();
    registry.image("app", "1", &LAYERS);
    let place = server::plain(registry.routes()).await;
    let image = format!("{place}/app:1");
    let error = ask("", files(None, ""), &image).await.unwrap_err();
    assert!(matches!(error, RegistryError::Unreachable(..)), "{error}");
    assert!(ask("", files(None, &insecure(&place)), &image).await.is_ok());
}

#[tokio::test]
async fn a_mirror_is_asked_before_the_registry_and_the_registry_if_it_has_not() {
    let (mirror, registry) = (FakeRegistry::default(), FakeRegistry::default());
    mirror.image("copy/org/app", "1", &LAYERS);
    registry.image("org/app", "2", &LAYERS);
    let mirror_at = server::plain(mirror.routes()).await;
    let registry_at = server::plain(registry.routes()).await;
    let conf = format!(
        "[[registry]]\nprefix = \"{registry_at}\"\nlocation = \"{registry_at}\"\ninsecure = true\n\
         [[registry.mirror]]\nlocation = \"{mirror_at}/copy\"\ninsecure = true\n"
    );
    assert!(
        ask("", files(None, &conf), &format!("{registry_at}/org/app:1"))
            .await
            .is_ok()
    );
    assert!(registry.seen().is_empty());
    assert!(
        ask("", files(None, &conf), &format!("{registry_at}/org/app:2"))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_lost_layer_and_a_spoilt_one_are_found() {
    let registry = FakeRegistry::default();
    let blobs = registry.image("app", "1", &LAYERS);
    let place = server::plain(registry.routes()).await;
    let image = format!("{place}/app:1");
    registry.spoil(&blobs[1]);
    let error = ask("", files(None, &insecure(&place)), &image).await.unwrap_err();
    assert!(
        matches!(&error, RegistryError::Digest(_, digest) if *digest == blobs[1]),
        "{error}"
    );
    registry.lose(&blobs[1]);
    let error = ask("", files(None, &insecure(&place)), &image).await.unwrap_err();
    assert!(
        matches!(&error, RegistryError::Absent(_, what) if what.contains(&blobs[1])),
        "{error}"
    );
}

#[tokio::test]
async fn a_host_that_keeps_the_blobs_does_not_get_the_registrys_token() {
    let (registry, store) = (FakeRegistry::default(), FakeRegistry::default());
    registry.image("app", "1", &LAYERS);
    store.image("app", "1", &LAYERS);
    let (place, certificate) = server::tls(registry.routes()).await;
    let (store_at, store_certificate) = server::tls(store.routes()).await;
    registry.ask_for_tokens(&format!("https://{place}"));
    registry.keep_blobs_at(&format!("https://{store_at}"));
    let secret = secret(&place, PASSWORD);
    let both = format!("{certificate}{store_certificate}");
    ask(&both, files(Some(&secret), ""), &format!("{place}/app:1"))
        .await
        .unwrap();
    assert!(!store.seen().is_empty());
    assert!(
        store.seen().iter().all(|seen| seen.authorization.is_none()),
        "{:?}",
        store.seen()
    );
    // Blobs are not fetched over plain HTTP either, unless the registry is.
    let open = server::plain(store.routes()).await;
    registry.keep_blobs_at(&format!("http://{open}"));
    let error = ask(&both, files(Some(&secret), ""), &format!("{place}/app:1"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("plain http"), "{error}");
}

#[tokio::test]
async fn a_registry_beyond_the_proxy_is_asked_by_way_of_it() {
    let registry = FakeRegistry::default();
    registry.image("app", "1", &LAYERS);
    let proxy = server::plain(registry.routes()).await;
    let mut settings = settings("http://127.0.0.1:1", "");
    settings.proxy.http_proxy = format!("http://{proxy}");
    let names = Names::configured_by("/nonexistent");
    let files = files(None, &insecure("registry.internal"));
    let registries = Registries::new(&settings, &names, files).unwrap();
    check(&registries, "registry.internal/app:1").await.unwrap();
    assert!(
        registry.seen()[0]
            .line
            .contains("http://registry.internal/v2/app/manifests/1"),
        "{:?}",
        registry.seen()[0]
    );
}

/// A service that returns the pull secret to this host's token.
async fn service(place: &str, secret: &str) -> String {
    let ignition = json!({"ignition": {"version": "3.1.0"}, "storage": {"files": [
        {"path": "/root/.docker/config.json", "contents": {"source": format!("data:;base64,{}", STANDARD.encode(secret))}},
        {"path": "/etc/containers/registries.conf",
         "contents": {"source": format!("data:;base64,{}", STANDARD.encode(insecure(place)))}},
    ]}});
    let files = get(move |headers: HeaderMap| async move {
        match headers.get("x-secret-key") {
            Some(token) if token == TOKEN => ignition.to_string().into_response(),
            _ => StatusCode::UNAUTHORIZED.into_response(),
        }
    });
    let path = format!("/api/assisted-install/v2/infra-envs/{INFRA_ENV}/downloads/files");
    format!(
        "http://{}",
        server::plain(Router::new().route(&path, files)).await
    )
}

#[tokio::test]
async fn the_step_takes_the_pull_secret_from_the_service_and_names_each_image() {
    let registry = FakeRegistry::default();
    registry.image("app", "1", &LAYERS);
    let place = server::plain(registry.routes()).await;
    registry.ask_for_tokens(&format!("http://{place}"));
    let dependencies = dependencies(settings(&service(&place, &secret(&place, PASSWORD)).await, ""));
    let request = json!({"images": [format!("{place}/app:1"), format!("{place}/absent:1"), "Not An Image"]});
    let reply = run(
        &dependencies,
        "container-image-availability",
        &[&request.to_string()],
    )
    .await;
    assert_eq!(reply.exit_code, 2, "{reply:?}");
    let output: Value = serde_json::from_str(&reply.output).unwrap();
    let images = output["images"].as_array().unwrap();
    assert_eq!(images[0]["result"], "success", "{reply:?}");
    assert!(images[0]["size_bytes"].as_f64().unwrap() > 300_000.0);
    assert!(images[0]["download_rate"].as_f64().unwrap() > 0.0);
    for (index, name) in [(1, format!("{place}/absent:1")), (2, "Not An Image".to_owned())] {
        assert_eq!(images[index], json!({"name": name, "result": "failure"}));
        assert!(reply.error.contains(&name), "{}", reply.error);
    }
    assert!(!reply.error.contains(PASSWORD));
}

#[tokio::test]
async fn images_share_one_deadline_and_each_is_answered_for() {
    let registry = FakeRegistry::default();
    registry.say_nothing();
    let place = server::plain(registry.routes()).await;
    let dependencies = dependencies(settings(&service(&place, &secret(&place, PASSWORD)).await, ""));
    let request = json!({"images": [format!("{place}/a:1"), format!("{place}/b:1")], "timeout": 1});
    let reply = run(
        &dependencies,
        "container-image-availability",
        &[&request.to_string()],
    )
    .await;
    assert_eq!(reply.exit_code, 2);
    let output: Value = serde_json::from_str(&reply.output).unwrap();
    assert_eq!(output["images"].as_array().unwrap().len(), 2);
    assert!(reply.error.contains("no time was left"), "{}", reply.error);
}

#[tokio::test]
async fn wrong_arguments_are_refused() {
    let dependencies = dependencies(settings("http://127.0.0.1:1", ""));
    for args in [&[][..], &["x"], &["{}", "{}"], &[r#"{"images":"a"}"#]] {
        let reply = run(&dependencies, "container-image-availability", args).await;
        assert_eq!(reply.exit_code, -1, "{args:?}");
        assert!(
            reply.error.contains("container-image-availability"),
            "{}",
            reply.error
        );
    }
}
