//! The ISO in an optical drive (or a BMC's virtual one).

use muster_tests::qemu::{Firmware, Medium};
use muster_tests::service::Settings;

use crate::pool::Pool;

#[test]
fn a_seabios_machine_boots_the_iso_from_cd_and_becomes_known() {
    let pool = Pool::on(Settings::for_user_networks());
    pool.discover("cd-seabios", Firmware::SeaBios, Medium::Cd(pool.iso()));
}

#[test]
fn an_ovmf_machine_boots_the_iso_from_cd_and_becomes_known_by_its_token() {
    let pool = Pool::on(Settings::for_user_networks().auth_local());
    pool.discover("cd-ovmf", Firmware::Ovmf, Medium::Cd(pool.iso()));
}

#[test]
fn a_secure_boot_machine_boots_the_iso_from_cd_and_becomes_known() {
    let pool = Pool::on(Settings::for_user_networks());
    pool.discover("cd-secureboot", Firmware::OvmfSecureBoot, Medium::Cd(pool.iso()));
}
