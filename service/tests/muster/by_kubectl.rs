//! What people type first into `kubectl` with the built-in Kubernetes API.

use crate::world::World;

#[test]
fn all_of_a_namespace_is_shown_and_the_caller_is_known() {
    let world = World::start();
    let kubectl = world.kubectl();
    for empty in [&["get", "all"][..], &["get", "all,services", "-A"]] {
        let output = kubectl.try_run(empty);
        assert!(
            output.succeeded && output.err.contains("No resources found"),
            "{output:?}"
        );
    }
    let kinds = kubectl.run(&["api-resources", "--categories=all", "-o", "name"]);
    for kind in [
        "infraenvs",
        "agents",
        "clusterdeployments",
        "agentclusterinstalls",
        "nodepools",
    ] {
        assert!(
            kinds.lines().any(|line| line.starts_with(&format!("{kind}."))),
            "{kind}: {kinds}"
        );
    }
    assert!(kubectl.run(&["auth", "whoami"]).contains("system:masters"));
    assert_eq!(
        kubectl.run(&["auth", "can-i", "create", "infraenvs"]).trim(),
        "yes"
    );
}
