//! Reconciles one AgentMachineTemplate: computes its status from the Agents that its Machines may be on, and writes it when it changed.

use std::sync::Arc;

use kube::core::DynamicObject;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_controller::error::Error;
use muster_controller::finalizers;
use muster_controller::references::{cluster_api_owner, object_ref};
use muster_controller::status::{difference, members, send};
use muster_core::record::{ImageWish, KubeRef};
use muster_core::rules::placement::{Need, least};
use muster_resources::names::{annotation, label};
use muster_resources::{AgentMachine, AgentMachineTemplate, AgentMachineTemplateStatus};
use serde_json::json;

use super::status::status;
use crate::capi::agent_machine::claim::need;
use crate::capi::agent_machine::image;
use crate::capi::agent_machine::prerequisites::agent_namespace;
use crate::capi::objects::{Cluster, find, is_paused};
use crate::capi::provider::Provider;

/// Brings the status of the template in line with the Agents.
pub async fn reconcile(object: Arc<AgentMachineTemplate>, provider: Arc<Provider>) -> Result<Action, Error> {
    let is_left_alone = !provider.context.is_ours(&*object)
        || is_paused(&*object)
        || finalizers::is_moved(&*object)
        || object.metadata.deletion_timestamp.is_some();
    if is_left_alone {
        return Ok(Action::await_change());
    }
    let next = match pool(&object, &provider).await? {
        Some(need) => {
            let agents = provider.agents.state();
            let candidates = agents.iter().map(|agent| &agent.candidate);
            status(least(&need, candidates).as_ref())
        }
        None => status(None),
    };
    write(&object, &next, &provider).await?;
    Ok(Action::await_change())
}

/// The need that an AgentMachine of the template would have; `None`: it would not find out where its Agents are, or cannot be read.
async fn pool(object: &AgentMachineTemplate, provider: &Provider) -> Result<Option<Need>, Error> {
    let machine = machine(object);
    let own = object.namespace().unwrap_or_default();
    let cluster = cluster_of(object, provider);
    let cluster = cluster.as_deref().map(Cluster);
    let agent_cluster = cluster
        .and_then(Cluster::agent_cluster)
        .and_then(|name| provider.agent_clusters.get(&object_ref(&name)));
    // Before there is a cluster, Agents that are bound to one are none of its pool.
    let mut deployment = KubeRef::new(&own, "");
    let namespace = match (cluster, agent_cluster) {
        (Some(cluster), Some(agent_cluster)) => {
            let reference = agent_cluster.status.as_ref();
            if let Some(reference) = reference.map(|status| &status.cluster_deployment_reference) {
                deployment.name.clone_from(&reference.name);
                if !reference.namespace.is_empty() {
                    deployment.namespace.clone_from(&reference.namespace);
                }
            }
            let found = agent_namespace(&machine, &agent_cluster, cluster, provider).await?;
            let Ok(namespace) = found else {
                return Ok(None);
            };
            namespace
        }
        _ => {
            let only = provider.context.only_pool().map(|pool| &pool.namespace);
            let given = only.or_else(|| machine.annotations().get(annotation::AGENT_NAMESPACE));
            given.cloned().unwrap_or_else(|| own.clone())
        }
    };
    let open = provider.open_to(&own, &namespace);
    let architecture = machine.spec.architecture.clone();
    let architecture = architecture.filter(|architecture| !architecture.is_empty());
    let need = need(&machine, &deployment, (namespace, open), (None, architecture));
    let image = ImageWish {
        name: machine.spec.os_image.clone().unwrap_or_default(),
        kubernetes_version: String::new(),
    };
    let imaged = image::architectures(&*provider.context.images, &image, None);
    let both = need.and_then(|need| {
        Ok(Need {
            imaged: imaged?,
            ..need
        })
    });
    Ok(both.ok())
}

/// An AgentMachine as Cluster API would make it from the template.
fn machine(object: &AgentMachineTemplate) -> AgentMachine {
    let template = &object.spec.template;
    let mut machine = AgentMachine::new(&object.name_any(), template.spec.clone());
    machine.metadata.namespace = object.namespace();
    let metadata = template.metadata.as_ref();
    machine.metadata.annotations = metadata.map(|metadata| metadata.annotations.clone());
    machine
}

/// The Cluster that Cluster API made the owner of the template.
fn cluster_of(object: &AgentMachineTemplate, provider: &Provider) -> Option<Arc<DynamicObject>> {
    let owner = cluster_api_owner(object, "Cluster").map(|owner| &owner.name);
    let name = owner.or_else(|| object.labels().get(label::CAPI_CLUSTER_NAME))?;
    let name = KubeRef::new(object.namespace().unwrap_or_default(), name);
    find(&provider.clusters, &provider.kinds.cluster, &name)
}

/// Writes the status, if it differs. The API server refuses with a conflict if the template has changed since it was read.
async fn write(
    object: &AgentMachineTemplate,
    next: &AgentMachineTemplateStatus,
    provider: &Provider,
) -> Result<(), Error> {
    let before = object.status.as_ref().map(members);
    let next = members(next);
    if before
        .as_ref()
        .map_or_else(|| next.is_empty(), |before| *before == next)
    {
        return Ok(());
    }
    let context = &provider.context;
    context.statuses.note(object, &next);
    let mut operations = difference(before.as_ref(), next);
    let version = object.resource_version();
    operations.insert(
        0,
        json!({"op": "add", "path": "/metadata/resourceVersion", "value": version}),
    );
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<AgentMachineTemplate>::namespaced(context.client.clone(), &namespace);
    match send(&api, &object.name_any(), operations).await {
        // It is gone, or its definition is another operator's and has no status.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}
