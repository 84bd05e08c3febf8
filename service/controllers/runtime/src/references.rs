//! Builds references between objects: by namespace and name, and as owners.

use std::fmt::Debug;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Resource, ResourceExt};
use muster_core::record::KubeRef;
use muster_resources::names::{group, label, namespace};
use muster_resources::{AgentClusterInstall, ClusterDeployment, InfraEnv, names};
use serde::de::DeserializeOwned;

/// Versions that are understood, the preferred one first.
pub const VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];

/// The owner of this kind of Cluster API.
pub fn cluster_api_owner<'a>(object: &'a impl Resource, kind: &str) -> Option<&'a OwnerReference> {
    let is_it = |one: &&OwnerReference| {
        let version = one.api_version.strip_prefix(group::CAPI);
        let version = version.and_then(|rest| rest.strip_prefix('/'));
        one.kind == kind && version.is_some_and(|version| VERSIONS.contains(&version))
    };
    object.owner_references().iter().find(is_it)
}

pub use muster_core::rules::bootstrap_data::PROVIDER_ID_PREFIX;

/// The provider id of the host of an Agent with this name.
pub fn provider_id(agent: &str) -> String {
    format!("{PROVIDER_ID_PREFIX}{agent}")
}

/// Namespace and name of an object.
pub fn kube_ref<K: Resource>(object: &K) -> KubeRef {
    KubeRef::new(object.namespace().unwrap_or_default(), object.name_any())
}

/// The object as it is now: the watch may show one that is gone, or an older status. `None`: it is gone, whatever has its name.
pub async fn newest<K>(api: &Api<K>, seen: &K) -> kube::Result<Option<K>>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let found = api.get_opt(&seen.name_any()).await?;
    Ok(found.filter(|found| found.uid() == seen.uid()))
}

/// The id of the record that an object was made to mirror; `None` for other objects.
pub fn mirror_of<I: FromStr>(object: &impl Resource) -> Option<I> {
    let id = object.labels().get(label::MIRROR_OF)?;
    id.parse()
        .ok()
        .filter(|_| object.namespace().as_deref() == Some(namespace::MIRROR))
}

/// True unless the object was made to mirror another record than this one.
pub fn may_be_of<I: FromStr + PartialEq>(object: &impl Resource, record: &I) -> bool {
    mirror_of::<I>(object).is_none_or(|id| id == *record)
}

/// The object of this kind with this namespace and name.
pub fn object_ref<K: Resource<DynamicType = ()>>(name: &KubeRef) -> ObjectRef<K> {
    ObjectRef::new(&name.name).within(&name.namespace)
}

/// The owners of `object` with `owner` added, in place of those for which `is_replaced` holds; `None`:
/// it is an owner already.
///
/// `owner` is not set as the controller: other controllers may own the object, too.
pub fn with_owner<K, O>(
    object: &K,
    owner: &O,
    is_replaced: impl Fn(&OwnerReference) -> bool,
) -> Option<Vec<OwnerReference>>
where
    K: Resource,
    O: Resource<DynamicType = ()>,
{
    let owner = owner_reference(owner);
    let present = object.owner_references();
    if present.iter().any(|one| one.uid == owner.uid) {
        return None;
    }
    let others = present.iter().filter(|one| !is_replaced(one)).cloned();
    Some(others.chain([owner.clone()]).collect())
}

/// Returns `owner` as an owner that is not the controller.
pub fn owner_reference<O: Resource<DynamicType = ()>>(owner: &O) -> OwnerReference {
    OwnerReference {
        api_version: O::api_version(&()).into_owned(),
        kind: O::kind(&()).into_owned(),
        name: owner.name_any(),
        uid: owner.uid().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

/// The ClusterDeployment of an InfraEnv's `spec.clusterRef`; without a namespace, in the InfraEnv's own.
pub fn cluster_ref(infra_env: &InfraEnv) -> Option<KubeRef> {
    let reference = infra_env.spec.cluster_ref.as_ref()?;
    if reference.name.is_empty() {
        return None;
    }
    let namespace = Some(reference.namespace.clone()).filter(|namespace| !namespace.is_empty());
    let namespace = namespace.or_else(|| infra_env.namespace()).unwrap_or_default();
    Some(KubeRef::new(namespace, &reference.name))
}

/// The name of a ClusterDeployment's AgentClusterInstall; `None`: another installer manages it.
pub fn install_ref(deployment: &ClusterDeployment) -> Option<&str> {
    let reference = deployment.spec.cluster_install_ref.as_ref()?;
    let ours = reference.group == names::group::HIVE_EXTENSIONS && reference.kind == "AgentClusterInstall";
    ours.then_some(reference.name.as_str())
}

/// The ClusterDeployment of an AgentClusterInstall.
pub fn deployment_ref(install: &AgentClusterInstall) -> KubeRef {
    KubeRef::new(
        install.namespace().unwrap_or_default(),
        &install.spec.cluster_deployment_ref.name,
    )
}

#[cfg(test)]
mod tests {
    use kube::core::DynamicObject;
    use serde_json::json;

    use super::*;
    use muster_resources::{Agent, AgentSpec, InfraEnvSpec};

    fn infra_env(name: &str) -> InfraEnv {
        let mut infra_env = InfraEnv::new(name, InfraEnvSpec::default());
        infra_env.metadata.uid = Some(format!("uid of {name}"));
        infra_env
    }

    #[test]
    fn an_owner_is_added_once_and_takes_the_place_of_another() {
        let mut agent = Agent::new("a", AgentSpec::default());
        let (one, two) = (infra_env("one"), infra_env("two"));
        agent.metadata.owner_references = with_owner(&agent, &one, |_| false);
        assert_eq!(agent.owner_references().len(), 1);
        assert_eq!(with_owner(&agent, &one, |_| false), None);
        let moved = with_owner(&agent, &two, |other| other.kind == "InfraEnv");
        let names: Vec<_> = moved.iter().flatten().map(|owner| owner.name.as_str()).collect();
        assert_eq!(names, ["two"]);
    }
    #[test]
    fn owners_of_other_versions_are_none() {
        let owned = |version: &str| {
            let metadata = json!({"ownerReferences": [{"apiVersion": version, "kind": "Machine", "name": "m", "uid": "u"}]});
            let object: DynamicObject = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
            object
        };
        for (version, wanted) in [
            ("cluster.x-k8s.io/v1beta1", true),
            ("cluster.x-k8s.io/v1beta2", true),
            ("cluster.x-k8s.io/v1alpha4", false),
            ("machine.openshift.io/v1beta1", false),
        ] {
            assert_eq!(
                cluster_api_owner(&owned(version), "Machine").is_some(),
                wanted,
                "{version}"
            );
        }
    }
}
