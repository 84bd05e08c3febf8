//! Connections and calls that fail midway.

use std::time::Duration;

use muster_bmc::{BmcError, BootFrom, Limits};
use muster_bmc_emulator::{Booted, Fault, FaultKind, Quirks};

use crate::lab::{IMAGE, Lab, failure, limits};

async fn boots(fault: Fault) -> Lab {
    let lab = Lab::new(Quirks::default());
    lab.bmc.fail(fault.clone());
    lab.boot()
        .await
        .unwrap_or_else(|error| panic!("{fault:?}: {error}"));
    assert_eq!(
        lab.machine.boots().last(),
        Some(&Booted::Image(IMAGE.to_owned())),
        "{fault:?}"
    );
    lab
}

#[tokio::test]
async fn internal_errors_and_resets_of_changes_are_overcome() {
    for path in ["InsertMedia", "EjectMedia", "ComputerSystem.Reset"] {
        for fault in [
            Fault::status(500),
            Fault::status(503),
            Fault::new(FaultKind::Reset),
            Fault::new(FaultKind::ResetAfter),
        ] {
            boots(fault.at("POST", path)).await;
        }
    }
}

#[tokio::test]
async fn reads_are_tried_again() {
    for kind in [FaultKind::Reset, FaultKind::ResetAfter] {
        boots(Fault::new(kind).at("GET", "/Systems/1").times(2)).await;
    }
    boots(Fault::status(502).at("GET", "/redfish/v1").times(2)).await;
}

#[tokio::test]
async fn errors_that_stay_are_told() {
    let lab = Lab::new(Quirks::default());
    lab.bmc
        .fail(Fault::status(500).at("POST", "InsertMedia").times(100));
    let error = failure(lab.boot().await);
    assert!(
        matches!(&error, BmcError::Refused { refusal, .. } if refusal.status == 500),
        "{error}"
    );
    assert!(lab.sent("POST", "InsertMedia").len() <= 6);
}

#[tokio::test]
async fn not_ready_is_waited_for() {
    let mut quirks = Quirks {
        not_ready: 2,
        ..Quirks::default()
    };
    quirks.product.vendor = "Dell".to_owned();
    quirks.product.firmware = "7.00.00".to_owned();
    let lab = Lab::new(quirks);
    lab.boot().await.unwrap();
    assert_eq!(lab.bmc.quirks().not_ready, 0);
}

#[tokio::test]
async fn a_bmc_that_restarts_in_the_middle_is_asked_again_by_the_next_attempt() {
    for path in ["InsertMedia", "ComputerSystem.Reset"] {
        let lab = Lab::new(Quirks::default());
        let restart = FaultKind::Restart(Duration::from_millis(700));
        lab.bmc.fail(Fault::new(restart).at("POST", path));
        let mut failures = 0;
        while let Err(error) = lab.boot().await {
            assert!(matches!(error, BmcError::Unreachable { .. }), "{error}");
            assert!(error.is_passing());
            failures += 1;
            assert!(failures < 100);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(failures > 0, "it was away");
        assert_eq!(lab.machine.boots().last(), Some(&Booted::Image(IMAGE.to_owned())));
    }
}

#[tokio::test]
async fn a_bmc_that_is_away_for_a_moment_while_the_machine_starts_is_waited_for() {
    let lab = Lab::new(Quirks::default());
    let mut bmc = lab.connect().await.unwrap();
    bmc.insert(IMAGE).await.unwrap();
    bmc.power_off().await.unwrap();
    // Six reads precede the call that switches it on; the following ones poll its state.
    let away = Fault::new(FaultKind::Reset).at("GET", "/Systems/1");
    lab.bmc.fail(away.after(6).times(6));
    bmc.boot(&BootFrom::Media).await.unwrap();
}

#[tokio::test]
async fn a_bmc_that_does_not_answer_comes_to_a_deadline() {
    let short = Limits {
        request: Duration::from_millis(100),
        ..limits()
    };
    let lab = Lab::with_limits(Quirks::default(), short);
    let slow = FaultKind::Slow(Duration::from_secs(2));
    lab.bmc.fail(Fault::new(slow).times(100));
    let error = failure(lab.connect().await);
    assert!(error.to_string().contains("no answer in time"), "{error}");
}

#[tokio::test]
async fn connections_that_are_reset_when_used_again_are_no_problem() {
    let lab = Lab::new(Quirks {
        reset_connection: true,
        identity_406: true,
        ..Quirks::default()
    });
    lab.boot().await.unwrap();
    lab.finish().await.unwrap();
}
