//! Firmware that supports only PXE: iPXE by TFTP, then the script by HTTP, from DHCP servers whose configurations
//! `muster pxe-config` prints. A machine boots by one of them. A client on a network card gets the same files from the
//! others.

use std::net::Ipv4Addr;

use muster_tests::http::HttpClient;
use muster_tests::qemu::{Firmware, Medium, Nic};
use muster_tests::segment::{ADDRESS, DhcpAnswer, Offer, Segment, Stage, in_segment};
use muster_tests::service::Settings;

use muster_tests::discovery::{Discovery, MACS, known_machine};

/// The iPXE for each firmware.
const IPXE: [(Stage, &str); 2] = [(Stage::Uefi, "snponly.efi"), (Stage::Bios, "undionly.kpxe")];

const CLIENT: [u8; 6] = [0x52, 0x54, 0, 0xaa, 0, 1];

fn recipe(discovery: &Discovery, server: &str) -> String {
    let url = format!("http://{ADDRESS}:{}", discovery.service.port());
    let arguments = ["pxe-config", server, "--infra-env", "rack-one", "--url", &url];
    discovery.service.muster(&arguments)
}

#[test]
fn an_ovmf_machine_boots_ipxe_and_the_script_from_dnsmasq_as_its_recipe_is_printed_and_becomes_known() {
    in_segment(|segment| {
        let name = "pxe-ovmf";
        let discovery = Discovery::on(Settings::on_address(ADDRESS));
        segment.name_host(MACS[0], name);
        segment.serve(&Offer::Pxe {
            recipe: recipe(&discovery, "dnsmasq"),
        });
        let nic = Nic::tap("virtio-net-pci", MACS[0], &segment.tap());
        let machine = known_machine(name)
            .firmware(Firmware::Ovmf)
            .boot(Medium::FirmwarePxe)
            .nic(nic);
        discovery.discover_machine(machine, name, Firmware::Ovmf);
    });
}

#[test]
fn kea_offers_ipxe_to_firmware_and_the_script_to_ipxe_as_its_recipe_is_printed() {
    in_segment(|segment| {
        let discovery = Discovery::on(Settings::on_address(ADDRESS));
        segment.serve(&Offer::KeaPxe {
            recipe: recipe(&discovery, "kea"),
        });
        let script = segment.pxe_client(CLIENT, |client| {
            for (stage, program) in IPXE {
                let offer = client.offer(stage, |_| true);
                assert_eq!(
                    (offer.next_server.to_string().as_str(), offer.boot_file.as_str()),
                    (ADDRESS, program),
                    "{stage:?}: {offer:?}"
                );
                assert_is_given(&offer);
            }
            let offer = client.offer(Stage::IpxeOfUefi, |_| true);
            assert_is_given(&offer);
            offer.boot_file
        });
        assert_is_the_script(&discovery, &script);
    });
}

/// Firmware gets the address from one server, and the address of the boot server (port 4011) from the other.
#[test]
fn proxydhcp_offers_ipxe_to_firmware_and_the_script_to_ipxe_beside_their_dhcp_server_as_its_recipe_is_printed()
 {
    in_segment(|segment| {
        let discovery = Discovery::on(Settings::on_address(ADDRESS));
        segment.serve(&Offer::ProxyPxe {
            recipe: recipe(&discovery, "proxydhcp"),
        });
        let program = boot_file_beside_their_server(segment, Stage::Uefi);
        assert_eq!(program, "snponly.efi");
        let script = boot_file_beside_their_server(segment, Stage::IpxeOfUefi);
        assert_is_the_script(&discovery, &script);
    });
}

fn boot_file_beside_their_server(segment: &mut Segment, stage: Stage) -> String {
    segment.pxe_client(CLIENT, |client| {
        let theirs = client.offer(stage, |offer| !offer.address.is_unspecified());
        assert_is_given(&theirs);
        assert!(!theirs.is_for_pxe() && theirs.boot_file.is_empty(), "{theirs:?}");
        let ours = client.offer(stage, DhcpAnswer::is_for_pxe);
        assert!(ours.address.is_unspecified(), "{ours:?}");
        assert_eq!(ours.server().to_string(), ADDRESS);
        client.take(&theirs);
        let answer = client.boot_server(stage, theirs.address, &ours);
        assert!(answer.is_for_pxe(), "{answer:?}");
        assert_eq!(answer.next_server.to_string(), ADDRESS);
        answer.boot_file
    })
}

#[track_caller]
fn assert_is_given(offer: &DhcpAnswer) {
    let segment: Ipv4Addr = ADDRESS.parse().unwrap();
    assert_eq!(offer.address.octets()[..3], segment.octets()[..3], "{offer:?}");
}

/// The URL is that of the InfraEnv's script for machines with a boot order, which the service serves.
#[track_caller]
fn assert_is_the_script(discovery: &Discovery, url: &str) {
    let always = discovery
        .client()
        .ipxe_script_url(discovery.infra_env.id)
        .unwrap();
    assert_eq!(url, always.replace("boot.ipxe", "boot-order-control.ipxe"));
    let server = format!("http://{ADDRESS}:{}", discovery.service.boot_port());
    let path = url.strip_prefix(&server).unwrap();
    let script = HttpClient::new(&server)
        .request("GET", path, None)
        .expect(200)
        .text();
    assert!(script.starts_with("#!ipxe\n"), "{script}");
}
