//! Writes the objects that a mirrored InfraEnv's resource refers to.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as KubeSecret;
use kube::api::{DeleteParams, ListParams, Patch};
use kube::core::{ObjectMeta, PartialObjectMeta};
use kube::{Api, ResourceExt};
use muster_controller::references::owner_reference;
use muster_controller::writes::applied;
use muster_core::record::Secret;
use muster_resources::names::{key, label};
use muster_resources::{InfraEnv, NMStateConfig};

use crate::context::Context;
use crate::error::{Error, unless_absent};

/// Writes the pull secret into the Secret that the spec names.
pub async fn write_secret(infra_env: &InfraEnv, value: &Secret, context: &Context) -> Result<(), Error> {
    let namespace = infra_env.namespace().unwrap_or_default();
    let name = &infra_env.spec.pull_secret_ref.name;
    let api = Api::<KubeSecret>::namespaced(context.client.clone(), &namespace);
    let content = ByteString(value.reveal().as_bytes().to_vec());
    let secret = KubeSecret {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some([(label::WATCH.to_owned(), "true".to_owned())].into()),
            owner_references: Some(vec![owner_reference(infra_env)]),
            ..ObjectMeta::default()
        },
        data: Some([(key::PULL_SECRET.to_owned(), content)].into()),
        ..KubeSecret::default()
    };
    api.patch(name, &applied(), &Patch::Apply(secret)).await?;
    Ok(())
}

/// Makes `objects` the NMStateConfigs of the InfraEnv: others with its label are deleted.
pub async fn write_networks(
    infra_env: &InfraEnv,
    objects: Vec<NMStateConfig>,
    context: &Context,
) -> Result<(), Error> {
    let namespace = infra_env.namespace().unwrap_or_default();
    let api = Api::<NMStateConfig>::namespaced(context.client.clone(), &namespace);
    let label = format!("{}={}", label::MIRRORED_NETWORK, infra_env.name_any());
    let present = Api::<PartialObjectMeta<NMStateConfig>>::namespaced(context.client.clone(), &namespace)
        .list(&ListParams::default().labels(&label))
        .await?;
    for old in present {
        let name = old.name_any();
        if objects.iter().all(|object| object.name_any() != name) {
            unless_absent(api.delete(&name, &DeleteParams::default()).await)?;
        }
    }
    for object in objects {
        api.patch(&object.name_any(), &applied(), &Patch::Apply(&object))
            .await?;
    }
    Ok(())
}
