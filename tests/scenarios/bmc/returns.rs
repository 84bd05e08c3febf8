//! BMCs in the life of a host: the live system handles the power button, and a host that waits for a boot is booted
//! without manual work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_api::BASE_PATH;
use muster_api::host::HostStatus;
use muster_bmc_emulator::machine::{BootDevice, First};
use muster_bmc_emulator::{Machine as _, Setup};
use muster_tests::bmc::{BmcMachine, import, line};
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, MACHINE_LIMIT};
use muster_tests::service::Settings;
use serde_json::{Value, json};

use crate::bmc::discovery::bmc;
use muster_tests::discovery::{Discovery, MACS};

#[test]
fn the_live_system_heeds_the_power_button() {
    let discovery = Discovery::on(Settings::for_user_networks());
    let url = discovery.client().image_url(discovery.infra_env.id).unwrap();
    for (name, number, firmware) in [
        ("button-seabios", 41, Firmware::SeaBios),
        ("button-ovmf", 42, Firmware::Ovmf),
    ] {
        let disk = Disk::new(DiskBus::Virtio, GIB, "DISK");
        let machine = BmcMachine::on_user_network((name, number), firmware, 2048, disk, MACS[0]);
        machine.insert(&discovery.service.reachable(&url)).unwrap();
        let first = First {
            device: BootDevice::VirtualDrive,
            lasts: false,
        };
        machine.power_on(Some(first)).unwrap();
        // It is too small for any role, and has reported that.
        await_status(&discovery, &machine, HostStatus::InsufficientUnbound);
        press(&machine);
    }
}

/// The system reacts to the button once its driver is loaded, which may be seconds after the host has registered: then
/// the test presses again.
const PRESSED_AGAIN: Duration = Duration::from_secs(5);

/// Presses the power button until the machine is off.
fn press(machine: &BmcMachine) {
    let mut pressed: Option<Instant> = None;
    await_condition("the machine to go off", LEAST_LIMIT, || {
        if !machine.is_on() {
            return Ok(());
        }
        if pressed.is_none_or(|at| at.elapsed() >= PRESSED_AGAIN) {
            // It may be switched off at this moment.
            let done = machine.press_power_button();
            pressed = Some(Instant::now());
            done.map_err(|error| format!("{error:?}"))?;
        }
        Err(machine.console().tail())
    });
}

/// Waits for the status of its host; UUIDs distinguish the machines.
#[track_caller]
fn await_status(discovery: &Discovery, machine: &BmcMachine, status: HostStatus) {
    let id = machine.hardware().uuid.to_string();
    await_condition(
        &format!("a host that is {}", status.name()),
        MACHINE_LIMIT,
        || {
            let hosts = discovery.client().hosts(discovery.infra_env.id);
            let hosts = hosts.map_err(|error| error.to_string())?;
            let found = hosts.iter().find(|host| host.id.to_string() == id);
            let seen = found.map(|host| (host.status, host.status_info.clone()));
            let is_there = seen.as_ref().is_some_and(|(seen, _)| *seen == Some(status));
            is_there
                .then_some(())
                .ok_or_else(|| format!("{seen:?}; console:\n{}", machine.console().tail()))
        },
    );
}

#[test]
fn a_host_that_is_reset_while_its_machine_is_off_comes_back_without_a_hand() {
    let settings = Settings::for_user_networks()
        .boot_seen_from_here()
        .argument("--bmc-networks=127.0.0.0/8")
        .argument("--bmc-allow-http")
        .argument("--host-max-disconnection-time=75s");
    let discovery = Discovery::on(settings);
    let name = "returns";
    let disk = Disk::new(DiskBus::Virtio, 120 * GIB, "DISK");
    let machine = BmcMachine::on_user_network((name, 43), Firmware::SeaBios, 8192, disk, MACS[0]);
    let machine = Arc::new(machine);
    let emulator = Setup::new(Arc::<BmcMachine>::clone(&machine)).start().unwrap();
    import(
        &discovery.service,
        discovery.infra_env.id,
        &[line(&emulator.url(), name)],
    );
    let discovered = || {
        await_condition("the machine to be discovered", MACHINE_LIMIT, || {
            let shown = bmc(&discovery, name);
            let is_done = shown["phase"] == "discovered" && shown["medium_inserted"] == false;
            is_done.then_some(()).ok_or_else(|| shown.to_string())
        });
    };
    discovered();
    await_status(&discovery, &machine, HostStatus::KnownUnbound);
    // It is off for more than a minute below.
    machine.give_slots_back();
    let host = format!(
        "/infra-envs/{}/hosts/{}",
        discovery.infra_env.id,
        machine.hardware().uuid
    );
    bind(&discovery, &host);
    await_status(&discovery, &machine, HostStatus::Known);

    press(&machine);
    ask(&discovery, "POST", &format!("{host}/actions/reset"), None);
    let told = await_condition("the host to say that its BMC boots it", MACHINE_LIMIT, || {
        let host = ask(&discovery, "GET", &host, None);
        let info = host["status_info"].as_str().unwrap_or_default();
        info.contains("Its BMC returns boots it")
            .then(|| info.to_owned())
            .ok_or_else(|| host["status_info"].to_string())
    });
    println!("{name}: {told}");
    // It was in the cluster, and is again, by a new boot.
    await_status(&discovery, &machine, HostStatus::Known);
    discovered();
    assert!(machine.is_on());
    assert_eq!((emulator.image(), emulator.sessions()), (None, 0));
    let events = discovery.client().events(discovery.infra_env.id).unwrap();
    let boots = events
        .iter()
        .filter(|event| event.name.as_deref() == Some("muster_bmc_boots_host"));
    assert_eq!(boots.count(), 1);
}

/// Binds the host to an imported cluster that ignores all checks.
fn bind(discovery: &Discovery, host: &str) {
    let cluster = json!({
        "name": "edge", "openshift_version": "4.16.0", "api_vip_dnsname": "api.edge.lab.example",
        "openshift_cluster_id": "3b5d5ec5-4ae0-4d6a-9f8e-0c1d2e3f4a5b",
    });
    let cluster = ask(discovery, "POST", "/clusters/import", Some(cluster));
    let id = cluster["id"].as_str().unwrap();
    let ignored = json!({"host-validation-ids": "[\"all\"]"});
    ask(
        discovery,
        "PUT",
        &format!("/clusters/{id}/ignored-validations"),
        Some(ignored),
    );
    ask(
        discovery,
        "POST",
        &format!("{host}/actions/bind"),
        Some(json!({"cluster_id": id})),
    );
}

#[track_caller]
fn ask(discovery: &Discovery, method: &str, path: &str, body: Option<Value>) -> Value {
    let (status, text) = discovery
        .client()
        .request(method, &format!("{BASE_PATH}{path}"), body.as_ref())
        .unwrap();
    assert!((200..300).contains(&status), "{method} {path}: {status} {text}");
    serde_json::from_str(&text).unwrap_or_default()
}
