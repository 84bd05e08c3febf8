//! Finds the Node of a Machine in its workload cluster, and reads its state.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node as KubeNode;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use muster_controller::error::words;
use muster_core::record::KubeRef;
use muster_resources::cluster_api::Machine;
use muster_workload::Workloads;
use muster_workload::node_settings::NodeSettings;
use serde_json::Value;

use super::status::Node;

/// Between two searches for a Node that is missing, or checks of one that is not healthy.
pub const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// Between two checks of a Node that is healthy.
pub const HEALTH_INTERVAL: Duration = Duration::from_secs(60);

/// Nodes in one page of a list.
const PAGE: u32 = 500;

/// The Secret with the kubeconfig of a Machine's cluster. Source: docs/protocol/kube-lab.md#cluster-apis-own-controllers.
pub fn kubeconfig(namespace: &str, cluster: &str) -> KubeRef {
    KubeRef::new(namespace, format!("{cluster}-kubeconfig"))
}

/// The Node with the Machine's provider id and one of `names`, which gets the labels and taints of its pool. With `thorough` all Nodes are looked
/// at: names in another case are taken, other ones are reported, for a kubelet may set any provider id when it makes its Node.
pub async fn find(workloads: &Workloads, machine: &Machine, names: &[String], thorough: bool) -> Node {
    let Some(provider_id) = machine.spec.provider_id.as_deref() else {
        return Node::NotAwaited;
    };
    let namespace = machine.namespace().unwrap_or_default();
    let secret = kubeconfig(&namespace, &machine.spec.cluster_name);
    let workload = match workloads.of_secret(&secret).await {
        Ok(workload) => workload,
        Err(error) => return Node::Unreachable(error.to_string()),
    };
    let settings = NodeSettings::of(machine);
    let found = look(&workload.client, provider_id, names, thorough, settings.as_ref());
    match Box::pin(found).await {
        Ok(found) => found,
        Err(error) => Node::Unreachable(format!("the API of the workload cluster: {}", words(&error))),
    }
}

async fn look(
    client: &Client,
    provider_id: &str,
    names: &[String],
    thorough: bool,
    settings: Option<&NodeSettings>,
) -> kube::Result<Node> {
    let api = Api::<KubeNode>::all(client.clone());
    let (mut other, mut claims) = (None, None);
    for name in names {
        let Some(node) = api.get_opt(name).await? else {
            continue;
        };
        match provider_id_of(&node) {
            Some(id) if id == provider_id => return Ok(settled(&api, node, settings).await),
            id => other = Some((name, id.map(str::to_owned))),
        }
    }
    if thorough {
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = api.list(&params).await?;
            let next = page.metadata.continue_.clone().filter(|token| !token.is_empty());
            for node in page.items {
                if provider_id_of(&node) != Some(provider_id) {
                    continue;
                }
                let name = node.name_any();
                if names.iter().any(|own| own.eq_ignore_ascii_case(&name)) {
                    return Ok(settled(&api, node, settings).await);
                }
                claims.get_or_insert(name);
            }
            let Some(token) = next else { break };
            params = params.continue_token(&token);
        }
    }
    Ok(Node::Absent(match (other, claims) {
        (Some((name, None)), None) => {
            format!("the Node {name} has no provider id yet; {provider_id} is expected")
        }
        (Some((name, Some(id))), _) => {
            format!(
                "the Node {name} has the provider id {id}, not {provider_id}: it is another machine's; delete it there"
            )
        }
        (_, Some(claims)) => format!(
            "the Node {claims} has the provider id {provider_id} and is not called as the host ({}): if it is this machine, set spec.hostname of its Agent to that name and install it again; else delete that Node",
            names.join(", ")
        ),
        (None, None) => format!("no Node has the provider id {provider_id} yet: the host starts and joins"),
    }))
}

/// Returns the Node with the labels and taints of its pool.
async fn settled(api: &Api<KubeNode>, node: KubeNode, settings: Option<&NodeSettings>) -> Node {
    let Some(settings) = settings else {
        return observed(node);
    };
    match settings.put(api, node.clone()).await {
        Ok(node) => observed(node),
        // Checked again soon.
        Err(error) => {
            let why = format!(
                "the labels and taints of the NodePool are not on the Node {} yet: {}",
                node.name_any(),
                words(&error)
            );
            let mut observed = observed(node);
            if let Node::Found { problems, .. } = &mut observed {
                problems.push(why);
            }
            observed
        }
    }
}

/// The provider id; `None`: the Node has none.
pub(super) fn provider_id_of(node: &KubeNode) -> Option<&str> {
    let id = node.spec.as_ref()?.provider_id.as_deref()?;
    (!id.is_empty()).then_some(id)
}

fn observed(node: KubeNode) -> Node {
    let name = node.name_any();
    let status = node.status.unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let of = |type_: &str| conditions.iter().find(|condition| condition.type_ == type_);
    let ready = of("Ready").and_then(|condition| match condition.status.as_str() {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    });
    let mut problems = Vec::new();
    if ready != Some(true) {
        let why = of("Ready").and_then(|condition| condition.message.clone());
        problems.push(format!(
            "the Node {name} is not ready: {}",
            why.unwrap_or_else(|| "it has not reported anything yet".into())
        ));
    }
    for type_ in ["MemoryPressure", "DiskPressure", "PIDPressure"] {
        if of(type_).is_some_and(|condition| condition.status == "True") {
            problems.push(format!("the Node {name} reports {type_}"));
        }
    }
    let info = status
        .node_info
        .and_then(|info| match serde_json::to_value(info) {
            Ok(Value::Object(members)) => Some(members),
            _ => None,
        });
    Node::Found {
        name,
        info,
        ready,
        problems,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_says_whether_it_is_ready_and_what_it_complains_of() {
        let node = |conditions: Value| -> KubeNode {
            serde_json::from_value(json!({"metadata": {"name": "n"}, "status": {"conditions": conditions}}))
                .unwrap()
        };
        let read = |conditions: Value| match observed(node(conditions)) {
            Node::Found { ready, problems, .. } => (ready, problems),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            read(json!([{"type": "Ready", "status": "True"}])),
            (Some(true), vec![])
        );
        let (ready, problems) = read(
            json!([{"type": "Ready", "status": "False", "message": "no network"},
            {"type": "DiskPressure", "status": "True"}]),
        );
        assert_eq!(ready, Some(false));
        assert_eq!(
            problems,
            [
                "the Node n is not ready: no network",
                "the Node n reports DiskPressure"
            ]
        );
        assert_eq!(read(json!([{"type": "Ready", "status": "Unknown"}])).0, None);
        assert_eq!(read(json!([])).0, None);
    }
}
