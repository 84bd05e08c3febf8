//! Reconciles one PreprovisioningImage: reads its InfraEnv, writes its status, lets Metal3 boot its machine with a new image.

use std::sync::Arc;

use kube::api::Patch;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_api::time::now;
use muster_controller::error::{Error, unless_absent};
use muster_controller::finalizers;
use muster_controller::references::kube_ref;
use muster_controller::retry::RETRY_INTERVAL;
use muster_controller::secrets::{self, ReferenceError};
use muster_controller::writes::patch_params;
use muster_resources::InfraEnv;
use muster_resources::metal3::names::{annotation, finalizer, label, state, value};
use muster_resources::metal3::{BareMetalHost, PreprovisioningImage};
use serde_json::{Value, json};

use super::status::{self, Format, NetworkData, Outcome, Seen};
use crate::context::Context;
use crate::infra_env;

/// Brings the status in line with the InfraEnv.
pub async fn reconcile(image: Arc<PreprovisioningImage>, context: Arc<Context>) -> Result<Action, Error> {
    let api = Api::<PreprovisioningImage>::namespaced(
        context.client.clone(),
        &image.namespace().unwrap_or_default(),
    );
    let Some(infra_env) = infra_env::of(&*image).filter(|_| image.metadata.deletion_timestamp.is_none())
    else {
        // There is nothing to clean up: the image belongs to the InfraEnv. Metal3's finalizer stays, and so does the status, which Metal3
        // reads until its own finalizer is removed.
        finalizers::remove(&api, &*image, finalizer::IMAGE).await?;
        return Ok(Action::await_change());
    };
    let image = match metadata(&image) {
        None => image,
        Some(metadata) => {
            let patch = finalizers::metadata_patch(&*image, metadata);
            Arc::new(api.patch(&image.name_any(), &patch_params(), &patch).await?)
        }
    };
    let infra_envs = Api::<InfraEnv>::namespaced(context.client.clone(), &infra_env.namespace);
    let found = infra_envs.get_opt(&infra_env.name).await?;
    let seen = Seen {
        image: &image,
        infra_env: found.as_ref(),
        network_data: network_data(&image, &context).await?,
        kernel_line: match (&found, Format::chosen(&image.spec.accept_formats)) {
            (Some(infra_env), Some(Format::Initrd)) => {
                context.records.kernel_line(&kube_ref(infra_env)).await?
            }
            _ => None,
        },
        now: now(),
    };
    let outcome = status::outcome(&seen);
    let before = image.status.as_ref();
    let next = status::status(&image, &outcome, now());
    if status::is_another_image(before, &next) {
        // Before the status is written: until then Metal3 does not take the image, which is not ready, so the machine boots the new one.
        reboot(&image, &context).await?;
    }
    muster_controller::status::write(&context, &*image, before, &next).await?;
    Ok(match outcome {
        Outcome::Waiting {
            again: Some(again), ..
        } => Action::requeue(again),
        _ if matches!(seen.network_data, NetworkData::Missing(_)) => Action::requeue(RETRY_INTERVAL),
        _ => Action::await_change(),
    })
}

/// The metadata still to be written: the finalizer of this service after those of others, and the label for backups.
fn metadata(image: &PreprovisioningImage) -> Option<Value> {
    let finalizers = finalizers::with(image, finalizer::IMAGE);
    let is_labelled = image
        .labels()
        .get(label::EXCLUDE_FROM_BACKUP)
        .is_some_and(|set| set == "true");
    if finalizers.is_none() && is_labelled {
        return None;
    }
    let mut metadata = json!({"labels": {label::EXCLUDE_FROM_BACKUP: "true"}});
    if let Some(finalizers) = finalizers {
        metadata["finalizers"] = json!(finalizers);
    }
    Some(metadata)
}

/// The Secret with network settings. Only its version is used.
async fn network_data(image: &PreprovisioningImage, context: &Context) -> Result<NetworkData, Error> {
    let name = &image.spec.network_data_name;
    if name.is_empty() {
        return Ok(NetworkData::None);
    }
    let namespace = image.namespace().unwrap_or_default();
    match secrets::version(&context.client, &namespace, name).await {
        Ok(version) => Ok(NetworkData::Version(version)),
        Err(ReferenceError::Api { source, .. }) => Err((*source).into()),
        Err(error) => Ok(NetworkData::Missing(error.to_string())),
    }
}

/// Lets Metal3 boot the machine of `image` again, unless it is installed or not managed by Metal3 at present.
async fn reboot(image: &PreprovisioningImage, context: &Context) -> Result<(), Error> {
    let namespace = image.namespace().unwrap_or_default();
    let hosts = Api::<BareMetalHost>::namespaced(context.client.clone(), &namespace);
    let Some(host) = hosts.get_opt(&image.name_any()).await? else {
        return Ok(());
    };
    if !is_rebooted(&host) {
        return Ok(());
    }
    let metadata = json!({"annotations": {annotation::REBOOT: value::FORCED_REBOOT}});
    let patch: Patch<Value> = finalizers::metadata_patch(&host, metadata);
    unless_absent(
        hosts
            .patch_metadata(&host.name_any(), &patch_params(), &patch)
            .await,
    )?;
    tracing::info!(host = %kube_ref(&host), "its image is another one; Metal3 boots it again");
    Ok(())
}

/// True for a machine that may boot a new image.
fn is_rebooted(host: &BareMetalHost) -> bool {
    let state = host
        .status
        .as_ref()
        .map(|status| status.provisioning.state.as_str());
    let is_installed = matches!(state, Some(state::PROVISIONED | state::EXTERNALLY_PROVISIONED));
    let annotations = host.annotations();
    let is_left_alone =
        annotations.contains_key(annotation::DETACHED) || annotations.contains_key(annotation::PAUSED);
    !is_installed && !is_left_alone && host.metadata.deletion_timestamp.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(state: &str, annotations: Value) -> BareMetalHost {
        serde_json::from_value(json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "h", "namespace": "lab", "annotations": annotations},
            "spec": {"online": true}, "status": {"provisioning": {"state": state}},
        }))
        .unwrap()
    }

    #[test]
    fn a_machine_that_is_installed_or_detached_is_not_booted_again() {
        assert!(is_rebooted(&host("inspecting", json!({}))));
        assert!(is_rebooted(&host("", json!({}))));
        assert!(!is_rebooted(&host("provisioned", json!({}))));
        assert!(!is_rebooted(&host("externally provisioned", json!({}))));
        assert!(!is_rebooted(&host(
            "available",
            json!({annotation::DETACHED: ""})
        )));
        assert!(!is_rebooted(&host("available", json!({annotation::PAUSED: ""}))));
    }

    #[test]
    fn our_finalizer_stands_beside_that_of_metal3() {
        let theirs = "baremetalhost.metal3.io/preprovisioningImage";
        let mut image = PreprovisioningImage::default();
        image.metadata.finalizers = Some(vec![theirs.to_owned()]);
        let wanted = json!({
            "finalizers": [theirs, finalizer::IMAGE], "labels": {label::EXCLUDE_FROM_BACKUP: "true"},
        });
        assert_eq!(metadata(&image), Some(wanted));
        image.metadata.finalizers = Some(vec![theirs.to_owned(), finalizer::IMAGE.to_owned()]);
        image.metadata.labels = Some([(label::EXCLUDE_FROM_BACKUP.to_owned(), "true".to_owned())].into());
        assert_eq!(metadata(&image), None);
        assert_eq!(finalizers::without(&image, finalizer::IMAGE), [theirs]);
    }
}
