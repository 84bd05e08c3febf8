//! Changes of a host by users, and the classes of refusals.

use muster_api::host::{
    DiskConfigParams, DiskRole, DiskSkipFormattingParams, HostRole, HostRoleUpdate, HostStatus,
    HostUpdateParams, KeyValue,
};
use muster_api::inventory::Inventory;
use muster_core::lifecycle::host::{HostEvent, RefusalClass, Shown, view};
use muster_core::record::{Host, KubeRef};
use serde_json::{Value, json};

use crate::world::{World, disk, good_inventory};

fn params(body: Value) -> HostUpdateParams {
    serde_json::from_value(body).unwrap()
}

/// The refusal of an edit of a known host; nothing may change then.
fn refusal(body: Value) -> RefusalClass {
    let mut world = World::new();
    let host = world.known_host();
    let refused = world.step(&host, &HostEvent::Edited(params(body))).unwrap_err();
    assert_eq!(refused.status, Some(HostStatus::KnownUnbound));
    assert!(refused.reason.len() > 20, "{}", refused.reason);
    refused.class
}

#[test]
fn refusals_are_classed_by_whose_fault_they_are() {
    use RefusalClass::{BadInput, UserConflict};
    for (body, class) in [
        (json!({"host_name": "localhost"}), BadInput),
        (json!({"host_name": ""}), BadInput),
        (json!({"host_name": "Bad_Name"}), BadInput),
        (json!({"node_labels": [{"key": "-", "value": "a"}]}), BadInput),
        (json!({"disks_selected_config": []}), UserConflict),
        (
            json!({"disks_selected_config": [{"id": "/dev/sda", "role": "none"}]}),
            UserConflict,
        ),
        (
            json!({"disks_selected_config": [{"id": "/dev/sdb", "role": "install"}]}),
            UserConflict,
        ),
        (
            json!({"disks_selected_config": [{"id": "/dev/sdx", "role": "install"}]}),
            UserConflict,
        ),
        (
            json!({"disks_selected_config": [{"id": "/dev/sda", "role": "install"}, {"id": "/dev/sdb", "role": "install"}]}),
            UserConflict,
        ),
        (
            json!({"disks_skip_formatting": [{"disk_id": "/dev/sda", "skip_formatting": true}]}),
            BadInput,
        ),
        (
            json!({"ignition_endpoint_http_headers": [{"key": "a b", "value": "c"}]}),
            BadInput,
        ),
        (
            json!({"ignition_endpoint_http_headers": [{"key": "a", "value": "c\r\nd: e"}]}),
            BadInput,
        ),
        (json!({"machine_config_pool_name": "a\nb"}), BadInput),
        (json!({"fencing_credentials": {"address": "x"}}), BadInput),
    ] {
        assert_eq!(refusal(body.clone()), class, "{body}");
    }
}

#[test]
fn a_refused_setting_takes_the_others_with_it() {
    let mut world = World::new();
    let host = world.known_host();
    let both = params(json!({"host_name": "worker-1", "node_labels": [{"key": "", "value": ""}]}));
    assert!(world.step(&host, &HostEvent::Edited(both)).is_err());
    assert_eq!(host.data.requested_hostname, None);
}

#[test]
fn without_an_inventory_no_disk_can_be_chosen() {
    let world = World::new();
    let host = world.register();
    for edit in [
        HostUpdateParams {
            disks_selected_config: Some(vec![DiskConfigParams {
                id: "/dev/sda".into(),
                role: Some(DiskRole::Install),
            }]),
            ..HostUpdateParams::default()
        },
        HostUpdateParams {
            disks_skip_formatting: Some(vec![DiskSkipFormattingParams {
                disk_id: "a".into(),
                skip_formatting: true,
            }]),
            ..HostUpdateParams::default()
        },
    ] {
        let refused = world.step(&host, &HostEvent::Edited(edit)).unwrap_err();
        assert_eq!(refused.class, RefusalClass::UserConflict);
    }
}

#[test]
fn who_chooses_a_disk_of_a_host_without_disks_is_told_what_its_check_tells() {
    let mut world = World::new();
    let host = world.known_host();
    let none = Inventory {
        disks: Vec::new(),
        ..good_inventory()
    };
    let host = world.after(&host, &HostEvent::InventoryReported(none));
    let choice = params(json!({"disks_selected_config": [{"id": "/dev/vda", "role": "install"}]}));
    let refused = world.step(&host, &HostEvent::Edited(choice)).unwrap_err();
    assert!(
        refused.reason.contains("lists no disks at all"),
        "{}",
        refused.reason
    );
    assert!(
        host.data.status_info.contains(&refused.reason),
        "{}",
        host.data.status_info
    );
}

#[test]
fn good_settings_are_kept_and_shown_and_secrets_are_not() {
    let mut world = World::new();
    let host = world.known_host();
    let edit = params(json!({
        "host_name": "worker-1",
        "host_role": "master",
        "disks_selected_config": [{"id": "/dev/disk/by-path/pci-sda", "role": "install"}],
        "disks_skip_formatting": [{"disk_id": "/dev/disk/by-id/wwn-sdb", "skip_formatting": true}],
        "machine_config_pool_name": "infra",
        "ignition_endpoint_token": "t0ken",
        "ignition_endpoint_http_headers": [{"key": "X-A", "value": "b"}],
        "node_labels": [{"key": "zone", "value": "a"}, {"key": "zone", "value": "b"}]
    }));
    let host = world.after(&host, &HostEvent::Edited(edit));
    assert_eq!(host.data.role, HostRole::from(HostRoleUpdate::Master));
    assert!(!format!("{host:?}").contains("t0ken"));
    let shown = view(&host, Shown::default());
    assert_eq!(shown.requested_hostname, "worker-1");
    assert_eq!(shown.node_labels, r#"{"zone":"b"}"#);
    assert_eq!(shown.skip_formatting_disks, "/dev/disk/by-id/wwn-sdb");
    assert!(shown.ignition_endpoint_token_set);
    assert!(!serde_json::to_string(&shown).unwrap().contains("t0ken"));
    let undo = HostUpdateParams {
        disks_skip_formatting: Some(vec![DiskSkipFormattingParams {
            disk_id: "/dev/disk/by-id/wwn-sdb".into(),
            skip_formatting: false,
        }]),
        ignition_endpoint_token: Some(String::new()),
        node_labels: Some(Vec::<KeyValue>::new()),
        ..HostUpdateParams::default()
    };
    let shown = view(&world.after(&host, &HostEvent::Edited(undo)), Shown::default());
    assert_eq!(shown.skip_formatting_disks, "");
    assert_eq!(shown.node_labels, "");
    assert!(!shown.ignition_endpoint_token_set);
}

#[test]
fn what_a_user_changed_is_told_with_what_it_was() {
    let mut world = World::new();
    let host = world.known_host();
    let edit = params(json!({
        "host_name": "worker-1", "host_role": "worker", "machine_config_pool_name": "infra",
        "node_labels": [{"key": "zone", "value": "a"}],
    }));
    let told = |host: &Host, edit| {
        let step = world.step(host, &HostEvent::Edited(edit)).unwrap();
        let changes = step
            .events
            .iter()
            .filter(|event| event.name == "muster_host_changed");
        let messages: Vec<String> = changes.map(|event| event.message.clone()).collect();
        (step.host, messages)
    };
    let (changed, messages) = told(&host, edit.clone());
    assert_eq!(
        messages,
        [
            "Host worker-1 was changed: name: host-1 -> worker-1; role: auto-assign -> worker; labels: (none) -> zone=a"
        ]
    );
    assert_eq!(told(&changed, edit).1, Vec::<String>::new());

    let disks = vec![disk("sda", 480), disk("sdb", 480)];
    let two = HostEvent::InventoryReported(Inventory {
        disks,
        ..good_inventory()
    });
    let choice = params(json!({"disks_selected_config": [{"id": "/dev/sdb", "role": "install"}]}));
    assert_eq!(
        told(&world.after(&host, &two), choice).1,
        ["Host host-1 was changed: disk: /dev/sda -> /dev/sdb"]
    );
}

#[test]
fn an_empty_edit_writes_nothing() {
    let mut world = World::new();
    let host = world.known_host();
    let step = world
        .step(&host, &HostEvent::Edited(HostUpdateParams::default()))
        .unwrap();
    assert!(!step.changed);
}

#[test]
fn hosts_of_custom_resources_are_approved_and_others_are_not() {
    let mut world = World::new();
    let host = world.known_host();
    let refused = world.step(&host, &HostEvent::Approved(true)).unwrap_err();
    assert_eq!(refused.class, RefusalClass::UserConflict);
    world.infra_env.kube = Some(KubeRef::new("lab", "hw"));
    let step = world.step(&host, &HostEvent::Approved(true)).unwrap();
    assert!(step.host.data.approved);
    assert_eq!(step.events[0].name, "host_approved_updated");
    let again = world.step(&step.host, &HostEvent::Approved(true)).unwrap();
    assert!(!again.changed, "nothing new is told");
    let taken_back = world.step(&step.host, &HostEvent::Approved(false)).unwrap();
    assert!(!taken_back.host.data.approved && taken_back.changed);
}
