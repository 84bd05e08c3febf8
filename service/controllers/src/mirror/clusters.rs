//! Gives a cluster that REST imported its ClusterDeployment and AgentClusterInstall.

use muster_api::ids::ClusterId;
use muster_core::record::{self, Agreed, KubeRef};
use muster_resources::names::namespace;
use muster_resources::{AgentClusterInstall, ClusterDeployment};

use super::names::candidates;
use super::place::{self, create, ensure_namespace};
use crate::cluster_deployment::shown;
use crate::context::Context;
use crate::error::Error;

/// Returns all records, and the records of present mirrors, which may be gone.
pub async fn all(context: &Context) -> Result<Vec<ClusterId>, Error> {
    let records = context.operations.clusters.list(false).await?;
    let ids = records.iter().map(|record| record.cluster.id);
    place::with_mirrored::<ClusterDeployment, _>(ids, context).await
}

/// Deletes mirrors, and their names in the records: they are not enabled, or the API is another.
pub async fn forget(context: &Context) -> Result<(), Error> {
    for record in context.operations.clusters.list(false).await? {
        if record.cluster.mirror.is_some() {
            link(context, record.cluster.id, None).await?;
            place::delete::<ClusterDeployment>(record.cluster.id, context).await?;
        }
    }
    Ok(())
}

/// Creates the resources of a record made by REST, or deletes what is left of them.
pub async fn mirror(id: ClusterId, context: &Context) -> Result<(), Error> {
    let found = context.operations.clusters.find_stored(id).await?;
    let record = found.filter(|found| found.deleted_at.is_none());
    match record.map(|found| found.cluster) {
        Some(record) if !record.belongs_to_resource() => {
            let name = match &record.kube {
                Some(name) => name.clone(),
                None => named(&record, context).await?,
            };
            if place::mirrors::<ClusterDeployment>(context)
                .get_opt(&name.name)
                .await?
                .is_some()
            {
                return Ok(());
            }
            ensure_namespace(context).await?;
            // The ClusterDeployment waits for the AgentClusterInstall, and deletes it.
            create(context, &shown::install(&name, &record)).await?;
            create(context, &shown::deployment(&name, &record)).await
        }
        // The record was made by a resource.
        Some(_) => Ok(()),
        // The AgentClusterInstall is deleted with its ClusterDeployment.
        None => place::delete::<ClusterDeployment>(id, context).await,
    }
}

/// Sets the name of the resources in the record.
async fn named(record: &record::Cluster, context: &Context) -> Result<KubeRef, Error> {
    let installs = place::mirrors::<AgentClusterInstall>(context);
    for name in candidates(&record.data.name, record.id.0) {
        let is_taken = place::mirrors::<ClusterDeployment>(context)
            .get_opt(&name)
            .await?
            .is_some()
            || installs.get_opt(&name).await?.is_some();
        let name = KubeRef::new(namespace::MIRROR, name);
        if !is_taken && context.operations.clusters.find_by_kube(&name).await?.is_none() {
            link(context, record.id, Some(&name)).await?;
            return Ok(name);
        }
    }
    Err(Error::internal(format!(
        "there is another cluster for each name that {} could have in the namespace {}",
        record.id,
        namespace::MIRROR
    )))
}

async fn link(context: &Context, id: ClusterId, name: Option<&KubeRef>) -> Result<(), Error> {
    let linked = context.operations.clusters.change(id, |newest| {
        let with_mirror = || record::Cluster {
            kube: name.cloned(),
            mirror: name.map(|_| Agreed::default()),
            ..newest.clone()
        };
        Ok((!newest.belongs_to_resource()).then(|| (with_mirror(), Vec::new())))
    });
    linked.await?;
    Ok(())
}
