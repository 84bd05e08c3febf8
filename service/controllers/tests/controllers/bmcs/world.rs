//! The bridge with an InfraEnv, and a simulated driver.

use k8s_openapi::api::core::v1::{Event, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use muster_api::bmc::{BmcCheck, BmcFailure, BmcOutcome};
use muster_controllers::bridge;
use muster_core::lifecycle::bmc::{BmcEvent, Problem, Seen};
use muster_core::record::{self, KubeRef};
use muster_operations::now;
use muster_resources::{Bmc, InfraEnv, crds};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::backend::{Backend, eventually};
use crate::plain_bridge::plain_bridge;

pub const NAMESPACE: &str = "default";

/// The password of every BMC. Only Secrets contain it.
pub const PASSWORD: &str = "CanaryBmcPasswordH4k8Tz";

/// The name of the definition of BMCs.
const DEFINITION: &str = "bmcs.muster.dev";

pub struct World {
    pub backend: Backend,
    running: Option<(DropGuard, JoinHandle<()>)>,
}

impl World {
    pub async fn start() -> Self {
        let backend = Backend::open(now()).await;
        let mut world = Self {
            backend,
            running: None,
        };
        world.run();
        world.secret("pull-secret", json!({".dockerconfigjson": r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNz"}}}"#})).await;
        world.infra_env("hw").await;
        world
    }

    /// Runs the controllers.
    pub fn run(&mut self) {
        let stop = CancellationToken::new();
        let bridge = plain_bridge(self.backend.client.clone());
        let running = tokio::spawn(bridge::run(self.backend.operations.clone(), bridge, stop.clone()));
        self.running = Some((stop.drop_guard(), running));
    }

    /// Ends the controllers.
    pub async fn stop(&mut self) {
        if let Some((guard, running)) = self.running.take() {
            drop(guard);
            running.await.unwrap();
        }
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.backend.client.clone(), NAMESPACE)
    }

    pub async fn create<K>(&self, object: Value)
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Serialize
            + Clone
            + std::fmt::Debug,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap();
    }

    pub async fn secret(&self, name: &str, data: Value) {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        self.api::<Secret>()
            .patch(name, &PatchParams::apply("test").force(), &Patch::Apply(secret))
            .await
            .unwrap();
    }

    pub async fn credentials(&self, password: &str) {
        self.secret(
            "bmc",
            json!({"username": "root\n", "password": format!("{password}\n")}),
        )
        .await;
    }

    /// Creates an InfraEnv that the database has.
    pub async fn infra_env(&self, name: &str) {
        self.create::<InfraEnv>(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": name}, "spec": {"pullSecretRef": {"name": "pull-secret"}},
        }))
        .await;
        let name = KubeRef::new(NAMESPACE, name);
        eventually("the InfraEnv to be stored", async || {
            let infra_envs = &self.backend.operations.infra_envs;
            infra_envs.find_by_kube(&name).await.unwrap()
        })
        .await;
    }

    /// Applies a BMC, with more in its spec.
    pub async fn apply(&self, name: &str, more: Value) {
        let mut spec = json!({
            "infraEnvRef": {"name": "hw"}, "address": format!("{name}.example.test"), "credentialsName": "bmc",
        });
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        self.create::<Bmc>(json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "BMC", "metadata": {"name": name}, "spec": spec,
        }))
        .await;
    }

    pub async fn patch(&self, name: &str, patch: Value) {
        self.api::<Bmc>()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Requests a discovery as `kubectl annotate --overwrite` does.
    pub async fn ask(&self, name: &str, value: &str) {
        self.patch(
            name,
            json!({"metadata": {"annotations": {"bmc.muster.dev/discover": value}}}),
        )
        .await;
    }

    pub async fn delete(&self, name: &str) {
        self.api::<Bmc>()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    pub async fn find(&self, name: &str) -> Option<Value> {
        let found = self.api::<Bmc>().get_opt(name).await.unwrap()?;
        Some(serde_json::to_value(found).unwrap())
    }

    /// Returns the resource once `is` is true of it.
    pub async fn await_bmc(&self, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{name} to be {what}"), async || {
            self.find(name).await.filter(|bmc| is(bmc))
        })
        .await
    }

    pub async fn await_phase(&self, name: &str, phase: &str) -> Value {
        self.await_bmc(name, phase, |bmc| bmc["status"]["phase"] == phase)
            .await
    }

    /// Returns the resource once its condition has this reason.
    pub async fn await_reason(&self, name: &str, condition: &str, reason: &str) -> String {
        let bmc = self
            .await_bmc(name, &format!("{condition} {reason}"), |bmc| {
                of_type(bmc, condition)["reason"] == reason
            })
            .await;
        of_type(&bmc, condition)["message"].as_str().unwrap().to_owned()
    }

    pub async fn record(&self, name: &str) -> Option<record::Bmc> {
        let kube = KubeRef::new(NAMESPACE, name);
        self.backend.operations.bmcs.find_by_kube(&kube).await.unwrap()
    }

    /// Applies events of the driver.
    pub async fn drive(&self, name: &str, events: impl IntoIterator<Item = BmcEvent>) {
        let record = eventually("the record", async || self.record(name).await).await;
        for event in events {
            let bmcs = &self.backend.operations.bmcs;
            let applied = bmcs.apply(record.id, None, event.clone()).await.unwrap();
            assert!(applied.is_some(), "{event:?} has no meaning");
        }
    }

    /// Simulates that the BMC refuses the password.
    pub async fn refuse_password(&self, name: &str) {
        self.drive(name, [BmcEvent::Begun, refused()]).await;
    }

    /// Simulates that the image is in the drive.
    pub async fn insert(&self, name: &str) {
        let checked = BmcEvent::Checked {
            seen: Box::new(seen(BmcOutcome::Pass)),
            problem: None,
        };
        self.drive(name, [BmcEvent::Begun, checked]).await;
    }

    /// Returns the notes of the Events about a BMC with this reason.
    pub async fn events(&self, name: &str, reason: &str) -> Vec<String> {
        let all = self.api::<Event>().list(&ListParams::default()).await.unwrap();
        let of_bmc = all.items.into_iter().filter(|event| {
            event.involved_object.name.as_deref() == Some(name)
                && event.involved_object.kind.as_deref() == Some("BMC")
                && event.reason.as_deref() == Some(reason)
        });
        of_bmc.map(|event| event.message.unwrap_or_default()).collect()
    }

    pub async fn await_event(&self, name: &str, reason: &str) -> String {
        eventually(&format!("the Event {reason}"), async || {
            self.events(name, reason).await.pop()
        })
        .await
    }

    fn definitions(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.backend.client.clone())
    }

    /// Makes the API server lack the kind.
    pub async fn forget_kind(&self) {
        let definitions = self.definitions();
        definitions
            .delete(DEFINITION, &DeleteParams::default())
            .await
            .unwrap();
        eventually("the kind to be gone", async || {
            let found = definitions.get_opt(DEFINITION).await.unwrap();
            found.is_none().then_some(())
        })
        .await;
    }

    pub async fn declare_kind(&self) {
        let own = crds::own();
        let definition = own
            .iter()
            .find(|one| one.metadata.name.as_deref() == Some(DEFINITION));
        self.definitions()
            .create(&PostParams::default(), definition.unwrap())
            .await
            .unwrap();
    }
}

/// A condition of an object; null if it has none of that type.
pub fn of_type(object: &Value, type_: &str) -> Value {
    let list = object["status"]["conditions"].as_array();
    let found = list.into_iter().flatten().find(|one| one["type"] == type_);
    found.cloned().unwrap_or_default()
}

/// The fingerprint of the certificate that BMCs present.
pub fn fingerprint() -> String {
    ["AA"; 32].join(":")
}

fn seen(outcome: BmcOutcome) -> Seen {
    Seen {
        checks: vec![BmcCheck {
            id: "credentials".into(),
            outcome,
            seen: "root".into(),
            advice: String::new(),
        }],
        certificate: Some(fingerprint()),
        inventory: None,
    }
}

fn refused() -> BmcEvent {
    BmcEvent::Checked {
        seen: Box::new(seen(BmcOutcome::Fail)),
        problem: Some(Problem {
            failure: BmcFailure::Credentials,
            reason: "the BMC refuses root".into(),
            passing: false,
        }),
    }
}
