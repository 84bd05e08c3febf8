//! Replies to steps: their meaning, and refusals.

use muster_api::steps::{StepReply, StepType};
use muster_core::lifecycle::host::HostEvent;
use muster_core::lifecycle::host::reply::{BadReply, Limits, interpret};

use crate::world::{reply, said};

fn refused(step: StepType, output: &str) -> BadReply {
    interpret(&reply(step, 0, output), &Limits::default()).unwrap_err()
}

#[test]
fn an_inventory_is_read_through_its_schema() {
    let text = r#"{"hostname":"a","new_field":1,"disks":null,"interfaces":[
        {"name":"eth0","type":"physical"},{"name":"br0","type":"bridge"},{"name":"old"},{"name":"bond0","type":"bond"},
        {"name":"v","type":"vlan"},{"name":"lo","type":"device"}]}"#;
    let events = said(StepType::Inventory, text);
    let [HostEvent::InventoryReported(inventory)] = events.as_slice() else {
        panic!("{events:?}");
    };
    let names: Vec<&str> = inventory.interfaces.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["eth0", "old", "bond0", "v"]);
    assert!(!serde_json::to_string(inventory).unwrap().contains("new_field"));
}

#[test]
fn output_that_is_not_of_the_form_is_refused_and_the_field_named() {
    for output in ["", "{", "null", "[]", "\"x\"", "7"] {
        for step in [StepType::Inventory, StepType::NtpSynchronizer] {
            assert!(
                matches!(refused(step, output), BadReply::NotUnderstood { .. }),
                "{output}"
            );
        }
    }
    let error = refused(StepType::Inventory, r#"{"disks":[{"size_bytes":"big"}]}"#).to_string();
    assert!(error.contains("disks[0].size_bytes"), "{error}");
    for step in [
        StepType::ConnectivityCheck,
        StepType::DomainResolution,
        StepType::VerifyVips,
        StepType::UpgradeAgent,
        StepType::TangConnectivityCheck,
    ] {
        assert!(matches!(refused(step, ""), BadReply::NotUnderstood { .. }));
    }
}

#[test]
fn too_much_is_refused_with_limit_and_finding() {
    let many = |kind: &str, count: usize| format!("{{\"{kind}\":[{}]}}", vec!["{}"; count].join(","));
    for (kind, limit) in [
        ("disks", 2000),
        ("interfaces", 1024),
        ("routes", 4096),
        ("gpus", 1024),
    ] {
        assert_eq!(said(StepType::Inventory, &many(kind, limit)).len(), 1);
        let error = refused(StepType::Inventory, &many(kind, limit + 1)).to_string();
        assert!(
            error.contains(kind) && error.contains(&limit.to_string()),
            "{error}"
        );
    }
    let huge = " ".repeat((16 << 20) + 1);
    assert!(matches!(
        refused(StepType::Inventory, &huge),
        BadReply::TooMuch { found, .. } if found == huge.len()
    ));
    let long = format!("{{\"hostname\":\"{}\"}}", "a".repeat((256 << 10) + 1));
    assert!(matches!(
        refused(StepType::Inventory, &long),
        BadReply::TooMuch { .. }
    ));
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(
        refused(StepType::Inventory, &deep),
        BadReply::TooMuch { .. }
    ));
}

#[test]
fn exit_codes_route_as_the_protocol_says() {
    let limits = Limits::default();
    for step in [StepType::Inventory, StepType::Install, StepType::VerifyVips] {
        assert_eq!(
            interpret(&reply(step, 256, "junk"), &limits),
            Ok(vec![HostEvent::MediaLost])
        );
    }
    // Failed steps are never an error of the request: unreadable output has no meaning then.
    for step in [
        StepType::Inventory,
        StepType::VerifyVips,
        StepType::DomainResolution,
        StepType::ContainerImageAvailability,
        StepType::InstallationDiskSpeedCheck,
    ] {
        assert_eq!(interpret(&reply(step, -1, "junk"), &limits), Ok(Vec::new()));
    }
    let failed = |step, exit_code, output: &str, error: &str| {
        let reply = StepReply {
            error: error.into(),
            ..reply(step, exit_code, output)
        };
        interpret(&reply, &limits).unwrap()
    };
    let name_taken = "Error: the container name \"assisted-installer\" is already in use by x";
    assert_eq!(failed(StepType::Install, 125, "", name_taken), []);
    assert!(matches!(
        failed(StepType::Install, 1, "", name_taken).as_slice(),
        [HostEvent::InstallationFailed { reason }] if reason == name_taken
    ));
    assert_eq!(
        failed(StepType::TangConnectivityCheck, -1, "", "no\nanswer"),
        [HostEvent::TangReported("no\u{fffd}answer".into())]
    );
    assert_eq!(
        failed(StepType::DownloadBootArtifacts, 1, "", ""),
        [HostEvent::BootArtifactsFailed]
    );
    let speed = failed(
        StepType::InstallationDiskSpeedCheck,
        124,
        r#"{"path":"/dev/sda"}"#,
        "",
    );
    assert!(matches!(
        speed.as_slice(),
        [HostEvent::DiskSpeedReported { exit_code: 124, response }] if response.path == "/dev/sda"
    ));
    let images = failed(
        StepType::ContainerImageAvailability,
        2,
        r#"{"images":[{"name":"a","result":"failure"}]}"#,
        "",
    );
    assert!(matches!(images.as_slice(), [HostEvent::ImagesReported(list)] if list.len() == 1));
    for (step, output) in [
        (StepType::InstallationDiskSpeedCheck, ""),
        (StepType::ContainerImageAvailability, ""),
        (StepType::LogsGather, "anything"),
        (StepType::Install, ""),
        (StepType::DhcpLeaseAllocate, "{}"),
    ] {
        assert_eq!(said(step, output), [HostEvent::MediaBack]);
    }
    // `null` is an empty list; an object is not a list.
    assert_eq!(
        said(StepType::VerifyVips, "null"),
        [HostEvent::VipsVerified(Vec::new())]
    );
    assert!(matches!(
        refused(StepType::VerifyVips, "{}"),
        BadReply::NotUnderstood { .. }
    ));
    let nothing = StepReply::default();
    assert_eq!(interpret(&nothing, &limits), Err(BadReply::NoStepType));
}

/// Agents of another make omit the type in the reply to a step that they could not run.
#[test]
fn a_failed_step_without_a_type_is_that_of_its_id_or_one_that_is_not_known() {
    let reply = |step_id: &str, exit_code| StepReply {
        step_id: step_id.into(),
        exit_code,
        error: "exec: not found".into(),
        ..StepReply::default()
    };
    let events = |reply| interpret(&reply, &Limits::default()).unwrap();
    assert_eq!(
        events(reply("install-1a2b3c4d", -1)),
        [HostEvent::InstallationFailed {
            reason: "exec: not found".into()
        }]
    );
    assert_eq!(events(reply("ntp-synchronizer-1a2b3c4d", 1)), []);
    for id in ["", "1a2b3c4d", "dance-1a2b3c4d"] {
        let reason = "exec: not found".into();
        let exit_code = -1;
        assert_eq!(
            events(reply(id, exit_code)),
            [HostEvent::StepFailed { exit_code, reason }],
            "{id}"
        );
    }
    assert_eq!(events(reply("", 256)), [HostEvent::MediaLost]);
    let well = interpret(&reply("install-1a2b3c4d", 0), &Limits::default());
    assert_eq!(well, Err(BadReply::NoStepType));
}

#[test]
fn boot_artifacts_nobody_asked_for_are_not_accepted() {
    let mut world = crate::world::World::new();
    let host = world.known_host();
    let events = said(StepType::DownloadBootArtifacts, "");
    let refused = world.step(&host, &events[0]).unwrap_err();
    assert_eq!(
        refused.class,
        muster_core::lifecycle::host::RefusalClass::NotAccepted
    );
    assert!(refused.reason.contains("known-unbound"), "{}", refused.reason);
}

#[test]
fn a_real_machines_inventory_is_taken_whole() {
    let text = include_str!("qemu-uefi.json");
    let events = said(StepType::Inventory, text);
    let [HostEvent::InventoryReported(inventory)] = events.as_slice() else {
        panic!("{events:?}");
    };
    let given: serde_json::Value = serde_json::from_str(text).unwrap();
    let kept = serde_json::to_value(inventory).unwrap();
    for part in [
        "boot",
        "cpu",
        "memory",
        "disks",
        "routes",
        "gpus",
        "system_vendor",
        "hostname",
    ] {
        assert_eq!(kept[part], given[part], "{part}");
    }
    // Loopback is left out; the three cards stay.
    assert_eq!(inventory.interfaces.len(), 3);
}
