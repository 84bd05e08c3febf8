//! Firmware that only knows PXE: iPXE by TFTP, then the script by HTTP.

use muster_tests::qemu::{Firmware, Medium, Nic};
use muster_tests::segment::{ADDRESS, Offer, in_segment};
use muster_tests::service::Settings;

use crate::discovery::{Discovery, MACS, known_machine};

fn boot_by_pxe(name: &str, offer: impl FnOnce(&Discovery) -> Offer + Send) {
    in_segment(|segment| {
        let discovery = Discovery::on(Settings::on_address(ADDRESS));
        segment.name_host(MACS[0], name);
        segment.serve(&offer(&discovery));
        let nic = Nic::tap("virtio-net-pci", MACS[0], &segment.tap());
        let machine = known_machine(name)
            .firmware(Firmware::Ovmf)
            .boot(Medium::FirmwarePxe)
            .nic(nic);
        discovery.discover_machine(machine, name, Firmware::Ovmf);
    });
}

fn script(discovery: &Discovery) -> String {
    let client = discovery.client();
    client.ipxe_script_url(discovery.infra_env.id).unwrap()
}

#[test]
fn an_ovmf_machine_boots_ipxe_and_the_script_from_their_dhcp_server_and_becomes_known() {
    boot_by_pxe("pxe-ovmf", |discovery| Offer::Pxe {
        script: script(discovery),
    });
}

#[test]
fn an_ovmf_machine_boots_ipxe_and_the_script_from_kea_as_its_recipe_is_printed_and_becomes_known() {
    boot_by_pxe("kea-ovmf", |discovery| {
        let url = format!("http://{ADDRESS}:{}", discovery.service.port());
        let arguments = ["pxe-config", "kea", "--infra-env", "rack-one", "--url", &url];
        Offer::KeaPxe {
            configuration: discovery.service.muster(&arguments),
        }
    });
}

#[test]
fn an_ovmf_machine_boots_ipxe_and_the_script_by_proxydhcp_beside_their_dhcp_server_and_becomes_known() {
    boot_by_pxe("proxy-pxe-ovmf", |discovery| Offer::ProxyPxe {
        script: script(discovery),
    });
}
