//! Machines that boot CoreOS live images: the booted system has our ignition, kernel arguments and networks, downloads
//! the agent and registers.

use std::path::PathBuf;

use muster_api::boot::BootFile;
use muster_api::host::Host;
use muster_api::infra_env::InfraEnv;
use muster_api::inventory::Inventory;
use muster_image::testing::coreos::Generation;
use muster_tests::condition::await_condition;
use muster_tests::qemu::coreos::{CoreOsLab, entry};
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, Machine, Medium, Nic, Running, Slots, UserNet};
use muster_tests::rest::inventory;
use muster_tests::segment::{ADDRESS, in_segment};
use muster_tests::service::{Service, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Kernel arguments with characters that loaders interpret.
const ARGUMENTS: [&str; 3] = [r#"lab.one="a b;c&d $e""#, "lab.two=x#y&z;w", "lab.three"];

/// In upper case, as a user might type them.
const PLAIN: &str = "52:54:00:CE:00:01";
const BONDED: [&str; 2] = ["52:54:00:ce:00:02", "52:54:00:Ce:00:03"];

/// A service with ISOs of the lab.
struct Lab {
    service: Service,
    folder: TempDir,
}

impl Lab {
    fn on(settings: Settings, images: &[(&str, Generation)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let parts = CoreOsLab::built();
        let list: Vec<Value> = images
            .iter()
            .map(|(version, generation)| {
                let iso = folder.path().join(format!("{version}.iso"));
                parts.write_iso(*generation, &iso);
                entry(version, iso.to_str().unwrap())
            })
            .collect();
        let list = Value::from(list);
        Self {
            service: settings.argument(&format!("--os-images={list}")).start(),
            folder,
        }
    }

    fn infra_env(&self, name: &str, version: &str, more: &Value) -> InfraEnv {
        let hostname = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [
            {"path": "/etc/hostname", "mode": 0o644, "overwrite": true, "contents": {"source": format!("data:,{name}")}}]}});
        let mut wanted =
            json!({"openshift_version": version, "ignition_config_override": hostname.to_string()});
        wanted
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        self.service
            .client()
            .create_infra_env_with(name, &wanted)
            .unwrap()
    }

    fn iso(&self, infra_env: &InfraEnv) -> PathBuf {
        let client = self.service.client();
        let file = self.folder.path().join(format!("{}.iso", infra_env.id));
        let url = self.service.reachable(&client.image_url(infra_env.id).unwrap());
        client.download(&url, &file).unwrap();
        file
    }

    /// The only host of the InfraEnv with its inventory, when it has reported one that is `wanted`.
    #[track_caller]
    fn await_host(
        &self,
        machine: &mut Running,
        infra_env: &InfraEnv,
        wanted: impl Fn(&Inventory) -> bool,
    ) -> (Host, Inventory) {
        let found = await_condition("the machine to report itself", machine.time_left(), || {
            assert!(machine.is_on(), "{} switched itself off", machine.name());
            let hosts = self.service.client().hosts(infra_env.id);
            let hosts = hosts.map_err(|error| error.to_string())?;
            let host = hosts
                .into_iter()
                .find(|host| inventory(host).is_some_and(|found| wanted(&found)));
            host.ok_or_else(|| "no such host".to_owned())
        });
        println!(
            "{}: reported {:.0} s after power-on",
            machine.name(),
            machine.uptime().as_secs_f32()
        );
        let inventory = inventory(&found).unwrap();
        (found, inventory)
    }
}

fn machine(name: &str) -> Machine {
    Machine::new(name)
        .memory_mib(3072)
        .smbios(&format!("type=1,manufacturer=AcmeCorp,serial=ACME-{name}"))
        .disk(Disk::new(DiskBus::Virtio, 60 * GIB, &format!("SER-{name}")))
}

fn kernel_arguments() -> Value {
    let arguments = ARGUMENTS.map(|value| json!({"operation": "append", "value": value}));
    json!({"kernel_arguments": arguments})
}

#[track_caller]
fn assert_arguments_arrived(found: &Inventory, by_grub: bool) {
    let line = &found.boot.as_ref().unwrap().command_line;
    for argument in ARGUMENTS {
        // GRUB's loader moves the quotes to the start of the word, which is equal for the kernel.
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        let moved = format!("\"{name}={}\"", value.trim_matches('"'));
        let arrived = line.contains(argument) || (by_grub && line.contains(&moved));
        assert!(arrived, "{argument} is not in {line}");
    }
}

fn is_ours(host: &Host, name: &str) {
    assert_eq!(host.requested_hostname, name, "the override was not merged");
    assert!(
        host.discovery_agent_version.starts_with("muster-agent/"),
        "{:?}",
        host.discovery_agent_version
    );
}

fn networks() -> Value {
    let address = |last: u8| json!({"enabled": true, "dhcp": false, "address": [{"ip": format!("10.91.0.{last}"), "prefix-length": 24}]});
    let routes = |name: &str| json!({"config": [{"destination": "0.0.0.0/0", "next-hop-address": ADDRESS, "next-hop-interface": name}]});
    let plain = json!({
        "interfaces": [{"name": "nic", "type": "ethernet", "state": "up", "ipv4": address(21)}], "routes": routes("nic"),
    });
    let bond = json!({
        "interfaces": [{
            "name": "bond0", "type": "bond", "state": "up", "ipv4": address(22),
            "link-aggregation": {"mode": "active-backup", "options": {"miimon": "100"}, "port": ["left", "right"]},
        }],
        "routes": routes("bond0"),
    });
    let card = |mac: &str, name: &str| json!({"mac_address": mac, "logical_nic_name": name});
    json!([
        {"network_yaml": plain.to_string(), "mac_interface_map": [card(PLAIN, "nic")]},
        {"network_yaml": bond.to_string(), "mac_interface_map": [card(BONDED[0], "left"), card(BONDED[1], "right")]},
    ])
}

/// Two of the layouts of ISOs; an ordinary system starts slowly in an emulated machine, so each machine covers several
/// cases.
#[test]
fn without_dhcp_coreos_machines_take_their_networks_from_the_minimal_and_the_full_iso() {
    in_segment(|segment| {
        let generations = [("4.14", Generation::KargsHeader), ("4.20", Generation::Described)];
        let lab = Lab::on(Settings::on_address(ADDRESS), &generations);
        let with_networks = |image_type: &str| {
            let mut more = kernel_arguments();
            more["image_type"] = image_type.into();
            more["static_network_config"] = networks();
            more
        };
        let minimal = lab.infra_env("minimal", "4.20", &with_networks("minimal-iso"));
        let full = lab.infra_env("full", "4.14", &with_networks("full-iso"));
        let (minimal_iso, full_iso) = (lab.iso(&minimal), lab.iso(&full));
        let length = |iso: &PathBuf| std::fs::metadata(iso).unwrap().len();
        assert!(
            length(&minimal_iso) < length(&full_iso) * 3 / 4,
            "the minimal ISO has the root"
        );
        let slots = Slots::one();
        let mut start = |name: &str, firmware: Firmware, iso: &PathBuf, macs: &[&str]| {
            let nics = macs
                .iter()
                .map(|mac| Nic::tap("virtio-net-pci", &mac.to_lowercase(), &segment.tap()));
            let machine = nics.fold(machine(name), Machine::nic).firmware(firmware);
            machine.boot(Medium::Cd(iso.clone())).start_in(slots.with())
        };
        let mut machines = [
            (
                start("bonded", Firmware::Ovmf, &minimal_iso, &BONDED),
                &minimal,
                "10.91.0.22/24",
            ),
            (
                start("plain", Firmware::SeaBios, &full_iso, &[PLAIN]),
                &full,
                "10.91.0.21/24",
            ),
        ];
        for (machine, infra_env, address) in &mut machines {
            let (host, found) = lab.await_host(machine, infra_env, |found| {
                let mut addresses = found.interfaces.iter().flat_map(|card| &card.ipv4_addresses);
                addresses.any(|found| found == address)
            });
            is_ours(&host, &infra_env.name);
            // OVMF's loader is GRUB.
            assert_arguments_arrived(&found, machine.name() == "bonded");
        }
    });
}

/// The oldest layout.
#[test]
fn with_dhcp_a_coreos_machine_boots_by_the_ipxe_script() {
    let generations = [("4.12", Generation::IgnitionHeader)];
    let lab = Lab::on(Settings::for_user_networks().auth_local(), &generations);
    let mut more = kernel_arguments();
    // The kernel's and units' messages, for failures; the script names the serial port of BMCs.
    let console = json!({"operation": "append", "value": "console=ttyS0,115200n8"});
    more["kernel_arguments"].as_array_mut().unwrap().push(console);
    let by_ipxe = lab.infra_env("by-ipxe", "4.12", &more);
    let script = lab.service.client().ipxe_script_url(by_ipxe.id).unwrap();
    let network = UserNet::new(2).boot_file(&script);
    let mut machine = machine("by-ipxe")
        .nic(Nic::user("virtio-net-pci", "52:54:00:cc:00:02", network))
        .boot(Medium::Network)
        .start();
    let (host, found) = lab.await_host(&mut machine, &by_ipxe, |_| true);
    is_ours(&host, &by_ipxe.name);
    assert_arguments_arrived(&found, false);
    let booting = lab.service.client().booting_machines(by_ipxe.id).unwrap();
    let [booted] = booting.as_slice() else {
        panic!("one machine is told as several: {booting:#?}");
    };
    let fetched: Vec<BootFile> = booted.files.iter().map(|one| one.file).collect();
    let all = [
        BootFile::Script,
        BootFile::Kernel,
        BootFile::Initrd,
        BootFile::Rootfs,
        BootFile::Agent,
    ];
    assert_eq!(fetched, all, "{booted:#?}");
    assert_eq!(
        (booted.mac_address.as_str(), booted.registered),
        ("52:54:00:cc:00:02", true)
    );
}
