use super::*;
use crate::testing::Machine;

const ETHERNET: &[(&str, &str)] = &[("type", "1"), ("ifindex", "2"), ("iflink", "2")];

/// The name of one NIC at `place`, in addition to the devices of `machine`.
fn name_of(machine: Machine, place: &str, more: &[(&str, &str)]) -> Option<String> {
    let attributes = [ETHERNET, more].concat();
    let machine = machine.nic(place, &attributes);
    names(&machine.root()).remove(0).1
}

fn pci(path: &str, attributes: &[(&str, &str)]) -> Machine {
    Machine::new().device(path, "pci", "", attributes)
}

const CARD: &str = "pci0000:00/0000:00:06.0";
const NIC: &str = "pci0000:00/0000:00:06.0/net/eth0";

#[test]
fn a_card_is_named_by_bus_and_slot_with_domain_and_function_where_they_say_something() {
    assert_eq!(name_of(pci(CARD, &[]), NIC, &[]).as_deref(), Some("enp0s6"));
    let function = "pci0001:00/0001:3b:00.1";
    assert_eq!(
        name_of(pci(function, &[]), &format!("{function}/net/eth0"), &[]).as_deref(),
        Some("enP1p59s0f1")
    );
}

#[test]
fn the_first_function_of_several_says_so() {
    let mut config = vec![0_u8; 64];
    config[0x0e] = 0x80;
    let machine = pci(CARD, &[]).file(&format!("/sys/devices/{CARD}/config"), config);
    assert_eq!(name_of(machine, NIC, &[]).as_deref(), Some("enp0s6f0"));
}

#[test]
fn functions_beyond_seven_count_on_where_ari_is_enabled() {
    let place = "pci0000:00/0000:3b:01.2";
    let machine = pci(place, &[("ari_enabled", "1")]);
    assert_eq!(
        name_of(machine, &format!("{place}/net/eth0"), &[]).as_deref(),
        Some("enp59s1f10")
    );
}

#[test]
fn firmware_index_comes_before_slot_and_slot_before_path() {
    let slot = |machine: Machine| machine.file("/sys/bus/pci/slots/4/address", "0000:00:06\n");
    assert_eq!(
        name_of(slot(pci(CARD, &[("acpi_index", "3")])), NIC, &[]).as_deref(),
        Some("eno3")
    );
    assert_eq!(
        name_of(slot(pci(CARD, &[("index", "1")])), NIC, &[]).as_deref(),
        Some("eno1")
    );
    // VMware's invalid index.
    assert_eq!(
        name_of(slot(pci(CARD, &[("acpi_index", "16777215")])), NIC, &[]).as_deref(),
        Some("ens4")
    );
    assert_eq!(
        name_of(slot(pci(CARD, &[])), NIC, &[("dev_port", "1")]).as_deref(),
        Some("ens4d1")
    );
}

#[test]
fn the_slot_of_a_bridge_above_does_not_count() {
    let bridge = "pci0000:00/0000:00:02.0";
    let card = format!("{bridge}/0000:01:00.0");
    let machine = |modalias: &str| {
        pci(bridge, &[("modalias", modalias)])
            .device(&card, "pci", "", &[])
            .file("/sys/bus/pci/slots/9/address", "0000:00:02\n")
    };
    let nic = format!("{card}/net/eth0");
    let a_bridge = "pci:v00008086d00001234sv00000000sd00000000bc06sc04i00";
    assert_eq!(name_of(machine(a_bridge), &nic, &[]).as_deref(), Some("enp1s0"));
    let no_bridge = "pci:v00008086d00001234sv00000000sd00000000bc06sc80i00";
    assert_eq!(name_of(machine(no_bridge), &nic, &[]).as_deref(), Some("ens9"));
}

#[test]
fn the_front_panel_port_beats_the_port_number() {
    let ports = [("phys_port_name", "p1"), ("dev_port", "1")];
    assert_eq!(name_of(pci(CARD, &[]), NIC, &ports).as_deref(), Some("enp0s6np1"));
    assert_eq!(
        name_of(pci(CARD, &[]), NIC, &[("dev_port", "1")]).as_deref(),
        Some("enp0s6d1")
    );
}

#[test]
fn virtio_and_usb_devices_are_named_by_the_controller_that_they_hang_on() {
    let machine = pci(CARD, &[]).device(&format!("{CARD}/virtio3"), "virtio", "", &[]);
    assert_eq!(
        name_of(machine, &format!("{CARD}/virtio3/net/eth0"), &[]).as_deref(),
        Some("enp0s6")
    );
    let usb = format!("{CARD}/usb1/1-2/1-2.4");
    let machine = pci(CARD, &[("acpi_index", "3")])
        .device(&usb, "usb", "usb_device", &[])
        .device(&format!("{usb}/1-2.4:2.1"), "usb", "usb_interface", &[]);
    assert_eq!(
        name_of(machine, &format!("{usb}/1-2.4:2.1/net/eth0"), &[]).as_deref(),
        Some("enp0s6u2u4c2i1")
    );
}

#[test]
fn a_virtual_function_is_named_by_its_physical_one() {
    let function = "pci0000:00/0000:00:06.2";
    let machine = pci(CARD, &[])
        .device(function, "pci", "", &[])
        .link(&format!("/sys/devices/{function}/physfn"), "../0000:00:06.0")
        .link(&format!("/sys/devices/{CARD}/virtfn5"), "../0000:00:06.2");
    assert_eq!(
        name_of(machine, &format!("{function}/net/eth0"), &[]).as_deref(),
        Some("enp0s6v5")
    );
}

#[test]
fn infiniband_has_a_prefix_of_its_own_and_its_old_port_number() {
    let machine = pci(CARD, &[]).nic(
        &format!("{CARD}/net/ib0"),
        &[
            ("type", "32"),
            ("ifindex", "2"),
            ("iflink", "2"),
            ("dev_port", "0"),
            ("dev_id", "1"),
        ],
    );
    assert_eq!(
        names(&machine.root()),
        [("ib0".to_owned(), Some("ibp0s6d1".to_owned()))]
    );
}

#[test]
fn virtual_stacked_and_already_stable_interfaces_keep_their_names() {
    let virtual_one = Machine::new().nic("virtual/net/dummy0", ETHERNET);
    assert_eq!(names(&virtual_one.root())[0].1, None);
    assert_eq!(name_of(pci(CARD, &[]), NIC, &[("name_assign_type", "2")]), None);
    let vlan = pci(CARD, &[]).nic(NIC, &[("type", "1"), ("ifindex", "3"), ("iflink", "2")]);
    assert_eq!(names(&vlan.root())[0].1, None);
    let loopback = Machine::new().nic(
        "virtual/net/lo",
        &[("type", "772"), ("ifindex", "1"), ("iflink", "1")],
    );
    assert_eq!(names(&loopback.root())[0].1, None);
}

#[test]
fn of_two_with_one_name_the_first_by_index_has_it_and_long_names_are_none() {
    let machine = pci(CARD, &[("acpi_index", "1")])
        .nic(NIC, &[("type", "1"), ("ifindex", "10"), ("iflink", "10")])
        .nic(
            &format!("{CARD}/net/eth1"),
            &[("type", "1"), ("ifindex", "9"), ("iflink", "9")],
        );
    let found = names(&machine.root());
    assert_eq!(
        found,
        [
            ("eth1".to_owned(), Some("eno1".to_owned())),
            ("eth0".to_owned(), None)
        ]
    );
    assert_eq!(
        name_of(pci(CARD, &[]), NIC, &[("phys_port_name", "averylongname")]),
        None
    );
}

#[test]
fn mainframe_power_arm_and_xen_interfaces_have_schemes_of_their_own() {
    let cases = [
        ("css0/0.0.0007/0.0.f5f0", "ccwgroup", "encf5f0"),
        ("vio/30000002", "vio", "env2"),
        ("platform/HISI00C2:01", "platform", "enahisic2i1"),
        ("vif-3", "xen", "enX3"),
    ];
    for (path, subsystem, name) in cases {
        let machine = Machine::new().device(path, subsystem, "", &[]);
        assert_eq!(
            name_of(machine, &format!("{path}/net/eth0"), &[]).as_deref(),
            Some(name)
        );
    }
}
