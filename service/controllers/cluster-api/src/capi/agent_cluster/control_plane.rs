//! Reads from a Cluster's control plane the settings of a ClusterDeployment. Source:
//! docs/protocol/capi-agent-provider.md#5, step 4.
//!
//! HyperShift's control plane names its secrets. Any other has what Cluster API itself guarantees: a Secret with the
//! kubeconfig, named after the Cluster.

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt, discovery};
use muster_controller::error::Error;
use muster_resources::names::group;
use serde_json::Value;

use crate::capi::objects::{Cluster, ControlPlaneReference};

/// Domain of clusters that have none, as a ClusterDeployment must have one.
const NO_DOMAIN: &str = "cluster.local";

/// A control plane, as far as the ClusterDeployment names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlane {
    /// Name of the cluster.
    pub name: String,
    pub base_domain: String,
    /// Secrets in its namespace.
    pub pull_secret: Option<String>,
    pub kubeconfig: String,
    pub password: Option<String>,
}

/// Returns the control plane of `cluster`, or the reason of a wait, as a sentence.
///
/// # Errors
/// Fails if the API server does.
pub async fn control_plane(
    client: &Client,
    namespace: &str,
    cluster: Cluster<'_>,
) -> Result<Result<ControlPlane, String>, Error> {
    let name = cluster.0.name_any();
    let Some(reference) = cluster.control_plane() else {
        return Ok(Ok(plain(&name)));
    };
    let found = match kind(client, &reference).await? {
        Some(kind) => {
            let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &kind);
            api.get_opt(reference.name).await?
        }
        None => None,
    };
    let is_hosted = reference.group == group::HYPERSHIFT;
    Ok(match found {
        Some(found) if is_hosted || names_domain(&found) => hosted(&found, &reference),
        Some(_) => Ok(plain(&name)),
        None if is_hosted => Err(format!(
            "Waits for the {} {namespace}/{}",
            reference.kind, reference.name
        )),
        None => Ok(plain(&name)),
    })
}

/// True if the control plane of `cluster` makes Machines, or is not there yet.
///
/// # Errors
/// Fails if the API server does.
pub async fn makes_machines(client: &Client, namespace: &str, cluster: Cluster<'_>) -> Result<bool, Error> {
    let Some(reference) = cluster.control_plane() else {
        return Ok(false);
    };
    let Some(kind) = kind(client, &reference).await? else {
        return Ok(true);
    };
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &kind);
    let found = api.get_opt(reference.name).await?;
    Ok(found.is_none_or(|found| has_template(&found)))
}

/// True for a control plane whose machines are made from a template.
fn has_template(control_plane: &DynamicObject) -> bool {
    let template = control_plane.data.pointer("/spec/machineTemplate");
    template.is_some_and(Value::is_object)
}

/// The kind, in a version that the API server serves; `None`: it serves none.
async fn kind(client: &Client, reference: &ControlPlaneReference<'_>) -> Result<Option<ApiResource>, Error> {
    let found = match reference.version {
        Some(version) => {
            let kind = GroupVersionKind::gvk(reference.group, version, reference.kind);
            discovery::pinned_kind(client, &kind).await.map(Some)
        }
        None => discovery::group(client, reference.group)
            .await
            .map(|group| group.recommended_kind(reference.kind)),
    };
    match found {
        Ok(found) => Ok(found.map(|(kind, _)| kind)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(kube::Error::Discovery(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn plain(cluster: &str) -> ControlPlane {
    ControlPlane {
        name: cluster.to_owned(),
        base_domain: NO_DOMAIN.to_owned(),
        pull_secret: None,
        kubeconfig: format!("{cluster}-kubeconfig"),
        password: None,
    }
}

fn text<'a>(object: &'a DynamicObject, pointer: &str) -> Option<&'a str> {
    let text = object.data.pointer(pointer).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}

fn names_domain(object: &DynamicObject) -> bool {
    text(object, "/spec/dns/baseDomain").is_some()
}

fn hosted(object: &DynamicObject, reference: &ControlPlaneReference<'_>) -> Result<ControlPlane, String> {
    let needed = |pointer: &str| {
        text(object, pointer).map(str::to_owned).ok_or_else(|| {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            format!("Waits for {field} of the {} {}", reference.kind, reference.name)
        })
    };
    Ok(ControlPlane {
        name: object.name_any(),
        base_domain: needed("/spec/dns/baseDomain")?,
        pull_secret: Some(needed("/spec/pullSecret/name")?),
        kubeconfig: needed("/status/kubeConfig/name")?,
        password: text(object, "/status/kubeadminPassword/name").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_control_planes_with_a_template_make_machines() {
        let of = |spec: Value| {
            has_template(&serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap())
        };
        assert!(of(json!({"machineTemplate": {"spec": {}}})));
        assert!(!of(json!({"version": "v1.34.4"})));
    }

    #[test]
    fn a_hosted_control_plane_is_complete_or_says_what_it_lacks() {
        let reference = ControlPlaneReference {
            group: group::HYPERSHIFT,
            version: None,
            kind: "HostedControlPlane",
            name: "hc",
        };
        let read = |value: Value| hosted(&serde_json::from_value(value).unwrap(), &reference);
        let mut object = json!({
            "metadata": {"name": "hc"},
            "spec": {"dns": {"baseDomain": "example.test"}, "pullSecret": {"name": "pull"}},
        });
        assert_eq!(
            read(object.clone()),
            Err("Waits for status.kubeConfig.name of the HostedControlPlane hc".into())
        );
        object["status"] = json!({"kubeConfig": {"name": "admin-kubeconfig", "key": "kubeconfig"}});
        let read = read(object).unwrap();
        assert_eq!(
            (read.name.as_str(), read.kubeconfig.as_str()),
            ("hc", "admin-kubeconfig")
        );
        assert_eq!(read.password, None);
    }
}
