//! TLS with the API's own authority, tokens and client certificates.

use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use muster_kube_api::{Authority, Caller, Credentials, Database, Tokens, kubeconfig, write_private};
use tokio_util::sync::CancellationToken;

use crate::kubectl::Kubectl;
use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubeconfig_with_a_certificate_or_a_token_opens_the_api_and_nothing_else_does() {
    let world = World::new(Database::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::open(folder.path()).unwrap();
    // The same after a restart.
    let again = Authority::open(folder.path()).unwrap();
    assert_eq!(authority.certificate_pem(), again.certificate_pem());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("https://{}", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let (api, tls, stopping) = (world.api.clone(), again.server_config(&[]).unwrap(), stop.clone());
    let tokens = Tokens::default().with("a-token", Caller::administrator());
    let serving = tokio::spawn(async move { api.listen(listener, tls, tokens, stopping).await });
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
    tokio::time::timeout(Duration::from_secs(20), serving)
        .await
        .expect("it stops in time")
        .unwrap()
        .unwrap();
}
