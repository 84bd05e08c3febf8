//! The choice of the installation disk, and the reasons against the others.

use muster_api::host::{DiskConfigParams, DiskRole, HostUpdateParams};
use muster_api::inventory::{Disk, Inventory, Iscsi};
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::Host;
use muster_core::rules::disks::is_protected;

use crate::world::{World, disk, good_inventory};

fn with_disks(disks: Vec<Disk>) -> Host {
    let mut world = World::new();
    let host = world.known_host();
    let inventory = Inventory {
        disks,
        ..good_inventory()
    };
    world.after(&host, &HostEvent::InventoryReported(inventory))
}

fn reasons(host: &Host, name: &str) -> Vec<String> {
    let disks = &host.inventory.as_ref().unwrap().disks;
    let disk = disks.iter().find(|disk| disk.name == name).unwrap();
    assert_eq!(
        disk.installation_eligibility.eligible,
        disk.installation_eligibility.not_eligible_reasons.is_empty()
    );
    disk.installation_eligibility.not_eligible_reasons.clone()
}

#[test]
fn the_first_choice_is_bootable_then_not_nvme_then_by_type_size_and_place() {
    let bootable = Disk {
        bootable: true,
        ..disk("nvme1n1", 900)
    };
    let hdd = Disk {
        drive_type: "HDD".into(),
        ..disk("sdc", 800)
    };
    let mut disks = vec![
        disk("nvme0n1", 100),
        disk("sda", 480),
        disk("sdb", 200),
        hdd,
        bootable,
    ];
    for expected in ["nvme1n1", "sdc", "sdb", "sda", "nvme0n1"] {
        let host = with_disks(disks.clone());
        // Each time from an empty choice: a chosen disk stays while it is eligible.
        let mut world = World::new();
        let again = world.register();
        world.poll();
        let inventory = Inventory {
            disks: disks.clone(),
            ..good_inventory()
        };
        let fresh = world.after(&again, &HostEvent::InventoryReported(inventory));
        assert_eq!(fresh.data.installation_disk_path, format!("/dev/{expected}"));
        drop(host);
        disks.retain(|disk| disk.name != expected);
    }
}

#[test]
fn a_users_choice_survives_a_new_inventory_a_new_registration_and_the_loss_of_the_disk() {
    let mut world = World::new();
    let host = world.known_host();
    let disks = vec![disk("sda", 480), disk("sdb", 480)];
    let inventory = Inventory {
        disks,
        ..good_inventory()
    };
    let host = world.after(&host, &HostEvent::InventoryReported(inventory.clone()));
    assert_eq!(host.data.installation_disk_path, "/dev/sda");
    let choice = HostUpdateParams {
        disks_selected_config: Some(vec![DiskConfigParams {
            id: "/dev/sdb".into(),
            role: Some(DiskRole::Install),
        }]),
        ..HostUpdateParams::default()
    };
    let host = world.after(&host, &HostEvent::Edited(choice));
    assert_eq!(host.data.installation_disk_id, "/dev/disk/by-id/wwn-sdb");
    let registered = HostEvent::Registered {
        public_key: String::new(),
        fingerprint: None,
        agent_version: "x".into(),
    };
    let host = world.after(&host, &registered);
    // The disk has another name after this boot.
    let mut renamed = inventory;
    renamed.disks[1].name = "sdz".into();
    renamed.disks[1].installation_eligibility.eligible = false;
    let host = world.after(&host, &HostEvent::InventoryReported(renamed.clone()));
    assert_eq!(host.data.installation_disk_id, "/dev/disk/by-id/wwn-sdb");
    assert_eq!(host.data.installation_disk_path, "/dev/sdz");
    renamed.disks.pop();
    // No other disk is chosen in its place: see installing.rs.
    let host = world.after(&host, &HostEvent::InventoryReported(renamed));
    assert_eq!(host.data.installation_disk_path, "");
}

#[test]
fn the_agents_reasons_stay_and_the_services_are_worked_out_anew() {
    let mut world = World::new();
    let host = world.known_host();
    let mut small = disk("sda", 40);
    small.installation_eligibility.not_eligible_reasons = vec!["Disk is removable".into()];
    let inventory = Inventory {
        disks: vec![small],
        ..good_inventory()
    };
    let host = world.after(&host, &HostEvent::InventoryReported(inventory));
    assert_eq!(
        reasons(&host, "sda"),
        [
            "Disk is removable",
            "Too small: the disk has 40 GB, and 50 GB are required"
        ]
    );
    world.requirements.default.arbiter.disk_size_gb = 30;
    let host = world.after(&host, &HostEvent::FactsChanged);
    assert_eq!(reasons(&host, "sda"), ["Disk is removable"]);
}

#[test]
fn a_disk_that_prints_as_large_enough_names_what_is_missing() {
    let almost = Disk {
        size_bytes: 49_999_999_999,
        ..disk("sda", 50)
    };
    assert_eq!(
        reasons(&with_disks(vec![almost]), "sda"),
        ["Too small: the disk has 50 GB (1 B short), and 50 GB are required"]
    );
}

#[test]
fn the_paths_of_a_multipath_disk_are_not_chosen_and_it_is_judged_by_them() {
    let path = |name: &str, kind: &str| Disk {
        drive_type: kind.into(),
        holders: "dm-0".into(),
        iscsi: (kind == "iSCSI").then(|| Iscsi {
            host_ip_address: "203.0.113.9".into(),
        }),
        ..disk(name, 200)
    };
    let multipath = Disk {
        drive_type: "Multipath".into(),
        ..disk("dm-0", 200)
    };
    let host = with_disks(vec![path("sda", "FC"), path("sdb", "FC"), multipath.clone()]);
    assert_eq!(host.data.installation_disk_path, "/dev/dm-0");
    assert_eq!(reasons(&host, "sda").len(), 1);
    assert!(reasons(&host, "dm-0").is_empty());
    let mixed = with_disks(vec![path("sda", "FC"), path("sdb", "iSCSI"), multipath.clone()]);
    assert_eq!(reasons(&mixed, "dm-0").len(), 1);
    let neither = with_disks(vec![path("sda", "HDD"), multipath]);
    assert_eq!(reasons(&neither, "dm-0").len(), 1);
}

/// A path to the unit of this name, as agents of other makes report it: one of several has the link derived from the name.
fn path(name: &str, wwn: &str, has_link: bool) -> Disk {
    let disk = disk(name, 200);
    let by_id = if has_link {
        format!("/dev/disk/by-id/wwn-{wwn}")
    } else {
        String::new()
    };
    Disk {
        id: if has_link {
            by_id.clone()
        } else {
            disk.by_path.clone()
        },
        by_id,
        wwn: wwn.into(),
        serial: "S".into(),
        bootable: true,
        ..disk
    }
}

#[test]
fn a_unit_that_is_listed_by_each_of_its_paths_is_one_disk() {
    let mut disks = vec![
        path("sda", "0x600a", false),
        path("sdb", "0x600a", true),
        path("sdc", "0x600b", true),
    ];
    let host = with_disks(disks.clone());
    assert!(reasons(&host, "sda")[0].contains("another path to sdb"));
    assert!(reasons(&host, "sdb").is_empty() && reasons(&host, "sdc").is_empty());
    assert_eq!(
        host.data.disks_to_be_formatted,
        ["/dev/disk/by-id/wwn-0x600a", "/dev/disk/by-id/wwn-0x600b"],
        "each once"
    );
    // The agent's reason against one path is a reason against the unit.
    disks[0].installation_eligibility.not_eligible_reasons = vec!["Partition sda1 is mounted".into()];
    let host = with_disks(disks);
    assert_eq!(reasons(&host, "sdb"), ["Partition sda1 is mounted"]);
    assert_eq!(host.data.installation_disk_path, "/dev/sdc");
}

#[test]
fn a_unit_is_protected_by_any_of_its_ids() {
    let disks = [
        path("sda", "0x600a", true),
        path("sdb", "0x600a", false),
        path("sdc", "0x600b", true),
    ];
    let protected = |id: &Disk, by: &Disk| is_protected(&id.id, std::slice::from_ref(&by.id), &disks);
    assert!(protected(&disks[0], &disks[0]) && protected(&disks[0], &disks[1]));
    assert!(protected(&disks[1], &disks[0]) && !protected(&disks[2], &disks[1]));
    let nameless = [disk("vda", 10), disk("vdb", 10)];
    assert!(!is_protected(
        &nameless[0].id,
        &[nameless[1].id.clone()],
        &nameless
    ));
}

#[test]
fn an_id_that_may_lead_to_either_of_two_disks_is_not_installed_to() {
    let other = Disk {
        serial: "T".into(),
        ..path("sdb", "0x600a", false)
    };
    let host = with_disks(vec![path("sda", "0x600a", true), other]);
    assert!(reasons(&host, "sda")[0].contains("may lead to another disk"));
    assert!(reasons(&host, "sdb").is_empty(), "its id is its own");
}

#[test]
fn a_path_of_a_multipath_disk_is_none_to_install_to_whatever_its_type() {
    let sas = |name: &str| Disk {
        holders: "dm-0".into(),
        ..path(name, "0x600a", false)
    };
    let multipath = Disk {
        drive_type: "Multipath".into(),
        wwn: "0x600a".into(),
        ..disk("dm-0", 200)
    };
    let host = with_disks(vec![sas("sda"), sas("sdb"), multipath]);
    for name in ["sda", "sdb"] {
        assert!(reasons(&host, name)[0].contains("a path of the multipath disk dm-0"));
    }
}

#[test]
fn an_iscsi_disk_must_not_hang_on_the_default_route() {
    let iscsi = |address: &str| Disk {
        drive_type: "iSCSI".into(),
        iscsi: Some(Iscsi {
            host_ip_address: address.into(),
        }),
        ..disk("sda", 200)
    };
    assert!(reasons(&with_disks(vec![iscsi("203.0.113.9")]), "sda").is_empty());
    for bad in ["", "nonsense", "198.51.100.11"] {
        assert_eq!(reasons(&with_disks(vec![iscsi(bad)]), "sda").len(), 1, "{bad}");
    }
}

#[test]
fn drive_types_are_allowed_by_version_and_architecture() {
    let of = |kind: &str, architecture: &str, version: &str| {
        let mut world = World::new();
        world.infra_env.settings.openshift_version = version.into();
        let host = world.known_host();
        let mut inventory = good_inventory();
        inventory.disks = vec![Disk {
            drive_type: kind.into(),
            ..disk("sda", 200)
        }];
        inventory.cpu.as_mut().unwrap().architecture = architecture.into();
        let host = world.after(&host, &HostEvent::InventoryReported(inventory));
        reasons(&host, "sda").is_empty()
    };
    for (kind, architecture, version, allowed) in [
        ("HDD", "x86_64", "4.10", true),
        ("RAID", "x86_64", "4.13.9", false),
        ("RAID", "x86_64", "4.14", true),
        ("RAID", "x86_64", "", true),
        ("FC", "aarch64", "", false),
        ("FC", "x86_64", "", true),
        ("ECKD (ESE)", "s390x", "", true),
        ("ECKD", "x86_64", "", false),
        ("ODD", "x86_64", "", false),
        ("", "x86_64", "", false),
        ("LVM", "x86_64", "", false),
    ] {
        assert_eq!(
            of(kind, architecture, version),
            allowed,
            "{kind} {architecture} {version}"
        );
    }
}

#[test]
fn what_would_be_formatted_is_bootable_fixed_local_and_not_the_boot_medium() {
    let bootable = |name: &str| Disk {
        bootable: true,
        ..disk(name, 200)
    };
    let host = with_disks(vec![
        bootable("sda"),
        disk("sdb", 200),
        Disk {
            removable: true,
            ..bootable("sdc")
        },
        Disk {
            by_path: "/dev/disk/by-path/platform-mmcblk0".into(),
            ..bootable("sdd")
        },
        Disk {
            is_installation_media: true,
            ..bootable("sde")
        },
        Disk {
            drive_type: "LVM".into(),
            ..bootable("sdf")
        },
    ]);
    assert_eq!(host.data.disks_to_be_formatted, ["/dev/disk/by-id/wwn-sda"]);
}

#[test]
fn a_disk_without_an_id_gets_one() {
    let nameless = Disk {
        id: String::new(),
        ..disk("sda", 200)
    };
    let host = with_disks(vec![nameless]);
    assert_eq!(host.data.installation_disk_id, "/dev/sda");
}

#[test]
fn each_disk_that_cannot_be_installed_to_is_named_with_its_reason_and_cd_drives_are_no_disks() {
    let drive = Disk {
        drive_type: "ODD".into(),
        ..disk("sr0", 1)
    };
    let host = with_disks(vec![drive.clone(), disk("vda", 8)]);
    let said = &host.data.status_info;
    assert!(
        said.contains("The only disk cannot be installed to: vda: Too small: the disk has 8 GB"),
        "{said}"
    );
    let mut disks: Vec<Disk> = (0..6).map(|number| disk(&format!("sd{number}"), 8)).collect();
    disks.push(drive.clone());
    let host = with_disks(disks);
    let said = &host.data.status_info;
    for words in [
        "None of the 6 disks can be installed to: sd0: Too small",
        "sd3: Too small",
        "and 2 more",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("sr0"), "{said}");
    let host = with_disks(vec![drive]);
    let said = &host.data.status_info;
    assert!(said.contains("lists no disks at all"), "{said}");
}
