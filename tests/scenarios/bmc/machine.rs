//! A BMC boots a machine from the InfraEnv's ISO, by Redfish calls that a test sends itself.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use muster_bmc_emulator::quirks::ImageRules;
use muster_bmc_emulator::{Emulator, Quirks, Setup};
use muster_tests::bmc::BmcMachine;
use muster_tests::condition::await_condition;
use muster_tests::http::HttpClient;
use muster_tests::process::run;
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, MACHINE_LIMIT};
use muster_tests::rest::inventory;
use muster_tests::service::Settings;
use serde_json::{Value, json};

use crate::boot::order::{OLD_SYSTEM, old_system};
use muster_tests::discovery::{Discovery, MACS};

#[test]
fn a_bmc_boots_a_seabios_machine_from_the_iso_once() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::write(&disk, old_system()).unwrap();
    boots_the_iso_once("bmc-seabios", Firmware::SeaBios, &disk);
}

#[test]
fn a_bmc_boots_an_ovmf_machine_from_the_iso_once() {
    let folder = tempfile::tempdir().unwrap();
    let disk = old_uefi_system(folder.path());
    boots_the_iso_once("bmc-ovmf", Firmware::Ovmf, &disk);
}

fn boots_the_iso_once(name: &str, firmware: Firmware, disk: &Path) {
    let discovery = Discovery::on(Settings::for_user_networks());
    let url = discovery.client().image_url(discovery.infra_env.id).unwrap();
    let url = discovery.service.reachable(&url);
    let disk = Disk::new(DiskBus::Virtio, GIB, "OLD").content(disk);
    let machine = BmcMachine::on_user_network((name, 7), firmware, 2048, disk, MACS[0]);
    let machine = Arc::new(machine);
    let emulator = bmc_of(&machine);
    let bmc = Redfish::log_in(&emulator);

    bmc.insert(&url);
    bmc.boot_once_from_cd();
    bmc.reset("On");
    assert_eq!(bmc.system()["PowerState"], "On");
    await_inventory(&discovery, &machine);
    let system = bmc.system();
    assert_eq!(system["Boot"]["BootSourceOverrideEnabled"], "Disabled");
    assert_eq!(system["BootProgress"]["LastState"], "OSBootStarted");
    assert!(
        !machine.console().text().contains(OLD_SYSTEM),
        "the disk was first"
    );

    // The ISO is still inserted: the override was for one boot.
    bmc.reset("ForceRestart");
    await_old_system(&machine);
    bmc.eject();
    // The drive is empty.
    bmc.boot_once_from_cd();
    bmc.reset("ForceRestart");
    await_old_system(&machine);

    // The old system ignores the power button.
    bmc.reset("GracefulShutdown");
    assert_eq!(bmc.system()["PowerState"], "On");
    bmc.reset("ForceOff");
    assert_eq!(bmc.system()["PowerState"], "Off");
    bmc.reset("On");
    await_old_system(&machine);
    // An image may be inserted while the machine is on.
    bmc.insert(&url);
    bmc.boot_once_from_cd();
    bmc.reset("ForceRestart");
    await_condition("the ISO's boot loader", MACHINE_LIMIT, || {
        let console = machine.console();
        let is_there = console.text().contains("Muster: loading the kernel");
        is_there.then_some(()).ok_or_else(|| console.tail())
    });
    let logins = emulator
        .requests()
        .iter()
        .filter(|request| request.is_login())
        .count();
    assert_eq!(logins, 1);
}

/// A BMC with the strictest limits for the image's URL on the market.
fn bmc_of(machine: &Arc<BmcMachine>) -> Emulator {
    let quirks = Quirks {
        reads_image: true,
        image_rules: ImageRules {
            extensions: vec![".iso".to_owned()],
            no_query: true,
            no_https: true,
            max_length: Some(127),
            max_folders: None,
        },
        ..Quirks::default()
    };
    let setup = Setup::new(Arc::<BmcMachine>::clone(machine)).quirks(quirks);
    setup.start().unwrap()
}

/// Waits until the machine's host has sent an inventory, in which the serial number identifies it.
#[track_caller]
fn await_inventory(discovery: &Discovery, machine: &BmcMachine) {
    await_condition("the inventory", MACHINE_LIMIT, || {
        let hosts = discovery.client().hosts(discovery.infra_env.id);
        let hosts = hosts.map_err(|error| error.to_string())?;
        let found = hosts.iter().find_map(inventory);
        let seen = || format!("{} hosts; console:\n{}", hosts.len(), machine.console().tail());
        let vendor = found.and_then(|found| found.system_vendor).ok_or_else(seen)?;
        assert_eq!(vendor.serial_number, "SN0007");
        Ok(())
    });
}

/// Waits until the system on the disk has started since power-on or reset.
#[track_caller]
fn await_old_system(machine: &BmcMachine) {
    await_condition("the system on the disk", MACHINE_LIMIT, || {
        let console = machine.console();
        let is_there = console.text().contains(OLD_SYSTEM);
        is_there.then_some(()).ok_or_else(|| console.tail())
    });
}

/// A disk with a boot loader for UEFI that writes [`OLD_SYSTEM`] to the first serial port, and stops.
fn old_uefi_system(folder: &Path) -> std::path::PathBuf {
    let [disk, loader, config] = ["disk", "loader", "grub.cfg"].map(|name| folder.join(name));
    let text = format!("serial --unit=0\nterminal_output serial\necho \"{OLD_SYSTEM}\"\nsleep 100000\n");
    fs::write(&config, text).unwrap();
    let modules = ["--modules=serial terminal echo sleep", "--format=x86_64-efi"];
    run(Command::new("grub-mkstandalone")
        .args(modules)
        .arg("--output")
        .arg(&loader)
        .arg(format!("boot/grub/grub.cfg={}", config.display())));
    run(Command::new("mkfs.vfat").arg("-C").arg(&disk).arg("32768"));
    let on_disk = |program: &str| {
        let mut command = Command::new(program);
        command.arg("-i").arg(&disk);
        command
    };
    run(on_disk("mmd").args(["::/EFI", "::/EFI/BOOT"]));
    run(on_disk("mcopy").arg(&loader).arg("::/EFI/BOOT/BOOTX64.EFI"));
    disk
}

/// A client of the BMC with a session.
struct Redfish(HttpClient);

impl Redfish {
    #[track_caller]
    fn log_in(emulator: &Emulator) -> Self {
        let client = HttpClient::new(&emulator.url());
        let login = json!({"UserName": "admin", "Password": "password"});
        let session = send(&client, "POST", "/redfish/v1/SessionService/Sessions", &login);
        let token = session.expect(201).header("x-auth-token").to_owned();
        Self(client.with("x-auth-token", &token))
    }

    #[track_caller]
    fn system(&self) -> Value {
        let path = "/redfish/v1/Systems/1";
        self.0.request("GET", path, None).expect(200).json()
    }

    #[track_caller]
    fn insert(&self, url: &str) {
        let path = "/redfish/v1/Systems/1/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia";
        send(&self.0, "POST", path, &json!({"Image": url})).expect(204);
    }

    #[track_caller]
    fn eject(&self) {
        let path = "/redfish/v1/Systems/1/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia";
        send(&self.0, "POST", path, &json!({})).expect(204);
    }

    #[track_caller]
    fn boot_once_from_cd(&self) {
        let boot = json!({"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd"});
        send(&self.0, "PATCH", "/redfish/v1/Systems/1", &json!({"Boot": boot})).expect(204);
    }

    #[track_caller]
    fn reset(&self, kind: &str) {
        let path = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
        send(&self.0, "POST", path, &json!({"ResetType": kind})).expect(204);
    }
}

#[track_caller]
fn send(client: &HttpClient, method: &str, path: &str, body: &Value) -> muster_tests::http::Answer {
    client.request(method, path, Some(body.to_string().as_bytes()))
}
