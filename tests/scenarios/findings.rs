//! A machine that is not fit is listed, with what it lacks.

use muster_api::host::HostStatus;
use muster_tests::qemu::{Disk, DiskBus, GIB, Machine, Medium, Nic, UserNet};
use muster_tests::service::Settings;
use serde_json::Value;

use crate::discovery::{Discovery, MACS};

#[test]
fn a_small_machine_becomes_insufficient_and_gets_every_lack_as_a_finding() {
    let discovery = Discovery::on(Settings::for_user_networks());
    // One CPU, 1 GiB, a disk of 2 GiB.
    let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2));
    let machine = Machine::new("small")
        .cpus("1")
        .memory_mib(1024)
        .boot(Medium::Cd(discovery.iso()));
    let mut machine = machine
        .disk(Disk::new(DiskBus::Nvme, 2 * GIB, "SMALL"))
        .nic(nic)
        .start();
    let host = discovery.await_host(&mut machine, HostStatus::InsufficientUnbound);
    discovery.assert_status_moved(HostStatus::DiscoveringUnbound, HostStatus::InsufficientUnbound);
    let findings: Value = serde_json::from_str(&host.validations_info).unwrap();
    let failed = |id: &str| {
        let all = findings
            .as_object()
            .unwrap()
            .values()
            .filter_map(Value::as_array)
            .flatten();
        let found = all
            .filter(|finding| finding["id"] == id)
            .map(|finding| finding["status"].as_str().unwrap());
        assert_eq!(found.collect::<Vec<_>>(), ["failure"], "{id} in {findings:#}");
    };
    for id in ["has-min-cpu-cores", "has-min-memory", "has-min-valid-disks"] {
        failed(id);
    }
    let why = host.status_info.unwrap();
    for word in ["CPU", "memory", "disk"] {
        assert!(
            why.contains(word),
            "the status does not say what is wrong with {word}: {why}"
        );
    }
}
