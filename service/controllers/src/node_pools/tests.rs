use http::{Request, Response};
use kube::client::Body;
use serde_json::json;
use tower::service_fn;

use super::*;

/// Reads an API server that returns the AgentMachine `m1`, and in a second part `m2`.
fn in_two_parts() -> NodePoolLooks {
    let service = service_fn(|request: Request<Body>| async move {
        let query = request.uri().query().unwrap_or_default();
        let (name, next) = match query.contains("continue=second") {
            true => ("m2", ""),
            false => ("m1", "second"),
        };
        let list = json!({
            "apiVersion": "capi-provider.agent-install.openshift.io/v1beta1", "kind": "AgentMachineList",
            "metadata": {"continue": next},
            "items": [{
                "apiVersion": "capi-provider.agent-install.openshift.io/v1beta1", "kind": "AgentMachine",
                "metadata": {"name": name, "namespace": "clusters", "ownerReferences": [{
                    "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": format!("of-{name}"), "uid": "1",
                }]},
                "spec": {},
            }],
        });
        Ok::<_, std::io::Error>(Response::new(Body::from(list.to_string().into_bytes())))
    });
    NodePoolLooks {
        client: Client::new(service, "default"),
        namespaces: Namespaces::default(),
    }
}

#[tokio::test]
async fn a_machine_is_found_beyond_the_first_part_of_its_namespace() {
    let looks = in_two_parts();
    for (name, found) in [("m2", "m2"), ("of-m2", "m2"), ("of-m1", "m1"), ("m3", "")] {
        let of = MachinesOf::One(KubeRef::new("clusters", name));
        let part = looks.machines(&of).await.unwrap();
        let names: Vec<&str> = part
            .items
            .iter()
            .map(|seen| seen.placement.name.as_str())
            .collect();
        assert_eq!(names.join(" "), found, "{name}");
        assert!(!part.more);
    }
}
