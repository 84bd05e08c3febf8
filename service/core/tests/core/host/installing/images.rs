//! The image that is requested for a host's disk.

use muster_api::host::OsImageChoice;
use muster_core::lifecycle::host::{HostEvent, RefusalClass, obstacle};
use muster_core::record::{Host, ImageWish};
use muster_core::rules::os_image::{OsImage, parse};
use serde_json::json;

use super::{FOREIGN, asked};
use crate::world::World;

/// Two images, of which the first is the default.
fn two_images() -> Vec<OsImage> {
    let entry = |name: &str, version: &str, is_default: bool| {
        json!({
            "name": name, "version": version, "cpu_architecture": "x86_64", "default": is_default,
            "metal_url": format!("https://images.example.test/{name}.raw.zst"), "metal_sha256": "ab".repeat(32),
        })
    };
    parse(&json!([entry("usual", "1", true), entry("wished", "2", false)]).to_string()).unwrap()
}

fn requested(name: &str) -> HostEvent {
    HostEvent::ImageRequested(ImageWish {
        name: name.into(),
        ..ImageWish::default()
    })
}

#[test]
fn an_image_that_is_requested_is_written_and_goes_with_the_cluster() {
    let mut world = World::new();
    world.os_images = two_images();
    world.cluster.data.openshift_version.clear();
    let unbound = world.known_host();
    assert!(
        world.step(&unbound, &requested("wished")).is_err(),
        "it is for a cluster"
    );
    let host = world.known_host_of_cluster();
    let shown = |host: &Host| {
        let image = host.data.os_image.clone();
        image.map(|image| (image.name, image.chosen_by))
    };
    assert_eq!(shown(&host), Some(("usual".into(), OsImageChoice::Default)));
    let wished = world.after(&host, &requested("wished"));
    assert_eq!(shown(&wished), Some(("wished".into(), OsImageChoice::Name)));
    assert!(
        !world.step(&wished, &requested("wished")).unwrap().changed,
        "a repetition changes nothing"
    );
    let out = world.after(&wished, &HostEvent::Unbound);
    assert!(out.data.image_wish.is_empty() && out.data.os_image.is_none());

    let installing = world.after(&wished, &HostEvent::InstallRequested);
    let step = asked(&world, &installing).unwrap();
    assert_eq!(
        (&step["os_image"]["url"], &step["os_image"]["version"]),
        (&json!("https://images.example.test/wished.raw.zst"), &json!("2"))
    );
    assert_eq!(shown(&installing), shown(&wished));
    assert!(
        world.step(&installing, &requested("usual")).is_err(),
        "its installation has begun"
    );
    world.os_images.pop();
    assert_eq!(
        asked(&world, &installing),
        None,
        "the image is gone, and no other is written"
    );
}

#[test]
fn a_requested_image_that_is_not_there_keeps_the_host_from_being_installed() {
    let mut world = World::new();
    world.os_images = two_images();
    world.cluster.data.openshift_version.clear();
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &requested("gone"));
    assert_eq!(host.data.os_image, None);
    let why = obstacle(&host, &world.cluster_facts()).unwrap();
    assert!(
        why.contains("\"gone\" for x86_64") && why.contains("usual, wished"),
        "{why}"
    );
    assert!(world.step(&host, &HostEvent::InstallRequested).is_err());
    // What the host itself brings is another image.
    let host = world.after(&host, &requested("wished"));
    let mut foreign = host.clone();
    foreign.data.discovery_agent_version = FOREIGN.into();
    let mut named = host.clone();
    named.data.installer_args = vec!["--image-url".into(), "http://mirror.example.test/x".into()];
    for (host, words) in [(foreign, "another make"), (named, "installer arguments")] {
        let why = obstacle(&host, &world.cluster_facts()).unwrap();
        assert!(why.contains(words), "{why}");
    }
    let long = "n".repeat(129);
    for bad in ["two words", long.as_str()] {
        let refused = world.step(&host, &requested(bad)).unwrap_err();
        assert_eq!(refused.class, RefusalClass::BadInput);
    }
}
