//! Certificates: authorities, pins, and none.

use muster_bmc::{BmcError, CertificateMode, Fingerprint};
use muster_bmc_emulator::{Certificate, Quirks};

use crate::lab::{Lab, failure, limits};

fn lab(certificate: &Certificate) -> Lab {
    Lab::of(
        |setup| setup.quirks(Quirks::default()).tls(certificate.clone()),
        limits(),
    )
}

fn fingerprint(certificate: &Certificate) -> Fingerprint {
    let hex: Vec<String> = certificate
        .sha256()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    hex.join(":").parse().unwrap()
}

async fn connect(lab: &Lab, certificate: CertificateMode) -> Result<Option<Fingerprint>, BmcError> {
    let mut target = lab.target();
    target.certificate = certificate;
    let bmc = lab.client.connect(&target).await?;
    let shown = bmc.certificate();
    bmc.close().await;
    Ok(shown)
}

#[tokio::test]
async fn a_certificate_is_pinned_at_first_use_and_held_to_then() {
    let first = Certificate::self_signed(&["bmc.example.test"]);
    let lab = lab(&first);
    let pinned = connect(&lab, CertificateMode::Pin(None)).await.unwrap();
    assert_eq!(pinned, Some(fingerprint(&first)));
    connect(&lab, CertificateMode::Pin(pinned)).await.unwrap();
    let second = Certificate::self_signed(&["bmc.example.test"]);
    lab.bmc.set_certificate(&second);
    lab.bmc.forget_requests();
    let error = failure(connect(&lab, CertificateMode::Pin(pinned)).await);
    match &error {
        BmcError::CertificateChanged { stored, shown } => {
            assert_eq!((*stored, *shown), (fingerprint(&first), fingerprint(&second)));
        }
        other => panic!("{other}"),
    }
    let told = error.to_string();
    assert!(
        told.contains(&fingerprint(&first).to_string()) && told.contains(&fingerprint(&second).to_string())
    );
    assert!(lab.bmc.requests().is_empty(), "nothing is sent");
    assert!(!error.is_passing());
}

#[tokio::test]
async fn a_certificate_that_changes_in_the_middle_stops_the_conversation() {
    let lab = lab(&Certificate::self_signed(&["bmc.example.test"]));
    let mut target = lab.target();
    target.certificate = CertificateMode::Pin(None);
    let mut bmc = lab.client.connect(&target).await.unwrap();
    lab.bmc
        .set_certificate(&Certificate::self_signed(&["bmc.example.test"]));
    let error = failure(bmc.progress().await);
    assert!(matches!(error, BmcError::CertificateChanged { .. }), "{error}");
}

#[tokio::test]
async fn an_authority_is_asked_for_the_name_too() {
    let own = Certificate::self_signed(&["127.0.0.1"]);
    let lab_with_own = lab(&own);
    let bundle = CertificateMode::Bundle(own.pem().to_owned());
    assert_eq!(
        connect(&lab_with_own, bundle.clone()).await.unwrap(),
        Some(fingerprint(&own))
    );
    let other = lab(&Certificate::self_signed(&["127.0.0.1"]));
    let error = failure(connect(&other, bundle).await);
    assert!(
        matches!(error, BmcError::CertificateUntrusted { shown: Some(_), .. }),
        "{error}"
    );
    assert!(other.bmc.requests().is_empty());
    let named = Certificate::self_signed(&["bmc.example.test"]);
    let elsewhere = lab(&named);
    let error = failure(connect(&elsewhere, CertificateMode::Bundle(named.pem().to_owned())).await);
    assert!(matches!(error, BmcError::CertificateUntrusted { .. }), "{error}");
}

#[tokio::test]
async fn the_system_does_not_trust_a_self_signed_certificate_and_insecure_does() {
    let own = Certificate::self_signed(&["127.0.0.1"]);
    let lab = lab(&own);
    let error = failure(connect(&lab, CertificateMode::System).await);
    assert!(matches!(error, BmcError::CertificateUntrusted { .. }), "{error}");
    assert!(
        error.to_string().contains(&fingerprint(&own).to_string()),
        "{error}"
    );
    connect(&lab, CertificateMode::Insecure).await.unwrap();
}

#[tokio::test]
async fn where_certificates_have_to_be_known_the_first_one_gets_no_password() {
    let own = Certificate::self_signed(&["127.0.0.1"]);
    let lab = lab(&own);
    let strict = muster_bmc::AddressRules {
        known_certificates: true,
        ..crate::lab::rules()
    };
    let client = muster_bmc::Client::new(strict, limits(), None);
    let connect = async |certificate: CertificateMode| {
        let mut target = lab.target();
        target.certificate = certificate;
        client.connect(&target).await
    };
    let error = failure(connect(CertificateMode::Pin(None)).await.map(drop));
    let shown = match &error {
        BmcError::CertificateUntrusted { shown, .. } => *shown,
        other => panic!("{other}"),
    };
    assert_eq!(shown, Some(fingerprint(&own)));
    assert!(error.to_string().contains("for the first time"), "{error}");
    let error = failure(connect(CertificateMode::Insecure).await.map(drop));
    assert!(error.to_string().contains("fingerprint"), "{error}");
    assert!(lab.bmc.requests().is_empty(), "nothing is sent");
    for known in [
        CertificateMode::Pin(shown),
        CertificateMode::Bundle(own.pem().to_owned()),
    ] {
        connect(known).await.unwrap().close().await;
    }
}

#[tokio::test]
async fn plain_http_has_no_certificate_and_is_refused_unless_allowed() {
    let lab = Lab::new(Quirks::default());
    assert_eq!(connect(&lab, CertificateMode::System).await.unwrap(), None);
    let strict = muster_bmc::AddressRules {
        plain_http: false,
        ..crate::lab::rules()
    };
    let client = muster_bmc::Client::new(strict, limits(), None);
    let error = failure(client.connect(&lab.target()).await);
    assert!(error.to_string().contains("use https"), "{error}");
}
