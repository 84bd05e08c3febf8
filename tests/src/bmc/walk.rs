//! Machines behind BMCs after their discovery: they are approved, become nodes, hosts again and nodes again, without
//! manual work. Common code of the scenarios `bmc::vendors` and `bmc::foreign`.

#![expect(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::time::{Duration, Instant};

use crate::condition::await_every;
use crate::walk::{Hub, NodePoolWalk};
use muster_api::bmc::{Bmc, BmcPhase};
use muster_api::ids::InfraEnvId;
use serde_json::Value;

/// Time limit of ten emulated boots on two cores.
const DISCOVERY: Duration = Duration::from_secs(1800);
/// Time limit of the service's own work.
const SOON: Duration = Duration::from_secs(120);
/// From the scale to hosts that are known again: one has to become disconnected first, and all boot.
const RETURN: Duration = Duration::from_secs(1800);
/// Interval between two checks, each of which takes processor time from the machines.
const LOOK: Duration = Duration::from_secs(2);

/// A machine behind a BMC.
pub trait Unit {
    /// Name of its BMC and of its host.
    fn name(&self) -> &str;
    fn is_on(&self) -> bool;
    /// Its drive is not empty.
    fn has_medium(&self) -> bool;
    /// Output of its console, for failures.
    fn console(&self) -> String;
}

/// Prints progress with the time since the import.
pub struct Watch(Instant);

impl Watch {
    pub fn begin() -> Self {
        Self(Instant::now())
    }

    pub fn tell(&self, what: &str) {
        println!("{:.0} s after the import: {what}", self.0.elapsed().as_secs_f64());
    }
}

/// A service with one more argument that drives BMCs of this computer; its image is made.
#[track_caller]
pub fn hub(argument: &str) -> Hub {
    let settings = Hub::settings()
        .boot_seen_from_here()
        .argument("--bmc-networks=127.0.0.0/8")
        .argument("--host-max-disconnection-time=180s")
        .argument(argument);
    let hub = Hub::built_in(settings);
    hub.iso();
    hub
}

/// Waits until all BMCs have found their machine's host, without differences between both reports, and no medium is
/// left.
#[track_caller]
pub fn await_discovered(hub: &Hub, infra_env: InfraEnvId, units: &[impl Unit]) -> Vec<Bmc> {
    let client = hub.service.client();
    let all = await_every(LOOK, "all machines to be discovered", DISCOVERY, || {
        let all = client.bmcs(infra_env).map_err(|error| error.to_string())?;
        let failed = all.iter().find(|bmc| bmc.phase == BmcPhase::Failed);
        assert!(failed.is_none(), "{failed:#?}");
        let open = |bmc: &&Bmc| bmc.phase != BmcPhase::Discovered || bmc.medium_inserted;
        let open: Vec<String> = all
            .iter()
            .filter(open)
            .map(|bmc| {
                let unit = units.iter().find(|unit| unit.name() == bmc.name);
                let console = unit.map(Unit::console).unwrap_or_default();
                format!("{} {}: {}\n{console}", bmc.name, bmc.phase, bmc.reason)
            })
            .collect();
        if open.is_empty() {
            Ok(all)
        } else {
            Err(open.join("\n"))
        }
    });
    assert_eq!(all.len(), units.len());
    for unit in units {
        let bmc = all.iter().find(|bmc| bmc.name == unit.name()).unwrap();
        let host = client.host(infra_env, bmc.host_id.unwrap()).unwrap();
        assert_eq!(host.requested_hostname, unit.name(), "another machine's host");
        assert_eq!(bmc.differences, [], "{}", unit.name());
        assert!(unit.is_on() && !unit.has_medium(), "{}", unit.name());
    }
    all
}

/// Approves all machines, makes nodes of them, and unbinds them from their cluster, one of them while it is switched
/// off: their BMCs boot them into discovery over the installed disks. Then all become nodes again.
#[track_caller]
pub fn walk(hub: Hub, infra_env: InfraEnvId, units: &[impl Unit], watch: &Watch) {
    let agents = await_agents(&hub, units.len(), "have an inventory", |agent| {
        agent["status"]["debugInfo"]["state"] == "known-unbound"
            && agent["status"]["inventory"]["disks"]
                .as_array()
                .is_some_and(|disks| !disks.is_empty())
    });
    assert!(agents.iter().all(|agent| agent["spec"]["approved"] != true));
    watch.tell("all Agents have an inventory");
    approve_all(&hub, units);
    await_agents(&hub, units.len(), "be approved", |agent| {
        agent["spec"]["approved"] == true
    });
    watch.tell("all Agents are approved");

    let walk = NodePoolWalk::begin(hub);
    become_nodes(&walk, units, "one");
    watch.tell("all are nodes");

    let off = &units[0];
    power_off(&walk.hub, off);
    assert!(!off.is_on() && units[1..].iter().all(Unit::is_on));
    watch.tell(&format!("{} is off", off.name()));
    walk.scale(0);
    await_return(&walk.hub, units);
    walk.await_empty(&mut []);
    assert!(off.is_on());
    // The lab's boot listener has an address for BMCs, which nodes cannot reach: all came back by their BMCs.
    let client = walk.hub.service.client();
    let events = client.events(infra_env).unwrap();
    for bmc in client.bmcs(infra_env).unwrap() {
        let booted = events.iter().any(|event| {
            event.name.as_deref() == Some("muster_bmc_boots_host")
                && event.host_id == bmc.host_id
                && event.message.contains("into the discovery image")
        });
        assert!(booted, "{}", bmc.name);
    }
    watch.tell("all are hosts again, without a hand on them");

    become_nodes(&walk, units, "two");
    watch.tell("all are nodes again");
}

/// Makes nodes of all units, with that config.
#[track_caller]
fn become_nodes(walk: &NodePoolWalk, units: &[impl Unit], config: &str) {
    walk.announce(config);
    walk.scale(units.len());
    walk.publish(config);
    let done = walk.await_done(&mut [], units.len());
    walk.assert_nodes(&done, config);
    for unit in units {
        assert!(done.iter().any(|name| name == unit.name()), "{done:?}");
        assert!(unit.is_on() && !unit.has_medium(), "{}", unit.name());
    }
}

/// `muster host power`, as a user types it, which prints the state at the end.
#[track_caller]
fn power_off(hub: &Hub, unit: &impl Unit) {
    let url = hub.service.client().base();
    let command = ["host", "power", unit.name(), "off", "--force", "--url", url];
    let said = hub.service.muster(&command);
    assert_eq!(said, format!("{} is Off\n", unit.name()));
}

/// Waits until these hosts are unbound again, known by a new boot, and no medium is left in their BMCs.
#[track_caller]
fn await_return(hub: &Hub, units: &[impl Unit]) {
    let path = Hub::agents_path();
    hub.api
        .await_in("all to be hosts again", &path, RETURN, |agents| {
            let state = |agent: &Value| {
                let info = &agent["status"]["debugInfo"];
                format!("{} {}", info["state"], info["stateInfo"])
            };
            let away = agents
                .iter()
                .filter(|agent| agent["status"]["debugInfo"]["state"] != "known-unbound");
            let away: Vec<String> = away.map(state).collect();
            let dirty = units.iter().find(|unit| unit.has_medium()).map(Unit::name);
            if away.is_empty() && dirty.is_none() && agents.len() == units.len() {
                Ok(())
            } else {
                Err(format!("{dirty:?} has a medium; {away:#?}"))
            }
        });
}

/// Waits until so many Agents exist and meet the condition.
#[track_caller]
fn await_agents(hub: &Hub, count: usize, what: &str, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let what = format!("all Agents to {what}");
    hub.api.await_in(&what, &Hub::agents_path(), SOON, |agents| {
        let fit = agents.iter().filter(|agent| fits(agent)).count();
        if fit == count && agents.len() == count {
            Ok(agents.to_vec())
        } else {
            Err(format!("{fit} of {} Agents", agents.len()))
        }
    })
}

/// Approves by one command, as a user types it.
#[track_caller]
fn approve_all(hub: &Hub, units: &[impl Unit]) {
    let names = units.iter().map(Unit::name);
    let url = hub.service.client().base();
    let command = ["host", "approve", "--url", url].into_iter().chain(names);
    hub.service.muster(&command.collect::<Vec<_>>());
}
