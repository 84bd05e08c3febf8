//! The ISO in an optical drive (or a BMC's virtual one). These two machines boot untouched; at the menu of all others somebody presses
//! Enter.

use muster_tests::qemu::{Firmware, Medium, Nic, UserNet};
use muster_tests::segment::{ADDRESS, Offer, in_segment};
use muster_tests::service::Settings;

use crate::discovery::{Discovery, MACS, known_machine};
use crate::host_logs::assert_sends_its_logs;
use crate::login::{Key, assert_only_lets_in};

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

#[test]
fn a_seabios_machine_boots_from_cd_reports_over_the_services_own_tls_and_lets_the_holder_of_a_key_in() {
    in_segment(|segment| {
        let name = "cd-tls";
        let discovery = Discovery::on(Settings::on_address(ADDRESS).own_tls().auth_local());
        let (ours, theirs) = (Key::generate(), Key::generate());
        discovery.allow(&ours);
        segment.name_host(MACS[0], name);
        segment.serve(&Offer::Addresses);
        let nic = Nic::tap("virtio-net-pci", MACS[0], &segment.tap());
        let machine = known_machine(name).firmware(Firmware::SeaBios);
        let machine = machine
            .boot(Medium::Cd(discovery.iso()))
            .nic(nic)
            .awaiting_countdown();
        let mut machine = discovery.discover_machine(machine, name, Firmware::SeaBios);
        assert_only_lets_in(&discovery, &mut machine, &ours, &theirs);
    });
}
