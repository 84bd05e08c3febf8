//! TLS with the API's own authority, tokens and client certificates.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use muster_kube_api::{Authority, Caller, Credentials, Kind, kubeconfig, write_private};

use tower::ServiceExt as _;

use crate::kubectl::Kubectl;
use crate::peers::listen;
use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubeconfig_with_a_certificate_or_a_token_opens_the_api_and_nothing_else_does() {
    let world = World::new(Kind::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::generate("ours").unwrap();
    // The same after a restart.
    let again = Authority::from_pem("ours", &authority.to_pem()).unwrap();
    assert_eq!(authority.certificate_pem(), again.certificate_pem());
    let (server, stop, serving) = listen(&world.api, &again, "a-token");
    let identity = authority.client(&Caller::administrator()).unwrap();
    let stranger = authority
        .client(&Caller {
            name: "stranger".into(),
            uid: String::new(),
            groups: vec!["readers".into()],
        })
        .unwrap();
    let cases = [
        ("certificate", Credentials::Certificate(&identity), Ok("default")),
        ("token", Credentials::Token("a-token"), Ok("default")),
        (
            "stranger",
            Credentials::Certificate(&stranger),
            Err("User \"stranger\" cannot get path"),
        ),
        ("wrong", Credentials::Token("another"), Err("Unauthorized")),
    ];
    for (name, credentials, expected) in cases {
        let path = folder.path().join(name);
        write_private(
            &path,
            kubeconfig(&server, authority.certificate_pem(), &credentials).as_bytes(),
        )
        .unwrap();
        let kubectl = Kubectl::with_config(&path);
        let (good, out, err) = kubectl
            .try_run(&["get", "--raw", "/api/v1/namespaces/default"])
            .await;
        match expected {
            Ok(text) => assert!(good && out.contains(text), "{name}: {out}{err}"),
            Err(text) => assert!(!good && err.contains(text), "{name}: {out}{err}"),
        }
        // What we write, kube-rs reads.
        let config = Kubeconfig::read_from(&path).unwrap();
        assert_eq!(
            kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
                .await
                .unwrap()
                .default_namespace,
            "default"
        );
    }
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(60), serving)
        .await
        .expect("it stops in time")
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_request_that_nobody_authenticated_is_refused() {
    let world = World::new(Kind::Sqlite).await;
    for (path, status) in [
        ("/version", 200),
        ("/api/v1/namespaces", 401),
        ("/api/v1/namespaces/default", 401),
    ] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = world.api.router().oneshot(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
    }
}
