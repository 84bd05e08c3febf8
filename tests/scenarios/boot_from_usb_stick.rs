//! The same ISO, written to a USB stick as it is.

use muster_tests::postgres::Postgres;
use muster_tests::qemu::{Firmware, Medium};
use muster_tests::service::Settings;

use crate::pool::Pool;

#[test]
fn a_seabios_machine_boots_the_iso_from_usb_stick_and_becomes_known_in_postgresql() {
    let postgres = Postgres::shared();
    let pool = Pool::on(Settings::for_user_networks().database(&postgres.create_database()));
    pool.discover("usb-seabios", Firmware::SeaBios, Medium::UsbStick(pool.iso()));
}

#[test]
fn an_ovmf_machine_boots_the_iso_from_usb_stick_and_becomes_known() {
    let pool = Pool::on(Settings::for_user_networks());
    pool.discover("usb-ovmf", Firmware::Ovmf, Medium::UsbStick(pool.iso()));
}
