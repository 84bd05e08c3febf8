//! Machines as they are sold and wired: several cards in one segment, several networks with routers, a disk by two paths, boards that
//! share a serial number and a card of their controllers.

use std::collections::BTreeSet;
use std::path::Path;

use muster_api::host::{Host, HostStatus};
use muster_api::infra_env::InfraEnv;
use muster_api::steps::ConnectivityReport;
use muster_tests::condition::await_condition;
use muster_tests::qemu::{
    Disk, DiskBus, Firmware, GIB, MACHINE_LIMIT, Machine, Medium, Nic, Running, Slots, UserNet,
};
use muster_tests::rest::inventory;
use muster_tests::segment::{ADDRESS, ADDRESS6, FAR_ADDRESS, FAR_NAME, Offer, in_segment};
use muster_tests::service::{Service, Settings};

use crate::boot::three_hosts::infra_env_of_a_cluster;
use muster_tests::discovery::{Discovery, MACS, known_machine};

/// Cards by their place in the machine: `true` is in the network that leads to the service.
fn the_card_that_leads_to_the_service_is_found(name: &str, firmware: Firmware, plugged: [bool; 2]) {
    in_segment(|segment| {
        segment.two_routers();
        segment.serve(&Offer::Addresses);
        let settings = Settings::on_address(FAR_ADDRESS).known_as(FAR_NAME);
        let discovery = Discovery::on(settings);
        let mut machine = known_machine(name)
            .firmware(firmware)
            .boot(Medium::Cd(discovery.iso()));
        for (mac, leads_there) in MACS.into_iter().zip(plugged) {
            let tap = if leads_there {
                segment.tap()
            } else {
                segment.second_tap()
            };
            machine = machine.nic(Nic::tap("virtio-net-pci", mac, &tap));
        }
        let mut machine = machine.start();
        let host = discovery.await_host(&mut machine, HostStatus::KnownUnbound);
        println!(
            "{name}: known {:.1} s after power-on",
            machine.uptime().as_secs_f32()
        );
        let found = inventory(&host).unwrap();
        let best = found
            .routes
            .iter()
            .filter(|route| route.destination == "0.0.0.0")
            .min_by_key(|route| route.metric);
        assert_eq!(best.unwrap().gateway, ADDRESS, "{:?}", found.routes);
    });
}

#[test]
fn of_two_networks_with_routers_the_first_leads_to_the_service_seabios() {
    the_card_that_leads_to_the_service_is_found("routes-seabios", Firmware::SeaBios, [true, false]);
}

// Linux names and starts the cards, so one firmware each is enough.
#[test]
fn of_two_networks_with_routers_the_second_leads_to_the_service_ovmf() {
    the_card_that_leads_to_the_service_is_found("routes-ovmf", Firmware::Ovmf, [false, true]);
}

/// Name servers only by DHCPv6, on request.
#[test]
fn a_network_without_ipv4_whose_routers_give_addresses_is_enough() {
    in_segment(|segment| {
        segment.ipv6_only();
        segment.serve(&Offer::Addresses);
        let settings = Settings::on_address(&format!("[{ADDRESS6}]")).known_as(FAR_NAME);
        let discovery = Discovery::on(settings);
        let machine = known_machine("ipv6-only")
            .boot(Medium::Cd(discovery.iso()))
            .nic(Nic::tap("virtio-net-pci", MACS[0], &segment.tap()));
        let mut machine = machine.start();
        let host = discovery.await_inventory(&mut machine);
        let found = inventory(&host).unwrap();
        let card = found
            .interfaces
            .iter()
            .find(|card| card.mac_address == MACS[0])
            .unwrap();
        assert!(card.ipv4_addresses.is_empty(), "{card:?}");
        assert!(card.ipv6_addresses[0].starts_with("fd91:"), "{card:?}");
    });
}

#[test]
fn another_cable_and_a_dhcp_server_that_refuses_the_address_move_the_host() {
    in_segment(|segment| {
        // The address is valid for an hour.
        segment.serve(&Offer::Addresses);
        let discovery = Discovery::on(Settings::on_address(ADDRESS));
        let machine = known_machine("moves")
            .boot(Medium::Cd(discovery.iso()))
            .nic(Nic::tap("virtio-net-pci", MACS[0], &segment.tap()));
        let mut machine = machine.start();
        let host = discovery.await_host(&mut machine, HostStatus::KnownUnbound);
        assert!(!address(&host).is_empty());
        // Leases take minutes to expire.
        machine.give_slots_back();
        let await_move = |machine: &mut Running, why: &str, range: &str| {
            let moved = |host: &Host| address(host).starts_with(range);
            discovery.await_one_host(machine, why, moved);
        };
        // Like a cable moved to a port of another network: the lease is requested again, though it is valid for an
        // hour.
        machine.plug(MACS[0], false);
        // After the address: a machine may show the card before its driver has found the carrier.
        machine.await_serial(r"(?s)10\.91\.0\.\d+/24.*no carrier");
        segment.stop_serving();
        segment.serve(&short_leases("10.91.0.200", "10.91.0.209"));
        machine.plug(MACS[0], true);
        await_move(&mut machine, "an address of the other network", "10.91.0.20");
        // The lease is renewed after half of two minutes.
        segment.stop_serving();
        segment.serve(&short_leases("10.91.0.210", "10.91.0.219"));
        await_move(&mut machine, "the address of the new range", "10.91.0.21");
        // Without a server the address is lost after two minutes, and another one is assigned when the server is back.
        segment.stop_serving();
        machine.await_serial("the lease has expired");
        segment.serve(&short_leases("10.91.0.220", "10.91.0.229"));
        await_move(
            &mut machine,
            "an address after the server came back",
            "10.91.0.22",
        );
    });
}

fn short_leases(first: &'static str, last: &'static str) -> Offer {
    Offer::ShortLeases { first, last }
}

/// The address of the first card of a known machine; empty: none.
fn address(host: &Host) -> String {
    let found = inventory(host).unwrap();
    let card = found.interfaces.iter().find(|card| card.mac_address == MACS[0]);
    card.and_then(|card| card.ipv4_addresses.first().cloned())
        .unwrap_or_default()
}

#[test]
fn a_lun_by_two_paths_is_one_disk() {
    let discovery = Discovery::on(Settings::for_user_networks());
    let path = |id: u32| {
        format!("scsi-hd,bus=scsi.0,scsi-id={id},lun=0,serial=LUN-1,wwn=0x5000c500a0b0c0d9,share-rw=on")
    };
    let machine = Machine::new("two-paths")
        .memory_mib(8192)
        .boot(Medium::Cd(discovery.iso()))
        .device("virtio-scsi-pci,id=scsi")
        .disk_device(&path(0), 60 * GIB)
        .second_path(&path(1))
        .disk(Disk::new(DiskBus::Sata, GIB, "SER-B"))
        .nic(Nic::user(
            "virtio-net-pci",
            MACS[0],
            UserNet::new(2).hostname("two-paths"),
        ));
    let mut machine = machine.start();
    discovery.await_host(&mut machine, HostStatus::KnownUnbound);
    let luns = |host: &Host| {
        let mut disks = inventory(host).unwrap().disks;
        disks.retain(|disk| disk.wwn == "0x5000c500a0b0c0d9");
        disks
    };
    // A slow machine finds the second path after its first inventory.
    let host = discovery.await_one_host(&mut machine, "a disk by two paths", |host| {
        host.status == Some(HostStatus::KnownUnbound) && luns(host).iter().any(|disk| disk.paths.len() == 2)
    });
    let units = luns(&host);
    assert_eq!(units.len(), 1, "{units:?}");
    assert!(units[0].paths.contains(&units[0].path), "{:?}", units[0]);
    assert_eq!(units[0].id, "/dev/disk/by-id/wwn-0x5000c500a0b0c0d9");
    assert!(units[0].installation_eligibility.eligible);
    assert_eq!(host.installation_disk_id, units[0].id);
}

/// Boards of a maker with one serial number on all of them, and controllers that show the same card by USB.
#[test]
fn two_such_boards_with_two_cards_each_in_one_segment_are_two_hosts_without_a_conflict() {
    in_segment(|segment| {
        let service = Settings::on_address(ADDRESS).start();
        let client = service.client();
        let infra_env = infra_env_of_a_cluster(client);
        let folder = tempfile::tempdir().unwrap();
        let iso = iso(&service, &infra_env, folder.path());
        segment.serve(&Offer::Addresses);
        let slots = Slots::one();
        let mut machines: Vec<Running> = (1..3)
            .map(|number| {
                let card = |card: u32| format!("00:25:90:00:0{card}:0{number}");
                let machine = Machine::new(&format!("board-{number}"))
                    .memory_mib(8192)
                    .smbios("type=2,manufacturer=AcmeBoard,serial=0123456789")
                    .boot(Medium::Cd(iso.clone()))
                    .disk(Disk::new(DiskBus::Virtio, 120 * GIB, &format!("SER-{number}")))
                    .device("qemu-xhci,id=usb")
                    .device("usb-net,bus=usb.0,mac=00:e0:4c:00:00:99")
                    .nic(Nic::tap("virtio-net-pci", &card(1), &segment.tap()))
                    .nic(Nic::tap("e1000e", &card(2), &segment.tap()));
                machine.start_in(slots.with())
            })
            .collect();
        let hosts = await_condition(
            "two hosts that reach each other by both cards",
            MACHINE_LIMIT,
            || {
                for machine in &mut machines {
                    assert!(machine.is_on(), "{} switched itself off", machine.name());
                }
                let hosts = client.hosts(infra_env.id).map_err(|error| error.to_string())?;
                if hosts.len() != 2 {
                    return Err(format!("{} hosts", hosts.len()));
                }
                for host in &hosts {
                    reaches_all_cards(host)?;
                }
                Ok(hosts)
            },
        );
        for host in hosts {
            let kinds: BTreeSet<&str> = host
                .findings
                .iter()
                .map(|finding| finding.kind.as_str())
                .collect();
            assert!(kinds.contains("duplicate-host-id"), "{:?}", host.findings);
            assert!(!kinds.contains("duplicate-address"), "{:?}", host.findings);
            let found = inventory(&host).unwrap();
            // The address depends on the driver that was first.
            let has_gadget = found
                .interfaces
                .iter()
                .any(|nic| nic.name.starts_with("enp0s2u1"));
            assert!(
                has_gadget,
                "the controller's card is in the inventory: {:?}",
                found.interfaces
            );
        }
    });
}

/// On the segment the host has found one owner of each of the other's addresses: the card with that address.
fn reaches_all_cards(host: &Host) -> Result<(), String> {
    if host.connectivity.is_empty() {
        return Err(format!("{} has not reported", host.id));
    }
    let report: ConnectivityReport = serde_json::from_str(&host.connectivity).unwrap();
    let links: Vec<_> = report
        .remote_hosts
        .iter()
        .flat_map(|remote| &remote.l2_connectivity)
        .collect();
    let addresses: BTreeSet<&str> = links.iter().map(|link| link.remote_ip_address.as_str()).collect();
    if addresses.len() < 2 || links.iter().any(|link| !link.successful) {
        return Err(format!("{} reaches {}", host.id, host.connectivity));
    }
    assert!(report.address_conflicts.is_empty(), "{}", host.connectivity);
    for address in addresses {
        let owners: BTreeSet<&str> = links
            .iter()
            .filter(|link| link.remote_ip_address == address)
            .map(|link| link.remote_mac.as_str())
            .collect();
        assert_eq!(owners.len(), 1, "{address}: {}", host.connectivity);
    }
    Ok(())
}

fn iso(service: &Service, infra_env: &InfraEnv, folder: &Path) -> std::path::PathBuf {
    let iso = folder.join("discovery.iso");
    let url = service.reachable(&service.client().image_url(infra_env.id).unwrap());
    service.client().download(&url, &iso).unwrap();
    iso
}
