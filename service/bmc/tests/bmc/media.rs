//! Slots, and the members that they require.

use std::time::Duration;

use muster_bmc::{BmcError, Limits};
use muster_bmc_emulator::quirks::{Slot, SlotKind};
use muster_bmc_emulator::{Fault, Quirks};
use serde_json::json;

use crate::lab::{IMAGE, Lab, failure, limits};

async fn inserts(quirks: Quirks) -> Lab {
    let lab = Lab::new(quirks);
    lab.connect().await.unwrap().insert(IMAGE).await.unwrap();
    assert_eq!(lab.machine.medium().as_deref(), Some(IMAGE));
    lab.finish().await.unwrap();
    assert_eq!(lab.machine.medium(), None);
    lab
}

fn bodies(lab: &Lab, end: &str) -> Vec<serde_json::Value> {
    let sent = lab.sent("POST", end);
    sent.into_iter().filter_map(|request| request.body).collect()
}

#[tokio::test]
async fn the_protocol_is_added_when_it_is_asked_for() {
    let lab = inserts(Quirks {
        needs_protocol: true,
        ..Quirks::default()
    })
    .await;
    let bodies = bodies(&lab, "InsertMedia");
    assert_eq!(
        bodies,
        [
            json!({"Image": IMAGE}),
            json!({"Image": IMAGE, "TransferProtocolType": "HTTP"})
        ]
    );
}

#[tokio::test]
async fn user_and_password_are_added_when_they_are_asked_for() {
    let lab = inserts(Quirks {
        needs_user: true,
        needs_protocol: true,
        ..Quirks::default()
    })
    .await;
    let last = bodies(&lab, "InsertMedia").pop().unwrap();
    assert_eq!(last["UserName"], "muster");
    assert!(last.get("TransferProtocolType").is_some());
}

#[tokio::test]
async fn slots_without_actions_are_patched() {
    let lab = inserts(Quirks {
        patch_media: true,
        media_status: 201,
        ..Quirks::default()
    })
    .await;
    let patches = lab.sent("PATCH", "/VirtualMedia/Cd");
    let bodies: Vec<_> = patches.into_iter().filter_map(|request| request.body).collect();
    assert!(bodies.contains(&json!({"Image": IMAGE, "Inserted": true, "WriteProtected": true})));
    assert_eq!(bodies.last(), Some(&json!({"Image": null, "Inserted": false})));
}

#[tokio::test]
async fn media_at_the_manager_are_found() {
    inserts(Quirks {
        media_at_manager: true,
        no_managed_by: true,
        only_image: true,
        ..Quirks::default()
    })
    .await;
}

#[tokio::test]
async fn what_others_left_in_a_slot_is_ejected_and_a_stale_slot_is_waited_for() {
    let lab = Lab::new(Quirks {
        stale_inserted: Duration::from_millis(300),
        eject_errors: 1,
        eject_needs_body: true,
        refuses_empty_eject: true,
        ..Quirks::default()
    });
    lab.bmc.occupy("Cd", "http://192.0.2.8/other.iso");
    let checked = lab.connect().await.unwrap().check(IMAGE).await.unwrap();
    assert!(checked.is_occupied);
    lab.connect().await.unwrap().insert(IMAGE).await.unwrap();
    assert_eq!(lab.machine.medium().as_deref(), Some(IMAGE));
    lab.finish().await.unwrap();
    lab.finish().await.unwrap();
    assert_eq!(lab.machine.medium(), None);
}

#[tokio::test]
async fn an_image_that_stays_after_an_eject_means_nothing() {
    inserts(Quirks {
        keeps_image: true,
        ..Quirks::default()
    })
    .await;
}

#[tokio::test]
async fn slots_that_take_no_url_are_passed_over() {
    let lab = inserts(Quirks {
        slots: vec![
            Slot::new("A", &["CD"], SlotKind::Refuses),
            Slot::new("B", &["CD"], SlotKind::ConsoleOnly),
            Slot::url("C", &["USBStick"]),
            Slot::url("D", &["DVD"]),
        ],
        ..Quirks::default()
    })
    .await;
    assert_eq!(lab.sent("POST", "/D/Actions/VirtualMedia.InsertMedia").len(), 1);
    assert_eq!(lab.sent("POST", "/C/Actions/VirtualMedia.InsertMedia").len(), 0);
}

#[tokio::test]
async fn a_slot_that_somebody_uses_is_told_in_the_bmcs_words() {
    let lab = Lab::new(Quirks::default());
    lab.bmc.fail(Fault::slot_busy().times(10));
    let mut bmc = lab.connect().await.unwrap();
    let error = failure(bmc.insert(IMAGE).await);
    assert!(
        matches!(&error, BmcError::Refused { refusal, .. } if refusal.has("ResourceInUse")),
        "{error}"
    );
    assert!(error.is_passing(), "somebody may let go of it");
    assert!(error.to_string().contains("HTTP 409; ResourceInUse"), "{error}");
}

#[tokio::test]
async fn of_several_slots_one_that_somebody_uses_is_worth_another_attempt() {
    let lab = Lab::new(Quirks {
        slots: vec![
            Slot::new("A", &["CD"], SlotKind::Refuses),
            Slot::url("B", &["CD"]),
        ],
        ..Quirks::default()
    });
    lab.bmc.fail(
        Fault::slot_busy()
            .at("POST", "/B/Actions/VirtualMedia.InsertMedia")
            .times(10),
    );
    let error = failure(lab.connect().await.unwrap().insert(IMAGE).await);
    assert!(error.is_passing(), "{error}");
    assert!(error.to_string().contains("slot B"), "{error}");
}

#[tokio::test]
async fn a_missing_licence_is_told_in_the_bmcs_words() {
    let lab = Lab::new(Quirks {
        unlicensed: true,
        ..Quirks::default()
    });
    let error = failure(lab.connect().await.unwrap().insert(IMAGE).await);
    assert!(error.to_string().contains("A license is required"), "{error}");
    assert!(!error.is_passing());
}

#[tokio::test]
async fn without_a_slot_each_is_named() {
    let lab = Lab::new(Quirks {
        slots: vec![
            Slot::new("B", &["CD"], SlotKind::ConsoleOnly),
            Slot::url("C", &["USBStick"]),
        ],
        ..Quirks::default()
    });
    let error = failure(lab.connect().await.unwrap().check(IMAGE).await);
    assert!(matches!(error, BmcError::NoMediaSlot(_)));
    let told = error.to_string();
    assert!(
        told.contains("B: it has neither InsertMedia nor PATCH") && told.contains("C: it is no CD or DVD"),
        "{told}"
    );
}

#[tokio::test]
async fn an_image_that_does_not_suit_the_bmc_is_not_sent_there() {
    let lab = Lab::new(Quirks::default());
    let mut bmc = lab.connect().await.unwrap();
    let error = failure(bmc.insert("http://192.0.2.9/boot/t0ken").await);
    assert!(matches!(error, BmcError::MediaUrl(_)), "{error}");
    assert!(!error.to_string().contains("t0ken"), "{error}");
    assert!(lab.sent("POST", "InsertMedia").is_empty());
}

#[tokio::test]
async fn the_drive_is_believed_and_not_the_answer() {
    let told = |error: BmcError, awaited: &str| {
        assert!(matches!(error, BmcError::Deadline { .. }), "{error}");
        assert!(
            error.is_passing() && error.to_string().contains(awaited),
            "{error}"
        );
    };
    let brief = || Limits {
        media: Duration::from_millis(100),
        ..limits()
    };
    let lab = Lab::with_limits(
        Quirks {
            hides_media: true,
            ..Quirks::default()
        },
        brief(),
    );
    told(
        failure(lab.connect().await.unwrap().insert(IMAGE).await),
        "slot Cd showing the inserted image",
    );

    let lab = Lab::with_limits(
        Quirks {
            stale_inserted: Duration::from_secs(3600),
            ..Quirks::default()
        },
        brief(),
    );
    let inserted = lab.connect().await.unwrap().insert(IMAGE).await.unwrap();
    for slot in [Some(inserted.slot.as_str()), None] {
        let mut bmc = lab.connect().await.unwrap();
        told(failure(bmc.finish(slot).await), "slot Cd showing itself empty");
        bmc.close().await;
    }
}
