//! The ISO by plain HTTP into the firmware's memory, with a DHCP server that offers its URL.

use muster_api::boot::BootFile;
use muster_tests::qemu::{Firmware, Medium, Nic};
use muster_tests::segment::{ADDRESS, Offer, in_segment};
use muster_tests::service::Settings;

use muster_tests::discovery::login::assert_nobody_is_let_in;
use muster_tests::discovery::{Discovery, MACS, known_machine};

#[test]
fn a_secure_boot_machine_boots_the_iso_by_uefi_http_and_lets_nobody_in_without_keys() {
    in_segment(|segment| {
        let name = "http-secureboot";
        let discovery = Discovery::on(Settings::on_address(ADDRESS));
        let url = discovery.client().image_url(discovery.infra_env.id).unwrap();
        assert!(url.len() < 128, "{url} is not short");
        segment.name_host(MACS[0], name);
        segment.serve(&Offer::HttpBoot { url });
        let nic = Nic::tap("virtio-net-pci", MACS[0], &segment.tap());
        let machine = known_machine(name)
            .firmware(Firmware::OvmfSecureBoot)
            .boot(Medium::FirmwareHttp)
            .nic(nic);
        let _on = discovery.discover_machine(machine, name, Firmware::OvmfSecureBoot);
        assert_nobody_is_let_in(&discovery);
        discovery.assert_fetched(&[BootFile::Iso], "");
    });
}
