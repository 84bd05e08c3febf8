//! Makes the Secret by which a node is fenced, from Metal3's data about the machine's management controller. Source:
//! docs/protocol/kube-controllers.md#7 (`create-fencing-credentials-secret`).

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::api::{ObjectMeta, Patch};
use kube::{Api, Client, ResourceExt};
use muster_controller::error::{Error, is_forbidden, words};
use muster_controller::references::owner_reference;
use muster_controller::secrets::{self, ReferenceError};
use muster_controller::writes::applied;
use muster_resources::Agent;
use muster_resources::metal3::BareMetalHost;
use muster_resources::metal3::names::annotation;
use muster_resources::names::label;

/// The Secret that the Agent is to refer to; `None`: the reference is not changed.
pub fn secret_of(host: &BareMetalHost, agent: &Agent) -> Option<String> {
    let given = host.annotations().get(annotation::FENCING_SECRET);
    let given = given.filter(|name| !name.is_empty()).cloned();
    given.or_else(|| is_made(host).then(|| name(agent)))
}

/// True when this service makes the Secret.
pub fn is_made(host: &BareMetalHost) -> bool {
    let given = host.annotations();
    given.contains_key(annotation::CREATE_FENCING_SECRET)
        && given
            .get(annotation::FENCING_SECRET)
            .is_none_or(|name| name.is_empty())
}

fn name(agent: &Agent) -> String {
    format!("{}-fencing-credentials", agent.name_any())
}

/// Writes the Secret. `Ok(Some)`: the reason why it cannot be written, for a user.
///
/// # Errors
/// Fails if the API server does.
pub async fn write(client: &Client, host: &BareMetalHost, agent: &Agent) -> Result<Option<String>, Error> {
    let Some(bmc) = &host.spec.bmc else {
        return Ok(Some(
            "spec.bmc is not set, from which the credentials for fencing are made".to_owned(),
        ));
    };
    let namespace = host.namespace().unwrap_or_default();
    let mut data = vec![("address", bmc.address.clone())];
    for key in ["username", "password"] {
        match secrets::read_secret(client, &namespace, &bmc.credentials_name, key).await {
            Ok(value) => data.push((key, value.reveal().to_owned())),
            Err(ReferenceError::Api { source, .. }) => return Err((*source).into()),
            Err(error) => return Ok(Some(format!("spec.bmc.credentialsName: {error}"))),
        }
    }
    let verification = if bmc.disable_certificate_verification {
        "Disabled"
    } else {
        "Enabled"
    };
    data.push(("certificateVerification", verification.to_owned()));
    let labels = [label::WATCH, label::BACKUP].map(|key| (key.to_owned(), "true".to_owned()));
    let name = name(agent);
    let secret = KubeSecret {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some(labels.into()),
            owner_references: Some(vec![owner_reference(agent)]),
            ..ObjectMeta::default()
        },
        data: Some(
            data.into_iter()
                .map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes())))
                .collect(),
        ),
        ..KubeSecret::default()
    };
    let api = Api::<KubeSecret>::namespaced(client.clone(), &namespace);
    if api
        .get_opt(&name)
        .await?
        .is_some_and(|found| !is_of(&found, agent))
    {
        return Ok(Some(format!(
            "the Secret {name} exists already and is somebody else's (it has no owner reference to the Agent): delete it, or name it in the annotation {}",
            annotation::FENCING_SECRET
        )));
    }
    match api.patch(&name, &applied(), &Patch::Apply(secret)).await {
        Ok(_) => Ok(None),
        Err(error) if is_forbidden(&error) => Ok(Some(format!(
            "the Secret {name} may not be made: bind the ClusterRole muster-metal3-secrets in the namespace (deploy/README.md). {}",
            words(&error)
        ))),
        Err(error) => Err(error.into()),
    }
}

/// True for a Secret that was made here.
fn is_of(secret: &KubeSecret, agent: &Agent) -> bool {
    let own = owner_reference(agent);
    let mut owners = secret.owner_references().iter();
    owners.any(|owner| owner.kind == own.kind && owner.name == own.name)
}
