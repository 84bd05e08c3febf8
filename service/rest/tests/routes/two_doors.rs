//! The effect of REST on records of custom resources, by docs/two-doors.md: each operation that changes something is in its table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use muster_api::ids::{BmcId, ClusterId, InfraEnvId};
use muster_core::record::{BmcAsked, BmcResource, KubeRef};
use muster_operations::bridge::BridgeStatus;
use muster_operations::resources::{Maker, ResourceKind, Resources, Seen};
use muster_tests::http::Answer;
use serde_json::{Value, json};

use crate::world::World;

/// The rows of the page: the operations in backticks with their outcomes.
fn rows() -> BTreeMap<String, BTreeSet<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/two-doors.md");
    let text = fs::read_to_string(page).unwrap();
    let mut rows = BTreeMap::<String, BTreeSet<String>>::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some((named, outcome)) = cells.get(2).zip(cells.get(3)) else {
            continue;
        };
        for name in named.split('`').skip(1).step_by(2) {
            rows.entry(name.to_owned())
                .or_default()
                .insert((*outcome).to_owned());
        }
    }
    rows
}

/// Operations by which users change something here.
fn changing() -> BTreeMap<String, (String, String)> {
    let api = serde_json::to_value(muster_rest::openapi()).unwrap();
    let mut found = BTreeMap::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let of_users = operation["security"]
                .as_array()
                .is_some_and(|list| list.iter().any(|one| one.get("userAuth").is_some()));
            if method != "get" && of_users && operation["deprecated"] != true {
                let id = operation["operationId"].as_str().unwrap().to_owned();
                found.insert(id, (method.to_uppercase(), path.clone()));
            }
        }
    }
    found
}

#[test]
fn every_operation_that_changes_something_is_in_the_table() {
    let rows = rows();
    for id in changing().keys() {
        assert!(rows.contains_key(id), "docs/two-doors.md has no row for {id}");
    }
}

/// Records with present resources, and a host.
struct Owned {
    world: World,
    infra_env: InfraEnvId,
    cluster: ClusterId,
    host: String,
    bmc: BmcId,
}

impl Owned {
    async fn open() -> Self {
        let world = World::open().await;
        let infra_env = world.infra_env(json!({})).await;
        let cluster = world.cluster().await;
        let host = world.host(infra_env, 1).await;
        let operations = &world.operations;
        let kube = |name: &str| Some(KubeRef::new("lab", name));
        operations
            .infra_envs
            .change(infra_env, |found| {
                let mut next = found.clone();
                next.kube = kube("hw");
                Ok(Some((next, Vec::new())))
            })
            .await
            .unwrap();
        operations
            .clusters
            .change(cluster, |found| {
                let mut next = found.clone();
                next.kube = kube("day2");
                Ok(Some((next, Vec::new())))
            })
            .await
            .unwrap();
        let bmcs = format!("/api/muster/v1/infra-envs/{infra_env}/bmcs");
        let body = json!({"name": "r1u7", "address": "bmc.example.test", "user_name": "u", "password": "p", "discover": false});
        let made = world.post(&world.operator, &bmcs, &body).await.expect(201).json();
        let bmc: BmcId = made["id"].as_str().unwrap().parse().unwrap();
        let mut found = operations.bmcs.get(infra_env, bmc).await.unwrap();
        found.resource = kube("r1u7").map(|kube| BmcResource {
            kube,
            asked: BmcAsked::default(),
        });
        operations.store().update_bmc(&found, &[]).await.unwrap();
        operations.bridge.set(BridgeStatus::Leading);
        Self {
            world,
            infra_env,
            cluster,
            host,
            bmc,
        }
    }

    fn path(&self, id: &str) -> (String, String) {
        let (method, path) = changing().remove(id).unwrap();
        let path = path
            .replace("/api/assisted-install/v2", "")
            .replace("/infra-envs/{infra_env_id}/hosts/{host_id}", &self.host)
            .replace("{infra_env_id}", &self.infra_env.to_string())
            .replace("{cluster_id}", &self.cluster.to_string())
            .replace("{bmc_id}", &self.bmc.to_string())
            .replace("{validation_id}", "ntp-synced");
        (method, path)
    }

    async fn ask(&self, id: &str, body: Option<Value>) -> Answer {
        let (method, path) = self.path(id);
        let world = &self.world;
        world.ask(&world.operator, &method, &path, body.as_ref()).await
    }

    /// Bodies that change something, each with the end of its refusal.
    fn refused(&self) -> Vec<(&'static str, Option<Value>, String)> {
        let host = self.host.rsplit('/').next().unwrap();
        let infra_env = |patch: &str| format!("kubectl -n lab patch infraenv hw --type merge -p '{patch}'");
        let agent = |patch: &str| format!("kubectl -n lab patch agent {host} --type merge -p '{patch}'");
        let install = "agentclusterinstall \"$(kubectl -n lab get clusterdeployment day2 -o jsonpath='{.spec.clusterInstallRef.name}')\"";
        let install_patch = |patch: &str| format!("kubectl -n lab patch {install} --type merge -p '{patch}'");
        let update = "UpdateInfraEnv";
        vec![
            (update, Some(json!({"additional_ntp_sources": "192.0.2.1,192.0.2.2"})), infra_env(r#"{"spec":{"additionalNTPSources":["192.0.2.1","192.0.2.2"]}}"#)),
            (update, Some(json!({"ntp_sources": "192.0.2.1"})), infra_env(r#"{"spec":{"ntpSources":["192.0.2.1"]}}"#)),
            (update, Some(json!({"image_type": "minimal-iso", "network_discovery_delay_seconds": 7})), infra_env(r#"{"spec":{"imageType":"minimal-iso","networkDiscoveryDelaySeconds":7}}"#)),
            (update, Some(json!({"kernel_arguments": [{"operation": "append", "value": "it's"}]})), infra_env(r#"{"spec":{"kernelArguments":[{"operation":"append","value":"it'\''s"}]}}"#)),
            (update, Some(json!({"openshift_version": "4.19"})), infra_env(r#"{"spec":{"osImageVersion":"4.19"}}"#)),
            (update, Some(json!({"proxy": {"http_proxy": "http://p.example.test:3128", "no_proxy": "a.example.test"}})), infra_env(r#"{"spec":{"proxy":{"httpProxy":"http://p.example.test:3128","noProxy":"a.example.test"}}}"#)),
            (update, Some(json!({"proxy": {"http_proxy": "http://u:hunter2@p.example.test:3128"}})), "edit spec.proxy: kubectl -n lab edit infraenv hw".into()),
            (update, Some(json!({"ignition_config_override": r#"{"ignition":{"version":"3.2.0"}}"#})), "edit spec.ignitionConfigOverride: kubectl -n lab edit infraenv hw".into()),
            (update, Some(json!({"pull_secret": r#"{"auths":{"other.example.test":{"auth":"dXNlcjpwYXNz"}}}"#})), "kubectl -n lab edit secret \"$(kubectl -n lab get infraenv hw -o jsonpath='{.spec.pullSecretRef.name}')\"".into()),
            (update, Some(json!({"require_host_keys": true})), "kubectl -n lab annotate --overwrite infraenv hw infraenv.agent-install.openshift.io/require-host-keys=true".into()),
            (update, Some(json!({"static_network_config": [{
                "network_yaml": "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  ipv4: {enabled: true, dhcp: true}\n",
                "mac_interface_map": [{"mac_address": "52:54:00:00:00:01", "logical_nic_name": "eth0"}],
            }]})), "kubectl -n lab edit nmstateconfig".into()),
            ("DeregisterInfraEnv", None, "kubectl -n lab delete infraenv hw".into()),
            ("v2UpdateHost", Some(json!({"host_name": "node-1", "host_role": "worker"})), agent(r#"{"spec":{"hostname":"node-1","role":"worker"}}"#)),
            ("v2UpdateHost", Some(json!({"node_labels": [{"key": "rack", "value": "r1"}]})), agent(r#"{"spec":{"nodeLabels":{"rack":"r1"}}}"#)),
            ("v2UpdateHost", Some(json!({"machine_config_pool_name": "pool"})), agent(r#"{"spec":{"machineConfigPool":"pool"}}"#)),
            ("v2UpdateHost", Some(json!({"ignition_endpoint_token": "hunter2"})), format!("edit spec.ignitionEndpointTokenReference: kubectl -n lab edit agent {host}")),
            ("v2UpdateHostInstallerArgs", Some(json!({"args": ["--append-karg", "quiet"]})), agent(r#"{"spec":{"installerArgs":"[\"--append-karg\",\"quiet\"]"}}"#)),
            ("v2UpdateHostIgnition", Some(json!({"config": r#"{"ignition":{"version":"3.2.0"}}"#})), format!("edit spec.ignitionConfigOverrides: kubectl -n lab edit agent {host}")),
            ("BindHost", Some(json!({"cluster_id": self.cluster})), agent(r#"{"spec":{"clusterDeploymentName":{"name":"day2","namespace":"lab"}}}"#)),
            ("UnbindHost", None, agent(r#"{"spec":{"clusterDeploymentName":null}}"#)),
            ("V2UpdateCluster", Some(json!({"base_dns_domain": "other.example.test"})), r#"kubectl -n lab patch clusterdeployment day2 --type merge -p '{"spec":{"baseDomain":"other.example.test"}}'"#.into()),
            ("V2UpdateCluster", Some(json!({"machine_networks": [{"cidr": "192.0.2.0/24"}], "ntp_sources": "192.0.2.9"})), install_patch(r#"{"spec":{"networking":{"machineNetwork":[{"cidr":"192.0.2.0/24"}]},"ntpSources":["192.0.2.9"]}}"#)),
            ("V2UpdateCluster", Some(json!({"tags": "team-a"})), format!("kubectl -n lab label --overwrite {install} agentclusterinstalls.agent-install.openshift.io/consumer='team-a'")),
            ("v2SetIgnoredValidations", Some(json!({"host-validation-ids": "[\"ntp-synced\"]"})), format!("kubectl -n lab annotate --overwrite {install} agent-install.openshift.io/ignored-host-validations='[\"ntp-synced\"]' agent-install.openshift.io/ignored-cluster-validations=''")),
            ("V2DeregisterCluster", None, "kubectl -n lab delete clusterdeployment day2".into()),
            ("MusterUpdateBmc", Some(json!({"address": "other.example.test"})), r#"kubectl -n lab patch bmc r1u7 --type merge -p '{"spec":{"address":"other.example.test"}}'"#.into()),
            ("MusterUpdateBmc", Some(json!({"password": "hunter2"})), "kubectl -n lab edit secret \"$(kubectl -n lab get bmc r1u7 -o jsonpath='{.spec.credentialsName}')\"".into()),
            ("MusterDeleteBmc", None, "kubectl -n lab delete bmc r1u7".into()),
            ("MusterDiscoverBmc", None, r#"kubectl -n lab patch bmc r1u7 --type merge -p '{"spec":{"discover":true}}'"#.into()),
        ]
    }
}

#[tokio::test]
async fn what_a_resource_decides_is_refused_with_the_command_that_lasts() {
    let owned = Owned::open().await;
    let rows = rows();
    let mut tried = BTreeSet::new();
    for (id, body, command) in owned.refused() {
        assert!(
            rows[id].contains("refused"),
            "{id} is {:?} in the table",
            rows[id]
        );
        let answer = owned.ask(id, body.clone()).await;
        let reason = answer.error_message();
        assert!(
            [400, 404, 405, 409].contains(&answer.status),
            "{id} {body:?}: {}",
            answer.text()
        );
        assert!(reason.ends_with(&command), "{id} {body:?}: {reason}");
        assert!(!reason.contains("hunter2"), "{id}: {reason}");
        tried.insert(id.to_owned());
    }
    let refused: BTreeSet<String> = rows
        .into_iter()
        .filter(|(id, outcomes)| outcomes.contains("refused") && changing().contains_key(id))
        .map(|(id, _)| id)
        .collect();
    assert_eq!(tried, refused, "each row that is refused is tried");
    // Nothing was changed.
    let record = owned.world.record(owned.infra_env).await;
    assert_eq!(record.ntp_source_list(), "");
}

#[tokio::test]
async fn what_changes_nothing_and_what_no_resource_says_is_done() {
    let owned = Owned::open().await;
    for (id, body, status) in [
        (
            "UpdateInfraEnv",
            json!({"ntp_sources": "", "image_type": "full-iso"}),
            201,
        ),
        ("UpdateInfraEnv", json!({}), 201),
        ("v2UpdateHost", json!({"host_role": "auto-assign"}), 201),
        ("v2UpdateHostInstallerArgs", json!({"args": []}), 201),
        ("V2UpdateCluster", json!({"name": "day2"}), 201),
        ("V2UpdateCluster", json!({"vip_dhcp_allocation": true}), 201),
        ("MusterUpdateBmc", json!({"address": "bmc.example.test"}), 200),
    ] {
        let answer = owned.ask(id, Some(body.clone())).await;
        assert_eq!(answer.status, status, "{id} {body}: {}", answer.text());
    }
    for (id, status) in [
        ("RegenerateInfraEnvSigningKey", 204),
        ("RegenerateInfraEnvAgentToken", 204),
        ("RegenerateClusterSigningKey", 204),
        ("v2DeregisterHost", 204),
    ] {
        let answer = owned.ask(id, None).await;
        assert_eq!(answer.status, status, "{id}: {}", answer.text());
    }
    // An impossible value is refused before the question of the owner.
    let wrong = owned
        .ask("UpdateInfraEnv", Some(json!({"ntp_sources": "no name"})))
        .await;
    assert!(wrong.expect(400).error_message().contains("ntp_sources"));
}

#[tokio::test]
async fn a_dry_run_is_answered_as_the_change_and_changes_nothing() {
    let owned = Owned::open().await;
    let (world, bridge) = (&owned.world, &owned.world.operations.bridge);
    let patch = async |query: &str, body: &Value| {
        let path = format!("{}{query}", owned.host);
        world.ask(&world.operator, "PATCH", &path, Some(body)).await
    };
    let name = json!({"host_name": "node-1"});
    let dry = patch("?dry_run=true", &name).await.expect(409).error_message();
    assert_eq!(dry, patch("", &name).await.expect(409).error_message());

    bridge.set(BridgeStatus::Off);
    let before = world.get(&world.operator, &owned.host).await.expect(200).json();
    let made = patch("?dry_run=true", &name).await.expect(200).json();
    assert_eq!(made["requested_hostname"], "node-1");
    let wrong = json!({"host_name": "Node 1"});
    let dry = patch("?dry_run=true", &wrong).await.expect(400).error_message();
    assert_eq!(dry, patch("", &wrong).await.expect(400).error_message());
    let after = world.get(&world.operator, &owned.host).await.expect(200).json();
    assert_eq!(before, after);
    let made = patch("?dry_run=false", &name).await.expect(201).json();
    assert_eq!(made["requested_hostname"], "node-1");
}

/// Says the same of each resource.
struct Always(Seen);

impl Resources for Always {
    fn look<'a>(&'a self, _: ResourceKind, _: &'a KubeRef) -> futures_util::future::BoxFuture<'a, Seen> {
        Box::pin(std::future::ready(self.0.clone()))
    }

    fn approve<'a>(
        &'a self,
        agent: &'a KubeRef,
        approved: bool,
    ) -> futures_util::future::BoxFuture<'a, Result<bool, String>> {
        let answer = match &self.0 {
            Seen::Gone => Ok(false),
            Seen::There => Ok(true),
            Seen::MadeBy(_) => Err(format!("{agent} {approved}: forbidden")),
        };
        Box::pin(std::future::ready(answer))
    }
}

#[tokio::test]
async fn hosts_are_approved_where_their_agents_are() {
    let owned = Owned::open().await;
    let bridge = &owned.world.operations.bridge;
    let approve = async |action: &str, status: u16| {
        let path = format!("/api/muster/v1{}/actions/{action}", owned.host);
        let answer = owned.world.post(&owned.world.operator, &path, &json!({})).await;
        answer.expect(status).text()
    };
    let elsewhere = approve("approve", 409).await;
    assert!(elsewhere.contains("kubectl -n "), "{elsewhere}");
    for (seen, status, words) in [
        (Seen::Gone, 409, "no Agent"),
        (Seen::There, 204, ""),
        (
            Seen::MadeBy(Maker {
                title: "HostedCluster",
                word: "hostedcluster",
                kube: KubeRef::new("clusters", "hc"),
            }),
            409,
            "forbidden",
        ),
    ] {
        bridge.look_by(std::sync::Arc::new(Always(seen)));
        for action in ["approve", "revoke-approval"] {
            let answer = approve(action, status).await;
            assert!(answer.contains(words), "{answer}");
        }
    }
    bridge.set(BridgeStatus::Off);
    assert!(approve("approve", 409).await.contains("need no approval"));
}

#[tokio::test]
async fn rest_decides_once_the_resource_is_gone_and_without_kubernetes() {
    let owned = Owned::open().await;
    let bridge = &owned.world.operations.bridge;
    owned.ask("MusterDeleteBmc", None).await.expect(409);
    bridge.look_by(std::sync::Arc::new(Always(Seen::Gone)));
    owned.ask("MusterDeleteBmc", None).await.expect(204);
    owned
        .ask("v2UpdateHost", Some(json!({"host_name": "node-1"})))
        .await
        .expect(201);
    bridge.look_by(std::sync::Arc::new(Always(Seen::There)));
    owned.ask("V2DeregisterCluster", None).await.expect(409);
    bridge.set(BridgeStatus::Off);
    owned.ask("V2DeregisterCluster", None).await.expect(204);
    owned
        .ask("UpdateInfraEnv", Some(json!({"ntp_sources": "192.0.2.1"})))
        .await
        .expect(201);
}

#[tokio::test]
async fn the_object_that_makes_a_resource_or_has_taken_it_is_named() {
    let owned = Owned::open().await;
    let bridge = &owned.world.operations.bridge;
    bridge.look_by(std::sync::Arc::new(Always(Seen::MadeBy(Maker {
        title: "HostedCluster",
        word: "hostedcluster",
        kube: KubeRef::new("clusters", "hc"),
    }))));
    let refused = owned
        .ask("V2DeregisterCluster", None)
        .await
        .expect(409)
        .error_message();
    assert!(
        refused.ends_with("kubectl -n clusters delete hostedcluster hc"),
        "{refused}"
    );
    bridge.look_by(std::sync::Arc::new(Always(Seen::MadeBy(Maker {
        title: "Machine",
        word: "machine",
        kube: KubeRef::new("clusters-hc", "pool-1"),
    }))));
    let unbind = owned.ask("UnbindHost", None).await.expect(409).error_message();
    assert!(
        unbind.ends_with("kubectl -n clusters-hc delete machine pool-1"),
        "{unbind}"
    );
    // A mirrored InfraEnv is REST's, except for Agents that are taken.
    owned
        .world
        .operations
        .infra_envs
        .change(owned.infra_env, |found| {
            let mut next = found.clone();
            next.mirror = Some(Default::default());
            Ok(Some((next, Vec::new())))
        })
        .await
        .unwrap();
    let unbind = owned.ask("UnbindHost", None).await.expect(409).error_message();
    assert!(
        unbind.ends_with("kubectl -n clusters-hc delete machine pool-1"),
        "{unbind}"
    );
    owned
        .ask("v2UpdateHost", Some(json!({"host_name": "node-1"})))
        .await
        .expect(201);
    owned
        .ask("UpdateInfraEnv", Some(json!({"ntp_sources": "192.0.2.1"})))
        .await
        .expect(201);
}
