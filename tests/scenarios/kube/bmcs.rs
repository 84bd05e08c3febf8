//! BMCs as custom resources: `kubectl` and a Secret are sufficient until a machine is an Agent. Machines are in memory,
//! and the test sends their agents' requests.

use std::sync::Arc;
use std::time::Duration;

use muster_bmc_emulator::machine::Hardware;
use muster_bmc_emulator::{Booted, Emulator, InMemory, Setup};
use muster_tests::artifacts::live_image;
use muster_tests::bmc::bmc_of;
use muster_tests::condition::await_condition;
use muster_tests::service::Settings;
use serde_json::{Value, json};

use muster_tests::database::reply;
use muster_tests::kube::world::{INFRA_ENV, SOON, World, is, message};
use muster_tests::kube::{Api, on_each_api};

on_each_api!(
    a_machine_becomes_an_agent_by_a_secret_and_a_bmc,
    a_bmc_that_does_not_answer_is_told_and_deleted_all_the_same,
);

/// From the first connection to the boot, of a machine in memory.
const LIMIT: Duration = Duration::from_secs(120);

/// Allows BMCs in the network of these tests.
pub fn bmcs_are_here(settings: Settings) -> Settings {
    settings
        .live_image(&live_image())
        .argument("--bmc-networks=127.0.0.0/8")
        .argument("--bmc-allow-http")
}

/// A BMC, with its Secret.
pub fn objects(name: &str, address: &str, password: &str) -> [Value; 2] {
    [
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth", "metadata": {"name": name},
            "stringData": {"username": "admin", "password": password},
        }),
        json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "BMC", "metadata": {"name": name},
            "spec": {"infraEnvRef": {"name": INFRA_ENV}, "address": address, "credentialsName": name},
        }),
    ]
}

#[track_caller]
pub fn await_phase(world: &World, name: &str, phase: &str) -> Value {
    let what = format!("{name} to be {phase}");
    world.kubectl.await_that(&what, &["bmc", name], LIMIT, |bmc| {
        (bmc["status"]["phase"] == phase).then(|| bmc.clone())
    })
}

/// Waits for a condition with this status and reason; returns its message.
#[track_caller]
pub fn await_reason(world: &World, name: &str, type_: &str, status: &str, reason: &str) -> String {
    let what = format!("{name} to say {reason}");
    world.kubectl.await_that(&what, &["bmc", name], LIMIT, |bmc| {
        is(bmc, type_, status, reason).then(|| message(bmc, type_).to_owned())
    })
}

fn logins(bmc: &Emulator) -> usize {
    let requests = bmc.requests();
    requests.iter().filter(|request| request.is_login()).count()
}

/// Registers the machine that has booted the image of that URL: its kernel's arguments name the BMC, like the URL.
#[track_caller]
fn register(world: &World, path: &str, hardware: &Hardware, image: &str) {
    let (client, id) = (world.client(), hardware.uuid.to_string());
    let registration = json!({"host_id": id, "discovery_agent_version": "muster-agent/0.1.0"});
    client.post(&format!("{path}/hosts"), &registration).expect(201);
    let cards = hardware.macs.iter().map(|mac| json!({"mac_address": mac}));
    let bmc = bmc_of(image).unwrap();
    let boot = json!({"command_line": format!("muster.bmc={}", bmc.0.simple())});
    let inventory = json!({"hostname": "r1u7", "interfaces": cards.collect::<Vec<_>>(), "boot": boot});
    let step = reply("inventory", &inventory);
    client
        .post(&format!("{path}/hosts/{id}/instructions"), &step)
        .expect(204);
}

fn a_machine_becomes_an_agent_by_a_secret_and_a_bmc(api: Api) {
    let world = World::of(api.serve_with(bmcs_are_here));
    let path = world.infra_env(&json!({}));
    let hardware = Hardware::example(7);
    let machine = Arc::new(InMemory::running(hardware.clone()));
    let bmc = Setup::new(machine.clone()).start().unwrap();

    // A wrong password is tried once, whatever else changes.
    world
        .kubectl
        .apply(&objects("r1u7", &bmc.url(), "not the password"));
    let why = await_reason(&world, "r1u7", "Discovered", "False", "CredentialsRefused");
    assert!(!why.contains("not the password"), "{why}");
    let refused = logins(&bmc);
    world.kubectl.run(&["label", "bmc", "r1u7", "rack=1"]);
    let failed = await_phase(&world, "r1u7", "failed");
    let checks = failed["status"]["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == "credentials").unwrap();
    assert_eq!(check["outcome"], "fail");
    assert_ne!(check["advice"], "");
    assert_eq!(logins(&bmc), refused);

    world.kubectl.apply(&objects("r1u7", &bmc.url(), "password"));
    await_phase(&world, "r1u7", "waiting-for-agent");
    let booted = machine.boots();
    let Some(Booted::Image(image)) = booted.last() else {
        panic!("{booted:?}");
    };
    register(&world, &path, &hardware, image);
    world
        .kubectl
        .run(&["wait", "--for=condition=Discovered", "bmc/r1u7", "--timeout=120s"]);
    let shown = world.kubectl.get(&["bmc", "r1u7"]);
    let agent = hardware.uuid.to_string();
    assert_eq!(shown["status"]["agentRef"]["name"], agent.as_str());
    assert_eq!(shown["status"]["inventory"]["uuid"], agent.as_str());
    world.kubectl.run(&[
        "wait",
        "--for=create",
        &format!("agent/{agent}"),
        "--timeout=120s",
    ]);
    let table = world.kubectl.run(&["get", "bmcs"]);
    let columns: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(columns, ["NAME", "PHASE", "ADDRESS", "AGENT", "AGE"], "{table}");
    await_condition("the image to be taken out", LIMIT, || {
        bmc.image().map_or(Ok(()), Err)
    });

    // REST shows it, and refuses changes that the resource decides.
    let bmcs = format!("/api/muster/v1{path}/bmcs");
    let listed = world.client().request("GET", &bmcs, None).expect(200).json();
    assert_eq!(listed[0]["custom_resource"], "hardware/r1u7");
    let one = format!("{bmcs}/{}", listed[0]["id"].as_str().unwrap());
    let refused = world.client().request("DELETE", &one, None).expect(409);
    assert!(refused.text().contains("delete bmc r1u7"), "{}", refused.text());

    // It is requested again, and deleted with the image in the drive.
    world
        .kubectl
        .run(&["annotate", "bmc", "r1u7", "bmc.muster.dev/discover=again"]);
    await_phase(&world, "r1u7", "waiting-for-agent");
    assert!(bmc.image().is_some());
    world.kubectl.run(&["delete", "bmc", "r1u7", "--timeout=120s"]);
    assert_eq!(bmc.image(), None, "the image is still in the drive");
    assert_eq!(bmc.sessions(), 0, "somebody is still logged in");
    let listed = world.client().request("GET", &bmcs, None).expect(200).json();
    assert_eq!(listed, json!([]));
    world.kubectl.get(&["agent", &agent]);
}

fn a_bmc_that_does_not_answer_is_told_and_deleted_all_the_same(api: Api) {
    let world = World::of(api.serve_with(bmcs_are_here));
    world.infra_env(&json!({}));
    // Outside of the networks for BMCs.
    world
        .kubectl
        .apply(&objects("elsewhere", "https://192.0.2.7", "password"));
    await_reason(&world, "elsewhere", "Discovered", "False", "AddressNotUsable");
    let what = "a Warning about it";
    world.kubectl.await_that(what, &["events"], SOON, |events| {
        let mut events = events["items"].as_array()?.iter();
        let found = events.find(|event| event["reason"] == "AddressNotUsable")?;
        (found["type"] == "Warning" && found["involvedObject"]["name"] == "elsewhere").then_some(())
    });
    world
        .kubectl
        .run(&["delete", "bmc", "elsewhere", "--timeout=120s"]);

    // The API server itself refuses what its schema can express.
    let [secret, mut bmc] = objects("wrong", "https://192.0.2.8", "password");
    bmc["spec"]["boot"] = "floppy".into();
    let text =
        serde_json::to_string(&json!({"apiVersion": "v1", "kind": "List", "items": [secret, bmc]})).unwrap();
    let file = world.kubectl.file("wrong.json", &text);
    let refused = world.kubectl.try_run(&["apply", "-f", &file]);
    assert!(
        !refused.succeeded && refused.err.contains("spec.boot"),
        "{refused:?}"
    );
}
