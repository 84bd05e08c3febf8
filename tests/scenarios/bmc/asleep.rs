//! Hosts that sleep: their BMCs switch them off while no cluster has them, and boot them for the next claim.

use std::sync::Arc;
use std::time::Duration;

use muster_api::bmc::{Bmc, BmcPhase};
use muster_api::host::{Host, HostStatus};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::{BASE_PATH, MUSTER_PATH};
use muster_bmc_emulator::{Emulator, Fault, Machine as _, Setup};
use muster_tests::artifacts::live_image;
use muster_tests::bmc::{BmcMachine, Rack, Reading, Unit, import, line};
use muster_tests::condition::await_condition;
use muster_tests::discovery::Discovery;
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, MACHINE_LIMIT};
use muster_tests::rest::Client;
use muster_tests::service::Settings;
use serde_json::{Value, json};

use crate::bmc::discovery::bmc;

/// A minute of idleness, the decision, the shutdown by its BMC.
const LIMIT: Duration = Duration::from_secs(600);

/// A machine, and its BMC.
struct Sleeper {
    name: &'static str,
    machine: Arc<BmcMachine>,
    _bmc: Emulator,
}

impl Sleeper {
    fn discovered(discovery: &Discovery, name: &'static str, number: u8) -> Self {
        let disk = Disk::new(DiskBus::Virtio, 120 * GIB, "DISK");
        let mac = format!("52:54:00:aa:45:{number:02x}");
        let machine = BmcMachine::on_user_network((name, number), Firmware::SeaBios, 8192, disk, &mac);
        let machine = Arc::new(machine);
        let emulator = Setup::new(Arc::<BmcMachine>::clone(&machine)).start().unwrap();
        import(
            &discovery.service,
            discovery.infra_env.id,
            &[line(&emulator.url(), name)],
        );
        await_condition(&format!("{name} to be discovered"), MACHINE_LIMIT, || {
            let shown = bmc(discovery, name);
            let is_done = shown["phase"] == "discovered" && shown["medium_inserted"] == false;
            is_done.then_some(()).ok_or_else(|| shown.to_string())
        });
        // It mostly waits from now on, or is off.
        machine.give_slots_back();
        Self {
            name,
            machine,
            _bmc: emulator,
        }
    }

    fn id(&self) -> HostId {
        self.machine.hardware().uuid.to_string().parse().unwrap()
    }
}

#[track_caller]
fn await_host(
    client: &Client,
    infra_env: InfraEnvId,
    id: HostId,
    what: &str,
    is: impl Fn(&Host) -> bool,
) -> Host {
    await_condition(&format!("{id} to be {what}"), LIMIT, || {
        let host = client.host(infra_env, id).map_err(|error| error.to_string())?;
        let seen = format!(
            "{:?} {:?} {:?} {:?}",
            host.status, host.status_info, host.sleep, host.failures
        );
        is(&host).then_some(host).ok_or(seen)
    })
}

fn is_asleep(host: &Host) -> bool {
    host.sleep.as_ref().is_some_and(|sleep| sleep.stage == "asleep")
}

#[track_caller]
fn post(client: &Client, path: &str, body: Option<&Value>) -> Value {
    let (status, text) = client.request("POST", path, body).unwrap();
    assert!((200..300).contains(&status), "{path}: {status} {text}");
    serde_json::from_str(&text).unwrap_or_default()
}

/// A cluster that ignores all checks.
fn cluster(client: &Client) -> String {
    let cluster = json!({
        "name": "edge", "openshift_version": "4.16.0", "api_vip_dnsname": "api.edge.lab.example",
        "openshift_cluster_id": "3b5d5ec5-4ae0-4d6a-9f8e-0c1d2e3f4a5b",
    });
    let made = post(client, &format!("{BASE_PATH}/clusters/import"), Some(&cluster));
    let id = made["id"].as_str().unwrap().to_owned();
    let ignored = json!({"host-validation-ids": "[\"all\"]"});
    let path = format!("{BASE_PATH}/clusters/{id}/ignored-validations");
    let (status, text) = client.request("PUT", &path, Some(&ignored)).unwrap();
    assert!((200..300).contains(&status), "{status} {text}");
    id
}

fn act(infra_env: InfraEnvId, host: HostId, action: &str) -> String {
    format!("/infra-envs/{infra_env}/hosts/{host}/actions/{action}")
}

#[test]
fn of_three_machines_two_sleep_and_a_claim_wakes_one() {
    let settings = Settings::for_user_networks()
        .boot_seen_from_here()
        .argument("--bmc-networks=127.0.0.0/8")
        .argument("--bmc-allow-http");
    let discovery = Discovery::on(settings);
    let pool = discovery.infra_env.id;
    let units = [("asleep-a", 44), ("asleep-b", 45), ("asleep-c", 46)]
        .map(|(name, number)| Sleeper::discovered(&discovery, name, number));
    let client = discovery.client();
    for unit in &units {
        await_host(client, pool, unit.id(), "fit", |host| {
            host.status == Some(HostStatus::KnownUnbound)
        });
    }
    client
        .update_infra_env(pool, &json!({"idle_after": "1m", "warm_spares": 1}))
        .unwrap();
    let asleep = await_condition("two of them to sleep", LIMIT, || {
        let hosts = client.hosts(pool).map_err(|error| error.to_string())?;
        let asleep: Vec<HostId> = hosts
            .iter()
            .filter(|host| is_asleep(host))
            .map(|host| host.id)
            .collect();
        let seen = format!(
            "{:?}",
            hosts
                .iter()
                .map(|host| (&host.status_info, &host.sleep))
                .collect::<Vec<_>>()
        );
        (asleep.len() == 2).then_some(asleep).ok_or(seen)
    });
    let (off, on): (Vec<&Sleeper>, Vec<&Sleeper>) =
        units.iter().partition(|unit| asleep.contains(&unit.id()));
    assert!(off.iter().all(|unit| !unit.machine.is_on()) && on.len() == 1 && on[0].machine.is_on());
    // The pool is the same to everybody, and the inventories are kept.
    for host in client.hosts(pool).unwrap() {
        assert_eq!(
            host.status,
            Some(HostStatus::KnownUnbound),
            "{:?}",
            host.status_info
        );
        assert!(!host.inventory.is_empty());
    }
    let url = format!("http://127.0.0.1:{}", discovery.service.port());
    let listed = discovery.service.muster(&["host", "list", "--url", &url]);
    assert_eq!(listed.matches("known-unbound (asleep)").count(), 2, "{listed}");

    let cluster = cluster(client);
    let (woken, other) = (off[0], off[1]);
    let path = format!("{BASE_PATH}{}", act(pool, woken.id(), "bind"));
    post(client, &path, Some(&json!({"cluster_id": cluster})));
    let host = await_host(client, pool, woken.id(), "in its cluster", |host| {
        host.status == Some(HostStatus::Known)
    });
    assert_eq!(host.sleep, None);
    assert!(woken.machine.is_on() && !other.machine.is_on());
    let events = client.events(pool).unwrap();
    let count = |name: &str| {
        events
            .iter()
            .filter(|event| event.name.as_deref() == Some(name))
            .count()
    };
    assert_eq!((count("muster_host_asleep"), count("muster_host_awake")), (2, 1));
    println!("{} was woken", woken.name);
}

#[test]
fn a_machine_that_does_not_wake_is_in_quarantine_and_the_next_one_is_taken() {
    let service = Settings::on_address("127.0.0.1")
        .live_image(&live_image())
        .argument("--bmc-networks=127.0.0.0/8")
        .argument("--host-wake-timeout=30s")
        .start();
    let client = service.client();
    let pool = client.create_infra_env("rack").unwrap().id;
    // Some of them are too small for anything.
    let rack = Rack::of(&service, pool, 8, Reading::Beginning);
    rack.import(&service);
    let units: Vec<&Unit> = await_condition("three hosts that are fit", LIMIT, || {
        let hosts = client.hosts(pool).map_err(|error| error.to_string())?;
        let bmcs = client.bmcs(pool).map_err(|error| error.to_string())?;
        let is_fit = |unit: &&Unit| {
            let is_known =
                |host: &Host| host.id == unit.host() && host.status == Some(HostStatus::KnownUnbound);
            // Only a BMC without an image in its drive puts its host to sleep.
            let is_clean = |bmc: &Bmc| {
                bmc.name == unit.name && bmc.phase == BmcPhase::Discovered && !bmc.medium_inserted
            };
            hosts.iter().any(is_known) && bmcs.iter().any(is_clean)
        };
        let fit: Vec<&Unit> = rack.units.iter().filter(is_fit).take(3).collect();
        let seen: Vec<_> = hosts.iter().map(|host| (host.id, host.status)).collect();
        (fit.len() == 3).then_some(fit).ok_or_else(|| format!("{seen:?}"))
    });
    for unit in &units {
        post(
            client,
            &format!("{MUSTER_PATH}{}", act(pool, unit.host(), "sleep")),
            None,
        );
        await_host(client, pool, unit.host(), "asleep", is_asleep);
        assert!(!unit.machine.is_on(), "{}", unit.name);
    }
    let cluster = cluster(client);
    let bind = |unit: &Unit| {
        let path = format!("{BASE_PATH}{}", act(pool, unit.host(), "bind"));
        post(client, &path, Some(&json!({"cluster_id": cluster})));
    };
    // The power supply of the first is broken.
    let [broken, good, woken] = [units[0], units[1], units[2]];
    broken
        .bmc
        .fail(Fault::status(500).at("POST", "Reset").times(1_000_000));
    bind(broken);
    let lost = await_host(client, pool, broken.host(), "given up", |host| {
        host.status == Some(HostStatus::Disconnected)
    });
    assert_eq!(
        lost.sleep.map(|sleep| sleep.stage),
        Some("did-not-wake".to_owned())
    );
    let failures = lost.failures.unwrap();
    assert!(
        failures.quarantined && failures.stage == "DidNotWake",
        "{failures:?}"
    );
    bind(good);
    await_host(client, pool, good.host(), "in its cluster", |host| {
        host.status == Some(HostStatus::Known) && host.sleep.is_none()
    });
    // A person wakes the third, and it stays in the pool.
    let path = format!("{MUSTER_PATH}{}", act(pool, woken.host(), "wake"));
    post(client, &path, Some(&json!({"keep": true})));
    await_host(client, pool, woken.host(), "awake", |host| {
        host.status == Some(HostStatus::KnownUnbound) && host.sleep.is_none()
    });
    assert!(woken.machine.is_on());
}
