//! The container image as the pod of HyperShift's Deployment, on a real kubelet, which requests the probes.

use std::path::Path;
use std::time::Duration;

use muster_tests::artifacts::project_root;
use muster_tests::condition::await_every;
use muster_tests::kube::world::{NAMESPACE, SOON};
use muster_tests::kube::{Kubectl, PodNode, Registry, Settings, Workload};
use serde_json::json;

use super::world::{DEPLOYMENT, HyperShift};
use crate::clients::packages::{pack_with, unpack};

/// Time limit until the pod is ready, unoptimised on an emulated processor.
const START_LIMIT: Duration = Duration::from_secs(600);

#[test]
#[ignore = "an emulated node runs an unoptimised pod: some minutes"]
fn the_container_image_is_the_pod_of_hypershifts_deployment() {
    let folder = tempfile::tempdir().unwrap();
    let packed = pack_with(folder.path(), "1.0.0", None);
    let layout = folder.path().join("layout");
    unpack(&packed.join("muster-1.0.0-oci.tar"), &layout);
    let registry = Registry::start();
    let image = registry.add_layout("muster:1.0.0", &layout);
    let pause = registry.add_program("pause:1", Path::new("/bin/busybox"), &["sleep", "1000000"]);

    let hub = Workload::start_with(Settings::default().with_pods());
    let administrator = hub.kubectl();
    let root = project_root();
    administrator.run(&["apply", "-k", &root.join("deploy/crds").display().to_string()]);
    let foreign = root.join("api-spec/crds/foreign");
    administrator.run(&["apply", "-f", &foreign.display().to_string()]);
    administrator.await_kinds();
    administrator.run(&["create", "namespace", NAMESPACE]);
    fit_agent(&administrator.namespace(NAMESPACE), "a");
    let hypershift = HyperShift::at(hub.plane(), None);
    let node = PodNode::start(&hub, &registry, &pause);
    hypershift.kubectl.apply(&[hypershift.deployment(&image)]);
    await_every(Duration::from_secs(2), "a ready pod", START_LIMIT, || {
        let seen = hypershift.kubectl.get(&["deployment", DEPLOYMENT]);
        if seen["status"]["readyReplicas"] == 1 {
            return Ok(());
        }
        let pods = hypershift.kubectl.try_run(&["get", "pods,events"]).out;
        Err(format!("{pods}\n{}", node.evidence()))
    });
    hypershift.makes_machine("east-1");
    assert_eq!(hypershift.await_agent_of("east-1"), "a");
    let holder = hypershift.holder();
    assert!(holder.starts_with(DEPLOYMENT), "the pod's name: {holder}");

    // It gives the Lease back when it is stopped.
    hypershift
        .kubectl
        .run(&["scale", "deployment", DEPLOYMENT, "--replicas=0"]);
    hypershift
        .kubectl
        .await_that("the Lease to be free", &["leases"], SOON, |_| {
            hypershift.holder().is_empty().then_some(())
        });
}

/// An Agent that may be taken; no service is behind it.
#[track_caller]
fn fit_agent(kubectl: &Kubectl, name: &str) {
    kubectl.apply(&[json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": {"name": name},
        "spec": {"approved": true, "role": "", "hostname": "worker-0"},
    })]);
    let conditions = [
        ("SpecSynced", "True"),
        ("Connected", "True"),
        ("RequirementsMet", "True"),
        ("Validated", "True"),
        ("Installed", "False"),
        ("Bound", "False"),
    ];
    let conditions = conditions.map(
        |(type_, status)| json!({"type": type_, "status": status, "reason": "Simulated", "message": ""}),
    );
    let status =
        json!({"status": {"conditions": conditions, "debugInfo": {"state": "known-unbound"}}}).to_string();
    kubectl.run(&[
        "patch",
        "agent",
        name,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ]);
}
