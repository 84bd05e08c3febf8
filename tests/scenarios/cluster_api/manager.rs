//! `muster manager` in the place of the provider that HyperShift starts: with its arguments and its rights (`tests/data/hypershift`), on a real
//! API server. HyperShift's and Cluster API's own controllers are simulated, hosts and kubelets' identities as in `kube::joining`.

mod pod;
mod world;

use std::time::Duration;

use muster_tests::condition::{assert_throughout, await_condition};
use muster_tests::database::{host_id, known_host};
use muster_tests::kube::Api;
use muster_tests::kube::played_nodes::Workload;
use muster_tests::kube::world::{NAMESPACE, SOON};
use muster_tests::process::Signal;
use serde_json::{Value, json};

use crate::kube::joining::{ADDRESS, Lab};
use world::{DEPLOYMENT, HCP, HyperShift, LEASE, Manager};

/// Time limit of a Lease that is not renewed any more, and of the next look at it.
const LEASE_LIMIT: Duration = Duration::from_secs(240);

#[test]
fn hypershifts_arguments_and_rights_are_enough_for_a_pool_that_grows_and_shrinks() {
    let workload = Workload::start();
    let mut lab = Lab::on(Api::Real);
    let hypershift = HyperShift::on(&mut lab, Some(&workload));
    for number in [1, 2] {
        approved(&lab, number);
    }
    let mut manager = Manager::start(&hypershift);
    manager.answers_probes();
    manager.awaits_its_turn("ok, leading");
    let metrics = manager.metrics();
    let leads = format!("leader_election_master_status{{name=\"{LEASE}\"}} 1");
    assert!(metrics.contains(&leads), "{metrics}");

    // 0 -> 2
    for (machine, number) in [("east-1", 1), ("east-2", 2)] {
        hypershift.makes_machine(machine);
        let agent = hypershift.await_agent_of(machine);
        assert_eq!(agent, host_id(number), "the order is that of a list");
    }
    becomes_a_node(&lab, &workload, 1);
    hypershift.await_ready("east-1");
    workload
        .kubectl
        .await_that("the Node's provider id", &["node", "host-1"], SOON, |node| {
            (node["spec"]["providerID"] == format!("agent://{}", host_id(1))).then_some(())
        });

    // 2 -> 1
    hypershift.deletes_machine("east-1");
    lab.await_agent(1, "to be given back", |agent| {
        agent["spec"]["clusterDeploymentName"].is_null()
    });
    world::returns(&lab, 1);
    hypershift.await_gone("east-1");
    let kept = hypershift.await_agent_of("east-2");
    assert_eq!(kept, host_id(2));
    let agent = lab.kubectl().get(&["agent", &host_id(1)]);
    assert_eq!(agent["spec"]["approved"], true, "it can be taken again: {agent}");

    // Events need rights, too.
    let events = hypershift.kubectl.get(&["events"]).to_string();
    assert!(events.contains("AgentReserved"), "{events}");
    manager.was_never_refused();
    let metrics = manager.metrics();
    for name in [
        "controller_runtime_reconcile_total{controller=\"agent_machine\",result=\"success\"}",
        "rest_client_requests_total{method=\"PATCH\",code=\"200\"}",
        "process_resident_memory_bytes",
    ] {
        assert!(metrics.contains(name), "no {name}: {metrics}");
    }
    manager.program.signal(Signal::SIGTERM);
    assert!(manager.program.await_exit(SOON).success());
    assert_eq!(hypershift.holder(), "", "the Lease is given back");
}

#[test]
fn of_a_service_and_a_manager_one_serves_the_namespace_and_the_other_reports_it() {
    let served = Api::Real.serve_with(|settings| settings.argument("--capi-provider"));
    let mut lab = Lab::of(served);
    let hypershift = HyperShift::on(&mut lab, None);
    for number in [1, 2] {
        approved(&lab, number);
    }
    // The service was there first.
    let service = "muster-serve_muster";
    hypershift.gives_rights_to_the_service(&lab);
    hypershift.await_holder(service);
    hypershift.makes_machine("east-1");
    hypershift.await_agent_of("east-1");
    let mut manager = Manager::start(&hypershift);
    manager.answers_probes();
    manager.awaits_its_turn(&format!("ok, {service} leads"));
    hypershift.await_event("This provider waits: muster-serve_muster holds the Lease");
    assert!(
        manager
            .program
            .transcript()
            .text()
            .contains("take the option off")
    );

    // HyperShift's own start of a provider goes first.
    hypershift
        .kubectl
        .apply(&[hypershift.deployment("nowhere.example/muster:1")]);
    manager.awaits_its_turn("ok, leading");
    hypershift.await_event(&format!("HyperShift's Deployment {HCP}/{DEPLOYMENT}"));
    hypershift.makes_machine("east-2");
    let agent = hypershift.await_agent_of("east-2");
    let taken = format!("an Agent was taken machine={HCP}/east-2 agent={NAMESPACE}/{agent}");
    assert!(manager.program.transcript().text().contains(&taken));
    assert!(!lab.world.service.log().contains(&taken));
    assert_throughout(
        "the manager to hold the Lease",
        Duration::from_secs(20),
        || match hypershift.holder() {
            holder if holder == service => Err(holder),
            _ => Ok(()),
        },
    );

    // A provider that dies keeps the namespace only until its Lease is over.
    hypershift
        .kubectl
        .run(&["delete", "deployment", DEPLOYMENT, "--wait=false"]);
    manager.program.kill();
    await_condition(
        "the service to serve the namespace again",
        LEASE_LIMIT,
        || match hypershift.holder() {
            holder if holder == service => Ok(()),
            holder => Err(holder),
        },
    );
}

/// An approved host of the pool.
#[track_caller]
fn approved(lab: &Lab, number: u64) {
    known_host(&lab.world.client(), &lab.infra_env, number);
    lab.await_state(number, "known-unbound");
    lab.world
        .patch_agent(&host_id(number), &json!({"approved": true}));
    lab.await_agent(number, "to be valid", |agent| {
        let is = |type_: &str, status: &str| {
            let all = agent["status"]["conditions"].as_array();
            let mut all = all.into_iter().flatten();
            all.any(|one| one["type"] == type_ && one["status"] == status)
        };
        agent["spec"]["approved"] == true
            && is("Connected", "True")
            && is("Validated", "True")
            && is("Bound", "False")
    });
}

/// The host enters the cluster, is installed, and becomes a node, whose provider id is left to the provider.
#[track_caller]
fn becomes_a_node(lab: &Lab, workload: &Workload, number: u64) {
    lab.reboots(number);
    let name = format!("host-{number}");
    let node = workload.join(&format!("client-{number}"), &name);
    node.make_node(ADDRESS);
    lab.await_stage(number, "Joined");
    let made: Value = workload.kubectl.get(&["node", &name]);
    assert!(made["spec"]["providerID"].is_null(), "{made}");
    node.ask_serving(&format!("serving-{number}"), &[ADDRESS]);
    node.report(ADDRESS, true);
    lab.await_stage(number, "Done");
}
