//! `download-boot-artifacts` into a folder that stands for a node.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_agent::boot_artifacts::{DownloadError, fetch};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{dependencies, run, server, settings};

const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

fn promise(bytes: &[u8]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(Sha256::digest(bytes)))
}

/// A body that never comes.
fn endless() -> futures_util::stream::Pending<Result<Vec<u8>, std::io::Error>> {
    futures_util::stream::pending()
}

async fn images() -> String {
    let routes = Router::new()
        .route(
            "/kernel",
            get(|| async { ([(REPR_DIGEST, promise(b"a kernel"))], "a kernel") }),
        )
        .route("/initrd", get(|| async { vec![9_u8; 3_000_000] }))
        .route(
            "/other",
            get(|| async { ([(REPR_DIGEST, promise(b"something else"))], "a kernel") }),
        )
        .route("/empty", get(|| async { "" }))
        .route(
            "/huge",
            get(|| async {
                (
                    [("content-length", "999999999999999")],
                    Body::from_stream(endless()),
                )
                    .into_response()
            }),
        )
        .route("/gone", get(|| async { StatusCode::NOT_FOUND }));
    format!("http://{}", server::plain(routes).await)
}

#[tokio::test]
async fn a_node_gets_kernel_initrd_and_entry_and_is_not_prepared_twice() {
    let url = images().await;
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("boot")).unwrap();
    let request =
        json!({"kernel_url": format!("{url}/kernel?token=secret"), "initrd_url": format!("{url}/initrd"),
        "rootfs_url": "", "host_fs_mount_dir": root.path()})
        .to_string();
    let dependencies = dependencies(settings(&url, ""));
    let reply = run(&dependencies, "download-boot-artifacts", &[&request]).await;
    assert_eq!((reply.exit_code, reply.error.as_str()), (0, ""));
    let boot = root.path().join("boot");
    assert_eq!(
        std::fs::read(boot.join("discovery/vmlinuz")).unwrap(),
        b"a kernel"
    );
    assert_eq!(
        std::fs::read(boot.join("discovery/initrd")).unwrap().len(),
        3_000_000
    );
    let entry = std::fs::read_to_string(boot.join("loader/entries/00-assisted-discovery.conf")).unwrap();
    assert!(
        entry.starts_with("title Assisted Installer Discovery\nversion 999\n"),
        "{entry}"
    );
    let left: Vec<_> = std::fs::read_dir(boot.join("discovery")).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let again = run(
        &dependencies,
        "download-boot-artifacts",
        &[&request.replace("/kernel", "/gone")],
    )
    .await;
    assert_eq!(again.exit_code, 0);
    assert!(again.output.contains("already"), "{}", again.output);
}

#[tokio::test]
async fn a_file_that_is_not_whole_does_not_take_the_place_of_another() {
    let url = images().await;
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("vmlinuz");
    std::fs::write(&place, "the old one").unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().tls_certs_only([]).build().unwrap();
    type Check = fn(&DownloadError) -> bool;
    let cases: [(&str, Check); 5] = [
        ("other", |error| matches!(error, DownloadError::NotWhole { .. })),
        ("empty", |error| matches!(error, DownloadError::NotWhole { .. })),
        ("huge", |error| matches!(error, DownloadError::Space { .. })),
        ("gone", |error| {
            matches!(error, DownloadError::Status { status: 404, .. })
        }),
        ("nothing-listens", |error| {
            matches!(error, DownloadError::Transport { .. })
        }),
    ];
    for (name, expected) in cases {
        let base = if name == "nothing-listens" {
            "http://127.0.0.1:1"
        } else {
            &url
        };
        let error = fetch(&http, &format!("{base}/{name}?token=secret"), "", &place)
            .await
            .unwrap_err();
        assert!(expected(&error), "{name}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(std::fs::read_to_string(&place).unwrap(), "the old one");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "{name} left a part"
        );
    }
}

#[tokio::test]
async fn a_file_of_another_digest_than_the_service_names_is_not_put_into_its_place() {
    let url = images().await;
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("vmlinuz");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().tls_certs_only([]).build().unwrap();
    let digest = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));
    let kernel = format!("{url}/kernel");
    let error = fetch(&http, &kernel, &digest(b"another kernel"), &place)
        .await
        .unwrap_err();
    assert!(matches!(error, DownloadError::NotWhole { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let taken = fetch(&http, &kernel, &digest(b"a kernel"), &place).await.unwrap();
    assert_eq!(taken.sha256, digest(b"a kernel"));

    // The same by the step, with arguments from the service.
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("boot")).unwrap();
    let request = |initrd: &[u8]| {
        json!({"kernel_url": kernel, "kernel_sha256": digest(b"a kernel"), "initrd_url": format!("{url}/initrd"),
            "initrd_sha256": digest(initrd), "host_fs_mount_dir": root.path()})
        .to_string()
    };
    let dependencies = dependencies(settings(&url, ""));
    let step = async |initrd: &[u8]| run(&dependencies, "download-boot-artifacts", &[&request(initrd)]).await;
    let reply = step(b"another initrd").await;
    assert!(
        reply.exit_code == -1 && reply.error.contains("not the one that the service names"),
        "{}",
        reply.error
    );
    let entry = root.path().join("boot/loader/entries/00-assisted-discovery.conf");
    assert!(!entry.exists());
    let reply = step(&vec![9; 3_000_000]).await;
    assert_eq!((reply.exit_code, reply.error.as_str()), (0, ""));
    assert!(entry.exists());
}

#[tokio::test]
async fn a_live_image_and_bad_urls_are_refused_with_what_to_do() {
    let url = images().await;
    let root = tempfile::tempdir().unwrap();
    let dependencies = dependencies(settings(&url, ""));
    let request = json!({"host_fs_mount_dir": root.path()}).to_string();
    let reply = run(&dependencies, "download-boot-artifacts", &[&request]).await;
    assert!(
        reply.exit_code == -1 && reply.error.contains("installed node"),
        "{}",
        reply.error
    );
    std::fs::create_dir(root.path().join("boot")).unwrap();
    let request = json!({"kernel_url": "file:///etc/passwd", "host_fs_mount_dir": root.path()}).to_string();
    let reply = run(&dependencies, "download-boot-artifacts", &[&request]).await;
    assert!(
        reply.exit_code == -1 && reply.error.contains("no http"),
        "{}",
        reply.error
    );
}
