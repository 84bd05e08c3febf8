//! Two InfraEnvs of one namespace: machines whose boards have one serial number, and an attacker with a token and a
//! known host id.

use std::path::Path;

use muster_tests::artifacts::live_image;
use muster_tests::condition::await_condition;
use muster_tests::kube::Api;
use muster_tests::kube::world::{INFRA_ENV, World, infra_env};
use muster_tests::qemu::{Disk, DiskBus, GIB, MACHINE_LIMIT, Machine, Medium, Nic, Running, Slots, UserNet};
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

const POOLS: [&str; 2] = [INFRA_ENV, "other"];

#[test]
fn two_boards_of_one_serial_number_in_two_infra_envs_are_two_agents_and_a_stranger_takes_neither() {
    let world = World::of(
        Api::BuiltIn.serve_with(|settings| settings.live_image(&live_image()).seen_from_user_networks()),
    );
    world.secret(PULL_SECRET);
    let pools = POOLS.map(|name| {
        let mut pool = infra_env(&json!({}));
        pool["metadata"]["name"] = json!(name);
        pool
    });
    world.kubectl.apply(&pools);
    let folder = tempfile::tempdir().unwrap();
    let slots = Slots::one();
    let mut machines: Vec<Running> = (1..)
        .zip(POOLS)
        .map(|(number, pool)| board(&world, folder.path(), number, pool).start_in(slots.with()))
        .collect();
    let hosts = await_condition("a known host in each InfraEnv", MACHINE_LIMIT, || {
        for machine in &mut machines {
            assert!(machine.is_on(), "{} switched itself off", machine.name());
        }
        let hosts = hosts(&world);
        let known = hosts
            .iter()
            .flatten()
            .filter(|host| host["status"] == "known-unbound");
        let (known, all) = (known.count(), hosts.iter().flatten().count());
        ((known, all) == (2, 2))
            .then(|| hosts.clone())
            .ok_or_else(|| format!("{hosts:?}"))
    });
    let [first, second] = hosts.map(|mut hosts| hosts.remove(0));
    // The first machine has the id that both compute.
    let (kept, beside, elsewhere) = match is_computed(&first) {
        true => (first, second, POOLS[1]),
        false => (second, first, POOLS[0]),
    };
    assert!(is_computed(&kept) && !is_computed(&beside), "{kept} {beside}");
    let [name, of_other] = [&kept, &beside].map(|host| host["id"].as_str().unwrap());
    world.patch_agent(name, &json!({"approved": true, "hostname": "mine"}));
    world.await_agent(name, "RequirementsMet", "True", "AgentIsReady");
    world.await_agent(of_other, "RequirementsMet", "False", "AgentIsNotApproved");
    let stranger = json!({"host_id": name});
    let path = format!("{}/hosts", path_of(&world, elsewhere));
    let refused = world.client().post(&path, &stranger).expect(503);
    assert!(refused.text().contains("has a key"), "{}", refused.text());

    // Both continue, and no further event is reported.
    await_condition("a further poll of both", MACHINE_LIMIT, || {
        let now = self::hosts(&world);
        let polled = |before: &Value| {
            now.iter()
                .flatten()
                .any(|host| host["id"] == before["id"] && host["checked_in_at"] != before["checked_in_at"])
        };
        [&kept, &beside]
            .into_iter()
            .all(polled)
            .then_some(())
            .ok_or_else(|| format!("{now:?}"))
    });
    let after: Vec<Value> = self::hosts(&world).into_iter().flatten().collect();
    assert_eq!(after.len(), 2, "{after:?}");
    for host in &after {
        assert_eq!(host["status"], "known-unbound", "{host}");
        assert_eq!(findings(host).len(), 1, "{host}");
    }
    world.await_agent(name, "RequirementsMet", "True", "AgentIsReady");
}

/// A machine of a maker that prints one serial number on every board.
fn board(world: &World, folder: &Path, number: u32, pool: &str) -> Machine {
    let wait = format!("infraenv/{pool}");
    world
        .kubectl
        .run(&["wait", "--for=condition=ImageCreated", &wait, "--timeout=120s"]);
    let url = world
        .kubectl
        .run(&["get", "infraenv", pool, "-o", "jsonpath={.status.isoDownloadURL}"]);
    let iso = folder.join(format!("{pool}.iso"));
    let service = &world.service;
    service.client().download(&service.reachable(&url), &iso).unwrap();
    let card = Nic::user(
        "virtio-net-pci",
        &format!("00:25:90:00:01:0{number}"),
        UserNet::new(2).hostname(&format!("board-{number}")),
    );
    Machine::new(&format!("board-{number}"))
        .memory_mib(8192)
        .smbios("type=2,manufacturer=AcmeBoard,serial=0123456789")
        .boot(Medium::Cd(iso))
        .disk(Disk::new(DiskBus::Virtio, 120 * GIB, &format!("SER-{number}")))
        .nic(card)
}

/// The hosts of both InfraEnvs.
fn hosts(world: &World) -> [Vec<Value>; 2] {
    POOLS.map(|pool| {
        let path = format!("{}/hosts", path_of(world, pool));
        let hosts = world.client().get(&path).expect(200).json();
        hosts.as_array().unwrap().clone()
    })
}

fn path_of(world: &World, pool: &str) -> String {
    let all = world.client().get("/infra-envs").expect(200).json();
    let found = all.as_array().unwrap().iter().find(|one| one["name"] == pool);
    format!("/infra-envs/{}", found.unwrap()["id"].as_str().unwrap())
}

fn findings(host: &Value) -> Vec<Value> {
    let all = host["findings"].as_array().cloned().unwrap_or_default();
    all.into_iter()
        .filter(|finding| finding["kind"] == "duplicate-host-id")
        .collect()
}

/// True if the host's id is the one computed from its board.
fn is_computed(host: &Value) -> bool {
    findings(host)
        .iter()
        .all(|finding| finding["about"] == host["id"])
}
