//! A Machine of Cluster API gets a host with a Debian that cloud-init configures: by a cloud-config as bootstrap providers write it, which
//! the agent puts behind the partitions of the image. The host has a static network and UEFI. No kubelet is in the image, so the
//! AgentMachine is provisioned as outside HyperShift: when the host was started from its disk.

use std::path::Path;
use std::time::Duration;

use muster_tests::install::{cloud, partitions};
use muster_tests::qemu::{Firmware, GIB, MACHINE_LIMIT, Slots, USER_NETWORK_HOST};
use muster_tests::walk::{HARDWARE, Host, Hub, objects};
use serde_json::{Value, json};

/// The namespace of Cluster API's objects, and the name of each.
const NAMESPACE: &str = "clouds";
const NAME: &str = "lab";
const CAPI: &str = "cluster.x-k8s.io";
const PROVIDER: &str = "capi-provider.agent-install.openshift.io";
/// The host's name, and the name of its card in its network: others than DHCP and the kernel give.
const HOST: &str = "cloud";
const CARD: &str = "lab0";
const ADDRESS: &str = "10.0.2.77";
/// The number of the part of the machine that is the system's disk.
const SYSTEM_DISK: usize = 0;
/// From the Machine to its host's restart.
const INSTALLATION: Duration = Duration::from_secs(1500);
/// From the AgentMachine to its Machine.
const FOLLOWING: Duration = Duration::from_secs(60);

/// What it prints shows that cloud-init had all files of the seed, and that the disk is the root's.
const USER_DATA: &str = r#"## template: jinja
#cloud-config
write_files:
- path: /etc/lab/identity
  content: |
    lab: instance-id {{ ds.meta_data.instance_id }}
    lab: provider-id {{ ds.meta_data.provider_id }}
runcmd:
- |
  {
    cat /etc/lab/identity
    echo "lab: hostname $(hostname)"
    echo "lab: address $(ip -4 -br address show lab0 | tr -s ' ')"
    echo "lab: root of $(df --output=size --block-size=1M / | tail -n 1 | tr -d ' ') MiB"
    sync
    echo "lab: done"
  } > /dev/console
"#;

#[test]
fn a_host_of_a_machine_is_configured_by_cloud_init_from_its_seed() {
    let slots = Slots::one();
    let hub = Hub::built_in(Hub::settings_with(&cloud::os_images()));
    let story = hub.story();
    hub.set_network(&Host::mac(HOST), CARD, &network());
    let mut hosts = [Host::switch_on(
        HOST,
        Firmware::Ovmf,
        &hub.iso(),
        Vec::new(),
        slots.with(),
    )];
    let agent = approved(&hub, &mut hosts);
    apply_machine(&hub);
    let provider_id = format!("agent://{agent}");
    await_provisioned(&hub, &mut hosts, &provider_id);
    story.tell("the AgentMachine is provisioned");
    assert_configured(&mut hosts[0], &agent, &provider_id);
    story.tell("cloud-init is done");

    let machine = &mut hosts[0].machine;
    machine.cut_power();
    assert_disk(&machine.disk(SYSTEM_DISK), &provider_id);
}

/// The network that QEMU's DHCP would give, with another address.
fn network() -> Value {
    json!({
        "interfaces": [{
            "name": CARD, "type": "ethernet", "state": "up",
            "ipv4": {"enabled": true, "dhcp": false, "address": [{"ip": ADDRESS, "prefix-length": 24}]},
        }],
        "routes": {"config": [
            {"destination": "0.0.0.0/0", "next-hop-address": USER_NETWORK_HOST, "next-hop-interface": CARD},
        ]},
        "dns-resolver": {"config": {"server": ["10.0.2.3"]}},
    })
}

/// Waits for the only host, names it, as no DHCP does, and approves it. Returns its Agent's name.
fn approved(hub: &Hub, hosts: &mut [Host]) -> String {
    let path = Hub::agents_path();
    let named = json!({"spec": {"hostname": HOST}}).to_string();
    hub.api
        .await_in("the host to be discovered", &path, MACHINE_LIMIT, |agents| {
            hosts.iter_mut().for_each(Host::assert_on);
            let [agent] = agents else {
                return Err(format!("{} Agents", agents.len()));
            };
            let name = agent["metadata"]["name"].as_str().unwrap_or_default();
            let is_named = hub.api.merge(&path, name, &named);
            is_named.then_some(()).ok_or_else(|| agent.to_string())
        });
    hub.approve(hosts).remove(0)
}

/// Applies a Cluster with one Machine, whose AgentMachine requests the image by its name.
fn apply_machine(hub: &Hub) {
    let kubectl = hub.kubectl.namespace(NAMESPACE);
    kubectl.apply(&[objects::namespace(NAMESPACE)]);
    hub.give_hosts_to(NAMESPACE);
    let of_capi = |kind: &str, spec: Value| {
        json!({
            "apiVersion": format!("{CAPI}/v1beta2"), "kind": kind,
            "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": spec,
        })
    };
    let of_provider = |kind: &str, spec: Value| {
        let agents_in = json!({format!("{PROVIDER}/agent-namespace"): HARDWARE});
        json!({
            "apiVersion": format!("{PROVIDER}/v1beta1"), "kind": kind,
            "metadata": {"name": NAME, "namespace": NAMESPACE, "annotations": agents_in}, "spec": spec,
        })
    };
    let reference = |kind: &str| json!({"apiGroup": PROVIDER, "kind": kind, "name": NAME});
    let endpoint = json!({"host": USER_NETWORK_HOST, "port": 6443});
    kubectl.apply(&[
        objects::secret(
            NAMESPACE,
            NAME,
            &json!({"value": USER_DATA, "format": "cloud-config"}),
        ),
        of_capi("Cluster", json!({"infrastructureRef": reference("AgentCluster")})),
        of_provider("AgentCluster", json!({"controlPlaneEndpoint": endpoint})),
        of_capi(
            "Machine",
            json!({
                "clusterName": NAME, "bootstrap": {"dataSecretName": NAME},
                "infrastructureRef": reference("AgentMachine"),
            }),
        ),
        of_provider("AgentMachine", json!({"osImage": cloud::NAME})),
    ]);
}

/// Waits until the AgentMachine is provisioned, and the Machine has its provider id. The host may go no further than its restart: no
/// kubelet reports.
fn await_provisioned(hub: &Hub, hosts: &mut [Host], provider_id: &str) {
    let path = |group: &str, version: &str, plural: &str| {
        format!("/apis/{group}/{version}/namespaces/{NAMESPACE}/{plural}")
    };
    let agent_machines = path(PROVIDER, "v1beta1", "agentmachines");
    let what = "the AgentMachine to be provisioned";
    hub.api.await_in(what, &agent_machines, INSTALLATION, |found| {
        hosts.iter_mut().for_each(Host::assert_on);
        let [one] = found else {
            return Err(format!("{} AgentMachines", found.len()));
        };
        if one["status"]["initialization"]["provisioned"] != true {
            return Err(one["status"]["conditions"].to_string());
        }
        assert_eq!(one["spec"]["providerID"], provider_id, "{one}");
        Ok(())
    });
    let agents = hub.api.list(&Hub::agents_path()).unwrap();
    assert_eq!(
        agents[0]["status"]["progress"]["currentStage"], "Rebooting",
        "{}",
        agents[0]["status"]
    );
    let machines = path(CAPI, "v1beta2", "machines");
    let what = "the Machine to have the provider id";
    hub.api.await_in(what, &machines, FOLLOWING, |found| match found {
        [one] if one["spec"]["providerID"] == provider_id => Ok(()),
        other => Err(format!("{other:?}")),
    });
}

/// What the commands of the cloud-config print on the console.
fn assert_configured(host: &mut Host, agent: &str, provider_id: &str) {
    let mut printed = |pattern: &str| host.machine.await_serial(&format!("lab: {pattern}"));
    printed("(done)");
    let instance = printed(r"instance-id (\S+)");
    let claim = instance.strip_prefix(&format!("{agent}-"));
    assert!(claim.is_some_and(|claim| claim.len() == 8), "{instance}");
    assert_eq!(printed(r"provider-id (\S+)"), provider_id);
    assert_eq!(printed(r"hostname (\S+)"), HOST);
    assert_eq!(
        printed(&format!(r"address {CARD} UP (\S+)")),
        format!("{ADDRESS}/24")
    );
    // Of a disk of 120 GiB; the image has less than one.
    let root: u64 = printed(r"root of (\d+) MiB").parse().unwrap();
    assert!(root > 110 << 10, "{root} MiB");
}

/// The root and the seed at the end of the disk, as other programs see them.
fn assert_disk(disk: &Path, provider_id: &str) {
    partitions::assert_tables(disk);
    let (root, seed) = (partitions::named(disk, "root"), partitions::named(disk, "CIDATA"));
    assert!(root.size > 110 * GIB, "{root:?}");
    assert!(
        root.end() <= seed.start && seed.end() > 119 * GIB,
        "{root:?} {seed:?}"
    );
    assert_eq!(seed.size, 4 << 20);
    assert_eq!(seed.label(disk), "CIDATA");
    assert_eq!(seed.fat_file(disk, "user-data"), USER_DATA);
    // Both are YAML in the form of JSON.
    let read = |name: &str| serde_json::from_str::<Value>(&seed.fat_file(disk, name)).unwrap();
    assert_eq!(read("meta-data")["provider-id"], provider_id);
    let network = read("network-config");
    let card = &network["ethernets"][CARD];
    assert_eq!(card["match"]["macaddress"], Host::mac(HOST), "{card}");
    assert_eq!(card["addresses"], json!([format!("{ADDRESS}/24")]), "{card}");
}
