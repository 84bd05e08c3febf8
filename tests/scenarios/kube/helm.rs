//! The chart of `make manifests` by Helm itself, on a real API server: refused without its addresses, installed, upgraded with other values
//! and uninstalled. No pod runs. (That the chart's objects are those of kustomize: service/tests/muster/deploy/packages.rs.)

use muster_tests::kube::{ControlPlane, Helm};

const NAMESPACE: &str = "provisioning";
const ADDRESSES: &str = "publicUrl=https://192.0.2.10:8090,bootUrl=http://192.0.2.10:8091";

#[test]
#[ignore = "it needs `.ci/kube helm`, which compiles for a minute"]
fn the_chart_is_installed_upgraded_and_uninstalled_by_helm() {
    let plane = ControlPlane::start();
    let helm = Helm::new(&plane);
    let linted = helm.run(&["lint", "./muster", "--set", ADDRESSES]);
    assert!(linted.contains("0 chart(s) failed"), "{linted}");

    let release = ["muster", "./muster", "--namespace", NAMESPACE];
    let refused = helm.try_run(&[&["install", "--create-namespace"], &release[..]].concat());
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && why.contains("is not given"), "{why}");
    helm.run(
        &[
            &["install", "--create-namespace", "--set", ADDRESSES],
            &release[..],
        ]
        .concat(),
    );
    let kubectl = plane.kubectl().namespace(NAMESPACE);
    kubectl.await_kinds();
    let settings = || kubectl.get(&["configmap/muster"])["data"].clone();
    assert_eq!(settings()["MUSTER_PUBLIC_URL"], "https://192.0.2.10:8090");
    assert_eq!(settings()["MUSTER_CAPI_PROVIDER"], "false");
    let template = || kubectl.get(&["deployment/muster"])["spec"]["template"].clone();
    let before = template();

    let values = "capiProvider=true,watchFilter=racks,settings.MUSTER_LOG=debug";
    helm.run(&[&["upgrade", "--reuse-values", "--set", values], &release[..]].concat());
    assert_eq!(settings()["MUSTER_CAPI_PROVIDER"], "true");
    assert_eq!(settings()["MUSTER_WATCH_FILTER"], "racks");
    assert_eq!(settings()["MUSTER_LOG"], "debug");
    let checksum =
        |template: &serde_json::Value| template["metadata"]["annotations"]["checksum/settings"].clone();
    assert_ne!(
        checksum(&before),
        checksum(&template()),
        "the pods would keep the settings from before"
    );

    helm.run(&["uninstall", "muster", "--namespace", NAMESPACE]);
    assert!(!kubectl.try_run(&["get", "deployment/muster"]).succeeded);
    // With their objects: Helm deletes no kind.
    plane
        .kubectl()
        .run(&["get", "crd/agents.agent-install.openshift.io"]);
}
