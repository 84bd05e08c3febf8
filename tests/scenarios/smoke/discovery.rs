//! The main job: a machine with Secure Boot boots the ISO from its optical drive and becomes known. It boots without
//! input; for most others the lab presses Enter in the menu.

use muster_tests::discovery::logs::assert_sends_its_logs;
use muster_tests::discovery::{Discovery, MACS, known_machine};
use muster_tests::qemu::{Firmware, Medium, Nic, UserNet};
use muster_tests::service::Settings;

#[test]
fn a_secure_boot_machine_boots_the_iso_from_cd_becomes_known_by_its_token_and_sends_its_logs() {
    let name = "cd-secureboot";
    let discovery = Discovery::on(Settings::for_user_networks().auth_local());
    let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2).hostname(name));
    let machine = known_machine(name).firmware(Firmware::OvmfSecureBoot);
    let machine = machine
        .boot(Medium::Cd(discovery.iso()))
        .nic(nic)
        .awaiting_countdown();
    let _machine = discovery.discover_machine(machine, name, Firmware::OvmfSecureBoot);
    assert_sends_its_logs(&discovery, name);
}
