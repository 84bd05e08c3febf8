//! Reads the upgrade in place of a Machine's node, and which Node is that of the former system.

use kube::ResourceExt;
use muster_api::time::Timestamp;
use muster_resources::cluster_api::Machine;
use muster_resources::hypershift::InPlaceUpgrade;
use muster_resources::names::annotation::IN_PLACE_UPGRADE;

use crate::node::NodeFacts;

/// The upgrade of a Machine's node; `None`: there is none, or it cannot be read.
pub fn upgrade(machine: &Machine) -> Option<InPlaceUpgrade> {
    let text = machine.annotations().get(IN_PLACE_UPGRADE)?;
    let upgrade: InPlaceUpgrade = serde_json::from_str(text).ok()?;
    (!upgrade.began.is_empty()).then_some(upgrade)
}

/// True for the Node of the system that the upgrade replaces. Without a recorded uid, it is a Node that is older than the upgrade. One that
/// somebody made since then in its name is another.
pub fn is_former(node: &NodeFacts, upgrade: &InPlaceUpgrade) -> bool {
    if let Some(uid) = &upgrade.node_uid {
        return node.uid == *uid;
    }
    let began: Option<Timestamp> = upgrade.began.parse().ok();
    node.created
        .zip(began)
        .is_some_and(|(created, began)| created < began)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use serde_json::json;

    use super::*;
    use crate::node::read;

    fn machine(annotation: Option<&str>) -> Machine {
        let annotations = match annotation {
            Some(text) => json!({IN_PLACE_UPGRADE: text}),
            None => json!({}),
        };
        serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": "m", "annotations": annotations}, "spec": {},
        }))
        .unwrap()
    }

    fn node(uid: &str, created: &str) -> NodeFacts {
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": "worker-1", "uid": uid, "creationTimestamp": created},
        }))
        .unwrap();
        read(&node)
    }

    #[test]
    fn an_upgrade_is_read_from_its_annotation_and_rubbish_is_none() {
        let good =
            r#"{"began":"2026-11-22T15:00:00.000Z","dataSecretName":"d","template":"t","nodeUid":"u"}"#;
        let read = upgrade(&machine(Some(good))).unwrap();
        assert_eq!(
            (read.data_secret_name.as_str(), read.template.as_str()),
            ("d", "t")
        );
        assert_eq!(read.node_uid.as_deref(), Some("u"));
        for bad in [None, Some(""), Some("{}"), Some("hunter2")] {
            assert_eq!(upgrade(&machine(bad)), None, "{bad:?}");
        }
    }

    #[test]
    fn the_former_node_is_the_recorded_one_whatever_the_clocks_and_else_the_older_one() {
        let mut upgrade = InPlaceUpgrade {
            began: "2026-11-22T15:00:00.000Z".into(),
            ..InPlaceUpgrade::default()
        };
        let (before, since) = ("2026-11-22T14:59:59Z", "2026-11-22T15:00:00Z");
        assert!(is_former(&node("a", before), &upgrade));
        assert!(!is_former(&node("a", since), &upgrade));
        upgrade.node_uid = Some("a".into());
        assert!(is_former(&node("a", since), &upgrade));
        assert!(!is_former(&node("b", before), &upgrade), "it was made by hand");
    }
}
