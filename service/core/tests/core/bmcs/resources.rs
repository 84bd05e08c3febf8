//! BMCs that belong to custom resources.

use muster_api::bmc::{BmcBoot, BmcCertificate, BmcCertificateMode, BmcFailure, BmcPhase};
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::{
    BmcEvent, BmcRefused, Followed, Problem, Seen, Wanted, advance, create_for, follow, taken_over,
};
use muster_core::record::{Bmc, BmcAsked, BmcLimits, BmcStage, KubeRef, Secret};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
}

/// In the stored form.
fn fingerprint() -> String {
    ["AA"; 32].join(":")
}

fn kube() -> KubeRef {
    KubeRef::new("lab", "r1u7")
}

fn wanted() -> Wanted {
    Wanted {
        name: "r1u7".into(),
        address: "10.0.0.7".into(),
        user_name: "root".into(),
        password: Secret::new("calvin-is-secret"),
        certificate: BmcCertificate::default(),
        system_id: None,
        boot: BmcBoot::VirtualMedia,
        asked: BmcAsked {
            discover: true,
            again: None,
        },
    }
}

fn again(value: &str) -> Wanted {
    let asked = BmcAsked {
        discover: true,
        again: Some(value.into()),
    };
    Wanted { asked, ..wanted() }
}

fn stopped() -> Wanted {
    Wanted {
        asked: BmcAsked::default(),
        ..wanted()
    }
}

fn made(wanted: &Wanted) -> Bmc {
    create_for(wanted, &kube(), InfraEnvId::random(), BmcId::random(), at(0)).unwrap()
}

fn after(bmc: &Bmc, event: BmcEvent) -> Bmc {
    let step = advance(bmc, event.clone(), &BmcLimits::default(), at(5)).unwrap();
    step.unwrap_or_else(|| panic!("{event:?} in {:?}", bmc.stage)).bmc
}

fn checked(failure: Option<BmcFailure>) -> BmcEvent {
    BmcEvent::Checked {
        seen: Box::new(Seen {
            certificate: Some(fingerprint()),
            ..Seen::default()
        }),
        problem: failure.map(|failure| Problem {
            failure,
            reason: "no".into(),
            passing: false,
        }),
    }
}

/// A BMC after a discovery that failed for this reason.
fn failed(failure: BmcFailure) -> Bmc {
    let checking = after(&made(&wanted()), BmcEvent::Begun);
    after(&checking, checked(Some(failure)))
}

/// A BMC with the image in its drive.
fn inserting() -> Bmc {
    let checking = after(&made(&wanted()), BmcEvent::Begun);
    after(&checking, checked(None))
}

fn discovered() -> Bmc {
    let slot = "/x".to_owned();
    let booting = after(&inserting(), BmcEvent::Inserted { slot });
    let found = BmcEvent::AgentSeen {
        host_id: HostId::random(),
        differences: Vec::new(),
        runs_from_medium: false,
    };
    after(
        &after(&after(&booting, BmcEvent::Booted { note: String::new() }), found),
        BmcEvent::Cleaned,
    )
}

fn followed(bmc: &Bmc, wanted: &Wanted) -> Followed {
    follow(bmc, wanted, &BmcLimits::default(), at(10)).unwrap()
}

/// The BMC after its resource was applied.
fn following(bmc: &Bmc, wanted: &Wanted) -> Bmc {
    let followed = followed(bmc, wanted);
    assert_eq!((&followed.waits, &followed.refused), (&None, &None));
    followed.step.map_or_else(|| bmc.clone(), |step| step.bmc)
}

fn phase(bmc: &Bmc) -> BmcPhase {
    bmc.stage.phase()
}

#[test]
fn what_a_resource_says_again_changes_nothing() {
    for bmc in [
        made(&wanted()),
        inserting(),
        discovered(),
        failed(BmcFailure::Credentials),
        failed(BmcFailure::NoAgent),
    ] {
        assert_eq!(followed(&bmc, &wanted()).step, None, "{:?}", bmc.stage);
    }
    assert_eq!(phase(&made(&stopped())), BmcPhase::Stopped);
    let pinned = inserting().settings.certificate.fingerprint;
    assert_eq!(
        pinned,
        Some(fingerprint()),
        "a spec without fingerprint keeps the one of the first contact"
    );
}

#[test]
fn a_new_value_asks_once_whatever_became_of_the_machine() {
    for bmc in [
        discovered(),
        inserting(),
        failed(BmcFailure::NoAgent),
        failed(BmcFailure::Credentials),
    ] {
        let begun = following(&bmc, &again("1"));
        assert_eq!(phase(&begun), BmcPhase::Waiting, "{:?}", bmc.stage);
        assert!(begun.run > bmc.run);
        assert_eq!(followed(&begun, &again("1")).step, None);
        // Removing the annotation requests nothing, and makes the same value new.
        let without = following(&begun, &wanted());
        assert_eq!(without.run, begun.run);
        assert!(following(&without, &again("1")).run > begun.run);
    }
    let created = made(&again("1"));
    assert_eq!(followed(&created, &again("1")).step, None);
}

#[test]
fn a_certificate_that_nobody_trusts_is_not_asked_again_until_the_spec_accepts_it() {
    let bmc = failed(BmcFailure::Certificate);
    let asked = followed(&bmc, &again("1"));
    let why = asked.refused.unwrap();
    assert!(why.contains("accept it"), "{why}");
    let next = asked.step.unwrap().bmc;
    assert_eq!(phase(&next), BmcPhase::Failed);
    assert_eq!(followed(&next, &again("1")).step, None, "it is told once");
    let accepted = Wanted {
        certificate: BmcCertificate {
            fingerprint: Some("bb".repeat(32)),
            ..BmcCertificate::default()
        },
        ..again("1")
    };
    assert_eq!(phase(&following(&next, &accepted)), BmcPhase::Waiting);
}

#[test]
fn other_credentials_are_tried_once_and_the_same_are_not() {
    let bmc = failed(BmcFailure::Credentials);
    let other = Wanted {
        password: Secret::new("another-secret"),
        ..wanted()
    };
    let begun = following(&bmc, &other);
    assert_eq!(
        (phase(&begun), begun.password.reveal()),
        (BmcPhase::Waiting, "another-secret")
    );
    assert_eq!(followed(&begun, &other).step, None);
    let renamed = Wanted {
        user_name: "admin".into(),
        ..wanted()
    };
    assert_eq!(phase(&following(&bmc, &renamed)), BmcPhase::Waiting);
}

#[test]
fn a_resource_stops_its_discovery_and_begins_it_anew() {
    let bmc = inserting();
    let ended = following(&bmc, &stopped());
    assert_eq!(phase(&ended), BmcPhase::Stopped);
    assert!(ended.cleans_up());
    assert_eq!(followed(&ended, &stopped()).step, None);
    assert_eq!(phase(&following(&ended, &wanted())), BmcPhase::Waiting);
    // Settings of a machine that must not be discovered are changed, and nothing begins.
    let failed = failed(BmcFailure::NoAgent);
    let changed = Wanted {
        user_name: "admin".into(),
        ..stopped()
    };
    let next = following(&failed, &changed);
    assert_eq!(
        (phase(&next), next.settings.user_name.as_str()),
        (BmcPhase::Stopped, "admin")
    );
    // An unchanged request of the resource does not restart a discovery that was stopped by REST.
    let stopped_by_rest = after(&bmc, BmcEvent::Stop);
    assert_eq!(followed(&stopped_by_rest, &wanted()).step, None);
}

#[test]
fn another_address_waits_for_the_medium_and_trusts_its_first_contact() {
    let moved = Wanted {
        address: "10.0.0.8".into(),
        ..wanted()
    };
    let first = followed(&inserting(), &moved);
    assert!(first.waits.is_some());
    let leaving = first.step.unwrap().bmc;
    assert!(leaving.cleans_up() && leaving.settings.address.contains("10.0.0.7"));
    let waiting = followed(&leaving, &moved);
    assert!(waiting.waits.is_some());
    assert_eq!(waiting.step, None, "nothing is asked of it meanwhile");
    let clean = after(&leaving, BmcEvent::Cleaned);
    let next = following(&clean, &moved);
    assert_eq!(
        (phase(&next), next.settings.address.as_str()),
        (BmcPhase::Waiting, "https://10.0.0.8"),
        "what was broken off goes on at the new address"
    );
    assert_eq!(next.settings.certificate.fingerprint, None);
    assert_eq!(followed(&next, &moved).step, None);
    // A discovered machine is not booted because the address of its BMC changed.
    assert_eq!(phase(&following(&discovered(), &moved)), BmcPhase::Discovered);
}

#[test]
fn what_cannot_be_is_named_and_no_secret_is() {
    let wrong = [
        Wanted {
            address: "https://u:calvin-is-secret@x".into(),
            ..wanted()
        },
        Wanted {
            password: Secret::new("calvin\nis secret"),
            ..wanted()
        },
        Wanted {
            certificate: BmcCertificate {
                mode: BmcCertificateMode::Bundle,
                ..BmcCertificate::default()
            },
            ..wanted()
        },
    ];
    for wanted in wrong {
        let error = follow(&discovered(), &wanted, &BmcLimits::default(), at(10)).unwrap_err();
        assert!(matches!(error, BmcRefused::Invalid(_)), "{error}");
        let told = format!("{error} {error:?} {wanted:?}");
        assert!(!error.to_string().contains("calvin"), "{error}");
        assert!(!told.contains("calvin\\nis"), "{told}");
    }
}

#[test]
fn a_bmc_of_rest_is_taken_over_by_the_resource_of_the_same_machine() {
    let of_rest = Bmc {
        resource: None,
        ..discovered()
    };
    let taken = taken_over(&of_rest, &wanted(), &kube()).unwrap().unwrap();
    assert!(matches!(taken.stage, BmcStage::Discovered { .. }));
    assert_eq!(
        followed(&taken, &wanted()).step,
        None,
        "its machine is not booted again"
    );
    for other in [
        Wanted {
            address: "10.0.0.8".into(),
            ..wanted()
        },
        Wanted {
            name: "other".into(),
            ..wanted()
        },
        Wanted {
            system_id: Some("2".into()),
            ..wanted()
        },
    ] {
        assert_eq!(taken_over(&of_rest, &other, &kube()).unwrap(), None);
    }
    assert_eq!(
        taken_over(&discovered(), &wanted(), &kube()).unwrap(),
        None,
        "it has a resource"
    );
}
