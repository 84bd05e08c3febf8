//! One world: what REST makes is seen by `kubectl` on the built-in Kubernetes API, and both may change it.

use muster_tests::condition::await_condition;
use muster_tests::http::HttpClient;
use muster_tests::kube::Kubectl;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use crate::world::{LIMIT, World};

const SSH_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHGk0Q0m2mFf1b0yJk7Yd0m9V8zq4WcDkXr3p1b5aGZl a@b";
const NAMESPACE: &str = "muster-rest";
const HOST: &str = "00000000-0000-4000-8000-000000000001";

fn make(rest: &HttpClient, body: &Value) -> String {
    let mut whole = json!({"name": "lab", "pull_secret": PULL_SECRET});
    for (field, value) in body.as_object().expect("a body is an object") {
        whole[field] = value.clone();
    }
    let made = rest.post("/infra-envs", &whole).expect(201).json();
    made["id"].as_str().expect("an InfraEnv has an id").to_owned()
}

fn register(rest: &HttpClient, infra_env: &str, host: &str) {
    let registration = json!({"host_id": host, "discovery_agent_version": "muster-agent/0.1.0"});
    rest.post(&format!("/infra-envs/{infra_env}/hosts"), &registration)
        .expect(201);
}

/// Registers a host and reports its inventory; returns its id.
pub fn known_host(rest: &HttpClient, infra_env: &str, n: u64) -> String {
    let id = format!("00000000-0000-4000-8000-{n:012x}");
    register(rest, infra_env, &id);
    let inventory = json!({
        "hostname": format!("host-{n}"), "bmc_address": "0.0.0.0", "bmc_v6address": "::/0",
        "cpu": {"count": 8, "architecture": "x86_64", "frequency": 2400.0, "flags": ["vmx", "sse4_2", "ssse3", "popcnt"]},
        "memory": {"physical_bytes": 34_359_738_368_u64, "usable_bytes": 33_359_738_368_u64},
        "disks": [{"id": "/dev/disk/by-id/wwn-sda", "name": "sda", "path": "/dev/sda", "drive_type": "SSD",
            "size_bytes": 480_000_000_000_u64, "serial": format!("S-{n}"), "wwn": "0xsda",
            "installation_eligibility": {"eligible": true, "not_eligible_reasons": []}}],
        "interfaces": [{"name": "eth0", "mac_address": format!("02:00:00:00:00:{n:02x}"), "flags": ["up", "broadcast"],
            "ipv4_addresses": [format!("198.51.100.{n}/24")], "ipv6_addresses": [], "has_carrier": true, "mtu": 1500,
            "speed_mbps": 1000, "type": "physical"}],
        "routes": [{"interface": "eth0", "destination": "0.0.0.0", "gateway": "198.51.100.1", "family": 2, "metric": 100}],
        "system_vendor": {"manufacturer": "ACME", "product_name": "Server 1", "serial_number": format!("SN-{n}")},
        "boot": {"current_boot_mode": "uefi"}, "gpus": [], "timestamp": 1_760_000_000, "tpm_version": "none",
    });
    let reply = json!({"step_type": "inventory", "step_id": "inventory-1", "exit_code": 0,
        "output": inventory.to_string(), "error": ""});
    let host = format!("/infra-envs/{infra_env}/hosts/{id}");
    rest.post(&format!("{host}/instructions"), &reply).expect(204);
    let seen = rest.get(&host).expect(200).json();
    assert_eq!(seen["status"], "known-unbound", "{}", seen["status_info"]);
    id
}

fn patch(kubectl: &Kubectl, what: &str, patch: &Value) {
    kubectl.run(&["patch", what, "--type", "merge", "-p", &patch.to_string()]);
}

/// Waits until REST returns `wanted` at `pointer`.
fn await_rest(rest: &HttpClient, path: &str, pointer: &str, wanted: &Value) {
    await_condition(&format!("{wanted} at {pointer} by REST"), LIMIT, || {
        let seen = rest.get(path).expect(200).json();
        match seen.pointer(pointer).unwrap_or(&Value::Null) == wanted {
            true => Ok(()),
            false => Err(seen.to_string()),
        }
    });
}

fn await_kubectl(kubectl: &Kubectl, what: &[&str], pointer: &str, wanted: &Value) {
    kubectl.await_that(&format!("{wanted} at {pointer}"), what, LIMIT, |seen| {
        (seen.pointer(pointer).unwrap_or(&Value::Null) == wanted).then_some(())
    });
}

#[test]
fn what_rest_makes_is_a_resource_and_each_side_sees_the_changes_of_the_other() {
    let world = World::start();
    let (rest, kubectl) = (world.rest(), world.kubectl().namespace(NAMESPACE));
    let id = make(
        &rest,
        &json!({"name": "My Lab", "additional_ntp_sources": "198.51.100.1"}),
    );
    let path = format!("/infra-envs/{id}");
    let made = rest.get(&path).expect(200).json();
    register(&rest, &id, HOST);
    let infra_env = ["infraenv", "my-lab"];
    await_kubectl(
        &kubectl,
        &infra_env,
        "/spec/additionalNTPSources",
        &json!(["198.51.100.1"]),
    );
    await_kubectl(&kubectl, &["agent", HOST], "/spec/approved", &json!(false));
    let secret = kubectl.get(&["secret", "my-lab-pull-secret"]);
    assert!(secret["data"].get(".dockerconfigjson").is_some(), "{secret}");
    let seen = rest.get(&path).expect(200).json();
    assert_eq!(seen, made, "being seen changes nothing");

    // One after the other, the same field too; fields that neither touched stay.
    let changed = json!({"ssh_authorized_key": SSH_KEY,
        "kernel_arguments": [{"operation": "append", "value": "quiet"}], "additional_ntp_sources": "198.51.100.2"});
    rest.patch(&path, &changed).expect(201);
    await_kubectl(
        &kubectl,
        &infra_env,
        "/spec/sshAuthorizedKey",
        &changed["ssh_authorized_key"],
    );
    await_kubectl(
        &kubectl,
        &infra_env,
        "/spec/kernelArguments/0/value",
        &json!("quiet"),
    );
    patch(
        &kubectl,
        "infraenv/my-lab",
        &json!({"spec": {"additionalNTPSources": ["198.51.100.3"], "proxy": {"httpProxy": "http://198.51.100.4:3128"}}}),
    );
    await_rest(&rest, &path, "/additional_ntp_sources", &json!("198.51.100.3"));
    await_rest(
        &rest,
        &path,
        "/proxy/http_proxy",
        &json!("http://198.51.100.4:3128"),
    );
    rest.patch(&path, &json!({"additional_ntp_sources": "198.51.100.5"}))
        .expect(201);
    await_kubectl(
        &kubectl,
        &infra_env,
        "/spec/additionalNTPSources/0",
        &json!("198.51.100.5"),
    );
    // A setting that the live image does not apply can be made by kubectl only; REST can take it back.
    kubectl.apply(&[json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
        "metadata": {"name": "nic", "labels": {"rack": "1"}},
        "spec": {"interfaces": [{"name": "nic", "macAddress": "02:00:00:00:00:02"}],
            "config": {"interfaces": [{"name": "nic", "type": "ethernet", "state": "up", "ethtool": {}}]}},
    })]);
    patch(
        &kubectl,
        "infraenv/my-lab",
        &json!({"spec": {"nmStateConfigLabelSelector": {"matchLabels": {"rack": "1"}}}}),
    );
    let network = |wanted: bool| {
        await_condition("the network by REST", LIMIT, || {
            let seen = rest.get(&path).expect(200).json();
            let text = seen["static_network_config"].to_string();
            if text.contains("02:00:00:00:00:02") == wanted {
                Ok(())
            } else {
                Err(text)
            }
        });
    };
    network(true);
    rest.patch(&path, &json!({"static_network_config": []}))
        .expect(201);
    kubectl.await_that("another selector", &infra_env, LIMIT, |seen| {
        let labels = &seen["spec"]["nmStateConfigLabelSelector"]["matchLabels"];
        labels["rack"].is_null().then_some(())
    });
    network(false);
    let seen = rest.get(&path).expect(200).json();
    assert_eq!(seen["ssh_authorized_key"], changed["ssh_authorized_key"]);
    assert_eq!(seen["name"], "My Lab");

    // The host: a name by kubectl, then one by REST.
    let host = format!("{path}/hosts/{HOST}");
    patch(
        &kubectl,
        &format!("agent/{HOST}"),
        &json!({"spec": {"hostname": "by-kubectl", "approved": true}}),
    );
    await_rest(&rest, &host, "/requested_hostname", &json!("by-kubectl"));
    rest.patch(&host, &json!({"host_name": "by-rest"})).expect(201);
    await_kubectl(&kubectl, &["agent", HOST], "/spec/hostname", &json!("by-rest"));

    // Changes made while the service is down are found at the next start.
    let world = world.start_again();
    let (rest, kubectl) = (world.rest(), world.kubectl().namespace(NAMESPACE));
    await_rest(&rest, &host, "/requested_hostname", &json!("by-rest"));
    await_kubectl(&kubectl, &["agent", HOST], "/spec/approved", &json!(true));
    rest.delete(&format!("{path}/hosts/{HOST}")).expect(204);
    kubectl.run(&["wait", "--for=delete", &format!("agent/{HOST}"), "--timeout=60s"]);
    rest.delete(&path).expect(204);
    kubectl.run(&["wait", "--for=delete", "infraenv/my-lab", "--timeout=60s"]);
    kubectl.run(&[
        "wait",
        "--for=delete",
        "secret/my-lab-pull-secret",
        "--timeout=60s",
    ]);
    assert_eq!(
        rest.get("/infra-envs").expect(200).json(),
        json!([]),
        "it is not made again"
    );
}

#[test]
fn two_of_one_name_are_told_apart_and_deleting_a_resource_deletes_what_rest_made() {
    let world = World::start();
    let (rest, kubectl) = (world.rest(), world.kubectl().namespace(NAMESPACE));
    let ids = [make(&rest, &json!({})), make(&rest, &json!({}))];
    let names = kubectl.await_that("both", &["infraenvs"], LIMIT, |seen| {
        let items = seen["items"].as_array()?;
        let name = |one: &Value| one["metadata"]["name"].as_str().unwrap().to_owned();
        (items.len() == 2).then(|| items.iter().map(name).collect::<Vec<_>>())
    });
    assert!(names.contains(&"lab".to_owned()), "{names:?}");
    let other = names.iter().find(|name| *name != "lab").unwrap();
    assert!(
        ids.iter().any(|id| *other == format!("lab-{}", &id[..8])),
        "{names:?} {ids:?}"
    );
    register(&rest, &ids[0], HOST);
    kubectl.await_that("the Agent", &["agent", HOST], LIMIT, |_| Some(()));
    for name in &names {
        kubectl.run(&["delete", "infraenv", name, "--timeout=60s"]);
    }
    assert_eq!(rest.get("/infra-envs").expect(200).json(), json!([]));
    for id in &ids {
        rest.get(&format!("/infra-envs/{id}/hosts/{HOST}")).expect(404);
    }
}

#[test]
fn nothing_is_shown_where_that_is_not_wanted_and_it_is_once_it_is() {
    let world = World::start_with(&["--no-mirror"]);
    let id = make(&world.rest(), &json!({}));
    let none = world.kubectl().try_run(&["get", "namespace", NAMESPACE]);
    assert!(!none.succeeded, "{none:?}");
    let world = world.start_again();
    let kubectl = world.kubectl().namespace(NAMESPACE);
    kubectl.await_that("what was made before", &["infraenv", "lab"], LIMIT, |seen| {
        (seen["metadata"]["labels"]["agent-install.openshift.io/mirror-of"] == id.as_str()).then_some(())
    });
    register(&world.rest(), &id, HOST);
    kubectl.await_that("the Agent", &["agent", HOST], LIMIT, |_| Some(()));
    let world = world.start_again_with(&["--no-mirror"]);
    let kubectl = world.kubectl().namespace(NAMESPACE);
    kubectl.await_that("nothing", &["infraenvs,agents"], LIMIT, |seen| {
        seen["items"].as_array()?.is_empty().then_some(())
    });
    world
        .rest()
        .get(&format!("/infra-envs/{id}/hosts/{HOST}"))
        .expect(200);
}

/// A host of REST in a cluster of REST, moved by `kubectl` and back.
#[test]
fn a_cluster_that_rest_imported_can_be_named_by_an_agent() {
    let world = World::start();
    let (rest, kubectl) = (world.rest(), world.kubectl().namespace(NAMESPACE));
    let import = |name: &str, api: &str| {
        let body = json!({"name": name, "api_vip_dnsname": api, "openshift_cluster_id": "00000000-0000-4000-8000-00000000000c"});
        let made = rest.post("/clusters/import", &body).expect(201).json();
        made["id"].as_str().unwrap().to_owned()
    };
    let prod = import("prod", "api.prod.example.com");
    let by_address = import("by-address", "192.0.2.7");
    let path = format!("/clusters/{prod}");
    let before = rest.get(&path).expect(200).json();
    await_kubectl(
        &kubectl,
        &["clusterdeployment", "prod"],
        "/spec/baseDomain",
        &json!("example.com"),
    );
    for name in ["prod", "by-address"] {
        kubectl.run(&[
            "wait",
            "--for=condition=SpecSynced",
            &format!("agentclusterinstall/{name}"),
            "--timeout=60s",
        ]);
    }
    assert_eq!(
        rest.get(&path).expect(200).json(),
        before,
        "being seen changes nothing"
    );
    rest.patch(&path, &json!({"ssh_public_key": SSH_KEY})).expect(201);
    await_kubectl(&kubectl, &["aci", "prod"], "/spec/sshPublicKey", &json!(SSH_KEY));
    patch(
        &kubectl,
        "aci/prod",
        &json!({"spec": {"proxy": {"httpProxy": "http://198.51.100.4:3128"}}}),
    );
    await_rest(&rest, &path, "/http_proxy", &json!("http://198.51.100.4:3128"));
    await_rest(&rest, &path, "/ssh_public_key", &json!(SSH_KEY));
    let other = format!("/clusters/{by_address}");
    await_rest(&rest, &other, "/api_vip_dns_name", &json!("192.0.2.7"));

    // All hosts of this InfraEnv are in the cluster and stay in it.
    let id = make(&rest, &json!({"name": "of-prod", "cluster_id": prod}));
    register(&rest, &id, HOST);
    await_kubectl(
        &kubectl,
        &["infraenv", "of-prod"],
        "/spec/clusterRef/name",
        &json!("prod"),
    );
    await_kubectl(
        &kubectl,
        &["agent", HOST],
        "/spec/clusterDeploymentName/name",
        &json!("prod"),
    );
    await_rest(
        &rest,
        &format!("/infra-envs/{id}/hosts/{HOST}"),
        "/cluster_id",
        &json!(prod),
    );

    // Others are added to it by either side.
    let pool = make(&rest, &json!({"name": "pool"}));
    let hosts = [2, 3].map(|n| known_host(&rest, &pool, n));
    let of_kubectl = format!("/infra-envs/{pool}/hosts/{}", hosts[0]);
    let cluster = json!({"spec": {"clusterDeploymentName": {"name": "prod", "namespace": NAMESPACE}}});
    kubectl.await_that("the Agent", &["agent", &hosts[0]], LIMIT, |_| Some(()));
    patch(&kubectl, &format!("agent/{}", hosts[0]), &cluster);
    await_rest(&rest, &of_kubectl, "/cluster_id", &json!(prod));
    let of_rest = format!("/infra-envs/{pool}/hosts/{}", hosts[1]);
    rest.post(&format!("{of_rest}/actions/bind"), &json!({"cluster_id": prod}))
        .expect(200);
    await_kubectl(
        &kubectl,
        &["agent", &hosts[1]],
        "/spec/clusterDeploymentName/name",
        &json!("prod"),
    );
    kubectl.run(&[
        "wait",
        "--for=condition=SpecSynced",
        &format!("agent/{}", hosts[1]),
        "--timeout=60s",
    ]);
    await_rest(&rest, &of_rest, "/cluster_id", &json!(prod));

    // A cluster exists as long as its resources do, either way; its hosts follow REST's rule: hosts of an InfraEnv that belongs to it go
    // with it, others return to their InfraEnv.
    rest.delete(&other).expect(204);
    kubectl.run(&["wait", "--for=delete", "cd/by-address", "--timeout=60s"]);
    kubectl.run(&["wait", "--for=delete", "aci/by-address", "--timeout=60s"]);
    kubectl.run(&["delete", "cd", "prod", "--timeout=60s"]);
    rest.get(&path).expect(404);
    kubectl.run(&["wait", "--for=delete", &format!("agent/{HOST}"), "--timeout=60s"]);
    for host in &hosts {
        await_kubectl(
            &kubectl,
            &["agent", host],
            "/spec/clusterDeploymentName",
            &Value::Null,
        );
        rest.get(&format!("/infra-envs/{pool}/hosts/{host}")).expect(200);
    }
    rest.patch(
        &format!("/infra-envs/{id}"),
        &json!({"additional_ntp_sources": "198.51.100.9"}),
    )
    .expect(201);
    await_kubectl(
        &kubectl,
        &["infraenv", "of-prod"],
        "/spec/additionalNTPSources/0",
        &json!("198.51.100.9"),
    );
}

#[test]
fn what_rest_deletes_while_it_is_being_shown_never_comes_back() {
    let world = World::start();
    let (rest, kubectl) = (world.rest(), world.kubectl().namespace(NAMESPACE));
    let cluster =
        json!({"name": "prod", "api_vip_dnsname": "api.prod.example.com", "openshift_cluster_id": HOST});
    for round in 0..30 {
        let infra_env = make(&rest, &json!({}));
        let imported = rest.post("/clusters/import", &cluster).expect(201).json();
        let path = format!(
            "/clusters/{}",
            imported["id"].as_str().expect("a cluster has an id")
        );
        // Some are deleted before their resources are made, some while these follow, some after.
        for port in 0..round * 2 {
            let proxy = json!({"http_proxy": format!("http://198.51.100.4:{}", 3128 + port)});
            rest.patch(&path, &proxy).expect(201);
        }
        rest.delete(&format!("/infra-envs/{infra_env}")).expect(204);
        rest.delete(&path).expect(204);
    }
    let kinds = "infraenvs,clusterdeployments,agentclusterinstalls";
    kubectl.await_that("nothing", &[kinds], LIMIT, |seen| {
        seen["items"].as_array()?.is_empty().then_some(())
    });
    for list in ["/infra-envs", "/clusters"] {
        assert_eq!(rest.get(list).expect(200).json(), json!([]), "{list}");
    }
}
