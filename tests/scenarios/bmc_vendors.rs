//! Ten machines under QEMU behind BMCs of ten vendors, by one import: all become Agents with inventory and matched BMC, are approved
//! together, and two of them become nodes, without a hand on them. Then both are taken out of their cluster, one of them while it is
//! switched off, so that its BMC boots it into discovery over the installed disk; and both become nodes again.
//!
//! `MUSTER_RACK_MACHINES` sets another number of machines, two at least.

use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_api::bmc::{Bmc, BmcPhase};
use muster_api::ids::InfraEnvId;
use muster_bmc_emulator::machine::{Hardware, Machine as _};
use muster_bmc_emulator::{Certificate, Emulator, Quirks, Setup};
use muster_tests::bmc::{BmcMachine, import, line};
use muster_tests::condition::await_every;
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, Machine, Nic, Slots, UserNet};
use muster_tests::rest::inventory;
use muster_tests::walk::{Hub, NodePoolWalk};
use serde_json::Value;

/// Machines where nothing else is said.
const MACHINES: usize = 10;
/// BMCs that the service talks to at once; the machines run on when their turn is over.
const PARALLEL: usize = 4;
/// Those of them that become nodes.
const NODES: usize = 2;
/// Time limit of ten emulated boots on two cores.
const DISCOVERY: Duration = Duration::from_secs(1800);
/// Time limit of what the service does by itself.
const SOON: Duration = Duration::from_secs(120);
/// From the scale to two hosts that are known again: one has to be missed first, and both boot.
const RETURN: Duration = Duration::from_secs(900);
/// Between two looks, each of which costs the machines some of the processors.
const LOOK: Duration = Duration::from_secs(2);

/// A machine and its BMC.
struct Unit {
    name: String,
    machine: Arc<BmcMachine>,
    bmc: Emulator,
}

impl Unit {
    /// Machine number `number` of the lab, fit for an installation; half of them have UEFI.
    fn new(vendor: &str, quirks: Quirks, number: u8, slots: Slots) -> Self {
        let name = vendor.replace('_', "-");
        let mac = format!("52:54:00:bc:00:{number:02x}");
        let hardware = Hardware {
            macs: vec![mac.clone()],
            ..Hardware::example(number)
        };
        let firmware = if number.is_multiple_of(2) {
            Firmware::SeaBios
        } else {
            Firmware::Ovmf
        };
        let machine = Machine::new(&name)
            .firmware(firmware)
            .memory_mib(hardware.memory_gib * 1024)
            .disk(Disk::new(DiskBus::Virtio, 120 * GIB, &hardware.drives[0].serial))
            .nic(Nic::user("virtio-net-pci", &mac, UserNet::new(2).hostname(&name)));
        let machine = Arc::new(BmcMachine::new(machine, hardware, slots));
        let bmc = Setup::new(Arc::<BmcMachine>::clone(&machine))
            .quirks(quirks)
            .tls(Certificate::self_signed(&["bmc.lab.example"]));
        Self {
            name,
            machine,
            bmc: bmc.start().unwrap(),
        }
    }
}

#[test]
#[ignore = "ten machines at once: twenty minutes on two cores, and 8 GB of memory"]
fn machines_of_ten_vendors_become_agents_by_one_import_and_two_of_them_nodes_again_and_again() {
    let slots = Slots::all();
    let settings = Hub::settings()
        .boot_seen_from_here()
        .argument("--bmc-networks=127.0.0.0/8")
        .argument("--host-max-disconnection-time=180s")
        .argument(&format!("--bmc-parallel={PARALLEL}"));
    let hub = Hub::built_in(settings);
    // Its image is made.
    hub.iso();
    let vendors = Quirks::vendors().into_iter().take(machines()).zip(41..);
    let units: Vec<Unit> = vendors
        .map(|((vendor, quirks), number)| Unit::new(vendor, quirks, number, slots.with()))
        .collect();
    let began = Instant::now();
    let infra_env: InfraEnvId = hub.infra_env_id().parse().unwrap();
    let lines: Vec<String> = units
        .iter()
        .map(|unit| line(&unit.bmc.url(), &unit.name))
        .collect();
    import(&hub.service, infra_env, &lines);
    let told = |what: &str| println!("{:.0} s after the import: {what}", began.elapsed().as_secs_f64());

    await_discovered(&hub, infra_env, &units);
    told("all machines are hosts, their drives are empty");
    let agents = await_agents(&hub, &units, "have an inventory", |agent| {
        agent["status"]["debugInfo"]["state"] == "known-unbound"
            && agent["status"]["inventory"]["disks"]
                .as_array()
                .is_some_and(|disks| !disks.is_empty())
    });
    assert!(agents.iter().all(|agent| agent["spec"]["approved"] != true));
    told("all Agents have an inventory");
    approve_all(&hub, &units);
    await_agents(&hub, &units, "be approved", |agent| {
        agent["spec"]["approved"] == true
    });
    told("all Agents are approved");

    let walk = NodePoolWalk::begin(hub);
    walk.announce("one");
    walk.scale(NODES);
    walk.publish("one");
    // Whichever they are, it was their BMC that booted them.
    let done = walk.await_done(&mut [], NODES);
    walk.assert_nodes(&done, "one");
    told(&format!("{} are nodes", done.join(" and ")));
    let nodes: Vec<&Unit> = units.iter().filter(|unit| done.contains(&unit.name)).collect();
    assert_run_from_disk(&nodes);

    // The others are out of the game, so that the same two are taken again.
    set_aside(&walk.hub, &done);
    let (off, on) = (nodes[0], nodes[1]);
    power(&walk.hub, off, "off");
    assert!(!off.machine.is_on() && on.machine.is_on());
    told(&format!("{} is off", off.name));
    walk.scale(0);
    await_return(&walk.hub, &nodes);
    walk.await_empty(&mut []);
    assert!(off.machine.is_on());
    let client = walk.hub.service.client();
    let events = client.events(infra_env).unwrap();
    let booted = events
        .iter()
        .filter(|event| event.name.as_deref() == Some("muster_bmc_boots_host"));
    let hosts: Vec<_> = booted.filter_map(|event| event.host_id).collect();
    let bmcs = client.bmcs(infra_env).unwrap();
    let of_off = bmcs
        .iter()
        .find(|bmc| bmc.name == off.name)
        .and_then(|bmc| bmc.host_id);
    // The other one comes back by itself, unless its boot takes so long on a busy computer that its BMC is asked, too.
    assert!(hosts.contains(&of_off.unwrap()), "{hosts:?}");
    told("both are hosts again, without a hand on them");

    walk.announce("two");
    walk.scale(NODES);
    walk.publish("two");
    let mut again = walk.await_done(&mut [], NODES);
    walk.assert_nodes(&again, "two");
    again.sort_unstable();
    let mut before = done;
    before.sort_unstable();
    assert_eq!(again, before);
    assert_run_from_disk(&nodes);
    told("both are nodes again");
}

/// The number of machines, at least as many as there are nodes.
fn machines() -> usize {
    let given = std::env::var("MUSTER_RACK_MACHINES").ok();
    let given = given.map(|text| text.parse().expect("MUSTER_RACK_MACHINES is a number"));
    given.unwrap_or(MACHINES).clamp(NODES, MACHINES)
}

#[track_caller]
fn assert_run_from_disk(nodes: &[&Unit]) {
    for unit in nodes {
        assert!(unit.machine.is_on(), "{} is off", unit.name);
        assert_eq!(unit.bmc.image(), None, "{}", unit.name);
    }
}

/// Takes back the approval of all but these.
fn set_aside(hub: &Hub, but: &[String]) {
    let patch = r#"{"spec":{"approved":false}}"#;
    for agent in hub.api.list(&Hub::agents_path()).unwrap() {
        let host = agent["status"]["inventory"]["hostname"]
            .as_str()
            .unwrap_or_default();
        if !but.iter().any(|name| name == host) {
            let name = agent["metadata"]["name"].as_str().unwrap();
            assert!(hub.api.merge(&Hub::agents_path(), name, patch), "{name}");
        }
    }
}

/// `muster host power`, as a person types it; the state at the end is told.
#[track_caller]
fn power(hub: &Hub, unit: &Unit, action: &str) {
    let url = hub.service.client().base();
    let command = ["host", "power", &unit.name, action, "--force", "--url", url];
    let said = hub.service.muster(&command);
    assert_eq!(said, format!("{} is Off\n", unit.name));
}

/// Waits until these are hosts of no cluster again, known by a new boot, and their BMCs are left clean.
#[track_caller]
fn await_return(hub: &Hub, units: &[&Unit]) {
    hub.api
        .await_in("both to be hosts again", &Hub::agents_path(), RETURN, |agents| {
            let fit = |agent: &&Value| {
                let name = agent["status"]["inventory"]["hostname"]
                    .as_str()
                    .unwrap_or_default();
                units.iter().any(|unit| unit.name == name)
                    && agent["status"]["debugInfo"]["state"] == "known-unbound"
            };
            let dirty = units.iter().find(|unit| unit.bmc.image().is_some());
            match (agents.iter().filter(fit).count(), dirty) {
                (count, None) if count == units.len() => Ok(()),
                (count, dirty) => {
                    let states: Vec<String> = agents
                        .iter()
                        .map(|agent| {
                            let info = &agent["status"]["debugInfo"];
                            format!("{} {}", info["state"], info["stateInfo"])
                        })
                        .collect();
                    Err(format!(
                        "{count} of them, {:?} has a medium: {states:#?}",
                        dirty.map(|unit| &unit.name)
                    ))
                }
            }
        });
}

/// Waits until all BMCs have found their machine's host, with nothing that both tell differently, and are left clean.
#[track_caller]
fn await_discovered(hub: &Hub, infra_env: InfraEnvId, units: &[Unit]) {
    let client = hub.service.client();
    let all = await_every(LOOK, "all machines to be discovered", DISCOVERY, || {
        let all = client.bmcs(infra_env).map_err(|error| error.to_string())?;
        let failed = all.iter().find(|bmc| bmc.phase == BmcPhase::Failed);
        assert!(failed.is_none(), "{failed:#?}");
        let is_done = |bmc: &Bmc| bmc.phase == BmcPhase::Discovered && !bmc.medium_inserted;
        if all.iter().all(is_done) {
            Ok(all)
        } else {
            Err(all
                .iter()
                .map(|bmc| format!("{}: {}", bmc.name, bmc.phase))
                .collect::<Vec<_>>()
                .join(", "))
        }
    });
    assert_eq!(all.len(), units.len());
    for unit in units {
        let bmc = all.iter().find(|bmc| bmc.name == unit.name).unwrap();
        let host = client.host(infra_env, bmc.host_id.unwrap()).unwrap();
        assert_eq!(host.requested_hostname, unit.name, "another machine's host");
        assert_eq!(bmc.differences, [], "{}", unit.name);
        // It booted what its BMC alone was given, and says so.
        let line = inventory(&host).unwrap().boot.unwrap().command_line;
        let named = format!("muster.bmc={}", bmc.id.0.simple());
        assert!(
            line.split_whitespace().any(|argument| argument == named),
            "{line}"
        );
        assert_eq!(unit.bmc.image(), None, "{}", unit.name);
        assert_eq!(unit.bmc.sessions(), 0, "{}", unit.name);
    }
}

/// Waits until the Agents of all machines fit.
#[track_caller]
fn await_agents(hub: &Hub, units: &[Unit], what: &str, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let what = format!("all Agents to {what}");
    hub.api.await_in(&what, &Hub::agents_path(), SOON, |agents| {
        let fit: Vec<Value> = agents.iter().filter(|agent| fits(agent)).cloned().collect();
        if fit.len() == units.len() && agents.len() == units.len() {
            Ok(fit)
        } else {
            Err(format!("{} of {} Agents", fit.len(), agents.len()))
        }
    })
}

/// By one command, as a person types it.
#[track_caller]
fn approve_all(hub: &Hub, units: &[Unit]) {
    let data = hub.service.data_dir().display().to_string();
    let names = units.iter().map(|unit| unit.name.as_str());
    let url = hub.service.client().base();
    let command = ["host", "approve", "--data-dir", &data, "--url", url]
        .into_iter()
        .chain(names);
    hub.service.muster(&command.collect::<Vec<_>>());
}
