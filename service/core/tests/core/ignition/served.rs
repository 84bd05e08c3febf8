//! Ignition accepts everything that is served as Ignition, and overrides that would change that are refused.

use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnvUpdateParams;
use muster_api::live::LiveConfig;
use muster_core::lifecycle::infra_env::{create, update};
use muster_core::record::Secret;
use muster_core::rules::ignition::node::node;
use muster_core::rules::ignition_spec::parse;
use serde_json::json;
use uuid::Uuid;

use crate::ignition::{agent_of, config, contents, file, of_node};
use crate::world::{World, create_params, infra_env, start};

#[test]
fn what_stands_twice_is_served_once() {
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO2gtPj7Qm1hmwRMZ0KfbOHXLVWKKBXwDtoq8FtLYS2O";
    let mut infra_env = infra_env();
    let settings = &mut infra_env.settings;
    settings.ssh_authorized_key = format!("{key} me\n{key} you\n  {key} me ");
    settings.proxy.http_proxy = Some("http://proxy.example:3128".into());
    settings.proxy.no_proxy = Some("a.example, b.example,a.example,".into());
    settings.ntp_sources = "192.0.2.1, 192.0.2.1,192.0.2.2".into();
    let config = config(&infra_env);
    assert_eq!(
        config["passwd"]["users"][0]["sshAuthorizedKeys"],
        json!([format!("{key} me"), format!("{key} you")])
    );
    assert_eq!(
        config["ignition"]["proxy"]["noProxy"],
        json!(["a.example", "b.example"])
    );
    let chrony = contents(&file(&config, "/etc/chrony.conf")["contents"]);
    assert_eq!(chrony.matches("server ").count(), 2, "{chrony}");
    let live: LiveConfig =
        serde_json::from_str(&contents(&file(&config, "/etc/muster/config.json")["contents"])).unwrap();
    assert_eq!(live.ntp_sources, ["192.0.2.1", "192.0.2.2"]);
}

#[test]
fn a_pointer_has_each_header_once_and_none_that_is_empty_and_any_name_of_a_host_or_a_pool() {
    let mut world = World::new();
    let mut host = world.known_host_of_cluster();
    host.data.ignition_endpoint_token = Secret::new("abc");
    let headers = [("authorization", "Basic eA=="), ("A", "1"), ("a", "2"), ("B", "")];
    host.data.ignition_endpoint_http_headers =
        headers.map(|(name, value)| (name.into(), value.into())).to_vec();
    std::sync::Arc::make_mut(host.inventory.as_mut().unwrap()).hostname = "rack 7#ü".into();
    host.data.machine_config_pool_name = "a/b %zz?#ü".into();
    let config = of_node(&world, &host);
    let pointer = &config["ignition"]["config"]["merge"][0];
    let source = pointer["source"].as_str().unwrap();
    assert!(source.ends_with("/a%2Fb%20%25zz%3F%23%C3%BC"), "{source}");
    assert_eq!(
        pointer["httpHeaders"],
        json!([{"name": "Authorization", "value": "Bearer abc"}, {"name": "A", "value": "1"}])
    );
    assert_eq!(
        file(&config, "/etc/hostname")["contents"]["source"],
        "data:,rack%207%23%C3%BC"
    );
    assert_eq!(parse(&config.to_string()).map(|config| config.minor), Ok(2));
}

#[test]
fn an_override_that_does_not_go_with_what_we_serve_is_refused_when_it_is_set() {
    let network = json!({"interfaces": [{"name": "nic", "type": "ethernet", "state": "up", "ipv4": {"enabled": true, "dhcp": true}}]});
    for (what, override_, named) in [
        (
            "links over our files",
            json!({"storage": {"links": [{"path": "/etc/muster", "target": "/tmp"}]}}),
            "(/etc/muster/config.json)",
        ),
        (
            "links over the files of networks",
            json!({"storage": {"links": [{"path": "/etc/assisted", "target": "/tmp"}]}}),
            "(/etc/assisted/network/host0/",
        ),
        (
            "our unit as a file",
            json!({"storage": {"files": [{"path": "/etc/systemd/system/agent.service"}]}}),
            "(/etc/systemd/system/agent.service)",
        ),
    ] {
        let mut override_ = override_;
        override_["ignition"] = json!({"version": "3.4.0"});
        let mut params = create_params();
        params.ignition_config_override = Some(override_.to_string());
        params.static_network_config = Some(vec![
            serde_json::from_value(json!({
                "network_yaml": network.to_string(),
                "mac_interface_map": [{"mac_address": "52:54:00:00:00:01", "logical_nic_name": "nic"}],
            }))
            .unwrap(),
        ]);
        let id = InfraEnvId(Uuid::from_u128(7));
        let refused = create(params, id, "boot".into(), start()).unwrap_err();
        assert_eq!(refused.field, "ignition_config_override", "{what}");
        assert!(refused.reason.contains(named), "{what}: {}", refused.reason);
    }
}

#[test]
fn an_override_is_of_a_specification_that_the_version_reads() {
    let made = |version: &str| {
        let mut params = create_params();
        params.openshift_version = Some(version.into());
        params.ignition_config_override = Some(r#"{"ignition":{"version":"3.4.0"}}"#.into());
        let id = InfraEnvId(Uuid::from_u128(7));
        create(params, id, "boot".into(), start())
    };
    let infra_env = made("4.14").unwrap();
    let refused = made("4.12").unwrap_err().to_string();
    assert!(refused.contains("version 4.12 reads up to 3.2.0"), "{refused}");
    let older = InfraEnvUpdateParams {
        openshift_version: Some("4.12".into()),
        ..InfraEnvUpdateParams::default()
    };
    let refused = update(&infra_env, older, start()).unwrap_err();
    assert_eq!(refused.field, "ignition_config_override");
}

#[test]
fn a_whole_that_ignition_refuses_is_not_given_to_a_host() {
    let mut world = World::new();
    let mut host = world.known_host_of_cluster();
    host.bootstrap_ignition = Secret::new(
        r#"{"ignition":{"version":"3.2.0"},"storage":{"links":[{"path":"/etc/x","target":"/y"}]}}"#,
    );
    host.data.ignition_config_overrides =
        Secret::new(r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/x/z"}]}}"#);
    let facts = world.cluster_facts().cluster.unwrap();
    let error = node(&host, facts, &agent_of(&host)).unwrap_err().to_string();
    assert!(error.contains("(/etc/x/z): "), "{error}");
}
