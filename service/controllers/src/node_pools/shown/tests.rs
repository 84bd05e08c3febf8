use serde_json::json;

use super::*;

const AT: &str = "2026-11-22T08:00:00Z";

fn agent_machine(status: &Value) -> AgentMachine {
    serde_json::from_value(json!({
        "apiVersion": "capi-provider.agent-install.openshift.io/v1beta1", "kind": "AgentMachine",
        "metadata": {
            "namespace": "clusters-east", "name": "workers-a", "annotations": {NODE_POOL: "clusters/workers"},
            "ownerReferences": [
                {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "workers-a", "uid": "1"},
            ],
        },
        "spec": {}, "status": status,
    }))
    .unwrap()
}

fn candidate(name: &str, reason: &str) -> Value {
    json!({"namespace": "lab", "name": name, "reason": reason, "message": format!("why {name}")})
}

#[test]
fn the_numbers_are_those_of_status_candidates() {
    let status = json!({
        "candidates": [candidate("a", "NotApproved"), candidate("b", "TakenBy"), candidate("c", "TakenBy")],
        "candidatesOmitted": 4,
        "candidateReasons": [{"reason": "NotApproved", "agents": 1}, {"reason": "TakenBy", "agents": 6}],
    });
    let seen = machine(&agent_machine(&status));
    assert_eq!(
        seen.reasons,
        [("NotApproved".to_owned(), 1), ("TakenBy".to_owned(), 6)]
    );
    let named: Vec<(&str, &str)> = seen
        .named
        .iter()
        .map(|one| (one.agent.name.as_str(), one.reason.as_str()))
        .collect();
    assert_eq!(named, [("a", "NotApproved"), ("b", "TakenBy"), ("c", "TakenBy")]);
    assert_eq!(
        (seen.placement.machine.as_str(), seen.placement.node_pool.as_str()),
        ("workers-a", "clusters/workers")
    );
}

/// The definition in the API server may be of an earlier version, which drops the member.
#[test]
fn without_counts_what_is_listed_is_counted() {
    let status = json!({
        "candidates": [candidate("a", "NotApproved"), candidate("b", "TakenBy"), candidate("c", "TakenBy")],
        "candidatesOmitted": 4,
    });
    let seen = machine(&agent_machine(&status));
    let expected = [("NotApproved", 1), (NOT_LISTED, 4), ("TakenBy", 2)];
    assert_eq!(
        seen.reasons,
        expected.map(|(reason, number)| (reason.to_owned(), number))
    );
}

#[test]
fn a_machine_that_waits_has_what_since_until_and_what_to_do() {
    let status = json!({"conditions": [
        {"type": "Ready", "status": "False", "reason": "IssuesReported", "message": "x", "lastTransitionTime": AT},
        {"type": "AgentReserved", "status": "False", "reason": "NoSuitableAgents", "message": "None of 3 Agents", "lastTransitionTime": AT},
        {"type": "AgentSpecSynced", "status": "False", "reason": "InputError", "message": "the bootstrap data are refused", "lastTransitionTime": AT},
        {"type": "Installed", "status": "False", "reason": "AgentNotYetFound", "message": "There is no Agent yet", "lastTransitionTime": AT},
    ]});
    let seen = machine(&agent_machine(&status));
    let wait = seen.placement.wait.unwrap();
    assert_eq!(
        (wait.what.as_str(), wait.since.as_str(), wait.until.as_deref()),
        (
            "None of 3 Agents",
            "2026-11-22T08:00:00.000Z",
            Some("2026-11-22T08:20:00.000Z")
        )
    );
    assert!(wait.what_to_do.starts_with("Mend what keeps"), "{wait:?}");
    let problems: Vec<&str> = seen
        .placement
        .problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(problems, ["the bootstrap data are refused"]);
}

#[test]
fn a_node_pool_has_its_size_its_namespace_and_what_is_wrong() {
    let pool: hypershift::NodePool = serde_json::from_value(json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
        "metadata": {"namespace": "clusters", "name": "workers"},
        "spec": {
            "clusterName": "east.one", "replicas": 3,
            "platform": {"type": "Agent", "agent": {"agentLabelSelector": {"matchLabels": {"rack": "1"}}}},
        },
        "status": {"replicas": 1, "version": "4.20.1", "conditions": [
            {"type": "Ready", "status": "False", "reason": "UserDataMissing", "message": "create the Secret", "lastTransitionTime": AT},
            {"type": "AutoscalingEnabled", "status": "False", "reason": "AsExpected", "message": "", "lastTransitionTime": AT},
            {"type": "UpdatingConfig", "status": "False", "reason": "AsExpected", "message": "", "lastTransitionTime": AT},
        ]},
    }))
    .unwrap();
    let shown = node_pool(&pool);
    assert_eq!((shown.wanted, shown.most, shown.there), (3, None, 1));
    assert_eq!(
        (shown.machines_namespace.as_str(), shown.selector.as_str()),
        ("clusters-east-one", "rack=1")
    );
    let problems: Vec<&str> = shown
        .problems
        .iter()
        .map(|problem| problem.reason.as_str())
        .collect();
    assert_eq!(problems, ["UserDataMissing"]);
}

#[test]
fn what_is_wrong_with_a_hosted_cluster_is_shown() {
    let cluster: hypershift::HostedCluster = serde_json::from_value(json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
        "metadata": {"namespace": "clusters", "name": "east"}, "spec": {},
        "status": {"conditions": [
            {"type": "Available", "status": "False", "reason": "KubeconfigMissing", "message": "create the Secret", "lastTransitionTime": AT},
            {"type": "Degraded", "status": "False", "reason": "AsExpected", "message": "", "lastTransitionTime": AT},
            {"type": "Progressing", "status": "True", "reason": "WaitingForInfrastructure", "message": "x", "lastTransitionTime": AT},
            {"type": "ValidConfiguration", "status": "True", "reason": "AsExpected", "message": "", "lastTransitionTime": AT},
        ]},
    }))
    .unwrap();
    let problems = cluster_problems(&cluster);
    let shown: Vec<&str> = problems.iter().map(|problem| problem.reason.as_str()).collect();
    assert_eq!(shown, ["KubeconfigMissing", "WaitingForInfrastructure"]);
}

#[test]
fn machines_without_an_agent_machine_are_shown_with_their_own_conditions() {
    let object = |name: &str| -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"namespace": "clusters-east", "name": name},
            "status": {"conditions": [
                {"type": "BootstrapConfigReady", "status": "False", "reason": "DataSecretMissing", "message": "no Secret", "lastTransitionTime": AT},
                {"type": "NodeReady", "status": "False", "reason": "NodeDoesNotExist", "message": "no Node", "lastTransitionTime": AT},
            ]},
        }))
        .unwrap()
    };
    let machines = ["workers-a", "workers-b"].map(|name| (name.to_owned(), object(name)));
    let mut seen = vec![machine(&agent_machine(&json!({})))];
    add_machines(&mut seen, &HashMap::from(machines));
    let shown: Vec<(&str, Vec<&str>)> = seen
        .iter()
        .map(|one| {
            let problems = one.placement.problems.iter();
            let reasons = problems.map(|problem| problem.reason.as_str());
            (one.placement.machine.as_str(), reasons.collect())
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("workers-a", vec!["DataSecretMissing"]),
            ("workers-b", vec!["DataSecretMissing"])
        ]
    );
}

#[test]
fn a_quota_has_its_numbers_and_what_is_wrong() {
    let object: AgentQuota = serde_json::from_value(json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "AgentQuota", "metadata": {"namespace": "lab", "name": "east"},
        "spec": {"consumer": {"namespace": "clusters-east"}, "limit": 2, "reserved": 1},
        "status": {"used": 2, "held": 0, "waiting": 1, "conditions": [
            {"type": "Ready", "status": "True", "reason": "InForce", "message": "", "lastTransitionTime": AT},
            {"type": "AboveLimit", "status": "True", "reason": "UseAboveLimit", "message": "3 of 2", "lastTransitionTime": AT},
        ]},
    }))
    .unwrap();
    let shown = quota(&object);
    assert_eq!(
        (shown.limit, shown.reserved, shown.used, shown.waiting),
        (Some(2), 1, 2, 1)
    );
    assert_eq!(shown.problems.len(), 1);
    assert_eq!(shown.problems[0].condition, "AboveLimit");
}
