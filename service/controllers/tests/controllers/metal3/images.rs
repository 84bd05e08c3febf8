//! PreprovisioningImages: docs/protocol/metal3.md#2.4, §2.5 and §2.7.

use std::time::Duration;

use kube::ResourceExt;
use muster_metal3::Flow;
use muster_resources::InfraEnv;
use muster_resources::metal3::PreprovisioningImage;
use serde_json::{Value, json};

use super::world::{NAMESPACE, THEIR_FINALIZER, World, url};
use crate::backend::eventually;

const OUR_FINALIZER: &str = "preprovisioningimage.agent-install.openshift.io/ai-deprovision";
const OLD: Duration = Duration::from_secs(600);
const REBOOT: &str = "reboot.metal3.io";

fn usual() -> Value {
    json!({"architecture": "x86_64", "acceptFormats": ["iso", "initrd"]})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_offered_as_metal3_asks_for_it_and_with_both_finalizers() {
    let world = World::start(Flow::LiveIso).await;
    world.asks_for_image("h", "hw", usual()).await;
    let waiting = world.await_image("h", "InfraEnvNotAvailable").await;
    assert_eq!(waiting["status"]["imageUrl"], Value::Null);

    world.infra_env("hw", OLD).await;
    let image = world.await_image("h", "InfraEnvAvailable").await;
    let status = &image["status"];
    assert_eq!(status["imageUrl"], json!(url("hw")));
    assert_eq!(status["format"], "iso");
    assert_eq!(status["architecture"], "x86_64");
    assert_eq!(status["networkData"], json!({}));
    for (type_, wanted) in [("Ready", "True"), ("Error", "False")] {
        let all = status["conditions"].as_array().unwrap();
        let one = all.iter().find(|one| one["type"] == type_).unwrap();
        assert_eq!(one["status"], wanted);
        assert_eq!(one["observedGeneration"], image["metadata"]["generation"]);
    }
    let metadata = &image["metadata"];
    assert_eq!(metadata["finalizers"], json!([THEIR_FINALIZER, OUR_FINALIZER]));
    assert_eq!(metadata["labels"]["velero.io/exclude-from-backup"], "true");

    // The baremetal-operator changes the spec: the same image, reported for the new generation.
    let formats = json!({"spec": {"acceptFormats": ["iso"]}});
    world.patch::<PreprovisioningImage>("h", formats).await;
    eventually("the new generation to be answered", async || {
        let image = world.whole::<PreprovisioningImage>("h").await;
        let generation = image["metadata"]["generation"].clone();
        assert_ne!(generation, metadata["generation"]);
        let conditions = image["status"]["conditions"].as_array()?;
        conditions
            .iter()
            .all(|one| one["observedGeneration"] == generation)
            .then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_image_loses_our_finalizer_only_and_keeps_its_status_for_metal3() {
    let world = World::start(Flow::LiveIso).await;
    world.infra_env("hw", OLD).await;
    world.asks_for_image("h", "hw", usual()).await;
    let before = world.await_image("h", "InfraEnvAvailable").await;
    world.delete::<PreprovisioningImage>("h").await;
    let image = eventually("our finalizer to go", async || {
        let image: PreprovisioningImage = world.get("h").await;
        (!image.finalizers().contains(&OUR_FINALIZER.to_owned())).then_some(image)
    })
    .await;
    assert_eq!(image.finalizers(), [THEIR_FINALIZER]);
    let after = world.whole::<PreprovisioningImage>("h").await;
    assert_eq!(after["status"], before["status"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_url_cools_down_and_then_boots_a_machine_that_is_not_installed() {
    let world = World::start(Flow::LiveIso).await;
    world.infra_env("hw", OLD).await;
    // Without the label nothing is done with the BareMetalHosts themselves.
    let unlabelled = json!({"labels": {"infraenvs.agent-install.openshift.io": "other"}});
    for (host, state) in [("inspected", "inspecting"), ("installed", "provisioned")] {
        world.host(host, unlabelled.clone(), json!({}), state).await;
        world.asks_for_image(host, "hw", usual()).await;
        world.await_image(host, "InfraEnvAvailable").await;
        assert_eq!(
            world.annotation(host, REBOOT).await,
            None,
            "the first image is no change"
        );
    }
    world.image_of("hw", "http://x/new.iso", Duration::ZERO).await;
    for host in ["inspected", "installed"] {
        let cooling = world.await_image(host, "WaitingForInfraEnvImageToCoolDown").await;
        assert_eq!(cooling["status"]["imageUrl"], json!(url("hw")));
    }
    // The image is used when it is a minute old, although nothing changes then.
    world
        .image_of("hw", "http://x/new.iso", Duration::from_secs(58))
        .await;
    for host in ["inspected", "installed"] {
        let image = world.await_image(host, "InfraEnvAvailable").await;
        assert_eq!(image["status"]["imageUrl"], "http://x/new.iso");
    }
    let reboot = world.annotation("inspected", REBOOT).await;
    assert_eq!(reboot.as_deref(), Some(r#"{"force":true}"#));
    assert_eq!(world.annotation("installed", REBOOT).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_stays_the_same_is_not_written_again() {
    let world = World::start(Flow::LiveIso).await;
    world.infra_env("hw", OLD).await;
    world.asks_for_image("h", "hw", usual()).await;
    let before = world.await_image("h", "InfraEnvAvailable").await;
    // Another field of the InfraEnv changes.
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    world.patch::<InfraEnv>("hw", labels).await;
    world.asks_for_image("later", "hw", usual()).await;
    world.await_image("later", "InfraEnvAvailable").await;
    let after = world.whole::<PreprovisioningImage>("h").await;
    assert_eq!(
        after["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn network_data_is_answered_with_the_version_of_its_secret_as_it_changes() {
    let world = World::start(Flow::LiveIso).await;
    world.infra_env("hw", OLD).await;
    let mut spec = usual();
    spec["networkDataName"] = json!("net");
    world.asks_for_image("h", "hw", spec).await;
    world.await_image("h", "NetworkDataNotAvailable").await;
    world.secret("net", "links: []").await;
    let answered = async |before: &str| {
        eventually("the version of the Secret to be answered", async || {
            let secret: k8s_openapi::api::core::v1::Secret = world.get("net").await;
            let image = world.whole::<PreprovisioningImage>("h").await;
            let data = &image["status"]["networkData"];
            let version = data["version"].as_str()?.to_owned();
            let is_it = data["name"] == "net" && secret.resource_version().as_deref() == Some(&version);
            (is_it && version != before).then_some(version)
        })
        .await
    };
    let first = answered("").await;
    let change = json!({"stringData": {"networkData": "links: [1]"}});
    world
        .patch::<k8s_openapi::api::core::v1::Secret>("net", change)
        .await;
    answered(&first).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_the_label_is_left_alone() {
    let world = World::start(Flow::LiveIso).await;
    world.infra_env("hw", OLD).await;
    world
        .create::<PreprovisioningImage>(json!({
            "metadata": {"name": "others", "namespace": NAMESPACE}, "spec": usual(),
        }))
        .await;
    world.asks_for_image("ours", "hw", usual()).await;
    world.await_image("ours", "InfraEnvAvailable").await;
    let others: PreprovisioningImage = world.get("others").await;
    assert!(others.status.is_none() && others.finalizers().is_empty());
}
