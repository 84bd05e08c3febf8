//! The same ISO, written to a USB stick as it is.

use muster_tests::postgres::Postgres;
use muster_tests::qemu::{Firmware, Medium};
use muster_tests::service::Settings;

use crate::discovery::Discovery;

#[test]
fn a_seabios_machine_boots_the_iso_from_usb_stick_and_becomes_known_in_postgresql() {
    let postgres = Postgres::shared();
    let discovery = Discovery::on(Settings::for_user_networks().database(&postgres.create_database()));
    discovery.discover(
        "usb-seabios",
        Firmware::SeaBios,
        Medium::UsbStick(discovery.iso()),
    );
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
