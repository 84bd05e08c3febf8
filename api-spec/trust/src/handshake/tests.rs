use std::path::Path;
use std::process::Command;

use rustls::SignatureScheme as S;

use super::*;

const MESSAGE: &[u8] = b"what both have said so far";

fn openssl(folder: &Path, arguments: &[&str]) {
    let done = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("openssl is installed");
    assert!(
        done.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// A certificate of version 1 with a new key; the files stay in the folder.
fn certificate(folder: &Path, key: &[&str]) -> Vec<u8> {
    let settings = "[req]\ndistinguished_name=name\nprompt=no\n[name]\nCN=bmc\n";
    std::fs::write(folder.join("settings"), settings).expect("a file");
    std::fs::write(folder.join("message"), MESSAGE).expect("a file");
    let make = [
        &["req", "-x509", "-nodes", "-config", "settings", "-outform", "DER"][..],
        &["-keyout", "key", "-out", "certificate", "-newkey"],
        key,
    ]
    .concat();
    openssl(folder, &make);
    std::fs::read(folder.join("certificate")).expect("a file")
}

/// Signs with the scheme, by the key in the folder.
fn signed(folder: &Path, scheme: S) -> Vec<u8> {
    let hash = match scheme {
        S::ECDSA_NISTP256_SHA256 | S::RSA_PSS_SHA256 | S::RSA_PKCS1_SHA256 => "-sha256",
        S::ECDSA_NISTP384_SHA384 | S::RSA_PSS_SHA384 | S::RSA_PKCS1_SHA384 => "-sha384",
        _ => "-sha512",
    };
    let pss = [
        "-sigopt",
        "rsa_padding_mode:pss",
        "-sigopt",
        "rsa_pss_saltlen:digest",
    ];
    let is_pss = matches!(scheme, S::RSA_PSS_SHA256 | S::RSA_PSS_SHA384 | S::RSA_PSS_SHA512);
    let mut sign = match scheme {
        S::ED25519 => vec![
            "pkeyutl",
            "-sign",
            "-rawin",
            "-inkey",
            "key",
            "-in",
            "message",
            "-out",
            "signature",
        ],
        _ => vec!["dgst", hash, "-sign", "key", "-out", "signature"],
    };
    if is_pss {
        sign.extend(pss);
    }
    if scheme != S::ED25519 {
        sign.push("message");
    }
    openssl(folder, &sign);
    std::fs::read(folder.join("signature")).expect("a file")
}

#[test]
fn a_key_is_taken_with_each_scheme_that_the_version_of_tls_allows() {
    const PSS: [S; 2] = [S::RSA_PSS_SHA256, S::RSA_PSS_SHA384];
    const PKCS1: [S; 3] = [S::RSA_PKCS1_SHA256, S::RSA_PKCS1_SHA384, S::RSA_PKCS1_SHA512];
    const ECDSA: [S; 3] = [
        S::ECDSA_NISTP256_SHA256,
        S::ECDSA_NISTP384_SHA384,
        S::ECDSA_NISTP521_SHA512,
    ];
    // The key, the schemes that a server with it may use in both versions, and those only for TLS 1.2.
    for (key, both, older) in [
        (&["rsa:1024"][..], &PSS[..], &PKCS1[..]),
        (&["rsa:2048"], &[S::RSA_PSS_SHA512], &PKCS1),
        (&["rsa:4096"], &PSS, &PKCS1),
        (
            &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
            &ECDSA[..1],
            &ECDSA[1..],
        ),
        (
            &["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
            &ECDSA[1..2],
            &[ECDSA[0], ECDSA[2]],
        ),
        (
            &["ec", "-pkeyopt", "ec_paramgen_curve:P-521"],
            &ECDSA[2..],
            &ECDSA[..2],
        ),
        (&["ed25519"], &[S::ED25519], &[]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let certificate = certificate(folder.path(), key);
        let public = PublicKey::of(&certificate).expect("a key");
        for scheme in both.iter().chain(older).copied() {
            let case = format!("{key:?} {scheme:?}");
            let signature = signed(folder.path(), scheme);
            let verified = |bound, message: &[u8], signature: &[u8]| {
                verify(&public, scheme, bound, message, signature).is_ok()
            };
            assert!(verified(false, MESSAGE, &signature), "{case}");
            assert_eq!(
                verified(true, MESSAGE, &signature),
                both.contains(&scheme),
                "{case}"
            );
            assert!(!verified(false, b"something else", &signature), "{case}");
            let mut changed = signature.clone();
            *changed.last_mut().expect("a byte") ^= 1;
            assert!(!verified(false, MESSAGE, &changed), "{case}");
            assert!(!verified(false, MESSAGE, &signature[1..]), "{case}");
            for other in SCHEMES.into_iter().filter(|other| *other != scheme) {
                assert!(
                    verify(&public, other, false, MESSAGE, &signature).is_err(),
                    "{case} as {other:?}"
                );
            }
        }
    }
}

#[test]
fn a_key_that_is_not_taken_is_named() {
    for (key, scheme, named) in [
        (&["rsa:512"][..], S::RSA_PKCS1_SHA256, "512 bits"),
        (&["rsa-pss"], S::RSA_PSS_SHA256, "1.2.840.113549.1.1.10"),
        (
            &["ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
            S::ECDSA_NISTP256_SHA256,
            "1.2.840.10045.2.1 1.3.132.0.10",
        ),
        (&["ed448"], S::ED448, "1.3.101.113"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let certificate = certificate(folder.path(), key);
        let public = PublicKey::of(&certificate).expect("a key");
        match verify(&public, scheme, false, MESSAGE, b"") {
            Err(NotVerified::Key(why)) => assert!(why.to_string().contains(named), "{why}"),
            other => panic!("{named}: {other:?}"),
        }
    }
}
