//! Finds two clusters with the same API: REST imported one, and a user created custom resources for the same.

use muster_core::record::Cluster;
use muster_operations::records::StoredCluster;

use crate::context::Context;
use crate::error::Refusal;

/// Returns a notice for the cluster that came later, which names the other one and how to delete it.
///
/// # Errors
/// Fails if the database does.
pub async fn notice(cluster: &Cluster, context: &Context) -> Result<Option<String>, Refusal> {
    Ok(earlier(cluster, &context.operations.clusters.list(false).await?).map(words))
}

fn earlier<'a>(cluster: &Cluster, all: &'a [StoredCluster]) -> Option<&'a Cluster> {
    let address = address(cluster);
    let mut others = all.iter().map(|one| &one.cluster);
    others.find(|other| {
        let is_earlier = (other.created_at, other.id) < (cluster.created_at, cluster.id);
        is_earlier && !address.is_empty() && self::address(other) == address
    })
}

/// The host of the API. Names are equal in any case, and with the dot of the root at the end.
fn address(cluster: &Cluster) -> String {
    let name = cluster.data.api_vip_dnsname.trim_end_matches('.');
    name.to_ascii_lowercase()
}

fn words(other: &Cluster) -> String {
    let (name, id) = (&other.data.name, other.id);
    let (whose, delete) = match other.kube.as_ref().filter(|_| other.belongs_to_resource()) {
        Some(kube) => (
            format!("of the ClusterDeployment {kube}"),
            format!(
                "kubectl -n {} delete clusterdeployment {}",
                kube.namespace, kube.name
            ),
        ),
        None => (
            "imported by REST".to_owned(),
            format!("muster cluster delete {id}"),
        ),
    };
    format!(
        "There is another cluster at the same API, {}: {name} ({id}), {whose}. Hosts are in the one that they were bound to; delete the one that is not wanted. The other one: {delete}",
        other.data.api_vip_dnsname
    )
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use muster_api::ids::ClusterId;
    use muster_core::record::{ClusterData, KubeRef};
    use muster_operations::now;

    use super::*;

    #[test]
    fn the_later_of_two_clusters_at_one_api_names_the_earlier_one() {
        let at = now();
        let cluster = |api: &str, seconds| StoredCluster {
            cluster: Cluster {
                id: ClusterId::random(),
                version: 1,
                created_at: at + TimeDelta::seconds(seconds),
                updated_at: at,
                kube: None,
                mirror: None,
                data: ClusterData {
                    name: "prod".into(),
                    api_vip_dnsname: api.into(),
                    ..ClusterData::default()
                },
            },
            deleted_at: None,
        };
        let all = [
            cluster("api.prod.example.test", 0),
            cluster("API.prod.example.test.", 1),
            cluster("api.other.example.test", 2),
            cluster("", 3),
            cluster("", 4),
        ];
        let found: Vec<_> = all
            .iter()
            .map(|one| earlier(&one.cluster, &all).map(|other| other.id))
            .collect();
        assert_eq!(found, [None, Some(all[0].cluster.id), None, None, None]);
        let first = &all[0].cluster;
        assert!(words(first).ends_with(&format!("muster cluster delete {}", first.id)));
        let of_resource = Cluster {
            kube: Some(KubeRef::new("lab", "prod")),
            ..first.clone()
        };
        assert!(words(&of_resource).ends_with("kubectl -n lab delete clusterdeployment prod"));
    }
}
