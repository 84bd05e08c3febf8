use std::time::Duration;

use chrono::TimeDelta;
use kube::runtime::events::EventType;
use muster_api::bmc::{BmcCheck, BmcFailure, BmcInventory, BmcMemory, BmcNic, BmcOutcome, BmcProcessor};
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_controller::conditions::{ConditionReason, Synced};
use muster_core::lifecycle::bmc::{Wanted, create_for};
use muster_core::record::{self, BmcAsked, BmcStage, KubeRef, Leftover, Secret};
use muster_resources::{Bmc, BmcSpec, BmcStatus};
use serde_json::json;

use super::conditions::{Found, Reason, SIGNS};
use super::delete::{LIMIT, Next, next};
use super::status::status;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
}

fn resource() -> Bmc {
    let mut bmc = Bmc::new("r1u7", BmcSpec::default());
    bmc.metadata.namespace = Some("lab".into());
    bmc.metadata.generation = Some(3);
    bmc
}

fn record() -> record::Bmc {
    let wanted = Wanted {
        name: "r1u7".into(),
        address: "10.0.0.7".into(),
        user_name: "root".into(),
        password: Secret::new("CanaryOfTheController"),
        certificate: muster_api::bmc::BmcCertificate::default(),
        system_id: None,
        boot: muster_api::bmc::BmcBoot::VirtualMedia,
        asked: BmcAsked {
            discover: true,
            again: Some("7".into()),
        },
    };
    let kube = KubeRef::new("lab", "r1u7");
    create_for(&wanted, &kube, InfraEnvId::random(), BmcId::random(), at(0)).unwrap()
}

fn found(record: Option<&record::Bmc>) -> Found<'_> {
    Found {
        record,
        synced: Synced::Ok(None),
        waits: None,
        blocked: None,
    }
}

fn condition<'a>(status: &'a BmcStatus, type_: &str) -> (&'a str, &'a str, &'a str) {
    let found = status.conditions.iter().find(|one| one.type_ == type_).unwrap();
    (&found.status, &found.reason, &found.message)
}

#[test]
fn a_status_tells_the_phase_the_checks_the_machine_and_no_password() {
    let mut seen = record();
    seen.stage = BmcStage::Failed {
        failure: BmcFailure::Credentials,
    };
    seen.progress.reason = "the BMC refuses root".into();
    let check = |id: &str, outcome, advice: &str| BmcCheck {
        id: id.into(),
        outcome,
        seen: "seen".into(),
        advice: advice.into(),
    };
    seen.progress.checks = vec![
        check("address", BmcOutcome::Pass, ""),
        check("credentials", BmcOutcome::Fail, "change them"),
        check("media", BmcOutcome::Skipped, ""),
    ];
    seen.progress.certificate_shown = Some("BB".into());
    seen.inventory = Some(BmcInventory {
        vendor: Some("ACME".into()),
        serial: Some("S1".into()),
        processors: vec![
            BmcProcessor {
                cores: Some(8),
                ..BmcProcessor::default()
            };
            2
        ],
        memory: BmcMemory { gib: Some(7.5) },
        nics: vec![BmcNic {
            mac: "aa:bb:cc:dd:ee:ff".into(),
            ..BmcNic::default()
        }],
        ..BmcInventory::default()
    });
    let told = status(&resource(), &found(Some(&seen)), at(1));
    assert_eq!(
        condition(&told, "Discovered"),
        ("False", "CredentialsRefused", "the BMC refuses root")
    );
    assert_eq!(
        condition(&told, "ChecksPassed"),
        ("False", "CheckFailed", "credentials: seen; change them")
    );
    assert_eq!(condition(&told, "SpecSynced").0, "True");
    let written = serde_json::to_value(&told).unwrap();
    for (member, value) in [
        ("phase", json!("failed")),
        ("reason", json!("credentials")),
        ("message", json!("the BMC refuses root")),
        ("observedGeneration", json!(3)),
        ("observedDiscover", json!("7")),
        ("certificate", json!({"shown": "BB"})),
        (
            "inventory",
            json!({
                "vendor": "ACME", "serialNumber": "S1", "processors": 2, "cores": 16, "memoryMiB": 7680,
                "macAddresses": ["aa:bb:cc:dd:ee:ff"],
            }),
        ),
    ] {
        assert_eq!(written[member], value, "{member}");
    }
    assert_eq!(written["checks"].as_array().unwrap().len(), 3);
    assert!(!written.to_string().contains("Canary"), "{written}");

    let mut same = resource();
    same.status = Some(told.clone());
    assert_eq!(
        status(&same, &found(Some(&seen)), at(60)),
        told,
        "nothing is written anew"
    );
    assert_eq!(
        Reason::CredentialsRefused.event_type(false),
        Some(EventType::Warning)
    );
}

#[test]
fn the_agent_is_named_and_a_bmc_that_could_not_be_made_says_why() {
    let mut seen = record();
    let host_id = HostId::random();
    seen.stage = BmcStage::Discovered {
        host_id,
        differences: Vec::new(),
    };
    let told = status(&resource(), &found(Some(&seen)), at(1));
    let agent = told.agent_ref.unwrap();
    assert_eq!((agent.namespace, agent.name), ("lab".into(), host_id.to_string()));
    let told = status(
        &resource(),
        &Found {
            synced: Synced::Input("spec.address: is wrong".into()),
            ..found(None)
        },
        at(1),
    );
    assert_eq!(told.message.as_deref(), Some("spec.address: is wrong"));
    assert_eq!((told.phase.as_deref(), told.bmc_id.as_deref()), (None, None));
    assert_eq!(
        condition(&told, "SpecSynced"),
        ("False", "InputError", "spec.address: is wrong")
    );
    assert_eq!(condition(&told, "Discovered").1, "NotMade");
}

#[test]
fn a_deletion_waits_for_the_medium_for_a_time_and_says_what_it_leaves() {
    let mut seen = record();
    seen.stage = BmcStage::Stopped;
    assert_eq!(next(&seen, at(0), at(1)), Next::Go);
    seen.progress.leftover = Some(Leftover::default());
    seen.progress.due_at = Some(at(0));
    let Next::Wait { why, left } = next(&seen, at(0), at(100)) else {
        panic!("the image is being taken out");
    };
    assert_eq!(left, LIMIT - Duration::from_secs(100));
    assert!(why.contains("https://10.0.0.7"), "{why}");
    let overdue = at(0) + TimeDelta::from_std(LIMIT).unwrap();
    assert!(matches!(next(&seen, at(0), overdue), Next::Leave(_)));
    seen.progress.due_at = None;
    assert!(
        matches!(next(&seen, at(0), at(1)), Next::Leave(_)),
        "it was given up before"
    );
    seen.progress.due_at = Some(at(0));
    seen.progress.leftover = Some(Leftover {
        in_use: true,
        ..Leftover::default()
    });
    let Next::Leave(why) = next(&seen, at(0), at(1)) else {
        panic!("the host's system would be killed");
    };
    assert!(why.contains("runs from the image"), "{why}");
}

#[test]
fn the_signs_for_generic_programs_name_reasons_that_there_are() {
    for reason in SIGNS.iter().flat_map(|sign| sign.reasons()) {
        assert!(reason.parse::<Reason>().is_ok(), "{reason}");
    }
}
