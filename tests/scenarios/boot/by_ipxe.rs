//! The iPXE script, loaded by the iPXE in a network card's ROM.

use muster_api::boot::BootFile;
use muster_tests::qemu::{Firmware, Medium, Nic, UserNet};
use muster_tests::service::Settings;

use muster_tests::discovery::{Discovery, MACS, known_machine};

// The UEFI variant is booted in `by_pxe`.
#[test]
fn a_seabios_machine_boots_the_ipxe_script_over_e1000e_and_becomes_known() {
    let name = "ipxe-seabios-e1000e";
    let discovery = Discovery::on(Settings::for_user_networks());
    let script = discovery
        .client()
        .ipxe_script_url(discovery.infra_env.id)
        .unwrap();
    // The BOOTP field that carries the URL has 128 bytes, the last of them zero.
    assert!(script.len() < 128, "{script} does not fit");
    let network = UserNet::new(2).hostname(name).boot_file(&script);
    let machine = known_machine(name)
        .firmware(Firmware::SeaBios)
        .boot(Medium::Network)
        .nic(Nic::user("e1000e", MACS[0], network));
    discovery.discover_machine(machine, name, Firmware::SeaBios);
    discovery.assert_fetched(&[BootFile::Script, BootFile::Kernel, BootFile::Initrd], MACS[0]);
}
