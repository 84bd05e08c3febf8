//! Gives an InfraEnv that was made by REST its resource.

use muster_api::ids::InfraEnvId;
use muster_core::record::{self, Agreed, KubeRef};
use muster_operations::records::Subject;
use muster_resources::InfraEnv;
use muster_resources::names::namespace;

use super::names::candidates;
use super::place::{self, create, ensure_namespace};
use crate::context::Context;
use crate::error::Error;
use crate::infra_env::shown;

/// Returns all records, and the records of present mirrors, which may be gone.
pub async fn all(context: &Context) -> Result<Vec<InfraEnvId>, Error> {
    let records = context.operations.infra_envs.list(None).await?;
    let ids = records.iter().map(|record| record.id);
    place::with_mirrored::<InfraEnv, _>(ids, context).await
}

/// Deletes mirrors, and their names in the records: they are not enabled, or the API is another.
pub async fn forget(context: &Context) -> Result<(), Error> {
    for record in context.operations.infra_envs.list(None).await? {
        if record.mirror.is_some() {
            link(context, record.id, None).await?;
            place::delete::<InfraEnv>(record.id, context).await?;
        }
    }
    Ok(())
}

/// Creates the resource of a record made by REST, or deletes what is left of one.
pub async fn mirror(id: InfraEnvId, context: &Context) -> Result<(), Error> {
    let record = context.operations.infra_envs.refresh(id).await?;
    match record.as_deref() {
        Some(record) if !record.belongs_to_resource() => {
            let name = match &record.kube {
                Some(name) => name.clone(),
                None => named(record, context).await?,
            };
            make(record, &name, context).await
        }
        // The record was deleted, or a resource has taken it over.
        Some(_) | None => place::delete::<InfraEnv>(id, context).await,
    }
}

/// Sets the name of the resource in the record.
async fn named(record: &record::InfraEnv, context: &Context) -> Result<KubeRef, Error> {
    for name in candidates(&record.name, record.id.0) {
        let is_taken = place::mirrors::<InfraEnv>(context)
            .get_opt(&name)
            .await?
            .is_some();
        let name = KubeRef::new(namespace::MIRROR, name);
        if !is_taken && context.operations.infra_envs.find_by_kube(&name).await?.is_none() {
            link(context, record.id, Some(&name)).await?;
            return Ok(name);
        }
    }
    Err(Error::internal(format!(
        "there is another InfraEnv for each name that {} could have in the namespace {}",
        record.id,
        namespace::MIRROR
    )))
}

/// Links a record to its mirror, unless a resource has taken it over.
async fn link(context: &Context, id: InfraEnvId, name: Option<&KubeRef>) -> Result<(), Error> {
    let linked = context.operations.infra_envs.change(id, |newest| {
        let with_mirror = || record::InfraEnv {
            kube: name.cloned(),
            mirror: name.map(|_| Agreed::default()),
            ..newest.clone()
        };
        Ok((!newest.belongs_to_resource()).then(|| (with_mirror(), Vec::new())))
    });
    linked.await?;
    Ok(())
}

async fn make(record: &record::InfraEnv, name: &KubeRef, context: &Context) -> Result<(), Error> {
    if place::mirrors::<InfraEnv>(context)
        .get_opt(&name.name)
        .await?
        .is_some()
    {
        return Ok(());
    }
    let cluster = match record.cluster_id {
        Some(id) => {
            let cluster = context.operations.clusters.find(id, false).await?.cluster;
            if cluster.kube.is_none() {
                return Err(Error::internal(format!("its cluster {id} is not mirrored yet")));
            }
            cluster.kube
        }
        None => None,
    };
    ensure_namespace(context).await?;
    let resource = shown::resource(name, record, cluster.as_ref());
    create(context, &resource).await?;
    // Idle hosts rarely change by themselves; their Agents are created now.
    for host in context.operations.hosts.briefs(record.id).await? {
        let subject = Subject::Host {
            infra_env_id: record.id,
            id: host.id,
        };
        context.changes.publish(subject, 0);
    }
    Ok(())
}
