//! Sees that the address of an API is free before the first machine of its control plane is made: what answers there is another cluster, which
//! the new one would take for itself.

use std::net::SocketAddr;

use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt};
use muster_controller::error::Error;
use muster_resources::AgentCluster;
use muster_resources::names::{group, label};

use super::control_plane::makes_machines;
use crate::capi::objects::Cluster;
use crate::context::Context;

/// The address at which somebody answers for the API of a cluster that has none yet. `None`: nobody does, or the cluster is not a new one:
/// it is initialized, has Machines (as after `clusterctl move`), or its control plane is no matter of machines here.
///
/// # Errors
/// Fails if the API server does.
pub async fn in_use(
    object: &AgentCluster,
    cluster: Cluster<'_>,
    context: &Context,
    clusters: &ApiResource,
) -> Result<Option<SocketAddr>, Error> {
    let is_ready = object.status.as_ref().is_some_and(|status| status.ready);
    let Some((host, port)) = address(object, cluster) else {
        return Ok(None);
    };
    if is_ready || cluster.is_hosted() || cluster.is_initialized() || cluster.control_plane().is_none() {
        return Ok(None);
    }
    let namespace = object.namespace().unwrap_or_default();
    if !makes_machines(&context.client, &namespace, cluster).await?
        || has_machines(cluster, context, &namespace, clusters).await?
    {
        return Ok(None);
    }
    Ok(context.workloads.answering(&host, port).await)
}

/// The address that the AgentCluster or its Cluster names.
fn address(object: &AgentCluster, cluster: Cluster<'_>) -> Option<(String, u16)> {
    let own = object.spec.control_plane_endpoint.as_ref();
    let own = own.and_then(|it| Some((it.host.clone()?, it.port?.into())));
    let (host, port) = own.or_else(|| {
        let endpoint = cluster.0.data.pointer("/spec/controlPlaneEndpoint")?;
        Some((endpoint["host"].as_str()?.to_owned(), endpoint["port"].as_i64()?))
    })?;
    let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
    (!host.is_empty()).then_some((host, port))
}

async fn has_machines(
    cluster: Cluster<'_>,
    context: &Context,
    namespace: &str,
    clusters: &ApiResource,
) -> Result<bool, Error> {
    let kind = GroupVersionKind::gvk(group::CAPI, &clusters.version, "Machine");
    let kind = ApiResource::from_gvk_with_plural(&kind, "machines");
    let api = Api::<DynamicObject>::namespaced_with(context.client.clone(), namespace, &kind);
    let label = format!("{}={}", label::CAPI_CLUSTER_NAME, cluster.0.name_any());
    let listed = api.list(&ListParams::default().labels(&label).limit(1)).await?;
    Ok(!listed.items.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_address_is_the_agent_clusters_or_else_the_clusters() {
        let of = |own: Value, of_cluster: Value| {
            let object = serde_json::from_value(json!({
                "metadata": {"name": "one"}, "spec": {"controlPlaneEndpoint": own},
            }));
            let cluster: DynamicObject =
                serde_json::from_value(json!({"spec": {"controlPlaneEndpoint": of_cluster}, "metadata": {}}))
                    .unwrap();
            address(&object.unwrap(), Cluster(&cluster))
        };
        let at = |host: &str, port: i64| json!({"host": host, "port": port});
        let is = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(of(at("a", 6443), at("b", 1)), is("a", 6443));
        assert_eq!(of(Value::Null, at("b", 6443)), is("b", 6443));
        assert_eq!(of(json!({"host": "a"}), at("b", 6443)), is("b", 6443));
        for nothing in [Value::Null, at("", 6443), at("b", 0), at("b", 70_000)] {
            assert_eq!(of(Value::Null, nothing), None);
        }
    }
}
