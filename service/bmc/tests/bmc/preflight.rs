//! The checks before anything is changed.

use muster_bmc::{CertificateMode, CheckId, Credentials, Outcome, Preflight, Target};
use muster_bmc_emulator::quirks::{Slot, SlotKind, Systems};
use muster_bmc_emulator::{Certificate, Quirks};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::lab::{IMAGE, Lab, limits};

fn outcomes(found: &Preflight) -> Vec<String> {
    let all = found.checks.iter();
    all.map(|check| format!("{} {}", check.id, check.outcome))
        .collect()
}

fn failed(found: &Preflight) -> Vec<CheckId> {
    let all = found.checks.iter().filter(|check| check.outcome == Outcome::Fail);
    for check in all.clone() {
        assert!(!check.advice.is_empty() && !check.seen.is_empty(), "{check:?}");
    }
    all.map(|check| check.id).collect()
}

/// A server that responds to each request with these header lines.
async fn image_server(status: &'static str, headers: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 2048];
            let _ = stream.read(&mut request).await;
            let answer = format!("HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/boot/t0ken.iso")
}

#[tokio::test]
async fn a_machine_that_can_be_booted_passes_and_is_not_touched() {
    let certificate = Certificate::self_signed(&["127.0.0.1"]);
    let lab = Lab::of(|setup| setup.tls(certificate.clone()), limits());
    let target = Target {
        certificate: CertificateMode::Bundle(certificate.pem().to_owned()),
        ..lab.target()
    };
    let image = image_server("200 OK", "Content-Length: 4096\r\nAccept-Ranges: bytes\r\n").await;
    let found = lab.client.preflight(&target, Some(&image)).await;
    assert!(found.passes(), "{:?}", found.checks);
    assert_eq!(
        outcomes(&found),
        [
            "address pass",
            "certificate pass",
            "credentials pass",
            "system pass",
            "power pass",
            "media pass",
            "image pass"
        ]
    );
    assert!(found.certificate.is_some());
    let changes = lab.bmc.requests();
    let changes = changes.iter().filter(|request| request.method != "GET");
    let changes: Vec<&str> = changes.map(|request| request.method.as_str()).collect();
    assert_eq!(changes, ["POST", "DELETE"], "the session");
    assert_eq!(lab.bmc.sessions(), 0);
}

#[tokio::test]
async fn what_hangs_on_a_failure_is_skipped() {
    let lab = Lab::new(Quirks::default());
    let wrong = Target {
        credentials: Credentials::new("admin", "wrong-pass"),
        ..lab.target()
    };
    let found = lab.client.preflight(&wrong, Some(IMAGE)).await;
    assert_eq!(failed(&found), [CheckId::Credentials]);
    assert_eq!(found.checks.len(), 7);
    assert_eq!(outcomes(&found)[1], "certificate skipped");
    assert_eq!(outcomes(&found)[6], "image skipped");
    assert!(!format!("{found:?}").contains("wrong-pass"));
    lab.client.preflight(&wrong, Some(IMAGE)).await;
    assert_eq!(lab.logins(), 1);
    let nowhere = Target {
        address: "http://127.0.0.1:1".to_owned(),
        ..lab.target()
    };
    let found = lab.client.preflight(&nowhere, None).await;
    assert_eq!(failed(&found), [CheckId::Address]);
    assert!(
        found.checks[0].seen.contains("connection refused"),
        "{:?}",
        found.checks[0]
    );
}

#[tokio::test]
async fn an_untrusted_certificate_is_named() {
    let certificate = Certificate::self_signed(&["127.0.0.1"]);
    let lab = Lab::of(|setup| setup.tls(certificate), limits());
    let found = lab.client.preflight(&lab.target(), None).await;
    assert_eq!(failed(&found), [CheckId::Certificate]);
    assert_eq!(outcomes(&found)[0], "address pass");
    let shown = found.certificate.unwrap().to_string();
    assert!(found.checks[1].seen.contains(&shown));
    assert_eq!(lab.logins(), 0);
}

#[tokio::test]
async fn systems_media_and_images_fail_on_their_own() {
    let lab = Lab::new(Quirks {
        several_systems: Systems::Two,
        ..Quirks::default()
    });
    let found = lab.client.preflight(&lab.target(), None).await;
    assert_eq!(failed(&found), [CheckId::System]);
    assert!(
        found.checks[3]
            .seen
            .contains("name the one that is meant: HGX_Baseboard_0, 1"),
        "{:?}",
        found.checks[3]
    );
    let named = Target {
        system: Some("1".to_owned()),
        ..lab.target()
    };
    assert!(lab.client.preflight(&named, None).await.passes());

    let lab = Lab::new(Quirks {
        slots: vec![Slot::new("B", &["CD"], SlotKind::ConsoleOnly)],
        several_systems: Systems::WithBaseboard,
        ..Quirks::default()
    });
    let found = lab
        .client
        .preflight(&lab.target(), Some("http://192.0.2.9/a?b"))
        .await;
    assert_eq!(failed(&found), [CheckId::Media, CheckId::Image]);
}

#[tokio::test]
async fn an_image_is_asked_for_as_a_bmc_does() {
    let lab = Lab::new(Quirks::default());
    for (status, headers, told) in [
        ("200 OK", "Content-Length: 4096\r\n", "without Accept-Ranges"),
        ("200 OK", "Accept-Ranges: bytes\r\n", "without Content-Length"),
        ("404 Not Found", "Content-Length: 0\r\n", "HTTP 404"),
        (
            "302 Found",
            "Location: /elsewhere.iso\r\nContent-Length: 0\r\n",
            "a redirect",
        ),
    ] {
        let image = image_server(status, headers).await;
        let found = lab.client.preflight(&lab.target(), Some(&image)).await;
        assert_eq!(failed(&found), [CheckId::Image]);
        let seen = &found.checks[6].seen;
        assert!(seen.contains(told) && !seen.contains("t0ken"), "{seen}");
    }
}
