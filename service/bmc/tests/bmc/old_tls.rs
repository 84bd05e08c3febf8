//! Certificates and TLS like those of BMCs' firmware, by the server of OpenSSL.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use muster_bmc::{BmcError, CertificateMode, CheckId, Client, Credentials, Fingerprint, Outcome, Target};

use crate::lab::{failure, limits, rules};

/// Makes certificates of version 1 without extensions.
const SETTINGS: &str = "[req]\ndistinguished_name=name\nprompt=no\n[name]\nCN=bmc\n";

/// A TLS server with a page that is not Redfish: a client that reads the page has verified the server.
struct Server {
    process: Child,
    address: String,
    fingerprint: Fingerprint,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn openssl(folder: &tempfile::TempDir) -> Command {
    let mut openssl = Command::new("openssl");
    openssl.current_dir(folder.path());
    openssl
}

/// `made`: options of `openssl req`; `served`: of `openssl s_server`.
fn serve(made: &[&str], served: &[&str]) -> Server {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("settings"), SETTINGS).unwrap();
    let make = [
        "req",
        "-x509",
        "-nodes",
        "-config",
        "settings",
        "-keyout",
        "key",
        "-out",
        "certificate",
    ];
    let done = openssl(&folder).args(make).args(made).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let shown = ["x509", "-in", "certificate", "-noout", "-fingerprint", "-sha256"];
    let shown = openssl(&folder).args(shown).output().unwrap().stdout;
    let shown = String::from_utf8(shown).unwrap();
    let (_, fingerprint) = shown.split_once('=').unwrap();
    // Firmware still serves with versions that distributions have removed.
    let serve = [
        "s_server",
        "-accept",
        "127.0.0.1:0",
        "-www",
        "-key",
        "key",
        "-cert",
        "certificate",
    ];
    let mut process = openssl(&folder)
        .args(serve)
        .args(["-cipher", "DEFAULT@SECLEVEL=0"])
        .args(served)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let address = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
    Server {
        process,
        address: address.expect("an address"),
        fingerprint: fingerprint.parse().unwrap(),
    }
}

impl Server {
    fn target(&self, certificate: CertificateMode) -> Target {
        Target {
            address: format!("https://{}", self.address),
            credentials: Credentials::new("admin", "password"),
            certificate,
            system: None,
        }
    }

    async fn connect(&self, certificate: CertificateMode) -> BmcError {
        let client = Client::new(rules(), limits(), None);
        failure(client.connect(&self.target(certificate)).await)
    }
}

#[tokio::test]
async fn pin_and_insecure_take_whatever_certificate_firmware_makes() {
    for made in [
        // Version 1.
        &["-newkey", "rsa:2048"][..],
        &["-newkey", "rsa:1024"],
        &[
            "-newkey",
            "rsa:2048",
            "-addext",
            "1.2.3.4.5=critical,ASN1:UTF8String:x",
        ],
        &["-newkey", "rsa:2048", "-set_serial", "-5"],
        &["-newkey", "rsa:2048", "-set_serial", "0"],
        &["-newkey", "rsa:1024", "-md5"],
        &["-newkey", "rsa:4096", "-sha1"],
        &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
        &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-521"],
        &["-newkey", "ed25519"],
    ] {
        // TLS 1.2 requires the curve in the key exchange, too.
        let by_newer_alone = made.contains(&"ec_paramgen_curve:P-521");
        let versions = if by_newer_alone {
            &["-tls1_3"][..]
        } else {
            &["-tls1_2", "-tls1_3"]
        };
        for version in versions {
            let server = serve(made, &[version]);
            for mode in [
                CertificateMode::Pin(Some(server.fingerprint)),
                CertificateMode::Pin(None),
                CertificateMode::Insecure,
            ] {
                let error = server.connect(mode.clone()).await;
                assert!(
                    matches!(error, BmcError::NotRedfish(_)),
                    "{made:?} {version} {mode:?}: {error}"
                );
            }
            let other = "11".repeat(32).parse().unwrap();
            let error = server.connect(CertificateMode::Pin(Some(other))).await;
            assert!(
                matches!(error, BmcError::CertificateChanged { .. }),
                "{made:?}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn a_refusal_advises_what_helps() {
    let system = CertificateMode::System;
    // Authorities never help with version 1; the fingerprint does.
    let server = serve(&["-newkey", "rsa:2048"], &[]);
    let error = server.connect(system.clone()).await.to_string();
    assert!(
        error.contains("No authority makes such a certificate trusted: trust it by its fingerprint"),
        "{error}"
    );
    let known = ["-newkey", "rsa:2048", "-addext", "subjectAltName=IP:127.0.0.1"];
    let error = serve(&known, &[]).connect(system).await.to_string();
    assert!(
        error.contains("Give the authority that signed it, or trust it by its fingerprint"),
        "{error}"
    );

    // What is pinned already is not advised again.
    let server = serve(&["-newkey", "rsa:512"], &["-tls1_2"]);
    let error = server
        .connect(CertificateMode::Pin(Some(server.fingerprint)))
        .await;
    assert!(matches!(error, BmcError::CertificateUnusable { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("its RSA key has 512 bits") && text.contains("Give the BMC another certificate"),
        "{text}"
    );
    assert!(!error.is_passing() && !text.contains("fingerprint"), "{text}");
    let client = Client::new(rules(), limits(), None);
    let found = client
        .preflight(&server.target(CertificateMode::Insecure), None)
        .await;
    let check = found
        .checks
        .iter()
        .find(|check| check.id == CheckId::Certificate)
        .unwrap();
    assert_eq!(check.outcome, Outcome::Fail);
    assert!(check.advice.contains("another certificate"), "{check:?}");
    assert_eq!(found.certificate, Some(server.fingerprint));

    for (made, served, why) in [
        (
            &["-newkey", "rsa:2048"][..],
            &["-tls1_1"][..],
            "neither TLS 1.2 nor 1.3",
        ),
        (&["-newkey", "rsa:2048"], &["-tls1"], "neither TLS 1.2 nor 1.3"),
        (
            &["-newkey", "rsa:2048"],
            &["-tls1_2", "-cipher", "AES128-SHA"],
            "no cipher suite or kind of key",
        ),
        (&["-newkey", "rsa-pss"], &[], "no cipher suite or kind of key"),
        (
            &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-521"],
            &["-tls1_2"],
            "by TLS 1.3 also P-521",
        ),
        (
            &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
            &["-tls1_2"],
            "no cipher suite or kind of key",
        ),
    ] {
        let error = serve(made, served).connect(CertificateMode::Insecure).await;
        assert!(
            matches!(error, BmcError::Tls { .. }),
            "{made:?} {served:?}: {error}"
        );
        let text = error.to_string();
        assert!(
            text.contains(why) && text.contains("update its firmware"),
            "{text}"
        );
        assert!(!error.is_passing());
    }
}
