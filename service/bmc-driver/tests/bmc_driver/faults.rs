//! Discoveries that fail, with the reason, while others succeed.

use std::time::Duration;

use chrono::TimeDelta;
use muster_api::bmc::{
    BmcCertificate, BmcCertificateMode, BmcCreateParams, BmcFailure, BmcPhase, BmcUpdateParams,
};
use muster_bmc_driver::Settings;
use muster_bmc_emulator::quirks::{TaskEnd, Tasks};
use muster_bmc_emulator::{Booted, Certificate, Fault, Quirks};
use muster_core::lifecycle::bmc::view;
use muster_core::record::{Bmc, BmcLimits};

use crate::rack::{Unit, register};
use crate::service::{Service, limits, settings};

/// A machine that is discovered at the same time.
async fn good(service: &Service) -> (Unit, Bmc) {
    let mut unit = Unit::new("good", 50, Quirks::default());
    unit.boots_an_agent(&service.operations, service.infra_env_id);
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    (unit, bmc)
}

async fn failed(service: &Service, bmc: &Bmc, failure: BmcFailure, words: &str) -> Bmc {
    let found = service.await_phase(bmc.id, BmcPhase::Failed).await;
    let shown = view(&found);
    assert_eq!(shown.failure, Some(failure), "{}", shown.reason);
    assert!(shown.reason.contains(words), "{words}: {}", shown.reason);
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_tried_once_until_another_is_given() {
    let service = Service::start().await;
    let mut unit = Unit::new("locked", 1, Quirks::default());
    unit.boots_an_agent(&service.operations, service.infra_env_id);
    let wrong = BmcCreateParams {
        password: "hunter2-wrong".into(),
        ..unit.params()
    };
    let bmc = service.add(vec![wrong]).await.remove(0);
    let (_unit, beside) = good(&service).await;
    let found = failed(&service, &bmc, BmcFailure::Credentials, "refuses the user").await;
    assert!(!found.progress.reason.contains("hunter2"));
    let bmcs = &service.operations.bmcs;
    let refused = bmcs.discover(service.infra_env_id, bmc.id).await.unwrap_err();
    assert!(refused.to_string().contains("given again"), "{refused}");
    service.await_phase(beside.id, BmcPhase::Discovered).await;
    // It had enough time for another try.
    assert_eq!(unit.logins(), 1);
    assert_eq!(unit.machine.boots(), [Booted::Disk]);
    let right = BmcUpdateParams {
        password: Some("password".into()),
        ..BmcUpdateParams::default()
    };
    bmcs.update(service.infra_env_id, bmc.id, &right).await.unwrap();
    service.await_phase(bmc.id, BmcPhase::Discovered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_certificate_is_sent_nothing_until_it_is_accepted() {
    let service = Service::start().await;
    let first = Certificate::self_signed(&["bmc.example.test"]);
    let mut unit = Unit::with_tls("changed", 2, &first);
    unit.boots_an_agent(&service.operations, service.infra_env_id);
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    let found = service.await_phase(bmc.id, BmcPhase::Discovered).await;
    service.await_clean(bmc.id).await;
    assert!(
        found.settings.certificate.fingerprint.is_some(),
        "pinned at first contact"
    );

    unit.bmc
        .set_certificate(&Certificate::self_signed(&["bmc.example.test"]));
    unit.bmc.forget_requests();
    let bmcs = &service.operations.bmcs;
    bmcs.discover(service.infra_env_id, bmc.id).await.unwrap();
    let found = failed(&service, &bmc, BmcFailure::Certificate, "has changed").await;
    assert!(unit.bmc.requests().is_empty(), "no password was sent");
    bmcs.discover(service.infra_env_id, bmc.id).await.unwrap_err();
    let accepted = BmcUpdateParams {
        certificate: Some(BmcCertificate {
            mode: BmcCertificateMode::Pin,
            fingerprint: found.progress.certificate_shown.clone(),
            bundle: None,
        }),
        ..BmcUpdateParams::default()
    };
    bmcs.update(service.infra_env_id, bmc.id, &accepted)
        .await
        .unwrap();
    service.await_phase(bmc.id, BmcPhase::Discovered).await;
}

/// The operator has asked for that, and somebody compares the fingerprint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_certificates_have_to_be_known_the_first_one_waits_until_it_is_accepted() {
    let mut strict = settings();
    strict.rules.known_certificates = true;
    let service = Service::start_with(strict, limits()).await;
    let certificate = Certificate::self_signed(&["bmc.example.test"]);
    let mut unit = Unit::with_tls("unknown", 4, &certificate);
    unit.boots_an_agent(&service.operations, service.infra_env_id);
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    let found = failed(&service, &bmc, BmcFailure::Certificate, "for the first time").await;
    assert!(unit.bmc.requests().is_empty(), "no password was sent");
    assert_eq!(found.settings.certificate.fingerprint, None, "it is not pinned");
    let shown = found.progress.certificate_shown.clone();
    assert!(shown.is_some());
    let accepted = BmcUpdateParams {
        certificate: Some(BmcCertificate {
            mode: BmcCertificateMode::Pin,
            fingerprint: shown,
            bundle: None,
        }),
        ..BmcUpdateParams::default()
    };
    let bmcs = &service.operations.bmcs;
    bmcs.update(service.infra_env_id, bmc.id, &accepted)
        .await
        .unwrap();
    service.await_phase(bmc.id, BmcPhase::Discovered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_slot_is_tried_again_and_told_in_the_end() {
    let short = BmcLimits {
        inserting: TimeDelta::seconds(6),
        ..limits()
    };
    let service = Service::start_with(settings(), short).await;
    let unit = Unit::new("busy", 3, Quirks::default());
    unit.bmc.fail(Fault::slot_busy().times(1_000_000));
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    let (_unit, beside) = good(&service).await;
    failed(&service, &bmc, BmcFailure::Media, "the BMC refuses").await;
    service.await_phase(beside.id, BmcPhase::Discovered).await;
    service.await_clean(bmc.id).await;
    unit.bmc.heal();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_never_ends_holds_up_nobody() {
    let mut settings = settings();
    settings.at_once = 2;
    settings.limits.task = Duration::from_secs(1);
    let short = BmcLimits {
        inserting: TimeDelta::seconds(5),
        ..limits()
    };
    let service = Service::start_with(settings, short).await;
    let endless = Tasks {
        end: TaskEnd::Never,
        power: false,
        ..Tasks::taking(Duration::from_millis(100))
    };
    let quirks = Quirks {
        tasks: Some(endless),
        ..Quirks::default()
    };
    let unit = Unit::new("endless", 4, quirks);
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    let (_unit, beside) = good(&service).await;
    service.await_phase(beside.id, BmcPhase::Discovered).await;
    failed(&service, &bmc, BmcFailure::Media, "did not happen within").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loopback_is_refused_unless_it_is_named() {
    let strict = Settings {
        poll: Duration::from_millis(50),
        ..Settings::new(None, &[], true, &[])
    };
    let service = Service::start_with(strict, limits()).await;
    let unit = Unit::new("inside", 5, Quirks::default());
    let at = |address: String| BmcCreateParams {
        address,
        ..unit.params()
    };
    let port = unit.bmc.address().port();
    let bmc = service.add(vec![at("http://127.0.0.1".into())]).await.remove(0);
    failed(&service, &bmc, BmcFailure::Address, "127.0.0.1").await;
    let other = BmcCreateParams {
        name: Some("port".into()),
        ..at(format!("http://192.0.2.1:{port}"))
    };
    let bmc = service.add(vec![other]).await.remove(0);
    failed(&service, &bmc, BmcFailure::Address, "port").await;
    assert!(unit.bmc.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_whose_agent_never_speaks_is_told_and_left_clean() {
    let short = BmcLimits {
        agent: TimeDelta::seconds(2),
        ..limits()
    };
    let service = Service::start_with(settings(), short).await;
    let unit = Unit::new("silent", 6, Quirks::default());
    // A registration before the boot is not of this boot.
    register(&service.operations, service.infra_env_id, &unit.hardware).await;
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    failed(
        &service,
        &bmc,
        BmcFailure::NoAgent,
        "No agent spoke within 2 seconds",
    )
    .await;
    service.await_clean(bmc.id).await;
    assert_eq!(unit.machine.medium(), None);
    assert_eq!(unit.bmc.sessions(), 0);
}
