//! The program discovers a machine through its BMC: the options reach the driver, the image is served, the host is found.

use std::sync::Arc;
use std::time::Duration;

use muster_bmc_emulator::machine::Hardware;
use muster_bmc_emulator::{Booted, InMemory, Quirks, Setup};
use muster_image::testing::LiveTree;
use muster_tests::condition::await_condition;
use muster_tests::rest::PULL_SECRET;
use serde_json::json;

use crate::world::World;

/// A machine in memory takes seconds; its agent is this test.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn a_machine_is_discovered_through_its_bmc() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let image = folder.path().join("live.iso");
    LiveTree::new(700_001).write_iso(&image);
    let image = image.display().to_string();
    let world = World::start_with(&[
        "--live-image",
        &image,
        "--bmc-networks",
        "127.0.0.0/8",
        "--bmc-allow-http",
    ]);
    let rest = world.rest();
    let pool = json!({"name": "rack", "pull_secret": PULL_SECRET});
    let pool = rest.post("/infra-envs", &pool).expect(201).json();
    let pool = pool["id"].as_str().expect("an id");

    let hardware = Hardware::example(7);
    let machine = Arc::new(InMemory::running(hardware.clone()));
    let quirks = Quirks {
        // The BMC reads the image from the program.
        reads_image: true,
        ..Quirks::default()
    };
    let bmc = Setup::new(machine.clone()).quirks(quirks).start().expect("a BMC");
    let bmcs = format!("/api/muster/v1/infra-envs/{pool}/bmcs");
    let added = json!({"address": bmc.url(), "user_name": "admin", "password": "password", "name": "r1u7"});
    let added = rest.request("POST", &bmcs, Some(added.to_string().as_bytes()));
    let added = added.expect(201).json();
    assert!(added.get("password").is_none(), "{added}");
    let path = format!("{bmcs}/{}", added["id"].as_str().expect("an id"));
    let in_phase = |phase: &str| {
        await_condition(&format!("the phase {phase}"), LIMIT, || {
            let shown = rest.request("GET", &path, None).expect(200).json();
            match shown["phase"] == phase {
                true => Ok(shown),
                false => Err(shown.to_string()),
            }
        })
    };
    in_phase("waiting-for-agent");
    assert!(
        matches!(machine.boots().last(), Some(Booted::Image(_))),
        "{:?}",
        machine.boots()
    );

    let hosts = format!("/infra-envs/{pool}/hosts");
    let id = hardware.uuid.to_string();
    let registration = json!({"host_id": id, "discovery_agent_version": "muster-agent/0.1.0"});
    rest.post(&hosts, &registration).expect(201);
    let interfaces: Vec<_> = hardware
        .macs
        .iter()
        .map(|mac| json!({"mac_address": mac}))
        .collect();
    // The kernel command line names the BMC from which the machine booted the image.
    let named = format!(
        "muster.bmc={}",
        added["id"].as_str().expect("an id").replace('-', "")
    );
    let boot = json!({"command_line": named});
    let inventory = json!({"hostname": "r1u7", "interfaces": interfaces, "boot": boot}).to_string();
    let reply =
        json!({"step_type": "inventory", "step_id": "inventory-1", "exit_code": 0, "output": inventory});
    let replied = rest.post(&format!("{hosts}/{id}/instructions"), &reply);
    assert!(replied.status < 300, "{}", replied.text());

    let found = in_phase("discovered");
    assert_eq!(found["host_id"], id.as_str());
    assert!(found["image"]["requests"].as_i64() > Some(0), "{found}");
    await_condition("the image to be taken out", LIMIT, || {
        let shown = rest.request("GET", &path, None).expect(200).json();
        match (shown["medium_inserted"].as_bool(), machine.medium()) {
            (Some(false), None) => Ok(()),
            _ => Err(shown.to_string()),
        }
    });
    assert_eq!(bmc.sessions(), 0);
}
