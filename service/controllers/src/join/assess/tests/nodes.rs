//! The Node of a host: found, changed; and those that are not the host's.

use super::*;

#[test]
fn its_node_makes_it_joined_and_gets_provider_id_and_labels() {
    let mut fresh = node("worker-1", 340, "False", 340);
    fresh["spec"] = json!({});
    fresh["metadata"]["labels"] = json!({"rack": "other"});
    let next = assess(
        &host(HostStage::Configuring),
        &known(&[Sort::Client]),
        &view(&[fresh.clone()], &[]),
        now(),
    );
    assert_eq!(stage(&next), Some(HostStage::Joined));
    let change = next.node.clone().unwrap();
    assert_eq!(change.provider_id.as_deref(), Some(PROVIDER_ID));
    assert_eq!(
        change.labels.into_iter().collect::<Vec<_>>(),
        [("rack".to_owned(), "r1".to_owned())]
    );
    assert!(waits(&next).contains("network is not ready"), "{next:?}");
    let foreign_provider = Known {
        sets_provider_id: false,
        ..known(&[Sort::Client])
    };
    let next = assess(
        &host(HostStage::Configuring),
        &foreign_provider,
        &view(&[fresh], &[]),
        now(),
    );
    assert_eq!(next.node.unwrap().provider_id, None);
}

#[test]
fn its_node_gets_the_labels_and_taints_of_its_pool_as_soon_as_it_is_there() {
    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "spec": {},
        "metadata": {
            "name": "m", "labels": {"managed.hypershift.openshift.io.rack": "of the pool"},
            "annotations": {
                "hypershift.openshift.io/nodePool": "clusters/np",
                "hypershift.openshift.io/nodePoolTaints": r#"[{"key": "gpu", "effect": "NoSchedule"}]"#,
            },
        },
    });
    let settings = NodeSettings::of(&serde_json::from_value(machine).unwrap());
    let known = Known {
        settings: settings.clone(),
        ..known(&[Sort::Client])
    };
    let mut fresh = node("worker-1", 340, "False", 340);
    let next = assess(
        &host(HostStage::Configuring),
        &known,
        &view(&[fresh.clone()], &[]),
        now(),
    );
    let change = next.node.unwrap();
    assert_eq!(change.settings, settings);
    assert!(change.labels.is_empty(), "the pool decides: {change:?}");
    fresh["metadata"]["labels"] = json!({"rack": "of the pool", "hypershift.openshift.io/nodePool": "np"});
    fresh["spec"]["taints"] = json!([{"key": "gpu", "effect": "NoSchedule"}]);
    let next = assess(&host(HostStage::Configuring), &known, &view(&[fresh], &[]), now());
    assert_eq!(next.node, None);
}

#[test]
fn a_node_that_is_as_it_should_be_is_not_changed() {
    let next = assess(
        &host(HostStage::Joined),
        &known(&[Sort::Client]),
        &view(&[node("worker-1", 340, "False", 340)], &[]),
        now(),
    );
    assert_eq!((next.node.clone(), stage(&next)), (None, None));
    assert!(
        waits(&next).contains("kubectl describe node worker-1"),
        "{next:?}"
    );
}

#[test]
fn a_node_of_an_earlier_installation_is_not_the_hosts() {
    let old = node("worker-1", -5000, "True", -4000);
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(std::slice::from_ref(&old), &[]),
        now(),
    );
    assert_eq!((stage(&next), next.node.clone()), (None, None));
    assert!(waits(&next).contains("from before this installation"), "{next:?}");
    // The kubelet has got a certificate since.
    let next = assess(
        &host(HostStage::Configuring),
        &known(&[Sort::Client]),
        &view(&[old], &[]),
        now(),
    );
    assert_eq!(stage(&next), Some(HostStage::Joined));
}

#[test]
fn a_stage_that_a_host_reports_makes_no_others_node_its_own() {
    for stage in [HostStage::Configuring, HostStage::Joined] {
        // The readiness changed since: that does not show which machine the Node belongs to.
        let next = assess(
            &host(stage),
            &known(&[]),
            &view(&[old_node("True", 350)], &[]),
            now(),
        );
        assert_eq!((next.node.clone(), next.stage.clone()), (None, None), "{next:?}");
    }
    let own = assess(
        &host(HostStage::Joined),
        &known(&[Sort::Client]),
        &view(&[old_node("Unknown", 350)], &[]),
        now(),
    );
    assert!(waits(&own).contains("its kubelet is silent"), "{own:?}");
}

#[test]
fn a_node_that_is_being_deleted_is_not_the_hosts() {
    let mut leaving = node("worker-1", 340, "True", 350);
    leaving["metadata"]["deletionTimestamp"] = json!(time(at(360)));
    let next = assess(
        &host(HostStage::Configuring),
        &known(&[Sort::Client]),
        &view(&[leaving], &[]),
        now(),
    );
    assert_eq!(stage(&next), None);
}

#[test]
fn another_provider_id_is_told_and_the_host_is_not_done() {
    let mut other = node("worker-1", 340, "True", 350);
    other["spec"]["providerID"] = json!("agent://somebody");
    let view = view(&[other], &[]);
    let all = known(&[Sort::Client, Sort::Serving]);
    let next = assess(&host(HostStage::Joined), &all, &view, now());
    assert_eq!((stage(&next), next.node.clone()), (None, None));
    assert_eq!(next.warnings[0].reason, "ProviderIDMismatch");
    assert!(waits(&next).contains("agent://somebody"), "{next:?}");
    let without_provider = Known {
        sets_provider_id: false,
        ..all
    };
    let next = assess(&host(HostStage::Joined), &without_provider, &view, now());
    assert_eq!(stage(&next), Some(HostStage::Done));
}

/// A kubelet with any certificate of the cluster may make its Node with the provider id of a host that is being installed.
#[test]
fn a_node_of_another_name_with_the_hosts_provider_id_is_not_the_hosts() {
    let claims = node("claims", 340, "True", 350);
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[Sort::Client]),
        &view(
            std::slice::from_ref(&claims),
            &[csr("s", Sort::Serving, "claims", 345)],
        ),
        now(),
    );
    assert!(
        next.node.is_none() && next.approve.is_empty() && stage(&next) != Some(HostStage::Joined),
        "{next:?}"
    );
    assert_eq!(
        (next.warnings.len(), next.warnings[0].reason),
        (1, "ProviderIDClaimed")
    );
    // Beside the host's own, which is older.
    let mut own = node("worker-1", 330, "False", 340);
    own["spec"] = json!({});
    let next = assess(
        &host(HostStage::Configuring),
        &known(&[Sort::Client]),
        &view(&[claims.clone(), own], &[]),
        now(),
    );
    assert_eq!(next.node.unwrap().node, "worker-1");
    // It is named: it may be this machine, under a name that nobody has given it.
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(&[claims], &[]),
        now(),
    );
    let told = waits(&next);
    assert!(
        told.contains("claims") && told.contains("spec.hostname"),
        "{told}"
    );
}
