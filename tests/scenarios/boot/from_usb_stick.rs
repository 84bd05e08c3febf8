//! The same ISO, written to a USB stick as it is.

use muster_tests::database::postgres::Postgres;
use muster_tests::qemu::{Firmware, Medium, Nic, UserNet};
use muster_tests::service::Settings;

use muster_tests::discovery::{Discovery, MACS, known_machine};

#[test]
fn a_seabios_machine_that_boots_from_usb_stick_while_the_service_is_down_is_known_in_postgresql_when_it_is_back()
 {
    let name = "usb-seabios";
    let postgres = Postgres::shared();
    let mut discovery = Discovery::on(Settings::for_user_networks().database(&postgres.create_database()));
    let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2).hostname(name));
    let machine = known_machine(name)
        .firmware(Firmware::SeaBios)
        .boot(Medium::UsbStick(discovery.iso()))
        .nic(nic);
    discovery.service.kill();
    let mut machine = Discovery::start(machine);
    machine.await_serial("(cannot reach the service)");
    discovery.service.start_again();
    discovery.assert_discovered(&mut machine, name, Firmware::SeaBios);
}

#[test]
fn a_secure_boot_machine_boots_the_iso_from_usb_stick_and_becomes_known() {
    let discovery = Discovery::on(Settings::for_user_networks());
    discovery.discover(
        "usb-secureboot",
        Firmware::OvmfSecureBoot,
        Medium::UsbStick(discovery.iso()),
    );
}
