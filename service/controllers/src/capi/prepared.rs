//! Reads bootstrap Secrets, and writes from them the Secrets that Agents refer to. Source:
//! docs/protocol/capi-agent-provider.md#3.
//!
//! What was read is kept until one of the two Secrets changes: an AgentMachine is reconciled with each stage of its
//! host's installation.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::api::{DeleteParams, ObjectMeta, Patch, Preconditions};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::Store;
use kube::{Api, Client, ResourceExt};
use muster_core::record::KubeRef;
use muster_resources::NamespacedReference;
use muster_resources::names::{key, label};
use serde_json::json;

use super::bootstrap::Bootstrap;
use crate::error::{Error, unless_absent};
use crate::references::object_ref;
use crate::secrets::{self, ReferenceError};
use crate::writes::{patch_params, post_params};

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
    /// A user or another controller must do something: what.
    Input(String),
    /// It may pass.
    Later(Error),
}

/// Bootstrap data by its Secret.
pub struct Prepared {
    /// Labelled Secrets, without their content.
    secrets: Store<PartialObjectMeta<KubeSecret>>,
    known: Mutex<HashMap<KubeRef, Known>>,
}

#[derive(Clone)]
struct Known {
    bootstrap: Arc<Bootstrap>,
    /// Of the bootstrap Secret and of the Agents'.
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

    /// The data of a bootstrap Secret, with the Secret for Agents written.
    ///
    /// # Errors
    /// Those of [`NoData`].
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
        if let Some(known) = known.filter(|known| versions.0.is_some() && known.versions == versions) {
            return Ok(Data {
                bootstrap: known.bootstrap,
                reference,
            });
        }
        let value = secrets::read_secret(client, namespace, data_secret, key::CAPI_VALUE).await;
        let value = value.map_err(|error| match error {
            ReferenceError::Api { source, .. } => NoData::Later((*source).into()),
            error => NoData::Input(format!("The Machine's bootstrap data: {error}")),
        })?;
        let bootstrap = Bootstrap::read(&value)
            .map_err(|why| NoData::Input(format!("The key value of the Secret {name} {why}")))?;
        write(client, &for_agents, &bootstrap)
            .await
            .map_err(NoData::Later)?;
        let bootstrap = Arc::new(bootstrap);
        let known = Known {
            bootstrap: bootstrap.clone(),
            versions,
        };
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, known);
        Ok(Data { bootstrap, reference })
    }

    fn version(&self, secret: &KubeRef) -> Option<String> {
        self.secrets.get(&object_ref(secret))?.resource_version()
    }

    /// Deletes the Agents' Secret, if we made it. `is_used`: an Agent refers to it.
    ///
    /// # Errors
    /// Those of the API.
    pub async fn drop_unused(
        &self,
        client: &Client,
        namespace: &str,
        data_secret: &str,
    ) -> Result<(), Error> {
        let name = name_for_agents(data_secret);
        let api = Api::<KubeSecret>::namespaced(client.clone(), namespace);
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&KubeRef::new(namespace, data_secret));
        let Some(found) = api.get_opt(&name).await? else {
            return Ok(());
        };
        let is_ours = found.labels().contains_key(label::CAPI_BOOTSTRAP);
        if !is_ours {
            return Ok(());
        }
        // Whoever wrote it in between needs it.
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

/// Makes the Secret say what `bootstrap` says. A write that changes nothing is not sent.
async fn write(client: &Client, name: &KubeRef, bootstrap: &Bootstrap) -> Result<(), Error> {
    let api = Api::<KubeSecret>::namespaced(client.clone(), &name.namespace);
    let (entry, value) = bootstrap.entry();
    let bytes = ByteString(value.reveal().as_bytes().to_vec());
    let Some(found) = api.get_opt(&name.name).await? else {
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
        api.create(&post_params(), &secret).await?;
        return Ok(());
    };
    let other = if entry == key::IGNITION {
        key::IGNITION_TOKEN
    } else {
        key::IGNITION
    };
    let data = found.data.unwrap_or_default();
    if data.get(entry) == Some(&bytes) && !data.contains_key(other) {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"data": {entry: bytes, other: null}}));
    api.patch_metadata(&name.name, &patch_params(), &patch).await?;
    Ok(())
}
