//! Checks that the API server knows the kinds that the controllers watch, and waits for the optional ones.

use std::time::Duration;

use kube::{Client, Resource};
use muster_resources::{
    Agent, AgentClassification, AgentCluster, AgentClusterInstall, AgentMachine, AgentMachineTemplate,
    ClusterDeployment, InfraEnv, NMStateConfig,
};

use crate::error::words;

/// Between two checks for kinds that are missing.
const INTERVAL: Duration = Duration::from_secs(10);

/// A kind that is watched.
struct Kind {
    group_version: String,
    plural: String,
    group: String,
    /// True for a kind of Hive, which `muster crds` prints with `--all` only.
    foreign: bool,
}

fn kind<K: Resource<DynamicType = ()>>(foreign: bool) -> Kind {
    let group = K::group(&()).into_owned();
    Kind {
        group_version: format!("{group}/{}", K::version(&())),
        plural: K::plural(&()).into_owned(),
        group,
        foreign,
    }
}

/// Returns the watched kinds. `capi_provider`: with the kinds of the Cluster API provider.
fn watched(capi_provider: bool) -> Vec<Kind> {
    let mut kinds = vec![
        kind::<Agent>(false),
        kind::<AgentClassification>(false),
        kind::<InfraEnv>(false),
        kind::<NMStateConfig>(false),
        kind::<AgentClusterInstall>(false),
        kind::<ClusterDeployment>(true),
    ];
    if capi_provider {
        kinds.extend([
            kind::<AgentCluster>(false),
            kind::<AgentMachine>(false),
            kind::<AgentMachineTemplate>(false),
        ]);
    }
    kinds
}

/// Returns the kinds that the provider of Cluster API needs and the API server lacks, with advice; `None`: it knows all. The kinds of Cluster
/// API itself are not among them: only the provider's controllers wait for them.
///
/// # Errors
/// Fails if the API server does.
pub async fn lacking_for_provider(client: &Client) -> kube::Result<Option<String>> {
    let kinds = [
        kind::<Agent>(false),
        kind::<AgentClusterInstall>(false),
        kind::<ClusterDeployment>(true),
        kind::<AgentCluster>(false),
        kind::<AgentMachine>(false),
    ];
    lacking_of(client, &kinds).await
}

/// Returns the kinds that the API server lacks, with advice; `None`: it knows all. `capi_provider`: the provider runs, too.
/// The kinds of Cluster API itself are not among them: only the provider waits for them.
///
/// # Errors
/// Fails if the API server does.
pub async fn lacking(client: &Client, capi_provider: bool) -> kube::Result<Option<String>> {
    lacking_of(client, &watched(capi_provider)).await
}

async fn lacking_of(client: &Client, kinds: &[Kind]) -> kube::Result<Option<String>> {
    let mut served: Vec<(String, String)> = Vec::new();
    let mut asked = Vec::new();
    for kind in kinds {
        if asked.contains(&&kind.group_version) {
            continue;
        }
        asked.push(&kind.group_version);
        match client.list_api_group_resources(&kind.group_version).await {
            Ok(list) => served.extend(
                list.resources
                    .into_iter()
                    .map(|resource| (kind.group_version.clone(), resource.name)),
            ),
            // No definition of that group exists.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error),
        }
    }
    let is_served = |kind: &&Kind| {
        served
            .iter()
            .any(|(group, name)| *group == kind.group_version && *name == kind.plural)
    };
    let missing: Vec<&Kind> = kinds.iter().filter(|kind| !is_served(kind)).collect();
    Ok((!missing.is_empty()).then(|| message(&missing)))
}

fn message(missing: &[&Kind]) -> String {
    let names: Vec<String> = missing
        .iter()
        .map(|kind| format!("{}.{}", kind.plural, kind.group))
        .collect();
    let all = if missing.iter().any(|kind| kind.foreign) {
        " --all"
    } else {
        ""
    };
    format!(
        "the API server does not know {}: run `muster crds{all} | kubectl apply -f -`; it is looked for every few seconds",
        names.join(", ")
    )
}

/// True if the API server has a kind. Every client has the right to make that request.
///
/// # Errors
/// Fails if the API server does.
pub async fn is_served(client: &Client, group_version: &str, plural: &str) -> kube::Result<bool> {
    match client.list_api_group_resources(group_version).await {
        Ok(listed) => Ok(listed.resources.iter().any(|one| one.name == plural)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns when the API server has all of these kinds of a group. They may be added at any time.
pub async fn served(client: &Client, group_version: &str, plurals: &[&str]) {
    loop {
        match client.list_api_group_resources(group_version).await {
            Ok(listed) => {
                let has = |plural: &&str| listed.resources.iter().any(|one| one.name == **plural);
                if plurals.iter().all(has) {
                    tracing::info!(group = group_version, kinds = ?plurals, "these kinds are there and looked after");
                    return;
                }
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                tracing::debug!(
                    group = group_version,
                    error = words(&error),
                    "kinds are looked for again"
                );
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_command_that_makes_it() {
        let kinds = watched(true);
        let own = message(&[&kinds[0]]);
        assert!(
            own.contains("agents.agent-install.openshift.io: run `muster crds | kubectl"),
            "{own}"
        );
        let foreign = message(&[&kinds[0], &kinds[5]]);
        assert!(
            foreign.contains("clusterdeployments.hive.openshift.io: run `muster crds --all |"),
            "{foreign}"
        );
    }
}
