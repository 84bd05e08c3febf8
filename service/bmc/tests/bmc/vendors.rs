//! The whole sequence against each vendor's BMC, as the emulator has them.

use std::time::Duration;

use muster_bmc::{BmcError, Limits};
use muster_bmc_emulator::{Booted, Quirks};
use tokio::task::JoinSet;

use crate::lab::{IMAGE, Lab, failure, limits};

/// Waits long enough for BMCs with slots that are stale for seconds.
fn patient() -> Limits {
    Limits {
        media: Duration::from_secs(15),
        task: Duration::from_secs(15),
        ..limits()
    }
}

#[tokio::test]
async fn each_vendors_machine_boots_from_the_image_and_is_left_as_it_was() {
    let mut running = JoinSet::new();
    for (name, quirks) in Quirks::vendors() {
        running.spawn(boots_and_ends(name, quirks));
    }
    running.join_all().await;
}

async fn boots_and_ends(name: &'static str, quirks: Quirks) {
    let lab = Lab::with_limits(quirks, patient());
    lab.boot().await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let booted = lab.machine.boots();
    assert_eq!(booted.last(), Some(&Booted::Image(IMAGE.to_owned())), "{name}");
    lab.finish()
        .await
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(lab.machine.medium(), None, "{name}");
    assert_eq!(lab.bmc.sessions(), 0, "{name}");
}

#[tokio::test]
async fn each_vendor_finds_its_profile() {
    let expected = [
        "Dell iDRAC9",
        "Dell iDRAC9 before 6.00",
        "Dell iDRAC10",
        "HPE iLO 4",
        "HPE iLO",
        "Lenovo XCC",
        "Supermicro X11",
        "Fujitsu iRMC",
        "AMI",
        "OpenBMC",
        "Huawei iBMC",
        "standard",
    ];
    for ((name, quirks), expected) in Quirks::vendors().into_iter().zip(expected) {
        let lab = Lab::new(quirks);
        let bmc = lab.connect().await.unwrap();
        assert_eq!(bmc.profile().name, expected, "{name}");
        bmc.close().await;
    }
}

#[tokio::test]
async fn firmware_that_boots_the_physical_drive_is_told_before_anything_is_changed() {
    let mut quirks = Quirks::dell_idrac9_old();
    quirks.product.firmware = "3.36.36.36".to_owned();
    let lab = Lab::new(quirks);
    let error = failure(lab.boot().await);
    assert!(matches!(error, BmcError::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("6.00.00"), "{error}");
    assert_eq!(lab.machine.boots(), [Booted::Disk]);
}

#[tokio::test]
async fn xcc_takes_no_https_and_is_not_asked_to() {
    let lab = Lab::new(Quirks::lenovo_xcc());
    let mut bmc = lab.connect().await.unwrap();
    let error = failure(bmc.check("https://192.0.2.9/a.iso").await);
    assert!(error.to_string().contains("takes no https"), "{error}");
}
