//! The two lines that `make run` prints with the page's address: twenty simulated machines come, and go.

use muster_tests::artifacts::fleet_program;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::{Database, host_id};
use muster_tests::hosts::fleet::Fleet;
use muster_tests::process::{command, run};
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

const NAMED: [&str; 2] = ["--infra-env", "simulated"];

#[test]
fn twenty_machines_come_by_one_line_and_go_by_another() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let base = client.base().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--hosts", "20", NAMED[0], NAMED[1]];
    let fleet = Fleet::start(&base, None, &arguments, &folder.path().join("fleet.log"));
    let search = |query: &str| -> Value {
        let path = format!("/api/muster/v1/hosts?{query}");
        client.request("GET", &path, None).expect(200).json()
    };
    await_condition("twenty hosts with an inventory", LEAST_LIMIT, || {
        let known = search("q=pool:simulated%20cpu:%3E0")["total"].clone();
        (known == 20).then_some(()).ok_or_else(|| known.to_string())
    });
    let has_some = |query: &str| {
        await_condition(query, LEAST_LIMIT, || {
            let found = search(query)["total"].as_u64().unwrap();
            (1..20)
                .contains(&found)
                .then_some(())
                .ok_or_else(|| found.to_string())
        });
    };
    has_some("q=gpu:%3E0");
    has_some("q=switch:tor000-a");
    has_some("q=state:insufficient*");
    has_some("q=state:known*");
    has_some("q=vendor:HPE");
    let report = fleet.end();
    let infra_env = format!("/infra-envs/{}", report.infra_env_id());

    let remove = || run(command(fleet_program()).args(["--url", &base, "--remove", NAMED[0], NAMED[1]]));
    // A host that is no machine of the simulator is kept, with all others.
    let body = json!({"host_id": host_id(1), "discovery_agent_version": "muster-agent/0.1.0"});
    client.post(&format!("{infra_env}/hosts"), &body).expect(201);
    let refused = std::panic::catch_unwind(remove).unwrap_err();
    let words = refused.downcast_ref::<String>().unwrap();
    assert!(words.contains("nothing is removed: 1 of the 21 hosts"), "{words}");
    client
        .delete(&format!("{infra_env}/hosts/{}", host_id(1)))
        .expect(204);

    // Two of one name are not confused.
    let twin = client.post(
        "/infra-envs",
        &json!({"name": "simulated", "pull_secret": PULL_SECRET}),
    );
    let twin = format!("/infra-envs/{}", twin.expect(201).json()["id"].as_str().unwrap());
    let refused = std::panic::catch_unwind(remove).unwrap_err();
    let words = refused.downcast_ref::<String>().unwrap();
    assert!(words.contains("2 InfraEnvs have the name simulated"), "{words}");
    client.delete(&twin).expect(204);

    assert!(remove().contains("20 hosts and their InfraEnv"));
    assert_eq!(search("")["visible"], 0);
    client.get(&infra_env).expect(404);
    // A real one may have no hosts yet.
    client
        .post(
            "/infra-envs",
            &json!({"name": "simulated", "pull_secret": PULL_SECRET}),
        )
        .expect(201);
    let refused = std::panic::catch_unwind(remove).unwrap_err();
    let words = refused.downcast_ref::<String>().unwrap();
    assert!(words.contains("has no hosts"), "{words}");
}
