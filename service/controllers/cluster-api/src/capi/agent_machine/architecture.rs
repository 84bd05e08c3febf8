//! Finds the architecture that the Agent of an AgentMachine must have: the AgentMachine's own, or that of its NodePool.
//! Source: docs/protocol/capi-agent-provider.md#2.

use std::time::Instant;

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt};
use muster_controller::error::{Error, is_forbidden, unless_absent};
use muster_core::record::KubeRef;
use muster_resources::AgentMachine;
use muster_resources::hypershift::NODE_POOL;
use muster_resources::names::group;
use serde_json::Value;

use crate::capi::objects::Machine;
use crate::capi::provider::Provider;

/// The architecture that is wanted; `None`: any.
///
/// # Errors
/// Fails if the API server does. A NodePool that does not exist, or may not be read, wants none.
pub async fn wanted(
    object: &AgentMachine,
    machine: Machine<'_>,
    provider: &Provider,
) -> Result<Option<String>, Error> {
    if let Some(own) = object.spec.architecture.clone().filter(|own| !own.is_empty()) {
        return Ok(Some(own));
    }
    let Some(pool) = node_pool(object, machine) else {
        return Ok(None);
    };
    if provider.context.only_pool().is_some() {
        // NodePools are in other namespaces, which this program does not read. A selector can name the architecture.
        return Ok(None);
    }
    if let Some((known, _)) = provider.architectures.get(&pool, Instant::now()) {
        return Ok(known);
    }
    let found = of_pool(&pool, provider).await?;
    provider.architectures.set(pool, found.clone(), Instant::now());
    Ok(found)
}

/// The NodePool that AgentMachine or Machine name in their annotation.
fn node_pool(object: &AgentMachine, machine: Machine<'_>) -> Option<KubeRef> {
    let named = object.annotations().get(NODE_POOL);
    let named = named.or_else(|| machine.0.annotations().get(NODE_POOL))?;
    let (namespace, name) = named.split_once('/')?;
    Some(KubeRef::new(namespace, name))
}

async fn of_pool(pool: &KubeRef, provider: &Provider) -> Result<Option<String>, Error> {
    let kind = GroupVersionKind::gvk(group::HYPERSHIFT, "v1beta1", "NodePool");
    let kind = ApiResource::from_gvk_with_plural(&kind, "nodepools");
    let client = provider.context.client.clone();
    let api = Api::<DynamicObject>::namespaced_with(client, &pool.namespace, &kind);
    match api.get(&pool.name).await {
        // Rights of an earlier version do not have NodePools.
        Err(error) if is_forbidden(&error) => {
            tracing::debug!(%pool, "the architecture of a NodePool may not be read");
            Ok(None)
        }
        // An API server without the kind has no such object either.
        found => Ok(unless_absent(found)?.and_then(|found| architecture(&found.data))),
    }
}

fn architecture(pool: &Value) -> Option<String> {
    let architecture = pool.pointer("/spec/arch").and_then(Value::as_str);
    let architecture = architecture.filter(|name| !name.is_empty());
    architecture.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use muster_resources::AgentMachineSpec;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_node_pool_is_the_one_that_agent_machine_or_machine_name() {
        let mut object = AgentMachine::new("m", AgentMachineSpec::default());
        let machine: DynamicObject = serde_json::from_value(json!({
            "metadata": {"name": "m", "annotations": {NODE_POOL: "clusters/of-machine"}}, "spec": {},
        }))
        .unwrap();
        let machine = Machine(&machine);
        let of_machine = KubeRef::new("clusters", "of-machine");
        assert_eq!(node_pool(&object, machine), Some(of_machine));
        let named = (NODE_POOL.to_owned(), "clusters/np".to_owned());
        object.metadata.annotations = Some([named].into());
        assert_eq!(node_pool(&object, machine), Some(KubeRef::new("clusters", "np")));
    }

    #[test]
    fn a_pool_without_an_architecture_wants_none() {
        assert_eq!(
            architecture(&json!({"spec": {"arch": "arm64"}})).as_deref(),
            Some("arm64")
        );
        for pool in [json!({"spec": {}}), json!({"spec": {"arch": ""}}), json!({})] {
            assert_eq!(architecture(&pool), None, "{pool}");
        }
    }
}
