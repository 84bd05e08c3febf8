//! The Cluster API provider on a built-in Kubernetes API in this process. Agents, Machines and Clusters are simulated.

mod world;

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::ListParams;
use muster_resources::{AgentCluster, AgentClusterInstall, AgentMachine, ClusterDeployment};
use serde_json::{Value, json};
use tokio::time::sleep;
use world::{AGENTS, NAMESPACE, World, condition};

use crate::backend::eventually;

const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine";
const FINALIZER: &str = "agentmachine.agent-install.openshift.io/deprovision";

/// A Machine with an AgentMachine that has taken the Agent `a`.
async fn machine_with_agent() -> (World, AgentMachine) {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m", "user-data", &json!({})).await;
    let machine = world.await_taken("m").await;
    (world, machine)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_takes_an_agent_and_becomes_ready_with_it() {
    let (world, machine) = machine_with_agent().await;
    let status = machine.status.clone().unwrap();
    assert_eq!(machine.spec.provider_id.as_deref(), Some("agent://a"));
    assert!(machine.finalizers().contains(&FINALIZER.to_owned()));
    assert_eq!(
        condition(&status.conditions, "AgentReserved"),
        ("True", "AgentReserved")
    );
    assert_eq!(
        condition(&status.conditions, "Installed"),
        ("False", "InstallationNotStarted")
    );
    assert_eq!(status.conditions[0].type_, "Ready");
    let addresses: Vec<_> = status.addresses.iter().map(|one| one.address.as_str()).collect();
    assert_eq!(addresses, ["192.0.2.7", "2001:db8::7", "a.example.test"]);
    let agent = world.get_agent("a").await;
    assert_eq!(agent.labels()["agentMachineRef"], "m");
    assert_eq!(agent.annotations()["agentMachineRefNamespace"], NAMESPACE);
    let spec = serde_json::to_value(&agent.spec).unwrap();
    assert_eq!(
        spec["clusterDeploymentName"],
        json!({"name": "one", "namespace": NAMESPACE})
    );
    assert_eq!(spec["machineConfigPool"], "ignition");
    assert_eq!(
        spec["ignitionEndpointTokenReference"],
        json!({"name": "agent-user-data", "namespace": NAMESPACE})
    );
    assert_eq!(
        spec["ignitionEndpointHTTPHeaders"],
        json!({"NodePool": "clusters/np"})
    );
    assert_eq!(spec["hostname"], "a.example.test", "the user's");
    let secret: Secret = world.get("agent-user-data").await;
    assert_eq!(secret.data.unwrap()["ignition-token"].0, b"ZmFrZQ==");
    assert_eq!(world.get_machine("m").await.annotations()[HOOK], "");

    world.installed("a").await;
    let ready = world.await_ready("m").await;
    assert_eq!(ready.initialization.unwrap().provisioned, Some(true));
    assert_eq!(condition(&ready.conditions, "Ready"), ("True", "InfoReported"));

    // A later failure, or a deletion of the bootstrap data, changes nothing.
    world.delete::<Secret>("user-data").await;
    world
        .agent_status(
            "a",
            &json!({"Bound": "True", "Connected": "False"}),
            "added-to-existing-cluster",
        )
        .await;
    sleep(Duration::from_millis(500)).await;
    let machine: AgentMachine = world.get("m").await;
    assert_eq!(machine.status.unwrap().conditions, ready.conditions);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_is_deleted_gives_its_agent_back() {
    let (world, _) = machine_with_agent().await;
    world.installed("a").await;
    world.await_ready("m").await;

    // Deleting the AgentMachine alone has no effect.
    world.delete::<AgentMachine>("m").await;
    eventually("the AgentMachine to say so", async || {
        let machine: AgentMachine = world.get("m").await;
        let status = machine.status.unwrap();
        (condition(&status.conditions, "Deleting") == ("True", "WaitingForMachine")).then_some(())
    })
    .await;
    assert_eq!(world.get_agent("a").await.labels()["agentMachineRef"], "m");

    world.delete_machine("m").await;
    world.awaits_hook("m").await;
    let agent = eventually("the Agent to be given back", async || {
        let agent = world.get_agent("a").await;
        agent.spec.cluster_deployment_name.is_none().then_some(agent)
    })
    .await;
    assert!(!agent.labels().contains_key("agentMachineRef") && agent.spec.approved);
    assert!(agent.spec.ignition_endpoint_token_reference.is_none());
    assert!(agent.spec.ignition_endpoint_http_headers.is_empty());
    // Until the host has left, the Machine stays, and the AgentMachine names the Agent that it waits for.
    world.left("a", "unbinding").await;
    eventually("the AgentMachine to name the Agent", async || {
        let machine: AgentMachine = world.get("m").await;
        let conditions = machine.status?.conditions;
        let deleting = conditions.into_iter().find(|one| one.type_ == "Deleting")?;
        let names =
            deleting.message.contains(&format!("{AGENTS}/a")) && deleting.message.contains("unbinding");
        (deleting.reason == "WaitingForAgent" && names).then_some(())
    })
    .await;
    assert!(world.get_machine("m").await.annotations().contains_key(HOOK));
    world.left("a", "discovering-unbound").await;
    eventually("the hook to be taken off", async || {
        (!world.get_machine("m").await.annotations().contains_key(HOOK)).then_some(())
    })
    .await;
    eventually("the AgentMachine to go", async || {
        world.find::<AgentMachine>("m").await.is_none().then_some(())
    })
    .await;
    eventually("the token to go", async || {
        world
            .find::<Secret>("agent-user-data")
            .await
            .is_none()
            .then_some(())
    })
    .await;
}

/// Cluster API, or the end of the process, interrupts between the removal of the hook and that of the finalizer.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_machine_goes_whose_machine_is_past_the_hook() {
    let (world, _) = machine_with_agent().await;
    world.installed("a").await;
    world.await_ready("m").await;
    world.delete_machine("m").await;
    world.remove_hook("m", HOOK).await;
    world.delete::<AgentMachine>("m").await;
    eventually("the Agent to be given back", async || {
        let agent = world.get_agent("a").await;
        agent.spec.cluster_deployment_name.is_none().then_some(())
    })
    .await;
    world.left("a", "known-unbound").await;
    eventually("the AgentMachine to go", async || {
        world.find::<AgentMachine>("m").await.is_none().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_machines_at_once_take_twenty_agents_with_one_write_each() {
    const MANY: usize = 20;
    let world = World::start().await;
    for n in 0..MANY {
        world.agent(&format!("a{n:02}"), &json!({})).await;
    }
    world.bootstrap("user-data", &world::pointer()).await;
    // All begin when their cluster exists.
    for n in 0..MANY {
        world.machine(&format!("m{n:02}"), "user-data", &json!({})).await;
    }
    world.cluster("one").await;
    let mut taken = BTreeSet::new();
    for n in 0..MANY {
        let machine = world.await_taken(&format!("m{n:02}")).await;
        taken.insert(machine.status.unwrap().agent_ref.unwrap().name);
    }
    assert_eq!(taken.len(), MANY);
    for name in taken {
        let agent = world.get_agent(&name).await;
        assert_eq!(
            agent.metadata.generation,
            Some(2),
            "{name} was written more than once"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_machines_one_takes_the_only_agent_and_the_other_says_why_it_waits() {
    let world = World::start().await;
    world.agent("a", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    for name in ["m1", "m2"] {
        world.machine(name, "user-data", &json!({})).await;
    }
    world.cluster("one").await;
    let (winner, loser) = eventually("one of them to win", async || {
        let mut reserved = Vec::new();
        for name in ["m1", "m2"] {
            let machine: AgentMachine = world.get(name).await;
            let status = machine.status?;
            reserved.push((
                condition(&status.conditions, "AgentReserved") == ("True", "AgentReserved"),
                status,
            ));
        }
        let waits = |status: &muster_resources::AgentMachineStatus| {
            condition(&status.conditions, "AgentReserved") == ("False", "NoSuitableAgents")
        };
        match (&reserved[0], &reserved[1]) {
            ((true, _), (false, loser)) if waits(loser) => Some(("m1", loser.clone())),
            ((false, loser), (true, _)) if waits(loser) => Some(("m2", loser.clone())),
            _ => None,
        }
    })
    .await;
    let [why] = loser.candidates.as_slice() else {
        panic!("{:?}", loser.candidates)
    };
    assert_eq!((why.name.as_str(), why.reason.as_str()), ("a", "TakenBy"));
    assert_eq!(
        why.message,
        format!("it was taken for the AgentMachine {NAMESPACE}/{winner}")
    );
    let event = eventually("its Event", async || {
        let events = world.api::<Event>().list(&ListParams::default()).await.unwrap();
        events
            .items
            .into_iter()
            .find(|one| one.reason.as_deref() == Some("NoSuitableAgents"))
    })
    .await;
    assert!(event.note.unwrap().contains("it was taken for"));
    // The winner is deleted, and the other takes the Agent.
    let other = if winner == "m1" { "m2" } else { "m1" };
    world.delete_machine(winner).await;
    world.awaits_hook(winner).await;
    let released = eventually("the Agent to be given back", async || {
        let agent = world.get_agent("a").await;
        (agent.labels().get("agentMachineRef").map(String::as_str) != Some(winner)).then_some(agent)
    })
    .await;
    drop(released);
    world.agent_status("a", &json!({}), "known-unbound").await;
    world.await_taken(other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_are_not_fit_are_listed_with_their_reasons_until_one_is() {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("small", &json!({"labels": {"size": "small"}})).await;
    world.agent("unapproved", &json!({"approved": false})).await;
    world.agent("silent", &json!({})).await;
    world
        .agent_status("silent", &json!({"Connected": "False"}), "disconnected-unbound")
        .await;
    world.agent("unchecked", &json!({})).await;
    world
        .agent_status(
            "unchecked",
            &json!({"Validated": "False"}),
            "insufficient-unbound",
        )
        .await;
    world.agent("bound", &json!({"cluster": "another"})).await;
    world
        .agent(
            "west",
            &json!({"labels": {"topology.kubernetes.io/zone": "west"}}),
        )
        .await;
    world.bootstrap("user-data", &world::pointer()).await;
    let wanted = json!({
        "selector": {"matchExpressions": [{"key": "size", "operator": "NotIn", "values": ["small"]}]},
        "failureDomain": "east",
    });
    world.machine("m", "user-data", &wanted).await;
    let status = eventually("all of them to be listed", async || {
        let machine: AgentMachine = world.get("m").await;
        machine.status.filter(|status| status.candidates.len() == 6)
    })
    .await;
    let reasons: BTreeSet<_> = status
        .candidates
        .iter()
        .map(|one| (one.name.as_str(), one.reason.as_str()))
        .collect();
    let elsewhere = "InAnotherFailureDomain";
    let wanted = BTreeSet::from([
        ("small", "NotSelected"),
        ("unapproved", elsewhere),
        ("silent", elsewhere),
        ("unchecked", elsewhere),
        ("bound", "OfAnotherCluster"),
        ("west", elsewhere),
    ]);
    assert_eq!(reasons, wanted);

    // Without the failure domain each reports its own mistake, and one without a mistake is taken.
    world.bootstrap("other-data", &world::pointer()).await;
    world
        .label_agent("west", "topology.kubernetes.io/zone", "east")
        .await;
    let machine = world.await_taken("m").await;
    assert_eq!(machine.status.clone().unwrap().agent_ref.unwrap().name, "west");
    assert_eq!(machine.status.unwrap().failure_domain.as_deref(), Some("east"));
    world.machine("m2", "other-data", &json!({})).await;
    let status = eventually("the reasons", async || {
        let machine: AgentMachine = world.get("m2").await;
        machine.status.filter(|status| status.agent_ref.is_some())
    })
    .await;
    let reasons: BTreeSet<_> = status
        .candidates
        .iter()
        .map(|one| (one.name.as_str(), one.reason.as_str()))
        .collect();
    let wanted = BTreeSet::from([
        ("unapproved", "NotApproved"),
        ("silent", "NotConnected"),
        ("unchecked", "NotValidated"),
        ("bound", "OfAnotherCluster"),
        ("west", "TakenBy"),
    ]);
    assert_eq!(
        (status.agent_ref.unwrap().name.as_str(), reasons),
        ("small", wanted)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_was_taken_before_is_found_again_and_that_of_a_namesake_is_not() {
    let world = World::start().await;
    world.cluster("one").await;
    world.bootstrap("user-data", &world::pointer()).await;
    world
        .agent("a", &json!({"taken": ["m", "elsewhere"], "cluster": "other"}))
        .await;
    world
        .agent("b", &json!({"taken": ["m", NAMESPACE], "cluster": "one"}))
        .await;
    world.installed("b").await;
    world.agent("c", &json!({})).await;
    world.machine("m", "user-data", &json!({})).await;
    let machine = world.await_taken("m").await;
    assert_eq!(machine.status.unwrap().agent_ref.unwrap().name, "b");
    assert_eq!(
        world
            .get_agent("a")
            .await
            .spec
            .cluster_deployment_name
            .unwrap()
            .name,
        "other"
    );
    assert!(
        !world
            .get_agent("c")
            .await
            .labels()
            .contains_key("agentMachineRef")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_while_something_is_paused() {
    let world = World::start().await;
    world.cluster("one").await;
    world.pause_cluster("one", true).await;
    world.agent("a", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m", "user-data", &json!({})).await;
    eventually("the pause to be noticed", async || {
        let machine: AgentMachine = world.get("m").await;
        let status = machine.status?;
        (condition(&status.conditions, "Paused") == ("True", "Paused")).then_some(())
    })
    .await;
    assert!(world.get_agent("a").await.spec.cluster_deployment_name.is_none());
    world.annotate_machine("m", Some("")).await;
    eventually("the annotation to be noticed", async || {
        let machine: AgentMachine = world.get("m").await;
        let conditions = machine.status?.conditions;
        let paused = conditions.into_iter().find(|one| one.type_ == "Paused")?;
        paused.message.contains("The annotation ").then_some(())
    })
    .await;
    world.pause_cluster("one", false).await;
    sleep(Duration::from_millis(300)).await;
    assert!(world.get_agent("a").await.spec.cluster_deployment_name.is_none());
    world.annotate_machine("m", None).await;
    let machine = world.await_taken("m").await;
    assert_eq!(condition(&machine.status.unwrap().conditions, "Paused"), ("", ""));
    // Moved to another management cluster: the AgentMachine is deleted here, and its Agent stays as it is.
    world.annotate_machine("m", Some("true")).await;
    world.delete::<AgentMachine>("m").await;
    eventually("the AgentMachine to go", async || {
        world.find::<AgentMachine>("m").await.is_none().then_some(())
    })
    .await;
    assert!(!world.get_machine("m").await.annotations().contains_key(HOOK));
    assert_eq!(world.get_agent("a").await.labels()["agentMachineRef"], "m");
}

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_data_is_awaited_and_a_whole_config_is_handed_over_as_it_is() {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.machine("m", "data", &json!({})).await;
    let message = async || {
        let machine: AgentMachine = world.get("m").await;
        let status = machine.status?;
        let found = status
            .conditions
            .into_iter()
            .find(|one| one.type_ == "AgentReserved")?;
        (found.reason == "AgentNotYetFound").then_some(found.message)
    };
    eventually("the missing Secret to be named", async || {
        message()
            .await
            .filter(|it| it.contains(&format!("the Secret {NAMESPACE}/data does not exist")))
    })
    .await;
    let cloud_config = json!("#cloud-config");
    world.bootstrap("data", &cloud_config).await;
    eventually("the wrong format to be named", async || {
        message().await.filter(|it| it.contains("set `format: ignition`"))
    })
    .await;
    let whole = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/x"}]}});
    world.bootstrap("data", &whole).await;
    world.await_taken("m").await;
    let secret: Secret = world.get("agent-data").await;
    let data = secret.data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["ignition"]);
    assert_eq!(
        serde_json::from_slice::<Value>(&data["ignition"].0).unwrap(),
        whole
    );
    let agent = world.get_agent("a").await;
    assert_eq!(agent.spec.machine_config_pool, None);
    assert_eq!(
        agent.spec.ignition_endpoint_token_reference.unwrap().name,
        "agent-data"
    );

    // Nothing is written when nothing changes, whatever else the Agent reports.
    let versions = async || {
        let machine: AgentMachine = world.get("m").await;
        (
            machine.resource_version(),
            world.get_agent("a").await.resource_version(),
        )
    };
    eventually("a second without a write", async || {
        let before = versions().await;
        sleep(Duration::from_secs(1)).await;
        (versions().await == before).then_some(())
    })
    .await;

    // The data is replaced while the host is being installed: its Agent keeps what it has.
    world.delete::<Secret>("data").await;
    world.installed("a").await;
    world.await_ready("m").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_cluster_makes_what_hosts_are_bound_to_and_says_what_it_waits_for() {
    let world = World::start().await;
    // Plain Cluster API: no control plane object.
    world.cluster("plain").await;
    let ready = async |name: &str| {
        let cluster: AgentCluster = world.get(name).await;
        let status = cluster.status?;
        let reason = condition(&status.conditions, "Ready").1.to_owned();
        Some((status, reason))
    };
    eventually("the plain one to be ready", async || {
        ready("plain").await.filter(|(status, _)| status.ready)
    })
    .await;
    let deployment: ClusterDeployment = world.get("plain").await;
    let metadata = deployment.spec.cluster_metadata.clone().unwrap();
    assert_eq!(metadata.admin_kubeconfig_secret_ref.name, "plain-kubeconfig");
    assert!(deployment.spec.pull_secret_ref.is_none() && deployment.spec.installed == Some(true));
    assert_eq!(deployment.labels()["agentClusterRef"], "plain");
    assert_eq!(deployment.owner_references()[0].kind, "AgentCluster");
    let install: AgentClusterInstall = world.get("plain").await;
    assert_eq!(install.spec.provision_requirements.control_plane_agents, 3);
    assert_eq!(
        install.spec.ignition_endpoint.unwrap().url.as_deref(),
        Some("https://ignition.example.test:31111")
    );

    // HyperShift's control plane must exist with its names first.
    world.hosted_cluster("hosted").await;
    let awaits = async |reason: &str| {
        eventually(reason, async || {
            ready("hosted").await.filter(|(_, found)| found == reason)
        })
        .await
    };
    awaits("WaitingForControlPlane").await;
    world.control_plane("hosted").await;
    awaits("WaitingForControlPlaneEndpoint").await;
    let deployment: ClusterDeployment = world.get("hosted").await;
    assert_eq!(deployment.spec.base_domain, "example.test");
    assert_eq!(deployment.spec.pull_secret_ref.unwrap().name, "pull-secret");
    world.endpoint("hosted").await;
    awaits("AgentClusterReady").await;

    // A ClusterDeployment that was made elsewhere is not changed.
    world.foreign_deployment("theirs").await;
    world.cluster("theirs").await;
    eventually("the conflict", async || {
        ready("theirs")
            .await
            .filter(|(_, reason)| reason == "ClusterDeploymentConflict")
    })
    .await;
    world.delete::<ClusterDeployment>("theirs").await;
    eventually("it to be made", async || {
        ready("theirs").await.filter(|(status, _)| status.ready)
    })
    .await;
    // The ClusterDeployment is deleted with its AgentCluster, to which it belongs.
    world.delete::<AgentCluster>("plain").await;
    eventually("the ClusterDeployment to go", async || {
        world
            .find::<ClusterDeployment>("plain")
            .await
            .is_none()
            .then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_somebody_else_is_not_written_to() {
    let world = World::start().await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.bootstrap("agent-user-data", &json!("theirs")).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m", "user-data", &json!({})).await;
    eventually("the AgentMachine to say why", async || {
        let machine: AgentMachine = world.get("m").await;
        let conditions = machine.status?.conditions;
        let reserved = conditions.into_iter().find(|one| one.type_ == "AgentReserved")?;
        reserved.message.contains("somebody else's").then_some(())
    })
    .await;
    let secret: Secret = world.get("agent-user-data").await;
    assert_eq!(secret.data.unwrap().into_keys().collect::<Vec<_>>(), ["value"]);
    let machine: AgentMachine = world.get("m").await;
    assert!(machine.status.unwrap().agent_ref.is_none());
}

/// Users who may create AgentMachines in one namespace cannot take machines of another one.
#[tokio::test(flavor = "multi_thread")]
async fn agents_of_another_namespace_are_taken_only_when_their_infra_env_gives_them() {
    let world = World::start().await;
    world.infra_env(Some("somebody, else")).await;
    world.cluster("one").await;
    world.agent("a", &json!({})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.machine("m", "user-data", &json!({})).await;
    let status = eventually("the AgentMachine to say why", async || {
        let machine: AgentMachine = world.get("m").await;
        machine.status.filter(|status| !status.candidates.is_empty())
    })
    .await;
    assert_eq!(status.candidates[0].reason, "OfAnotherNamespace");
    assert!(
        status.candidates[0].message.contains("agents-for-namespaces"),
        "{status:?}"
    );
    let agent = world.get_agent("a").await;
    assert!(
        agent.spec.cluster_deployment_name.is_none()
            && agent.spec.ignition_endpoint_token_reference.is_none()
    );

    world.infra_env(Some(&format!("somebody, {NAMESPACE}"))).await;
    world.await_taken("m").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_agents_of_the_hosted_clusters_namespace_are_taken_or_named() {
    let world = World::start().await;
    world.namespace("others").await;
    world.agent("a", &json!({"namespace": "others"})).await;
    world.agent("b", &json!({"approved": false})).await;
    world.bootstrap("user-data", &world::pointer()).await;
    world.hosted_cluster("hc").await;
    world.control_plane("hc").await;
    world.endpoint("hc").await;
    world.machine_of("hc", "m", "user-data", &json!({})).await;
    let status = eventually("the reasons", async || {
        let machine: AgentMachine = world.get("m").await;
        machine.status.filter(|status| !status.candidates.is_empty())
    })
    .await;
    let names: Vec<_> = status
        .candidates
        .iter()
        .map(|one| (one.namespace.as_str(), one.name.as_str()))
        .collect();
    assert_eq!(names, [(AGENTS, "b")]);
    let reserved = status
        .conditions
        .iter()
        .find(|one| one.type_ == "AgentReserved")
        .unwrap();
    assert!(
        reserved.message.contains("in the namespace hardware"),
        "{}",
        reserved.message
    );
}
