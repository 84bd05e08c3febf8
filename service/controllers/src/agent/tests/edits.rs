//! Tests the edits that follow from a spec, by docs/protocol/kube-controllers.md#4.2.

use muster_api::host::{HostRole, HostRoleUpdate, HostUpdateParams};
use muster_core::record::{HostState, Secret};
use muster_resources::AgentSpec;

use super::host;
use crate::agent::desired;
use crate::agent::spec::edits::{Edits, Token, edits, is_open};

fn of(spec: &AgentSpec, change: impl FnOnce(&mut muster_core::record::Host)) -> Edits {
    let mut host = host(HostState::KnownUnbound);
    change(&mut host);
    edits(spec, &host, &Token::Same)
}

#[test]
fn an_empty_spec_changes_nothing() {
    assert_eq!(of(&AgentSpec::default(), |_| {}), Edits::default());
}

#[test]
fn clearing_name_role_or_pool_leaves_the_host_as_it_is_and_clearing_lists_clears_them() {
    let found = of(&AgentSpec::default(), |host| {
        host.data.requested_hostname = Some("kept".into());
        host.data.role = HostRole::Worker;
        host.data.machine_config_pool_name = "kept".into();
        host.data.node_labels = vec![("zone".into(), "a".into())];
        host.data.ignition_endpoint_http_headers = vec![("X".into(), "1".into())];
        host.data.installer_args = vec!["-n".into()];
        host.data.ignition_config_overrides = Secret::new("{}");
    });
    let params = found.params.expect("lists are cleared");
    assert_eq!(
        (
            params.host_name,
            params.host_role,
            params.machine_config_pool_name
        ),
        (None, None, None)
    );
    assert_eq!(params.node_labels, Some(vec![]));
    assert_eq!(params.ignition_endpoint_http_headers, Some(vec![]));
    assert_eq!(found.installer_args, Some(vec![]));
    assert_eq!(found.ignition, Some(Secret::default()));
}

#[test]
fn a_spec_without_a_name_shows_the_one_that_its_host_was_given() {
    let mut host = host(HostState::KnownUnbound);
    let shown = |hostname: Option<&str>, host: &muster_core::record::Host| {
        let mut spec = AgentSpec {
            hostname: hostname.map(str::to_owned),
            ..AgentSpec::default()
        };
        desired::name(&mut spec, host);
        spec.hostname
    };
    assert_eq!(shown(None, &host), None);
    host.data.requested_hostname = Some("r1u7".into());
    for unnamed in [None, Some("")] {
        assert_eq!(shown(unnamed, &host).as_deref(), Some("r1u7"));
    }
    assert_eq!(shown(Some("mine"), &host).as_deref(), Some("mine"));
}

#[test]
fn one_bad_setting_holds_up_no_other() {
    let spec = AgentSpec {
        hostname: Some("Not_Valid".into()),
        role: "worker".into(),
        installer_args: Some("--append-karg quiet".into()),
        installation_disk_id: Some("/dev/disk/by-id/sdb".into()),
        fencing_credentials_secret_ref: Some("bmc".into()),
        ..AgentSpec::default()
    };
    let found = of(&spec, |_| {});
    let params = found.params.expect("the good ones");
    assert_eq!(params.host_role, Some(HostRoleUpdate::Worker));
    assert_eq!(params.host_name, None);
    assert_eq!(params.disks_selected_config.map(|list| list.len()), Some(1));
    let told = found.problems.join("\n");
    for field in ["hostname:", "installerArgs:", "fencingCredentialsSecretRef:"] {
        assert!(told.contains(field), "{told}");
    }
}

#[test]
fn a_disk_is_named_by_id_path_or_device_and_the_path_wins() {
    let disk = |id: Option<&str>, path: Option<&str>| {
        let spec = AgentSpec {
            installation_disk_id: id.map(Into::into),
            installation_disk_path: path.map(Into::into),
            ..AgentSpec::default()
        };
        let found = of(&spec, |_| {});
        let chosen = found.params.and_then(|params| params.disks_selected_config);
        (chosen.map(|list| list[0].id.clone()), found.problems)
    };
    for name in ["/dev/disk/by-id/sdb", "/dev/disk/by-path/sdb", "/dev/sdb"] {
        assert_eq!(disk(Some(name), None), (Some(name.to_owned()), vec![]));
    }
    assert_eq!(disk(Some("/dev/sda"), None), (None, vec![]), "it is the one");
    assert_eq!(
        disk(Some("/dev/sda"), Some("/dev/sdb")).0.as_deref(),
        Some("/dev/sdb")
    );
    let (none, problems) = disk(None, Some("/dev/sdz"));
    assert!(none.is_none() && problems[0].contains("installation_disk_path: the host has no disk"));
    assert!(
        problems[0].contains("by-id/sdb") && !problems[0].contains("by-id/sdc"),
        "what cannot be installed to is not named: {problems:?}"
    );
    let (none, problems) = disk(Some("/dev/sdc"), None);
    assert!(
        none.is_none() && problems[0].contains("too small"),
        "{problems:?}"
    );
}

#[test]
fn a_disk_chosen_before_the_host_has_told_its_disks_waits() {
    let spec = AgentSpec {
        installation_disk_id: Some("/dev/sdb".into()),
        ..AgentSpec::default()
    };
    let found = of(&spec, |host| host.inventory = None);
    assert_eq!(found, Edits::default());
}

#[test]
fn settings_wait_while_the_host_is_installed() {
    let spec = AgentSpec {
        hostname: Some("other".into()),
        ..AgentSpec::default()
    };
    let open = [
        "discovering",
        "known",
        "disconnected",
        "insufficient",
        "pending-for-input",
        "binding",
        "discovering-unbound",
        "known-unbound",
        "disconnected-unbound",
        "insufficient-unbound",
    ];
    for state in HostState::one_of_each() {
        let host = host(state);
        let name = host.state.status().name();
        assert_eq!(is_open(&host), open.contains(&name), "{name}");
        let found = edits(&spec, &host, &Token::Same);
        assert_eq!(found.params.is_some(), open.contains(&name), "{name}");
    }
}

#[test]
fn a_token_is_given_once_and_taken_away_with_its_reference() {
    let mut host = host(HostState::Known);
    let given = |host: &muster_core::record::Host, token: &str| {
        let found = edits(&AgentSpec::default(), host, &Token::Is(Secret::new(token)));
        found
            .params
            .and_then(|params: HostUpdateParams| params.ignition_endpoint_token)
    };
    assert_eq!(given(&host, "t1").as_deref(), Some("t1"));
    host.data.ignition_endpoint_token = Secret::new("t1");
    assert_eq!(given(&host, "t1"), None);
    assert_eq!(given(&host, "").as_deref(), Some(""));
}
