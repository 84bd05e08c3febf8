//! The simulated environment of the controllers of Metal3's kinds.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use muster_controller::events::{Events, publish};
use muster_metal3::drives::{Drives, Emptied, HostBmc};
use muster_metal3::{self as metal3, Flow};
use muster_operations::now;
use muster_resources::InfraEnv;
use muster_resources::metal3::{BareMetalHost, PreprovisioningImage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::backend::{Backend, eventually};

/// Namespace of all objects.
pub const NAMESPACE: &str = "hardware";

/// The finalizer of the baremetal-operator on PreprovisioningImages.
pub const THEIR_FINALIZER: &str = "baremetalhost.metal3.io/preprovisioningImage";

/// Running controllers. Dropping this value stops them.
pub struct World {
    pub backend: Backend,
    emptied: Arc<Stuck>,
    _stop: DropGuard,
}

/// BMCs with drives that cannot be emptied.
#[derive(Debug, Default)]
struct Stuck(Mutex<Vec<String>>);

impl Drives for Stuck {
    fn empty(&self, bmc: HostBmc) -> Emptied {
        let asked = format!("{} as {}", bmc.address, bmc.user_name);
        self.0.lock().unwrap().push(asked);
        Box::pin(async { Err("the drawer is stuck".to_owned()) })
    }
}

/// Type of the bounds of a kind.
pub trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Serialize + Clone + Debug
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + DeserializeOwned
        + Serialize
        + Clone
        + Debug
{
}

impl World {
    pub async fn start(flow: Flow) -> Self {
        let backend = Backend::open(now()).await;
        let (events, queued) = Events::new();
        tokio::spawn(publish(backend.client.clone(), queued));
        let emptied = Arc::new(Stuck::default());
        let context = backend.context(events).of_metal3(Some(emptied.clone()));
        let stop = CancellationToken::new();
        let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}})).unwrap();
        let namespaces = Api::<Namespace>::all(backend.client.clone());
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
        tokio::spawn(metal3::run(context, flow, stop.clone()));
        Self {
            backend,
            emptied,
            _stop: stop.drop_guard(),
        }
    }

    /// BMCs that got a request to empty their drives: `ADDRESS as USER`.
    pub fn emptied(&self) -> Vec<String> {
        self.emptied.0.lock().unwrap().clone()
    }

    pub fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.backend.client.clone(), NAMESPACE)
    }

    pub async fn get<K: Kind>(&self, name: &str) -> K {
        self.api::<K>().get(name).await.unwrap()
    }

    pub async fn find<K: Kind>(&self, name: &str) -> Option<K> {
        self.api::<K>().get_opt(name).await.unwrap()
    }

    pub async fn delete<K: Kind>(&self, name: &str) {
        self.api::<K>()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    pub async fn patch<K: Kind>(&self, name: &str, patch: Value) {
        self.api::<K>()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub async fn patch_status<K: Kind>(&self, name: &str, status: Value) {
        let patch = Patch::Merge(json!({ "status": status }));
        self.api::<K>()
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Creates an object as given, with members that no type here has.
    pub async fn create<K: Kind>(&self, object: Value) {
        let path = K::url_path(&(), Some(NAMESPACE));
        let mut object = object;
        object["apiVersion"] = json!(K::api_version(&()));
        object["kind"] = json!(K::kind(&()));
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&object).unwrap())
            .unwrap();
        self.backend.client.request::<Value>(request).await.unwrap();
    }

    /// Returns the whole object, with members that no type here has.
    pub async fn whole<K: Kind>(&self, name: &str) -> Value {
        let path = format!("{}/{name}", K::url_path(&(), Some(NAMESPACE)));
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        self.backend.client.request(request).await.unwrap()
    }

    /// Creates an InfraEnv with an image of this age.
    pub async fn infra_env(&self, name: &str, image_age: Duration) {
        self.create::<InfraEnv>(json!({
            "metadata": {"name": name}, "spec": {"pullSecretRef": {"name": "pull"}, "cpuArchitecture": "x86_64"},
        }))
        .await;
        self.image_of(name, &url(name), image_age).await;
    }

    /// Gives an InfraEnv an image.
    pub async fn image_of(&self, infra_env: &str, url: &str, age: Duration) {
        let created = (now() - age).format("%Y-%m-%dT%H:%M:%SZ").to_string();
        self.patch_status::<InfraEnv>(
            infra_env,
            json!({
                "isoDownloadURL": url, "createdTime": created,
                "conditions": [{
                    "type": "ImageCreated", "status": "True", "reason": "InfraEnvAvailable",
                    "message": "there it is", "lastTransitionTime": created, "lastHeartbeatTime": null,
                }],
            }),
        )
        .await;
    }

    pub async fn secret(&self, name: &str, value: &str) {
        self.create::<Secret>(json!({"metadata": {"name": name}, "stringData": {"networkData": value}}))
            .await;
    }

    /// Requests an image for the host of this name, as the baremetal-operator does.
    pub async fn asks_for_image(&self, host: &str, infra_env: &str, spec: Value) {
        self.create::<PreprovisioningImage>(json!({
            "metadata": {
                "name": host, "labels": {"infraenvs.agent-install.openshift.io": infra_env},
                "finalizers": [THEIR_FINALIZER],
            },
            "spec": spec,
        }))
        .await;
    }

    /// Returns the status of a PreprovisioningImage once `Ready` has this reason.
    pub async fn await_image(&self, name: &str, reason: &str) -> Value {
        eventually(&format!("{name} to say {reason}"), async || {
            let image = self.whole::<PreprovisioningImage>(name).await;
            let conditions = image["status"]["conditions"].as_array()?;
            let ready = conditions.iter().find(|one| one["type"] == "Ready")?;
            (ready["reason"] == reason).then(|| image.clone())
        })
        .await
    }

    /// Creates a BareMetalHost as a user applies it, in this state.
    pub async fn host(&self, name: &str, metadata: Value, spec: Value, state: &str) {
        let mut object = json!({
            "metadata": {"name": name, "labels": {"infraenvs.agent-install.openshift.io": "hw"}},
            "spec": {
                "online": false, "bootMACAddress": "52:54:00:AA:00:01",
                "bmc": {"address": "redfish-virtualmedia+http://bmc.example.test/redfish/v1/Systems/1", "credentialsName": "bmc"},
            },
        });
        merge(&mut object["metadata"], &metadata);
        merge(&mut object["spec"], &spec);
        self.create::<BareMetalHost>(object).await;
        self.in_state(name, state).await;
    }

    /// Sets the state as the baremetal-operator reports it.
    pub async fn in_state(&self, host: &str, state: &str) {
        let status = json!({
            "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": true,
            "provisioning": {"ID": "1", "state": state}, "newerMember": {"kept": true},
        });
        self.patch_status::<BareMetalHost>(host, status).await;
    }

    pub async fn get_host(&self, name: &str) -> BareMetalHost {
        self.get(name).await
    }

    /// Returns the BareMetalHost once `is` is true of it.
    pub async fn await_host(
        &self,
        name: &str,
        what: &str,
        is: impl Fn(&BareMetalHost) -> bool,
    ) -> BareMetalHost {
        eventually(&format!("{name}: {what}"), async || {
            let host = self.get_host(name).await;
            is(&host).then_some(host)
        })
        .await
    }

    /// Value of an annotation of a BareMetalHost.
    pub async fn annotation(&self, host: &str, key: &str) -> Option<String> {
        self.get_host(host).await.annotations().get(key).cloned()
    }
}

/// The image of an InfraEnv.
pub fn url(infra_env: &str) -> String {
    format!("http://muster.example.test:8091/boot/{infra_env}/discovery.iso")
}

/// A merge patch (RFC 7396) as far as tests need it.
fn merge(object: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        if value.is_object() && object[key].is_object() {
            merge(&mut object[key], value);
        } else {
            object[key] = value.clone();
        }
    }
}
