//! The sequence of steps, and the boot override.

use std::time::Duration;

use muster_bmc::{BmcError, BootFrom, Limits, Override};
use muster_bmc_emulator::quirks::Once;
use muster_bmc_emulator::{Booted, Fault, Quirks};
use serde_json::json;

use crate::lab::{IMAGE, Lab, failure, limits};

fn image() -> Booted {
    Booted::Image(IMAGE.to_owned())
}

#[tokio::test]
async fn a_machine_boots_from_the_image_once_and_is_left_as_it_was() {
    let lab = Lab::new(Quirks::default());
    let mut bmc = lab.connect().await.unwrap();
    let checked = bmc.check(IMAGE).await.unwrap();
    assert_eq!(checked.power.to_string(), "On");
    let inserted = bmc.insert(IMAGE).await.unwrap();
    assert_eq!(inserted.slot, checked.slot);
    assert_eq!(lab.bmc.image().as_deref(), Some(IMAGE));
    assert_eq!(bmc.boot(&BootFrom::Media).await.unwrap(), Override::Once);
    assert_eq!(lab.machine.boots(), [Booted::Disk, image()]);
    assert_eq!(bmc.progress().await.unwrap().boot.as_deref(), Some("OSRunning"));
    bmc.finish(Some(&inserted.slot)).await.unwrap();
    bmc.close().await;
    assert_eq!(lab.bmc.image(), None);
    assert_eq!(lab.bmc.boot_override().target, "None");
    assert_eq!(lab.bmc.sessions(), 0);
    let insert = lab.sent("POST", "VirtualMedia.InsertMedia");
    assert_eq!(insert[0].body, Some(json!({"Image": IMAGE})));
    let actions = lab.bmc.requests();
    let actions = actions.iter().filter(|request| request.method == "POST");
    assert!(
        actions
            .into_iter()
            .all(|request| request.header("if-match").is_none())
    );
}

#[tokio::test]
async fn each_step_can_be_repeated_by_another_process() {
    let lab = Lab::new(Quirks::default());
    for _ in 0..2 {
        lab.connect().await.unwrap().insert(IMAGE).await.unwrap();
    }
    for _ in 0..2 {
        lab.connect().await.unwrap().boot(&BootFrom::Media).await.unwrap();
    }
    assert_eq!(lab.machine.boots(), [Booted::Disk, image(), image()]);
    lab.finish().await.unwrap();
    lab.finish().await.unwrap();
    assert_eq!(lab.bmc.image(), None);
}

#[tokio::test]
async fn an_override_that_stays_is_told_and_cleared() {
    let lab = Lab::new(Quirks {
        once: Once::Continuous,
        ..Quirks::default()
    });
    let mut bmc = lab.connect().await.unwrap();
    bmc.insert(IMAGE).await.unwrap();
    assert_eq!(bmc.boot(&BootFrom::Media).await.unwrap(), Override::Continuous);
    assert_eq!(lab.bmc.boot_override().target, "Cd");
    bmc.finish(None).await.unwrap();
    assert_eq!(lab.bmc.boot_override().enabled, "Disabled");
}

#[tokio::test]
async fn an_override_that_is_forgotten_is_told() {
    let lab = Lab::new(Quirks {
        once: Once::Dropped,
        ..Quirks::default()
    });
    let mut bmc = lab.connect().await.unwrap();
    bmc.insert(IMAGE).await.unwrap();
    assert_eq!(bmc.boot(&BootFrom::Media).await.unwrap(), Override::Dropped);
    assert_eq!(lab.machine.boots(), [Booted::Disk, Booted::Disk]);
}

#[tokio::test]
async fn usb_cd_is_the_target_of_supermicro() {
    let mut quirks = Quirks {
        usb_cd: true,
        ..Quirks::default()
    };
    quirks.product.vendor = "Supermicro".to_owned();
    let lab = Lab::new(quirks);
    lab.boot().await.unwrap();
    assert_eq!(lab.machine.boots().last(), Some(&image()));
}

#[tokio::test]
async fn boot_is_written_where_it_takes_effect_and_with_all_members_when_asked() {
    let lab = Lab::new(Quirks {
        settings_object: true,
        boot_needs_all: true,
        post_busy: 1,
        ..Quirks::default()
    });
    lab.boot().await.unwrap();
    assert_eq!(lab.machine.boots().last(), Some(&image()));
    let patches = lab.sent("PATCH", "/Settings");
    let last = patches.last().unwrap().body.clone().unwrap();
    assert_eq!(last["Boot"]["BootSourceOverrideMode"], "UEFI");
    assert_eq!(lab.sent("PATCH", "/Systems/1").len(), 0);
    lab.finish().await.unwrap();
}

#[tokio::test]
async fn http_boot_needs_no_medium_and_leaves_no_url() {
    let lab = Lab::new(Quirks::default());
    let mut bmc = lab.connect().await.unwrap();
    bmc.check_http(IMAGE).await.unwrap();
    bmc.boot(&BootFrom::Http(IMAGE.to_owned())).await.unwrap();
    assert_eq!(lab.machine.boots().last(), Some(&image()));
    bmc.finish(None).await.unwrap();
    assert_eq!(lab.bmc.boot_override().http_boot_uri, None);
    let wrong = bmc
        .boot(&BootFrom::Http("http://192.0.2.9/a.iso?token=x".to_owned()))
        .await;
    assert!(wrong.unwrap_err().to_string().contains("a query"));
}

#[tokio::test]
async fn http_boot_that_needs_other_calls_is_told_before_anything_is_changed() {
    let lab = Lab::new(Quirks::dell_idrac9());
    let mut bmc = lab.connect().await.unwrap();
    let error = crate::lab::failure(bmc.check_http(IMAGE).await);
    assert!(error.to_string().contains("HttpDev1Uri"), "{error}");
}

#[tokio::test]
async fn a_machine_boots_from_its_disk_also_behind_a_bmc_that_takes_no_override() {
    let lab = Lab::new(Quirks::default());
    let mut bmc = lab.connect().await.unwrap();
    assert_eq!(bmc.boot(&BootFrom::Disk).await.unwrap(), Override::Once);
    assert_eq!(lab.sent("PATCH", "/Systems/1").len(), 1);
    assert_eq!(lab.machine.boots(), [Booted::Disk, Booted::Disk]);

    let lab = Lab::new(Quirks::default());
    lab.bmc
        .fail(Fault::status(400).at("PATCH", "/Systems/1").times(100));
    let mut bmc = lab.connect().await.unwrap();
    assert_eq!(bmc.boot(&BootFrom::Disk).await.unwrap(), Override::Dropped);
    assert_eq!(lab.machine.boots(), [Booted::Disk, Booted::Disk]);
}

#[tokio::test]
async fn a_cleared_override_is_read_back() {
    let quirks = Quirks {
        once: Once::Continuous,
        keeps_override: true,
        ..Quirks::default()
    };
    let brief = Limits {
        media: Duration::from_millis(100),
        ..limits()
    };
    let lab = Lab::with_limits(quirks, brief);
    lab.boot().await.unwrap();
    let error = failure(lab.finish().await);
    assert!(matches!(error, BmcError::Deadline { .. }), "{error}");
    assert!(error.to_string().contains("last seen: Cd Continuous"), "{error}");
    assert_eq!(lab.bmc.image(), None, "the drive is emptied all the same");
    lab.bmc.change(|quirks| quirks.keeps_override = false);
    lab.finish().await.unwrap();
}
