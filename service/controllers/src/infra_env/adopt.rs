//! Gives an InfraEnv that was made by REST or the command line to the resource that requests it by annotation, with its hosts.
//!
//! From then on there is one truth, the resource: a record has either none, a mirror, or the one that it was given to.

use std::sync::Arc;

use kube::ResourceExt;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnvCreateParams;
use muster_controller::retry::RETRY_INTERVAL;
use muster_core::record::{self, KubeRef};
use muster_operations::records::Subject;
use muster_resources::InfraEnv;
use muster_resources::names::annotation::INFRA_ENV_ADOPT;

use super::desired::{check_unchangeable, spec_field};
use crate::context::Context;
use crate::error::Refusal;

/// Returns the record that the resource `kube` takes over; `None` if it requests none.
///
/// # Errors
/// There is no such InfraEnv, it belongs to another resource, REST has not offered it to this one (its id proves nothing: each machine of the
/// pool has it), it cannot be what `wanted` says, or a host of it is in a cluster that no resource names.
pub async fn adopted(
    infra_env: &InfraEnv,
    kube: &KubeRef,
    wanted: &InfraEnvCreateParams,
    context: &Context,
) -> Result<Option<Arc<record::InfraEnv>>, Refusal> {
    let Some(named) = infra_env.annotations().get(INFRA_ENV_ADOPT) else {
        return Ok(None);
    };
    let Ok(id) = named.parse::<InfraEnvId>() else {
        return Err(refused(format!(
            "{named} is no id of an InfraEnv; `muster infra-env list` shows them"
        )));
    };
    let operations = &context.operations;
    let Some(found) = operations.infra_envs.refresh(id).await? else {
        return Err(refused(format!(
            "there is no InfraEnv {id}; without the annotation a new one is made"
        )));
    };
    if let Some(other) = found.kube.as_ref().filter(|_| found.belongs_to_resource()) {
        return Err(refused(format!(
            "the InfraEnv {id} belongs to the custom resource {other}"
        )));
    }
    if found.settings.offered_to.as_ref() != Some(kube) {
        return Err(refused(format!(
            "the InfraEnv {id} is not offered to {kube}; its operator offers it: muster infra-env update {id} --offer-to {kube}"
        )));
    }
    check_unchangeable(&found, wanted, false).map_err(|invalid| Refusal::invalid(&invalid, spec_field))?;
    let hosts = operations.hosts.briefs(id).await?;
    for host in &hosts {
        let Some(cluster) = host.cluster_id else { continue };
        if operations
            .clusters
            .find(cluster, true)
            .await?
            .cluster
            .kube
            .is_none()
        {
            return Err(refused(format!(
                "its host {} belongs to a cluster that no ClusterDeployment names, which its Agent could not name; unbind it first",
                host.id
            )));
        }
    }
    let adopted = operations
        .infra_envs
        .change(id, |newest| {
            let may = !newest.belongs_to_resource() && newest.settings.offered_to.as_ref() == Some(kube);
            let with_resource = || {
                let mut next = record::InfraEnv {
                    kube: Some(kube.clone()),
                    mirror: None,
                    ..newest.clone()
                };
                next.settings.offered_to = None;
                next
            };
            Ok(may.then(|| (with_resource(), Vec::new())))
        })
        .await?;
    if !adopted.belongs_to_resource() || adopted.kube.as_ref() != Some(kube) {
        return Err(refused(format!("the offer of the InfraEnv {id} was withdrawn")));
    }
    tracing::info!(infra_env.id = %id, resource = %kube, hosts = hosts.len(), "an InfraEnv made by REST belongs to a custom resource now");
    // Idle hosts rarely change by themselves; their Agents are created now.
    for host in hosts {
        let subject = Subject::Host {
            infra_env_id: id,
            id: host.id,
        };
        context.changes.publish(subject, 0);
    }
    Ok(Some(adopted))
}

/// Returns a refusal that is checked again, since the obstacle disappears without a change of the resource.
fn refused(why: String) -> Refusal {
    Refusal::Input {
        why: format!("the annotation {INFRA_ENV_ADOPT}: {why}"),
        retry: Some(RETRY_INTERVAL),
    }
}
