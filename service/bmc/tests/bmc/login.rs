//! Sessions, Basic, and refused credentials.

use std::time::{Duration, Instant};

use muster_bmc::{BmcError, Credentials};
use muster_bmc_emulator::quirks::Lockout;
use muster_bmc_emulator::{Fault, Quirks};

use crate::lab::{IMAGE, Lab, failure};

fn locks_soon() -> Quirks {
    Quirks {
        lockout: Some(Lockout {
            failures: 2,
            lasts: Duration::from_mins(5),
            status: 401,
        }),
        ..Quirks::default()
    }
}

async fn refused(lab: &Lab, target: &muster_bmc::Target) -> BmcError {
    let error = failure(lab.client.connect(target).await);
    assert!(matches!(error, BmcError::BadCredentials { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("wrong-pass"), "{error:?}");
    error
}

#[tokio::test]
async fn a_wrong_password_is_used_once() {
    let lab = Lab::new(locks_soon());
    let mut target = lab.target();
    target.credentials = Credentials::new("admin", "wrong-pass");
    refused(&lab, &target).await;
    assert_eq!(lab.logins(), 1);
    for _ in 0..3 {
        refused(&lab, &target).await;
    }
    assert_eq!(lab.logins(), 1, "the BMC is not asked again");
    assert!(
        lab.bmc
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
    lab.connect().await.unwrap().close().await;
    assert_eq!(
        lab.logins(),
        2,
        "the right one is tried, and the user is not locked out"
    );
}

#[tokio::test]
async fn refused_credentials_are_tried_again_when_somebody_says_so() {
    let lab = Lab::new(Quirks::default());
    let mut target = lab.target();
    target.credentials = Credentials::new("admin", "new");
    refused(&lab, &target).await;
    lab.bmc.set_account("admin", "new");
    refused(&lab, &target).await;
    lab.client.forgive(&target).await.unwrap();
    lab.client.connect(&target).await.unwrap().close().await;
}

#[tokio::test]
async fn without_sessions_the_password_goes_with_each_request_and_a_wrong_one_once() {
    let lab = Lab::new(Quirks {
        no_sessions: true,
        ..locks_soon()
    });
    let mut target = lab.target();
    target.credentials = Credentials::new("admin", "wrong-pass");
    refused(&lab, &target).await;
    refused(&lab, &target).await;
    let proven = |lab: &Lab| {
        let all = lab.bmc.requests();
        all.iter()
            .filter(|request| request.header("authorization").is_some())
            .count()
    };
    assert_eq!(proven(&lab), 1);
    let mut bmc = lab.connect().await.unwrap();
    bmc.insert(IMAGE).await.unwrap();
    assert!(proven(&lab) > 5);
}

#[tokio::test]
async fn a_session_that_expired_is_made_anew_and_all_are_deleted() {
    let lab = Lab::new(Quirks::default());
    let mut bmc = lab.connect().await.unwrap();
    lab.bmc.end_sessions();
    bmc.progress().await.unwrap();
    assert_eq!(lab.logins(), 2);
    bmc.close().await;
    assert_eq!(lab.bmc.sessions(), 0);
}

#[tokio::test]
async fn a_password_that_changed_meanwhile_is_tried_once_more_and_then_refused() {
    let lab = Lab::new(Quirks::default());
    let mut bmc = lab.connect().await.unwrap();
    lab.bmc.set_account("admin", "other");
    lab.bmc.end_sessions();
    let error = failure(bmc.progress().await);
    assert!(matches!(error, BmcError::BadCredentials { .. }), "{error}");
    drop(bmc);
    assert!(matches!(
        failure(lab.connect().await),
        BmcError::BadCredentials { refusal: None, .. }
    ));
    assert_eq!(lab.logins(), 2);
}

#[tokio::test]
async fn a_session_is_deleted_after_an_error_too() {
    let lab = Lab::new(Quirks::default());
    let mut bmc = lab.connect().await.unwrap();
    lab.bmc.fail(Fault::slot_busy().times(10));
    failure(bmc.insert(IMAGE).await);
    drop(bmc);
    let started = Instant::now();
    while lab.bmc.sessions() > 0 {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "the session is still there"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    lab.bmc.fail(Fault::status(500).at("GET", "/Systems/1").times(50));
    failure(lab.connect().await);
    assert_eq!(lab.bmc.sessions(), 0, "when no system is found, too");
}

#[tokio::test]
async fn a_login_without_a_location_works() {
    let lab = Lab::new(Quirks {
        no_session_location: true,
        ..Quirks::default()
    });
    lab.connect().await.unwrap().close().await;
    assert_eq!(lab.bmc.sessions(), 0, "the body names it");
}

#[tokio::test]
async fn sessions_that_are_used_up_for_the_moment_are_no_wrong_password() {
    let lab = Lab::new(Quirks {
        session_limit: 1,
        ..Quirks::default()
    });
    let first = lab.connect().await.unwrap();
    let second = muster_bmc::Client::new(crate::lab::rules(), crate::lab::limits(), None);
    let error = failure(second.connect(&lab.target()).await);
    assert!(
        matches!(&error, BmcError::Refused { refusal, .. } if refusal.status == 503),
        "{error}"
    );
    assert!(error.is_passing());
    first.close().await;
    second.connect(&lab.target()).await.unwrap().close().await;
}

#[tokio::test]
async fn basic_follows_a_session_service_that_is_not_there_and_no_other_refusal() {
    for (status, basic) in [
        (404, true),
        (405, true),
        (501, true),
        (400, false),
        (403, false),
        (401, false),
    ] {
        let lab = Lab::new(Quirks::default());
        lab.bmc.fail(Fault::status(status).at("POST", "Sessions"));
        let connected = lab.connect().await.is_ok();
        let with_password = lab.bmc.requests();
        let with_password = with_password
            .iter()
            .any(|request| request.header("authorization").is_some());
        assert_eq!((connected, with_password), (basic, basic), "{status}");
        assert_eq!(lab.logins(), 1);
    }
}
