//! The ISO in an optical drive (or a BMC's virtual one).

use muster_tests::qemu::{Firmware, Medium};
use muster_tests::service::Settings;

use crate::discovery::Discovery;

#[test]
fn a_seabios_machine_boots_the_iso_from_cd_and_becomes_known() {
    let discovery = Discovery::on(Settings::for_user_networks());
    discovery.discover("cd-seabios", Firmware::SeaBios, Medium::Cd(discovery.iso()));
}

#[test]
fn an_ovmf_machine_boots_the_iso_from_cd_and_becomes_known_by_its_token() {
    let discovery = Discovery::on(Settings::for_user_networks().auth_local());
    discovery.discover("cd-ovmf", Firmware::Ovmf, Medium::Cd(discovery.iso()));
}

#[test]
fn a_secure_boot_machine_boots_the_iso_from_cd_and_becomes_known() {
    let discovery = Discovery::on(Settings::for_user_networks());
    discovery.discover(
        "cd-secureboot",
        Firmware::OvmfSecureBoot,
        Medium::Cd(discovery.iso()),
    );
}
