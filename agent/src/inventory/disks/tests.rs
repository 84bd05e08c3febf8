use serde_json::json;

use super::*;
use crate::testing::Machine;

fn found(machine: &Machine) -> Vec<Disk> {
    found_with(machine, &[])
}

fn found_with(machine: &Machine, mounts: &[Mount]) -> Vec<Disk> {
    disks(&machine.root(), mounts, &mut Problems::default())
}

fn mount(source: &str, target: &str) -> Mount {
    Mount {
        source: source.into(),
        target: target.into(),
    }
}

#[test]
fn sizes_count_in_sectors_of_512_bytes_also_on_a_4kn_disk() {
    let machine = Machine::new().disk(
        "pci0000:00/ata1/block/sda",
        &[
            ("size", "7814037168"),
            ("queue/logical_block_size", "4096"),
            ("queue/rotational", "1"),
        ],
    );
    let disks = found(&machine);
    assert_eq!(disks[0].size_bytes, 7814037168 * 512);
    assert_eq!(disks[0].drive_type, "HDD");
}

#[test]
fn a_size_beyond_all_disks_or_no_number_at_all_costs_nothing_else() {
    for (size, bytes) in [("9223372036854775807", i64::MAX), ("-5", 0), ("many", 0), ("", 0)] {
        let machine = Machine::new().disk("x/block/sda", &[("size", size), ("removable", "1")]);
        let disks = found(&machine);
        assert_eq!(disks[0].size_bytes, bytes, "{size}");
        assert!(disks[0].removable);
    }
}

#[test]
fn hidden_nvme_paths_loops_zram_and_crypt_are_no_disks() {
    let machine = Machine::new()
        .disk(
            "virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
            &[("size", "8"), ("hidden", "0")],
        )
        .disk(
            "pci0000:00/nvme/nvme0/nvme0c0n1",
            &[("size", "8"), ("hidden", "1")],
        )
        .disk("virtual/block/loop0", &[("size", "8")])
        .disk("virtual/block/zram0", &[("size", "8")])
        .disk(
            "virtual/block/dm-0",
            &[("size", "8"), ("dm/uuid", "CRYPT-LUKS2-abc-luks")],
        )
        .disk(
            "virtual/block/dm-1",
            &[
                ("size", "8"),
                ("dm/uuid", "mpath-360000000000000000e00000000010001"),
            ],
        )
        .disk("virtual/block/dm-2", &[("size", "8"), ("dm/uuid", "LVM-abcdef")])
        .disk("virtual/block/dm-3", &[("size", "8")])
        .disk("virtual/block/md127", &[("size", "8")]);
    let types: Vec<(String, String)> = found(&machine)
        .into_iter()
        .map(|disk| (disk.name, disk.drive_type))
        .collect();
    let expected = [
        ("dm-1", "Multipath"),
        ("dm-2", "LVM"),
        ("md127", "RAID"),
        ("nvme0n1", "SSD"),
    ];
    assert_eq!(
        types,
        expected.map(|(name, kind)| (name.to_owned(), kind.to_owned()))
    );
}

#[test]
fn a_multipath_device_has_the_wwn_of_its_uuid_and_its_paths_name_it_as_holder() {
    let machine = Machine::new()
        .disk(
            "virtual/block/dm-1",
            &[("size", "8"), ("dm/uuid", "mpath-36001405aabb")],
        )
        .disk(
            "x/block/sda",
            &[("size", "8"), ("holders/dm-1/x", ""), ("holders/dm-10/x", "")],
        );
    let disks = found(&machine);
    assert_eq!(disks[0].wwn, "0x6001405aabb");
    assert_eq!(
        disks[0].installation_eligibility.not_eligible_reasons,
        Vec::<String>::new()
    );
    assert_eq!(disks[1].holders, "dm-1,dm-10");
}

#[test]
fn an_lvm_volume_and_an_unknown_controller_are_not_eligible() {
    let machine = Machine::new()
        .disk("virtual/block/dm-2", &[("size", "8"), ("dm/uuid", "LVM-abcdef")])
        .disk("x/block/nbd0", &[("size", "8")]);
    for disk in found(&machine) {
        assert!(!disk.installation_eligibility.eligible);
        assert_eq!(
            disk.installation_eligibility.not_eligible_reasons.len(),
            1,
            "{}",
            disk.name
        );
    }
}

#[test]
fn of_a_pair_with_one_path_neither_has_it() {
    let udev = "E:ID_PATH=pci-0000:00:01.0-ata-1\nE:ID_SERIAL_SHORT=S\nE:ID_MODEL=unknown\n";
    let machine = Machine::new()
        .disk("x/block/sda", &[("size", "8"), ("dev", "8:0")])
        .disk("x/block/sdb", &[("size", "8"), ("dev", "8:16")])
        .disk("x/block/sdc", &[("size", "8"), ("dev", "8:32")])
        .file("/run/udev/data/b8:0", udev)
        .file("/run/udev/data/b8:16", udev)
        .file(
            "/run/udev/data/b8:32",
            "E:ID_PATH=pci-0000:00:02.0-ata-1\nE:ID_SCSI_SERIAL=T\nE:ID_SERIAL=3T\n",
        )
        .link("/dev/disk/by-path/pci-0000:00:01.0-ata-1", "../../sda")
        .link("/dev/disk/by-path/pci-0000:00:02.0-ata-1", "../../sdc");
    let disks = found(&machine);
    assert_eq!(
        (disks[0].by_path.as_str(), disks[0].id.as_str()),
        ("", "/dev/sda")
    );
    assert_eq!(
        (disks[1].by_path.as_str(), disks[1].id.as_str()),
        ("", "/dev/sdb")
    );
    assert_eq!(disks[2].id, "/dev/disk/by-path/pci-0000:00:02.0-ata-1");
    assert_eq!((disks[0].serial.as_str(), disks[2].serial.as_str()), ("S", "T"));
    assert_eq!(disks[0].model, "");
}

#[test]
fn the_last_of_the_links_that_count_is_the_id_and_an_eui_stands_whole_for_the_wwn() {
    let machine = Machine::new()
        .disk("x/block/sda", &[("size", "8")])
        .disk("x/nvme/nvme0/nvme0n1", &[("size", "8")])
        .file("/run/udev/data/x", "")
        .file("/run/udev/data/b8:0", "")
        .link("/dev/disk/by-id/ata-ACME_1", "../../sda")
        .link("/dev/disk/by-id/wwn-0x5000", "../../sda")
        .link("/dev/disk/by-id/wwn-0x5000-part1", "../../sda1")
        .link("/dev/disk/by-id/nvme-ACME_2", "../../nvme0n1")
        .link("/dev/disk/by-id/nvme-eui.0025", "../../nvme0n1");
    let disks = found(&machine);
    assert_eq!(disks[0].id, "/dev/disk/by-id/nvme-eui.0025");
    assert_eq!(disks[0].wwn, "/dev/disk/by-id/nvme-eui.0025");
    assert_eq!(disks[1].id, "/dev/disk/by-id/wwn-0x5000");
    assert_eq!(disks[1].wwn, "0x5000");
}

#[test]
fn what_firmware_leaves_in_place_of_a_name_is_none() {
    let zeros = "E:ID_WWN=0x0000000000000000\nE:ID_WWN_WITH_EXTENSION=0x0000000000000000\nE:ID_SERIAL_SHORT=00000000\nE:ID_SERIAL=QEMU_1\n";
    let erased =
        "E:ID_WWN=0xffffffffffffffff\nE:ID_SCSI_SERIAL=To be filled by O.E.M.\nE:ID_MODEL=Default string\n";
    let machine = Machine::new()
        .disk("x/block/sda", &[("size", "8"), ("dev", "8:0")])
        .disk("x/block/sdb", &[("size", "8"), ("dev", "8:16")])
        .file("/run/udev/data/b8:0", zeros)
        .file("/run/udev/data/b8:16", erased)
        .link("/dev/disk/by-id/wwn-0x0000000000000000", "../../sda")
        .link("/dev/disk/by-id/wwn-0xffffffffffffffff", "../../sdb");
    let told: Vec<_> = found(&machine)
        .into_iter()
        .map(|disk| (disk.id, disk.wwn, disk.serial, disk.model, disk.by_id))
        .collect();
    let own = |id: &str, serial: &str| {
        (
            id.to_owned(),
            String::new(),
            serial.to_owned(),
            String::new(),
            String::new(),
        )
    };
    assert_eq!(told, [own("/dev/sda", "QEMU_1"), own("/dev/sdb", "")]);
}

#[test]
fn mounted_partitions_and_the_installation_medium_are_reasons() {
    let machine = Machine::new()
        .disk(
            "x/block/sda",
            &[("size", "8"), ("sda1/partition", "1"), ("sda1/dev", "8:1")],
        )
        .disk("x/block/sdb", &[("size", "8"), ("sdb1/partition", "1")])
        .disk("x/block/sdc", &[("size", "8")]);
    let disks = found_with(
        &machine,
        &[
            mount("/dev/sda1", "/var"),
            mount("/dev/sdb1", "/run/media/iso"),
            mount("/dev/sdc10", "/x"),
        ],
    );
    assert_eq!(
        disks[0].installation_eligibility.not_eligible_reasons,
        ["Partition sda1 is mounted at /var"]
    );
    assert!(!disks[0].is_installation_media);
    assert!(disks[1].is_installation_media && !disks[1].installation_eligibility.eligible);
    assert!(disks[2].installation_eligibility.eligible);
}

#[test]
fn a_disk_of_the_appliance_keeps_the_reasons_so_far() {
    let machine = Machine::new()
        .disk("x/block/sda", &[("size", "8"), ("sda1/partition", "1")])
        .answer("disk.sda.partition_labels", json!([[1, "agentdata"]]));
    assert!(
        found_with(&machine, &[mount("/dev/sda1", "/var")])[0]
            .installation_eligibility
            .eligible
    );
}

#[test]
fn the_appliance_reports_one_disk_that_always_fits() {
    let machine = Machine::new().disk("x/block/sda", &[("size", "8")]).disk(
        "virtual/block/dm-0",
        &[("size", "8"), ("dm/uuid", "LVM-x"), ("dm/name", "agent-root")],
    );
    let disks = found(&machine);
    assert_eq!(disks.len(), 1);
    assert_eq!((disks[0].id.as_str(), disks[0].size_bytes), ("", 100 << 30));
}

#[test]
fn an_iscsi_disk_must_run_and_be_known_to_the_firmware() {
    let place = "platform/host2/session1/target2:0:0/2:0:0:0/block/sda";
    let machine = |state: &str, target: &str| {
        Machine::new()
            .disk(place, &[("size", "8"), ("device/state", state), ("dev", "8:0")])
            .file(
                "/run/udev/data/b8:0",
                "E:ID_PATH=ip-10.0.0.1:3260-iscsi-iqn.a-lun-0\n",
            )
            .file("/sys/class/iscsi_host/host2/ipaddress", "10.0.0.9\n")
            .file("/sys/class/iscsi_session/session1/targetname", "iqn.a\n")
            .file("/sys/firmware/ibft/target0/target-name", target)
    };
    let good = found(&machine("running", "iqn.a\n"));
    assert_eq!(good[0].drive_type, "iSCSI");
    assert!(good[0].installation_eligibility.eligible);
    assert_eq!(good[0].iscsi.as_ref().unwrap().host_ip_address, "10.0.0.9");
    for machine in [machine("blocked", "iqn.a\n"), machine("running", "iqn.b\n")] {
        assert_eq!(
            found(&machine)[0]
                .installation_eligibility
                .not_eligible_reasons
                .len(),
            1
        );
    }
}

#[test]
fn mainframe_disks_have_the_discipline_of_their_channel_device() {
    for (attributes, kind) in [
        (&[("discipline", "ECKD"), ("ese", "1")][..], "ECKD (ESE)"),
        (&[("discipline", "ECKD"), ("ese", "0")], "ECKD"),
        (&[("discipline", "FBA")], "FBA"),
        (&[], "Unknown"),
    ] {
        let machine = Machine::new()
            .device("css0/0.0.0001/0.0.0100", "ccw", "", attributes)
            .disk("css0/0.0.0001/0.0.0100/block/dasda", &[("size", "8")]);
        let disks = found(&machine);
        assert_eq!(disks[0].drive_type, kind);
        assert_eq!(disks[0].by_path, "/dev/disk/by-path/ccw-0.0.0100");
    }
}

#[test]
fn a_broken_link_in_sys_block_costs_only_its_own_disk() {
    let machine = Machine::new()
        .link("/sys/block/sda", "../devices/gone/block/sda")
        .disk("x/block/sdb", &[("size", "8")]);
    let disks = found(&machine);
    assert_eq!(disks.len(), 2);
    assert_eq!(disks[1].size_bytes, 4096);
}

#[test]
fn paths_follow_the_bus_also_of_usb_sas_fibre_channel_and_nvme_multipath() {
    let scsi = |machine: Machine, folder: &str, host: &str, target: &str, device: &str| {
        machine
            .device(&format!("{folder}/{host}"), "scsi", "scsi_host", &[])
            .device(&format!("{folder}/{host}/{target}"), "scsi", "scsi_target", &[])
            .device(
                &format!("{folder}/{host}/{target}/{device}"),
                "scsi",
                "scsi_device",
                &[],
            )
    };
    let pci = "pci0000:00/0000:00:03.0";
    let machine = Machine::new().device(pci, "pci", "", &[]);
    // Fibre Channel, a LUN above 255.
    let machine = scsi(machine, pci, "host1", "rport-1:0-0/target1:0:0", "1:0:0:300")
        .device(&format!("{pci}/host1/rport-1:0-0"), "", "", &[])
        .device("fc/target1:0:0", "", "", &[("port_name", "0x2100")])
        .link(
            "/sys/class/fc_transport/target1:0:0",
            "/sys/devices/fc/target1:0:0",
        )
        .disk(
            &format!("{pci}/host1/rport-1:0-0/target1:0:0/1:0:0:300/block/sda"),
            &[("size", "8")],
        );
    // SAS, directly at the adapter.
    let sas = format!("{pci}/host2/port-2:0/end_device-2:0");
    let machine = scsi(
        machine,
        pci,
        "host2",
        "port-2:0/end_device-2:0/target2:0:0",
        "2:0:0:0",
    )
    .device(&format!("{pci}/host2/port-2:0"), "", "", &[])
    .device(&sas, "", "", &[])
    .device("sas/port-2:0", "", "", &[("num_phys", "1")])
    .device(
        "sas/end_device-2:0",
        "",
        "",
        &[("sas_address", "0x5000"), ("phy_identifier", "3")],
    )
    .link("/sys/class/sas_port/port-2:0", "/sys/devices/sas/port-2:0")
    .link(
        "/sys/class/sas_device/end_device-2:0",
        "/sys/devices/sas/end_device-2:0",
    )
    .disk(&format!("{sas}/target2:0:0/2:0:0:0/block/sdb"), &[("size", "8")]);
    // NVMe with native multipath.
    let machine = machine
        .device(&format!("{pci}/nvme/nvme7"), "nvme", "", &[])
        .link("/sys/class/nvme/nvme7", &format!("/sys/devices/{pci}/nvme/nvme7"))
        .device("virtual/nvme-subsystem/nvme-subsys7", "nvme-subsystem", "", &[])
        .disk(
            "virtual/nvme-subsystem/nvme-subsys7/nvme7n2",
            &[("size", "8"), ("nsid", "2")],
        );
    let paths: Vec<String> = found(&machine).into_iter().map(|disk| disk.by_path).collect();
    assert_eq!(
        paths,
        [
            "/dev/disk/by-path/pci-0000:00:03.0-nvme-2",
            "/dev/disk/by-path/pci-0000:00:03.0-fc-0x2100-lun-0x012c000000000000",
            "/dev/disk/by-path/pci-0000:00:03.0-sas-phy3-lun-0",
        ]
    );
}

#[test]
fn links_never_leave_their_folder() {
    let machine = Machine::new()
        .device("pci0000:00/0000:00:02.0", "pci", "", &[])
        .device("pci0000:00/0000:00:02.0/virtio1", "virtio", "", &[])
        .disk(
            "pci0000:00/0000:00:02.0/virtio1/block/vda",
            &[("size", "8"), ("serial", "../../sda x")],
        );
    let links = links::plan(&machine.root()).links;
    assert!(
        links.contains(&(
            "/dev/disk/by-id/virtio-.._.._sda_x".to_owned(),
            "/dev/vda".to_owned()
        )),
        "{links:?}"
    );
}
