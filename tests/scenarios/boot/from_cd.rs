//! The ISO in an optical drive (or a BMC's virtual one), booted untouched; a Secure Boot machine's is in `smoke`.

use muster_tests::qemu::{Firmware, Medium, Nic};
use muster_tests::segment::{ADDRESS, Offer, in_segment};
use muster_tests::service::Settings;

use muster_tests::discovery::login::{Key, assert_only_lets_in};
use muster_tests::discovery::{Discovery, MACS, known_machine};

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
