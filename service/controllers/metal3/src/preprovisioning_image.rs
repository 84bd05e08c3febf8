//! Reconciles PreprovisioningImages: their status gets the image of their InfraEnv. Source: docs/protocol/kube-controllers.md#7.2,
//! docs/protocol/metal3.md#2.4, §2.5.

mod reconcile;
mod status;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::runtime::watcher;
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::kube_ref;
use muster_controller::{secrets, watch};
use muster_core::record::KubeRef;
use muster_resources::InfraEnv;
use muster_resources::metal3::PreprovisioningImage;
use tokio_util::sync::CancellationToken;

use super::infra_env;
use crate::context::Context;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let controller = watch::controller::<PreprovisioningImage>(&context);
    let store = controller.store();
    let of_infra_env = watch::users(&store, |image: &PreprovisioningImage, infra_env: &KubeRef| {
        infra_env::of(image).as_ref() == Some(infra_env)
    });
    let of_secret = watch::users(&store, |image: &PreprovisioningImage, secret: &KubeRef| {
        image.namespace().as_deref() == Some(&secret.namespace) && image.spec.network_data_name == secret.name
    });
    let controller = controller
        .watches_stream(
            watch::metadata::<InfraEnv>(&context, watcher::Config::default()),
            move |infra_env| of_infra_env(kube_ref(&infra_env)),
        )
        .watches_stream(
            watch::metadata::<Secret>(&context, secrets::watched()),
            move |secret| of_secret(kube_ref(&secret)),
        );
    drive(
        "preprovisioning_image",
        CONCURRENCY,
        controller,
        context,
        stop,
        reconcile::reconcile,
    )
    .await;
}
