//! Firmware that has another version when a BMC is read again.

use muster_api::bmc::BmcInventory;
use muster_api::ids::HostId;
use muster_core::lifecycle::bmc::{BmcEvent, Seen, advance};
use muster_core::record::BmcLimits;

use super::{at, bmc, params, seen, through};

fn read(bios: Option<&str>, of_bmc: &str) -> BmcInventory {
    BmcInventory {
        bios_version: bios.map(str::to_owned),
        bmc_version: Some(of_bmc.to_owned()),
        ..BmcInventory::default()
    }
}

#[test]
fn firmware_with_another_version_is_an_event_of_the_host_with_both_values() {
    let host_id = HostId::random();
    let told = |before: Option<BmcInventory>, after: Option<BmcInventory>| {
        let mut checking = through(bmc(params("bmc-7")), vec![BmcEvent::Begun]);
        (checking.inventory, checking.host_id) = (before, Some(host_id));
        let event = BmcEvent::Checked {
            seen: Box::new(Seen {
                inventory: after,
                ..seen()
            }),
            problem: None,
        };
        let step = advance(&checking, event, &BmcLimits::default(), at(9))
            .unwrap()
            .unwrap();
        let name = checking.name;
        let events = step.events.into_iter();
        let events = events.filter(|event| event.name == "muster_hardware_changed");
        let texts = events.map(|event| {
            assert_eq!(event.host_id, Some(host_id));
            event.message.replace(&name, "NAME")
        });
        texts.collect::<Vec<String>>()
    };
    assert_eq!(
        told(Some(read(Some("2.1"), "1.0")), Some(read(Some("2.2"), "1.1"))),
        [
            "BMC NAME: firmware: 2.1 -> 2.2",
            "BMC NAME: firmware of the BMC: 1.0 -> 1.1"
        ]
    );
    let nothing: [&str; 0] = [];
    assert_eq!(
        told(Some(read(Some("2.1"), "1.0")), Some(read(None, "1.0"))),
        nothing
    );
    assert_eq!(told(Some(read(Some("2.1"), "1.0")), None), nothing);
    assert_eq!(told(None, Some(read(Some("2.1"), "1.0"))), nothing);
}
