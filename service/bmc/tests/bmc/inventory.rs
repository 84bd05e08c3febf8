//! The inventory by the BMC, and the host that fits it.

use muster_bmc::Limits;
use muster_bmc::matching::{Identifiers, Key, Verdict, compare};
use muster_bmc_emulator::machine::Hardware;
use muster_bmc_emulator::{Fault, Quirks};

use crate::lab::{Lab, limits};

async fn read(quirks: Quirks) -> muster_bmc::Inventory {
    let lab = Lab::new(quirks);
    let mut bmc = lab.connect().await.unwrap();
    let inventory = bmc.inventory().await.unwrap();
    bmc.close().await;
    inventory
}

fn macs(inventory: &muster_bmc::Inventory) -> Vec<String> {
    inventory.nics.iter().map(|nic| nic.mac.clone()).collect()
}

#[tokio::test]
async fn a_machine_is_told_with_its_parts() {
    let hardware = Hardware::example(1);
    let inventory = read(Quirks::default()).await;
    assert_eq!(inventory.serial.as_deref(), Some(hardware.serial.as_str()));
    assert_eq!(
        inventory.uuid.as_deref(),
        Some(hardware.uuid.to_string().as_str())
    );
    assert_eq!(macs(&inventory), hardware.macs);
    assert_eq!(inventory.processors.len(), hardware.processors as usize);
    assert_eq!(inventory.processors[0].cores, Some(hardware.processor.cores));
    assert_eq!(inventory.memory.gib, Some(f64::from(hardware.memory_gib)));
    assert_eq!(inventory.drives.len(), hardware.drives.len());
    assert_eq!(inventory.drives[0].bytes, Some(hardware.drives[0].bytes));
    assert!(
        inventory.firmware.iter().any(|one| one.name == "BIOS"),
        "{inventory:?}"
    );
    assert_eq!(inventory.boot_mode.as_deref(), Some("UEFI"));
    assert_eq!(inventory.health.as_deref(), Some("OK"));
    assert_eq!(inventory.notes, [] as [&str; 0]);
}

#[tokio::test]
async fn odd_tellers_are_understood() {
    let hardware = Hardware::example(1);
    let mut quirks = Quirks {
        serial_in_sku: true,
        swapped_uuid: true,
        odd_macs: true,
        null_members: true,
        slashes: true,
        ..Quirks::default()
    };
    quirks.product.vendor = "Dell".to_owned();
    quirks.product.firmware = "7.00.00".to_owned();
    let inventory = read(quirks).await;
    assert_eq!(inventory.serial.as_deref(), Some(hardware.serial.as_str()));
    assert_eq!(macs(&inventory), hardware.macs);
    let bmc = Identifiers {
        macs: Vec::new(),
        uuid: inventory.uuid.clone(),
        serials: inventory.serial.iter().cloned().collect(),
    };
    let host = Identifiers {
        macs: Vec::new(),
        uuid: Some(hardware.uuid.to_string()),
        serials: vec![hardware.serial],
    };
    let matching = compare(&bmc, &host);
    assert_eq!(
        (matching.verdict, matching.agreed),
        (Verdict::Same, vec![Key::Uuid, Key::Serial])
    );
}

#[tokio::test]
async fn cards_are_found_at_the_chassis_too() {
    let inventory = read(Quirks {
        no_ethernet_interfaces: true,
        ..Quirks::default()
    })
    .await;
    assert_eq!(macs(&inventory), Hardware::example(1).macs);
}

#[tokio::test]
async fn what_fails_is_noted_and_the_rest_is_read() {
    let lab = Lab::new(Quirks::default());
    lab.bmc
        .fail(Fault::status(403).at("GET", "/Processors/").times(100));
    lab.bmc.fail(Fault::status(404).at("GET", "/Storage").times(100));
    let mut bmc = lab.connect().await.unwrap();
    let inventory = bmc.inventory().await.unwrap();
    assert!(
        inventory.notes.iter().any(|note| note.contains("HTTP 403")),
        "{:?}",
        inventory.notes
    );
    assert_eq!(inventory.processors.len(), 1, "by the summary");
    assert_eq!(inventory.drives, []);
    assert_eq!(inventory.nics.len(), 2);
}

#[tokio::test]
async fn an_inventory_has_an_end() {
    let few = Limits {
        inventory_requests: 5,
        ..limits()
    };
    let lab = Lab::with_limits(Quirks::default(), few);
    let mut bmc = lab.connect().await.unwrap();
    let before = lab.bmc.requests().len();
    let inventory = bmc.inventory().await.unwrap();
    assert_eq!(lab.bmc.requests().len() - before, 6, "the system, and five more");
    assert!(
        inventory
            .notes
            .iter()
            .any(|note| note.contains("the rest is not read")),
        "{:?}",
        inventory.notes
    );
    bmc.progress().await.unwrap();
}
