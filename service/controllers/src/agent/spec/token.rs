//! Reads the token for a cluster's Ignition endpoint, or a whole Ignition, from the Secret that the spec names. Source:
//! docs/protocol/kube-controllers.md#4.2; the whole Ignition, or a cloud-config, is an addition of Muster, for any
//! bootstrap provider.
//!
//! Secrets are watched without their content; one is read only when its version differs from the one that
//! the host was last given.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Client, ResourceExt};
use muster_controller::namespaces::Namespaces;
use muster_controller::secrets::{self, ReferenceError};
use muster_core::record::{KubeRef, Secret};
use muster_resources::names::key;
use muster_resources::{AgentSpec, NamespacedReference};

use super::edits::Token;

/// Tokens by Agent: the version of the Secret that its host has.
pub struct Tokens {
    client: Client,
    namespaces: Namespaces,
    secrets: Store<PartialObjectMeta<KubeSecret>>,
    given: Mutex<HashMap<KubeRef, Given>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Given {
    reference: NamespacedReference,
    version: String,
}

impl Tokens {
    /// Returns an empty cache that reads through `client`, in `namespaces` alone; `secrets`: the Secrets that are watched.
    pub fn new(
        client: Client,
        namespaces: Namespaces,
        secrets: Store<PartialObjectMeta<KubeSecret>>,
    ) -> Self {
        Self {
            client,
            namespaces,
            secrets,
            given: Mutex::default(),
        }
    }

    fn given(&self) -> MutexGuard<'_, HashMap<KubeRef, Given>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the token that `spec` names. Call [`Wanted::mark_given`] once the host has it.
    ///
    /// # Errors
    /// Fails if the Secret cannot be read or is not as it should be.
    pub async fn wanted(&self, agent: &KubeRef, spec: &AgentSpec) -> Result<Wanted<'_>, ReferenceError> {
        let Some(reference) = &spec.ignition_endpoint_token_reference else {
            self.forget(agent);
            return Ok(Wanted {
                tokens: self,
                token: Token::Is(Secret::default()),
                bootstrap: Token::Is(Secret::default()),
                given: None,
            });
        };
        // Taken before the Secret is read: one that changes in between is read once more, and not missed.
        let version = self.version(reference);
        let given = version.map(|version| Given {
            reference: reference.clone(),
            version,
        });
        if given.is_some() && self.given().get(agent) == given.as_ref() {
            return Ok(Wanted {
                tokens: self,
                token: Token::Same,
                bootstrap: Token::Same,
                given: None,
            });
        }
        let NamespacedReference { name, namespace } = reference;
        secrets::check_namespace(&self.namespaces, "Secret", namespace, name)?;
        let keys = [key::IGNITION_TOKEN, key::IGNITION, key::USER_DATA];
        let [token, ignition, user_data] =
            secrets::read_secret_keys(&self.client, namespace, name, keys).await?;
        Ok(Wanted {
            tokens: self,
            token: Token::Is(token.unwrap_or_default()),
            bootstrap: Token::Is(ignition.or(user_data).unwrap_or_default()),
            given,
        })
    }

    fn version(&self, reference: &NamespacedReference) -> Option<String> {
        let wanted = ObjectRef::<PartialObjectMeta<KubeSecret>>::new_with(&reference.name, ())
            .within(&reference.namespace);
        self.secrets.get(&wanted)?.resource_version()
    }

    /// Forgets an Agent that has no token or is gone.
    pub fn forget(&self, agent: &KubeRef) {
        self.given().remove(agent);
    }
}

/// A token for a host, to be marked when the host has it.
pub struct Wanted<'a> {
    tokens: &'a Tokens,
    /// The token.
    pub token: Token,
    /// The whole Ignition, or a cloud-config.
    pub bootstrap: Token,
    given: Option<Given>,
}

impl Wanted<'_> {
    /// Records that the host of `agent` has it.
    pub fn mark_given(self, agent: &KubeRef) {
        if let Some(given) = self.given {
            self.tokens.given().insert(agent.clone(), given);
        }
    }
}
