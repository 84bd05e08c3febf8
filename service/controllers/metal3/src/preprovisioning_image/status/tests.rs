use muster_resources::InfraEnvSpec;
use serde_json::{Value, json};

use super::*;

const URL: &str = "http://muster.example.test:8091/boot/abc/discovery.iso";

fn now() -> Timestamp {
    "2026-11-24T12:00:00Z".parse().unwrap()
}

fn image(spec: Value, status: Value) -> PreprovisioningImage {
    serde_json::from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage",
        "metadata": {"name": "h", "namespace": "lab", "generation": 3},
        "spec": spec, "status": status,
    }))
    .unwrap()
}

fn usual() -> PreprovisioningImage {
    image(
        json!({"architecture": "x86_64", "acceptFormats": ["iso", "initrd"]}),
        Value::Null,
    )
}

/// An InfraEnv with an image of this age.
fn infra_env(age: u64) -> InfraEnv {
    let mut infra_env = InfraEnv::new("hw", InfraEnvSpec::default());
    let created = conditions::time(now() - Duration::from_secs(age));
    infra_env.status = serde_json::from_value(json!({
        "isoDownloadURL": URL, "createdTime": created,
        "bootArtifacts": {"kernel": "http://x/k", "initrd": "http://x/i"},
        "conditions": [{
            "type": "ImageCreated", "status": "True", "reason": "InfraEnvAvailable", "message": "there it is",
        }],
    }))
    .unwrap();
    infra_env
}

fn decided(image: &PreprovisioningImage, infra_env: Option<&InfraEnv>) -> Outcome {
    decided_with(image, infra_env, NetworkData::None)
}

fn decided_with(
    image: &PreprovisioningImage,
    infra_env: Option<&InfraEnv>,
    network_data: NetworkData,
) -> Outcome {
    outcome(&Seen {
        image,
        infra_env,
        network_data,
        kernel_line: Some("a=b c".into()),
        now: now(),
    })
}

/// Returns the status of `Ready`, the status of `Error`, their reason.
fn told(image: &PreprovisioningImage, outcome: &Outcome) -> (String, String, String) {
    let status = status(image, outcome, now());
    let of = |type_: &str| {
        let found = status.conditions.iter().find(|one| one.type_ == type_).unwrap();
        assert_eq!(
            found.observed_generation,
            Some(3),
            "Metal3 ignores another generation"
        );
        found
    };
    assert_eq!(of("Ready").reason, of("Error").reason);
    let status = |type_: &str| of(type_).status.clone();
    (status("Ready"), status("Error"), of("Ready").reason.clone())
}

#[track_caller]
fn assert_told(
    image: &PreprovisioningImage,
    infra_env: Option<&InfraEnv>,
    ready: &str,
    error: &str,
    reason: &str,
) {
    let told = told(image, &decided(image, infra_env));
    assert_eq!(told, (ready.to_owned(), error.to_owned(), reason.to_owned()));
}

#[test]
fn an_iso_is_offered_with_everything_that_metal3_asks_for() {
    let image = usual();
    let next = status(&image, &decided(&image, Some(&infra_env(60))), now());
    let mut written = serde_json::to_value(&next).unwrap();
    let conditions = written["conditions"].take();
    assert_eq!(
        written,
        json!({
            "architecture": "x86_64", "format": "iso", "imageUrl": URL, "networkData": {}, "conditions": null,
        })
    );
    for (at, type_, status) in [(0, "Ready", "True"), (1, "Error", "False")] {
        assert_eq!(conditions[at]["type"], type_);
        assert_eq!(conditions[at]["status"], status);
        assert_eq!(conditions[at]["observedGeneration"], 3);
        assert_eq!(conditions[at]["reason"], "InfraEnvAvailable");
    }
}

#[test]
fn an_initramfs_is_offered_where_an_iso_is_not_accepted() {
    let image = image(
        json!({"architecture": "x86_64", "acceptFormats": ["initrd"]}),
        Value::Null,
    );
    let next = status(&image, &decided(&image, Some(&infra_env(60))), now());
    assert_eq!(next.image_url.as_deref(), Some("http://x/i"));
    assert_eq!(next.kernel_url.as_deref(), Some("http://x/k"));
    assert_eq!(next.extra_kernel_params.as_deref(), Some("a=b c"));
    assert_eq!(next.format.as_deref(), Some("initrd"));
}

#[test]
fn what_is_in_the_way_is_told_in_the_protocols_words() {
    let usual = usual();
    let raw = image(
        json!({"architecture": "x86_64", "acceptFormats": ["raw"]}),
        Value::Null,
    );
    let ready = infra_env(60);
    assert_told(&raw, Some(&ready), "False", "True", "UnsupportedImageFormat");
    assert_told(&usual, None, "False", "False", "InfraEnvNotAvailable");
    let mut leaving = infra_env(60);
    leaving.metadata.deletion_timestamp = Some(conditions::time(now()));
    assert_told(&usual, Some(&leaving), "False", "False", "InfraEnvNotAvailable");
    let arm = image(
        json!({"architecture": "aarch64", "acceptFormats": ["iso"]}),
        Value::Null,
    );
    assert_told(&arm, Some(&ready), "False", "True", "InfraEnvArchMismatch");
    let none = InfraEnv::new("hw", InfraEnvSpec::default());
    assert_told(
        &usual,
        Some(&none),
        "False",
        "False",
        "WaitingForInfraEnvImageToBeCreated",
    );
    let mut failed = infra_env(60);
    let status = failed.status.as_mut().unwrap();
    status.created_time = None;
    status.conditions[0].status = "False".into();
    status.conditions[0].reason = Some("ImageCreationError".into());
    assert_told(&usual, Some(&failed), "False", "True", "ImageCreationError");
}

#[test]
fn synonyms_of_an_architecture_are_the_same_and_the_status_repeats_what_was_asked_for() {
    let mut infra_env = infra_env(60);
    infra_env.spec.cpu_architecture = "arm64".into();
    let image = image(
        json!({"architecture": "aarch64", "acceptFormats": ["iso"]}),
        Value::Null,
    );
    let next = status(&image, &decided(&image, Some(&infra_env)), now());
    assert_eq!(next.architecture.as_deref(), Some("aarch64"));
    assert_eq!(next.image_url.as_deref(), Some(URL));
}

#[test]
fn a_new_image_cools_down_and_the_old_one_stays_in_the_status_meanwhile() {
    let before = json!({"imageUrl": "http://x/old.iso", "format": "iso"});
    let image = image(
        json!({"architecture": "x86_64", "acceptFormats": ["iso"]}),
        before,
    );
    let decided = decided(&image, Some(&infra_env(45)));
    let Outcome::Waiting { again, .. } = &decided else {
        panic!("{decided:?}");
    };
    assert_eq!(*again, Some(Duration::from_secs(15)));
    assert_eq!(
        told(&image, &decided).2,
        "WaitingForInfraEnvImageToCoolDown".to_owned()
    );
    let next = status(&image, &decided, now());
    assert_eq!(next.image_url.as_deref(), Some("http://x/old.iso"));
    assert!(!is_another_image(image.status.as_ref(), &next));
}

#[test]
fn a_url_that_was_set_and_changes_is_another_image_and_the_first_one_is_not() {
    let ready = infra_env(60);
    let first = usual();
    let next = status(&first, &decided(&first, Some(&ready)), now());
    assert!(!is_another_image(first.status.as_ref(), &next));
    let mut later = usual();
    later.status = Some(next.clone());
    let same = status(&later, &decided(&later, Some(&ready)), now());
    assert_eq!(same, next, "nothing is written when nothing differs");
    let mut moved = infra_env(60);
    moved.status.as_mut().unwrap().iso_download_url = Some("http://x/new.iso".into());
    let next = status(&later, &decided(&later, Some(&moved)), now());
    assert!(is_another_image(later.status.as_ref(), &next));
}

#[test]
fn a_changed_spec_is_answered_with_its_generation_even_when_the_image_is_the_same() {
    let ready = infra_env(60);
    let mut image = usual();
    image.status = Some(status(&image, &decided(&image, Some(&ready)), now()));
    image.metadata.generation = Some(4);
    let next = status(&image, &decided(&image, Some(&ready)), now());
    assert!(
        next.conditions
            .iter()
            .all(|one| one.observed_generation == Some(4))
    );
    assert!(image.status.as_ref() != Some(&next));
}

#[test]
fn network_data_is_named_with_the_version_of_its_secret() {
    let image = image(
        json!({"architecture": "x86_64", "acceptFormats": ["iso"], "networkDataName": "net"}),
        Value::Null,
    );
    let ready = infra_env(60);
    let version = |version: &str| {
        let data = NetworkData::Version(version.into());
        status(&image, &decided_with(&image, Some(&ready), data), now()).network_data
    };
    let seen = version("7").unwrap();
    assert_eq!((seen.name.as_str(), seen.version.as_str()), ("net", "7"));
    assert_ne!(version("8"), version("7"));
    let missing = decided_with(&image, Some(&ready), NetworkData::Missing("no Secret".into()));
    assert_eq!(
        told(&image, &missing),
        (
            "False".into(),
            "False".into(),
            "NetworkDataNotAvailable".to_owned()
        )
    );
}
