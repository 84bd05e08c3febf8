//! Computes the objects that a HostedCluster needs. Source: docs/protocol/capi-agent-provider.md#8.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::core::ObjectMeta;
use muster_controller::references::kube_ref;
use muster_resources::cluster_api::names::{CLUSTER_NAME, SECRET_TYPE};
use muster_resources::hypershift::{Endpoint, HOSTED_CLUSTER, HostedCluster};
use muster_resources::names;
use serde_json::{Value, json};

use crate::nodepool::places;

/// Bootstrap data that only point to the real ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// URL of the Ignition config.
    pub url: String,
    /// PEM certificate of the authority of that server.
    pub ca: Option<String>,
}

/// Reads bootstrap data in the form of HyperShift: one source to merge. Whole configs are no pointers. Source:
/// docs/protocol/capi-agent-provider.md#8.1.
pub fn pointer(data: &str) -> Option<Pointer> {
    let config: Value = serde_json::from_str(data).ok()?;
    let sources = config["ignition"]["config"]["merge"].as_array()?;
    let [source] = sources.as_slice() else {
        return None;
    };
    let url = source["source"].as_str()?;
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return None;
    }
    let authorities = config["ignition"]["security"]["tls"]["certificateAuthorities"].as_array();
    let authority = authorities.and_then(|list| list.first()?["source"].as_str());
    Some(Pointer {
        url: url.to_owned(),
        ca: authority.and_then(data_url),
    })
}

/// The text of a `data:` URL.
fn data_url(url: &str) -> Option<String> {
    let (head, body) = url.strip_prefix("data:")?.split_once(',')?;
    if head.ends_with(";base64") {
        let bytes = STANDARD.decode(body).ok()?;
        return String::from_utf8(bytes).ok();
    }
    let decoded = url::form_urlencoded::parse(format!("x={}", body.replace('+', "%2B")).as_bytes())
        .next()
        .map(|(_, value)| value.into_owned());
    decoded.filter(|text| !text.is_empty())
}

/// The host of a URL, with its port if it has one.
pub fn host_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// The address in a server's URL.
pub fn endpoint(server: &str) -> Option<Endpoint> {
    let url = url::Url::parse(server).ok()?;
    Some(Endpoint {
        host: url.host_str()?.trim_matches(['[', ']']).to_owned(),
        port: url.port_or_known_default()?,
    })
}

fn annotations(hosted: &HostedCluster) -> Value {
    json!({HOSTED_CLUSTER: places::annotation(&kube_ref(hosted))})
}

/// Returns the namespace of the objects.
pub fn namespace(hosted: &HostedCluster) -> Namespace {
    let annotation = places::annotation(&kube_ref(hosted));
    Namespace {
        metadata: ObjectMeta {
            name: Some(places::namespace(hosted)),
            annotations: Some([(HOSTED_CLUSTER.to_owned(), annotation)].into()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    }
}

/// Returns a copy of a Secret's value, for the infrastructure provider.
pub fn secret(hosted: &HostedCluster, type_: &str, key: &str, value: &str) -> Value {
    json!({
        "metadata": {
            "annotations": annotations(hosted),
            "labels": {
                CLUSTER_NAME: places::cluster(hosted).name, names::label::WATCH: "true", names::label::BACKUP: "true",
            },
        },
        "type": type_,
        "data": {key: STANDARD.encode(value)},
    })
}

/// The type of the copy that Cluster API requires.
pub const CLUSTER_API_SECRET: &str = SECRET_TYPE;

/// Returns the Cluster.
pub fn cluster(hosted: &HostedCluster, endpoint: Option<&Endpoint>) -> Value {
    let name = hosted.name_any();
    let mut spec = json!({
        "paused": false,
        "controlPlaneRef": places::control_plane(&name),
        "infrastructureRef": places::infrastructure("AgentCluster", &name),
    });
    if let Some(endpoint) = endpoint {
        spec["controlPlaneEndpoint"] = json!(endpoint);
    }
    json!({"metadata": {"annotations": annotations(hosted)}, "spec": spec})
}

/// Returns the HostedControlPlane, with the fields that infrastructure providers read.
pub fn control_plane(hosted: &HostedCluster, owner: &Value) -> Value {
    let spec = &hosted.spec;
    let mut wanted = json!({
        "infraID": places::cluster(hosted).name,
        "clusterID": spec.cluster_id,
        "releaseImage": spec.release.as_ref().map(|release| &release.image),
        "dns": spec.dns,
        "platform": {"type": "None"},
        "pullSecret": spec.pull_secret.as_ref().map(|_| json!({"name": places::PULL_SECRET})),
    });
    if let Some(members) = wanted.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    json!({"metadata": {"annotations": annotations(hosted), "ownerReferences": [owner]}, "spec": wanted})
}

/// Returns the AgentCluster.
pub fn agent_cluster(
    hosted: &HostedCluster,
    owner: &Value,
    endpoint: Option<&Endpoint>,
    pointer: Option<&Pointer>,
) -> Value {
    let mut annotations = annotations(hosted);
    if let Some(agent) = &hosted.spec.platform.agent {
        annotations[names::annotation::AGENT_NAMESPACE] = agent.agent_namespace.clone().into();
    }
    let mut spec = json!({});
    if let Some(endpoint) = endpoint {
        spec["controlPlaneEndpoint"] = json!(endpoint);
    }
    if let Some(pointer) = pointer {
        spec["ignitionEndpoint"] = json!({"url": pointer.url});
        if pointer.ca.is_some() {
            spec["ignitionEndpoint"]["caCertificateReference"] =
                json!({"name": places::IGNITION_CA, "namespace": places::namespace(hosted)});
        }
    }
    let labels = json!({CLUSTER_NAME: places::cluster(hosted).name});
    json!({
        "metadata": {"annotations": annotations, "labels": labels, "ownerReferences": [owner]},
        "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_is_a_pointer_and_a_whole_config_is_none() {
        let stub = json!({"ignition": {
            "version": "3.2.0",
            "security": {"tls": {"certificateAuthorities": [{"source": "data:text/plain;base64,Q0E="}]}},
            "config": {"merge": [{"source": "https://ign.example.test:31234/ignition",
                "httpHeaders": [{"name": "Authorization", "value": "Bearer x"}]}]},
        }});
        let found = pointer(&stub.to_string()).unwrap();
        assert_eq!(found.url, "https://ign.example.test:31234/ignition");
        assert_eq!(found.ca.as_deref(), Some("CA"));
        assert_eq!(host_of(&found.url).as_deref(), Some("ign.example.test:31234"));
        let whole = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": []}});
        assert_eq!(pointer(&whole.to_string()), None);
        assert_eq!(data_url("data:,a%20b%2Bc").as_deref(), Some("a b+c"));
    }

    #[test]
    fn the_endpoint_is_that_of_the_kubeconfigs_server() {
        let of = |server: &str| endpoint(server).map(|it| (it.host, it.port));
        assert_eq!(
            of("https://api.example.test:6443"),
            Some(("api.example.test".into(), 6443))
        );
        assert_eq!(of("https://[2001:db8::1]"), Some(("2001:db8::1".into(), 443)));
        assert_eq!(of("api.example.test"), None);
    }
}
