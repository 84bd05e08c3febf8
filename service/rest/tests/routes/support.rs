//! Levels of support and operators, as other programs request them. Rules: docs/protocol/rest-behaviour.md#7.

use std::collections::{BTreeMap, BTreeSet};

use muster_tests::http::Requests;

use crate::service::{Client, Service};

/// The protocol's names of features, from the newest client in use (docs/protocol/rest-behaviour.md#7).
fn names_of_the_protocol() -> BTreeSet<String> {
    let page = include_str!("../../../../docs/protocol/rest-behaviour.md");
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix("- Names of features: "));
    let names = line.unwrap().split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

fn levels(client: &Client, what: &str, query: &str) -> BTreeMap<String, String> {
    let path = format!("/support-levels/{what}?openshift_version={query}");
    let answer = client.get(&path).expect(200).json();
    serde_json::from_value(answer[what].clone()).unwrap()
}

#[test]
fn each_feature_of_the_protocol_has_a_level_and_nothing_else_has() {
    let service = Service::start();
    let client = service.http();
    let expected = names_of_the_protocol();
    assert!(expected.len() > 50 && expected.contains("OSC"), "{expected:?}");
    let platforms = [
        "BAREMETAL_PLATFORM",
        "NONE_PLATFORM",
        "NUTANIX_INTEGRATION",
        "VSPHERE_INTEGRATION",
        "EXTERNAL_PLATFORM",
        "EXTERNAL_PLATFORM_OCI",
    ];
    let all = levels(&client, "features", "4.20");
    let mut told: BTreeSet<String> = all.keys().cloned().collect();
    assert!(
        told.insert("PLATFORM_MANAGED_NETWORKING".into()),
        "is of a platform"
    );
    assert_eq!(told, expected);
    assert_eq!(all["FULL_ISO"], "supported");
    assert_eq!(all["OSC"], "unavailable");
    for platform in ["baremetal", "none", "nutanix", "vsphere", "external"] {
        let found = levels(&client, "features", &format!("4.20&platform_type={platform}"));
        let told: BTreeSet<String> = found.keys().cloned().collect();
        let left_out: BTreeSet<&str> = expected.difference(&told).map(String::as_str).collect();
        assert_eq!(left_out, platforms.into(), "{platform}");
    }
    let path = "/support-levels/features/detailed?openshift_version=4.20";
    let detailed = client.get(path).expect(200).json();
    let listed = detailed["features"].as_array().unwrap().iter();
    let listed: BTreeMap<String, String> = listed
        .map(|feature| {
            let text = |name: &str| feature[name].as_str().unwrap().to_owned();
            (text("feature-support-level-id"), text("support_level"))
        })
        .collect();
    assert_eq!(listed, all);
}

#[test]
fn levels_follow_the_version_and_what_there_are_images_for() {
    let service = Service::start();
    let client = service.http();
    let of = |version: &str| levels(&client, "architectures", version);
    let old = of("4.9");
    assert_eq!(old["X86_64_ARCHITECTURE"], "supported");
    for name in [
        "ARM64_ARCHITECTURE",
        "PPC64LE_ARCHITECTURE",
        "S390X_ARCHITECTURE",
        "MULTIARCH_RELEASE_IMAGE",
    ] {
        assert_eq!(old[name], "unavailable", "{name}");
    }
    assert_eq!(of("4.20")["MULTIARCH_RELEASE_IMAGE"], "tech-preview");
    // The service has no live image for it here.
    assert_eq!(of("4.20")["ARM64_ARCHITECTURE"], "unavailable");
    service.world.add_live_image_of_arm();
    assert_eq!(of("4.20")["ARM64_ARCHITECTURE"], "supported");
    assert_eq!(of("4.9")["ARM64_ARCHITECTURE"], "unavailable");
    let iso = |query: &str| levels(&client, "features", query)["FULL_ISO"].clone();
    assert_eq!(iso("4.20&cpu_architecture=arm64"), "supported");
    assert_eq!(iso("4.9&cpu_architecture=arm64"), "unavailable");
    assert_eq!(iso("4.9"), "supported");
    assert_eq!(iso("4.20&cpu_architecture=s390x"), "unavailable");
    for bad in [
        "features",
        "features?openshift_version=newest",
        "architectures?openshift_version=x",
    ] {
        client.get(&format!("/support-levels/{bad}")).expect(400);
    }
}

#[test]
fn each_operator_that_is_listed_has_properties_and_a_feature() {
    let service = Service::start();
    let client = service.http();
    let listed = client.get("/supported-operators").expect(200).json();
    let features = names_of_the_protocol();
    for name in listed.as_array().unwrap() {
        let name = name.as_str().unwrap();
        let properties = client.get(&format!("/supported-operators/{name}")).expect(200);
        assert!(properties.json().is_array(), "{name}");
        let feature = name.to_uppercase().replace('-', "_");
        assert!(features.contains(&feature), "{name}");
    }
    let unknown = client.get("/supported-operators/nonsense").expect(404);
    assert!(unknown.error_message().contains("nonsense"));
}
