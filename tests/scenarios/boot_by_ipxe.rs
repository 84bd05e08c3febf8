//! The iPXE script, by the iPXE in a network card's ROM: each firmware and each card once.

use muster_api::boot::BootFile;
use muster_tests::qemu::{Firmware, Medium, Nic, UserNet};
use muster_tests::service::Settings;

use crate::discovery::{Discovery, MACS, known_machine};

fn boot_by_ipxe(name: &str, firmware: Firmware, card: &str) {
    let discovery = Discovery::on(Settings::for_user_networks());
    let script = discovery
        .client()
        .ipxe_script_url(discovery.infra_env.id)
        .unwrap();
    // The BOOTP field that carries the URL has 128 bytes, the last of them zero.
    assert!(script.len() < 128, "{script} does not fit");
    let network = UserNet::new(2).hostname(name).boot_file(&script);
    let machine = known_machine(name)
        .firmware(firmware)
        .boot(Medium::Network)
        .nic(Nic::user(card, MACS[0], network));
    discovery.discover_machine(machine, name, firmware);
    discovery.assert_fetched(&[BootFile::Script, BootFile::Kernel, BootFile::Initrd], MACS[0]);
}

#[test]
fn a_seabios_machine_boots_the_ipxe_script_over_e1000e_and_becomes_known() {
    boot_by_ipxe("ipxe-seabios-e1000e", Firmware::SeaBios, "e1000e");
}

#[test]
fn an_ovmf_machine_boots_the_ipxe_script_over_virtio_and_becomes_known() {
    boot_by_ipxe("ipxe-ovmf-virtio", Firmware::Ovmf, "virtio-net-pci");
}
