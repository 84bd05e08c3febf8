//! Reads bootstrap Secrets, and writes from them the Secrets that Agents refer to. Source:
//! docs/protocol/capi-agent-provider.md#3.
//!
//! What was read is kept until one of the two Secrets changes, and so is a refusal: an AgentMachine is reconciled with each
//! stage of its host's installation, and one without an Agent whenever one may have become free.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::api::{DeleteParams, ObjectMeta, Patch, Preconditions};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::Store;
use kube::{Api, Client, ResourceExt};
use muster_controller::error::{Error, unless_absent, words};
use muster_controller::references::object_ref;
use muster_controller::secrets::{self, ReferenceError};
use muster_controller::writes::{patch_params, post_params};
use muster_core::record::KubeRef;
use muster_resources::NamespacedReference;
use muster_resources::names::{key, label};
use serde_json::{Value, json};

use super::bootstrap::Bootstrap;

/// Bootstrap data for an Agent.
#[derive(Debug, Clone)]
pub struct Data {
    pub bootstrap: Arc<Bootstrap>,
    /// The Secret for `spec.ignitionEndpointTokenReference`.
    pub reference: NamespacedReference,
}

/// The reason why there is no bootstrap data.
#[derive(Debug)]
pub enum NoData {
    /// A user or another controller must act: the reason.
    Input(String),
    /// The error may pass by itself.
    Later(Error),
}

/// Bootstrap data by the name of its Secret.
pub struct Prepared {
    /// Labelled Secrets, without their content.
    secrets: Store<PartialObjectMeta<KubeSecret>>,
    known: Mutex<HashMap<KubeRef, Known>>,
}

/// What was read from a bootstrap Secret, or the reason why it is refused, for users.
type ReadOrRefused = Result<Arc<Bootstrap>, String>;

#[derive(Clone)]
struct Known {
    read: ReadOrRefused,
    /// Versions of the bootstrap Secret and of the Agents' Secret.
    versions: (Option<String>, Option<String>),
}

/// Name of the Secret that Agents refer to.
fn name_for_agents(data_secret: &str) -> String {
    format!("agent-{data_secret}")
}

impl Prepared {
    pub fn new(secrets: Store<PartialObjectMeta<KubeSecret>>) -> Self {
        Self {
            secrets,
            known: Mutex::default(),
        }
    }

    /// Returns the data of a bootstrap Secret, and writes the Secret for Agents.
    ///
    /// # Errors
    /// Fails with [`NoData`].
    pub async fn get(&self, client: &Client, namespace: &str, data_secret: &str) -> Result<Data, NoData> {
        let name = KubeRef::new(namespace, data_secret);
        let for_agents = KubeRef::new(namespace, name_for_agents(data_secret));
        let reference = NamespacedReference {
            name: for_agents.name.clone(),
            namespace: namespace.to_owned(),
        };
        let versions = (self.version(&name), self.version(&for_agents));
        let known = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&name)
            .cloned();
        let data = |read: ReadOrRefused| match read {
            Ok(bootstrap) => Ok(Data { bootstrap, reference }),
            Err(why) => Err(NoData::Input(why)),
        };
        if let Some(known) = known.filter(|known| versions.0.is_some() && known.versions == versions) {
            return data(known.read);
        }
        let value = secrets::read_secret(client, namespace, data_secret, key::CAPI_VALUE).await;
        let value = value.map_err(|error| match error {
            ReferenceError::Api { source, .. } => NoData::Later((*source).into()),
            error => NoData::Input(format!("The Machine's bootstrap data: {error}")),
        })?;
        let read = Bootstrap::read(&value).map(Arc::new);
        let read =
            read.map_err(|refused| format!("The key value of the Secret {name} is refused: {refused}"));
        if let Ok(bootstrap) = &read {
            write(client, &for_agents, bootstrap).await?;
        }
        let known = Known {
            read: read.clone(),
            versions,
        };
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, known);
        data(read)
    }

    /// Forgets what was read from a bootstrap Secret.
    pub fn forget(&self, secret: &KubeRef) {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(secret);
    }

    fn version(&self, secret: &KubeRef) -> Option<String> {
        self.secrets.get(&object_ref(secret))?.resource_version()
    }

    /// Deletes the Agents' Secret, if it was made here. `is_used`: an Agent refers to it.
    ///
    /// # Errors
    /// Fails if the API server does.
    pub async fn drop_unused(
        &self,
        client: &Client,
        namespace: &str,
        data_secret: &str,
    ) -> Result<(), Error> {
        let name = name_for_agents(data_secret);
        let api = Api::<KubeSecret>::namespaced(client.clone(), namespace);
        self.forget(&KubeRef::new(namespace, data_secret));
        let Some(found) = api.get_opt(&name).await? else {
            return Ok(());
        };
        if !is_ours(&found) {
            return Ok(());
        }
        // A write in between means that the Secret is needed.
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                resource_version: found.resource_version(),
                uid: found.uid(),
            }),
            ..DeleteParams::default()
        };
        unless_absent(api.delete(&name, &params).await).map(drop)
    }
}

/// True for a Secret that was made here.
fn is_ours(secret: &KubeSecret) -> bool {
    secret.labels().contains_key(label::CAPI_BOOTSTRAP)
}

/// Writes `bootstrap` into the Secret. A write that changes nothing is not sent, and a Secret that was not made here is not changed:
/// it is used only if it has the same content, as the one of cluster-api-provider-agent does.
async fn write(client: &Client, name: &KubeRef, bootstrap: &Bootstrap) -> Result<(), NoData> {
    let later = |error: kube::Error| NoData::Later(error.into());
    let api = Api::<KubeSecret>::namespaced(client.clone(), &name.namespace);
    let (entry, value) = bootstrap.entry();
    let bytes = ByteString(value.reveal().as_bytes().to_vec());
    let Some(found) = api.get_opt(&name.name).await.map_err(later)? else {
        let labels = [label::WATCH, label::BACKUP, label::CAPI_BOOTSTRAP]
            .map(|name| (name.to_owned(), "true".to_owned()));
        let secret = KubeSecret {
            metadata: ObjectMeta {
                name: Some(name.name.clone()),
                labels: Some(BTreeMap::from(labels)),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(entry.to_owned(), bytes)])),
            ..KubeSecret::default()
        };
        return api.create(&post_params(), &secret).await.map(drop).map_err(|error| match &error {
            kube::Error::Api(status) if status.code == 403 => NoData::Input(format!(
                "The Secret {name}, in which Agents get the Machine's bootstrap data, may not be made: bind the ClusterRole muster-capi-secrets in the namespace (deploy/README.md). {}",
                words(&error)
            )),
            _ => later(error),
        });
    };
    let others: Vec<&str> = [key::IGNITION, key::IGNITION_TOKEN, key::USER_DATA]
        .into_iter()
        .filter(|other| *other != entry)
        .collect();
    let data = found.data.as_ref();
    let has = |key: &str| data.and_then(|data| data.get(key));
    if has(entry) == Some(&bytes) && others.iter().all(|other| has(other).is_none()) {
        return Ok(());
    }
    if !is_ours(&found) {
        return Err(NoData::Input(format!(
            "The Secret {name}, in which Agents get the Machine's bootstrap data, exists already and is somebody else's (it has no label {}); delete it if nobody needs it, or give the Machine's bootstrap Secret another name",
            label::CAPI_BOOTSTRAP
        )));
    }
    let mut wanted = json!({entry: bytes});
    for other in others {
        wanted[other] = Value::Null;
    }
    let patch = Patch::Merge(json!({"data": wanted}));
    let patched = api.patch_metadata(&name.name, &patch_params(), &patch).await;
    patched.map(drop).map_err(later)
}
