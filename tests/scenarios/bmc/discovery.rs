//! Machines in the table of `muster bmc import` become hosts without manual work: by BMCs of two makers, under both
//! firmwares.

use std::sync::Arc;

use muster_bmc_emulator::{Machine as _, Quirks, Setup};
use muster_tests::bmc::{BmcMachine, import, line};
use muster_tests::condition::await_condition;
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, MACHINE_LIMIT};
use muster_tests::service::Settings;
use serde_json::Value;

use muster_tests::discovery::{Discovery, MACS};

#[test]
fn machines_are_discovered_through_bmcs_of_two_makers_and_the_iso_is_taken_out_again() {
    let settings = Settings::for_user_networks().boot_seen_from_here();
    let settings = settings
        .argument("--bmc-networks=127.0.0.0/8")
        .argument("--bmc-allow-http");
    let discovery = Discovery::on(settings);
    is_discovered(&discovery, "ilo", Quirks::hpe_ilo5(), Firmware::SeaBios, 21);
    is_discovered(&discovery, "xcc", Quirks::lenovo_xcc(), Firmware::Ovmf, 22);
}

fn is_discovered(discovery: &Discovery, name: &str, quirks: Quirks, firmware: Firmware, number: u8) {
    let disk = Disk::new(DiskBus::Virtio, GIB, "DISK");
    let machine = BmcMachine::on_user_network((name, number), firmware, 2048, disk, MACS[0]);
    let machine = Arc::new(machine);
    let emulator = Setup::new(Arc::<BmcMachine>::clone(&machine))
        .quirks(quirks)
        .start()
        .unwrap();
    let line = line(&emulator.url(), name);
    import(&discovery.service, discovery.infra_env.id, &[line]);
    let found = await_condition(&format!("{name} to be discovered"), MACHINE_LIMIT, || {
        let shown = bmc(discovery, name);
        assert_ne!(shown["phase"], "failed", "{shown}");
        let is_done = shown["phase"] == "discovered" && shown["medium_inserted"] == false;
        if is_done {
            Ok(shown)
        } else {
            Err(format!("{shown}"))
        }
    });
    assert_eq!(found["host_id"], machine.hardware().uuid.to_string());
    assert_eq!(emulator.image(), None, "the ISO is still in the drive");
    assert_eq!(emulator.sessions(), 0, "somebody is still logged in");
    assert!(machine.is_on());
    println!("{name}: {}", found["reason"]);
}

/// Its entry in the output of `muster bmc list -o json`.
pub fn bmc(discovery: &Discovery, name: &str) -> Value {
    let url = format!("http://127.0.0.1:{}", discovery.service.port());
    let printed = discovery
        .service
        .muster(&["bmc", "list", "-o", "json", "--url", &url]);
    let all: Vec<Value> = serde_json::from_str(&printed).unwrap();
    let found = all.into_iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not listed: {printed}"))
}
