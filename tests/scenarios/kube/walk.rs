//! The walk of an administrator with `kubectl`: from an InfraEnv to an approved host, into a cluster, back, and the
//! deletion of everything. The API is the built-in one or a real one, the commands are the same. A machine boots from
//! the image on the built-in one; on the real one the same machine is simulated over REST.

use std::path::PathBuf;
use std::time::Duration;

use muster_tests::artifacts::live_image;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::discovery::{MACS, known_machine};
use muster_tests::hosts::plain::{inventory, register, reply};
use muster_tests::kube::world::{INFRA_ENV, SECRET, SOON, World, imported_cluster, is, message};
use muster_tests::kube::{Api, Kubectl, on_each_api};
use muster_tests::process::Program;
use muster_tests::qemu::{MACHINE_LIMIT, Medium, Nic, Running, UserNet};
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};
use tempfile::TempDir;

on_each_api!(an_administrator_walks_from_an_infra_env_to_a_host_in_a_cluster_and_back);

/// As a user writes it, with comments.
const INFRA_ENV_YAML: &str = r#"
# The machines of rack one.
apiVersion: agent-install.openshift.io/v1beta1
kind: InfraEnv
metadata:
  name: hw
spec:
  pullSecretRef:
    name: pull-secret
  agentLabels:
    rack: r1
  nmStateConfigLabelSelector:
    matchLabels:
      network: static
"#;

const CLASSIFICATION_YAML: &str = r#"
apiVersion: agent-install.openshift.io/v1beta1
kind: AgentClassification
metadata:
  name: twins
spec:
  labelKey: size
  labelValue: twin
  query: .cpu.count == 2
"#;

fn an_administrator_walks_from_an_infra_env_to_a_host_in_a_cluster_and_back(api: Api) {
    let world =
        World::of(api.serve_with(|settings| settings.live_image(&live_image()).seen_from_user_networks()));
    let walk = Walk {
        kubectl: &world.kubectl,
        world: &world,
        folder: tempfile::tempdir().unwrap(),
    };
    walk.schemas_are_explained();
    let iso = walk.image();
    walk.network_settings_are_reported();
    let mut watching = world.kubectl.start(&["get", "agents", "--watch"]);
    let mut host = match api {
        Api::BuiltIn => Host::boot(iso),
        Api::Real => Host::play(&world),
    };
    let agent = walk.discovered(&mut watching, &mut host);
    walk.columns(&agent);
    walk.selections(&agent);
    walk.classification(&agent);
    walk.approval(&agent, &mut watching);
    walk.edits(&agent);
    walk.description(&agent);
    walk.cluster(&agent, &mut host);
    walk.everything_goes(&agent, host);
}

struct Walk<'a> {
    kubectl: &'a Kubectl,
    world: &'a World,
    folder: TempDir,
}

const HOSTNAME: &str = "walker";
/// Number of the simulated host.
const NUMBER: u64 = 1;

enum Host {
    Machine(Box<Running>),
    /// A simulated agent of a [`known_machine`], whose requests are written out.
    Played,
}

impl Host {
    fn boot(iso: PathBuf) -> Self {
        let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2).hostname(HOSTNAME));
        let machine = known_machine(HOSTNAME).boot(Medium::Cd(iso)).nic(nic);
        Self::Machine(Box::new(machine.start()))
    }

    fn play(world: &World) -> Self {
        begins_anew(world);
        Self::Played
    }

    /// Fails for a machine that switched itself off.
    #[track_caller]
    fn assert_on(&mut self) {
        if let Self::Machine(machine) = self {
            assert!(machine.is_on(), "the machine switched itself off");
        }
    }

    /// Time left for the host's work.
    fn limit(&self) -> Duration {
        match self {
            Self::Machine(machine) => machine.time_left(),
            Self::Played => LEAST_LIMIT,
        }
    }

    /// Registers again in that state, as an agent does without a request.
    #[track_caller]
    fn moves(&self, world: &World, agent: &str, state: &str) {
        if let Self::Played = self {
            world.await_state(agent, state);
            begins_anew(world);
        }
    }
}

/// The simulated host registers, and reports its inventory.
#[track_caller]
fn begins_anew(world: &World) {
    let client = world.client();
    let host = register(&client, &world.rest_path(), NUMBER);
    let mut made_of = inventory(NUMBER);
    made_of["hostname"] = json!(HOSTNAME);
    made_of["cpu"]["count"] = json!(2);
    made_of["disks"][0]["serial"] = json!("SER-A");
    made_of["system_vendor"]["manufacturer"] = json!("AcmeCorp");
    let report = reply("inventory", &made_of);
    client.post(&format!("{host}/instructions"), &report).expect(204);
}

/// The columns of each line of a table.
fn table(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .map(|line| line.split_whitespace().collect())
        .collect()
}

impl Walk<'_> {
    #[track_caller]
    fn k(&self, line: &str) -> String {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        self.kubectl.run(&arguments)
    }

    fn schemas_are_explained(&self) {
        let spec = self.k("explain agent.spec");
        for word in [
            "KIND:",
            "Agent",
            "FIELDS:",
            "approved",
            "installation_disk_id",
            "-required-",
        ] {
            assert!(spec.contains(word), "explain agent.spec has no {word}:\n{spec}");
        }
        let field = self.k("explain infraenv.spec.pullSecretRef.name");
        assert!(field.contains("string"), "{field}");
        let short = self.k("api-resources --api-group=agent-install.openshift.io -o name");
        for kind in ["agents", "infraenvs", "nmstateconfigs", "agentclassifications"] {
            assert!(short.contains(kind), "{short}");
        }
    }

    /// Secret, InfraEnv, image.
    fn image(&self) -> PathBuf {
        let credentials = self.kubectl.file("pull-secret.json", PULL_SECRET);
        let from = format!("--from-file=.dockerconfigjson={credentials}");
        self.kubectl.run(&["create", "secret", "generic", SECRET, &from]);
        let printed = self.kubectl.run_with(&["apply", "-f", "-"], INFRA_ENV_YAML);
        assert_eq!(printed.trim(), "infraenv.agent-install.openshift.io/hw created");
        self.k("wait --for=condition=ImageCreated infraenv/hw --timeout=120s");
        let listed = self.k("get infraenv");
        assert!(listed.starts_with("NAME"), "{listed}");
        assert_eq!(table(&listed)[0].join(" "), "NAME ISO CREATED AT");
        let url = self.k("get infraenv hw -o jsonpath={.status.isoDownloadURL}");
        let script = self.k("get infraenv hw -o jsonpath={.status.bootArtifacts.ipxeScript}");
        let iso = self.folder.path().join("discovery.iso");
        let client = self.world.service.client();
        let reachable = |url: &str| self.world.service.reachable(url);
        client.download(&reachable(&url), &iso).unwrap();
        let file = self.folder.path().join("boot.ipxe");
        client.download(&reachable(&script), &file).unwrap();
        assert!(
            std::fs::read_to_string(&file).unwrap().starts_with("#!ipxe"),
            "{script}"
        );
        iso
    }

    /// Network settings are checked and in the image; unusable ones are reported.
    fn network_settings_are_reported(&self) {
        let config = |name: &str, mac: &str, config: &Value| {
            json!({
                "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
                "metadata": {"name": name, "labels": {"network": "static"}},
                "spec": {"interfaces": [{"name": "eth0", "macAddress": mac}], "config": config},
            })
        };
        let interface = json!({"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up"}]});
        let good = config("rack-one-a", "52:54:00:dd:00:01", &interface);
        let good = self.kubectl.file("good.json", &good.to_string());
        let printed = self.kubectl.run(&["apply", "--server-side", "-f", &good]);
        assert!(printed.contains("serverside-applied"), "{printed}");
        let applied = |truth: &'static str, reason: &'static str| {
            let what = format!("StaticNetworkApplied to be {reason}");
            self.kubectl
                .await_that(&what, &["infraenv", INFRA_ENV], SOON, |infra_env| {
                    let seen = is(infra_env, "StaticNetworkApplied", truth, reason);
                    seen.then(|| infra_env.clone())
                })
        };
        let applied_to = applied("True", "NMStateConfigsInImage");
        let url = applied_to["status"]["debugInfo"]["staticNetworkDownloadURL"].as_str();
        assert!(
            url.is_some_and(|url| url.contains("static-network-config")),
            "{applied_to}"
        );
        assert!(
            is(&applied_to, "ImageCreated", "True", "InfraEnvAvailable"),
            "{applied_to}"
        );

        // For a card that has settings already.
        let wrong = config("rack-one-b", "52:54:00:dd:00:01", &interface);
        self.kubectl.apply(&[wrong]);
        let applied_to = applied("False", "InvalidNMStateConfig");
        let message = message(&applied_to, "StaticNetworkApplied");
        assert!(message.contains("rack-one-b: spec.interfaces"), "{message}");
        let refused = config("rack-one-c", "not-a-mac", &interface);
        let file = self.kubectl.file("refused.json", &refused.to_string());
        let printed = self.kubectl.try_run(&["apply", "-f", &file]);
        assert!(
            !printed.succeeded && printed.err.contains("macAddress"),
            "{}{}",
            printed.out,
            printed.err
        );
        self.k("delete nmstateconfig --all --timeout=120s");
    }

    /// Waits until the host has become an Agent with an inventory; returns its name.
    fn discovered(&self, watching: &mut Program, host: &mut Host) -> String {
        let heading = watching.await_output(r"NAME +CLUSTER +APPROVED +ROLE +STAGE *\r?\n", MACHINE_LIMIT);
        assert_eq!(
            table(&heading)[0],
            ["NAME", "CLUSTER", "APPROVED", "ROLE", "STAGE"]
        );
        let id = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
        let name = watching.await_output(&format!("({id}) +false"), MACHINE_LIMIT);
        // A slow machine may find a disk, and a link may come up, after the first inventory was sent.
        let whole = "an inventory with both disks and an address";
        self.kubectl
            .await_that(whole, &["agent", &name], MACHINE_LIMIT, |agent| {
                host.assert_on();
                let inventory = &agent["status"]["inventory"];
                let disks = inventory["disks"].as_array().map_or(0, Vec::len);
                let address = &inventory["interfaces"][0]["ipV4Addresses"][0];
                (disks >= 2 && address.is_string()).then_some(())
            });
        self.world
            .await_agent(&name, "RequirementsMet", "False", "AgentIsNotApproved");
        self.world.await_agent(&name, "Bound", "False", "Unbound");
        name
    }

    fn columns(&self, agent: &str) {
        let listed = self.k("get agents");
        let rows = table(&listed);
        assert_eq!(rows.len(), 2, "{listed}");
        assert_eq!(rows[0], ["NAME", "CLUSTER", "APPROVED", "ROLE", "STAGE"]);
        assert_eq!(rows[1], [agent, "false", "auto-assign"], "{listed}");
        let wide = self.k("get agents -o wide");
        let heading = table(&wide)[0].join(" ");
        assert_eq!(
            heading,
            "NAME CLUSTER APPROVED ROLE STAGE HOSTNAME REQUESTED HOSTNAME REQUIREMENTS WHY"
        );
        for words in ["walker", "AgentIsNotApproved", "waits for approval"] {
            assert!(wide.contains(words), "{wide}");
        }
        let everywhere = self.k("get agent -A --no-headers");
        assert_eq!(table(&everywhere)[0][..2], ["hardware", agent]);
        let states = "jsonpath={range .items[*]}{@.metadata.name}={@.status.debugInfo.state};{end}";
        assert_eq!(
            self.kubectl.run(&["get", "agent", "-o", states]),
            format!("{agent}=known-unbound;")
        );
    }

    /// Labels and fields select.
    fn selections(&self, agent: &str) {
        let found = |selection: &str| self.k(&format!("get agents -o name {selection}"));
        let name = format!("agent.agent-install.openshift.io/{agent}\n");
        for selection in [
            "-l infraenvs.agent-install.openshift.io=hw",
            "-l inventory.agent-install.openshift.io/cpu-architecture=x86_64,rack=r1",
            "-l inventory.agent-install.openshift.io/host-manufacturer=AcmeCorp",
            "-l rack,rack!=r2",
            "--field-selector metadata.name=NAME",
            "--field-selector metadata.namespace=hardware,metadata.name!=other",
        ] {
            assert_eq!(found(&selection.replace("NAME", agent)), name, "{selection}");
        }
        for selection in [
            "-l infraenvs.agent-install.openshift.io=other",
            "-l !rack",
            "--field-selector metadata.name=other",
        ] {
            assert_eq!(found(selection), "", "{selection}");
        }
        let unknown = self
            .kubectl
            .try_run(&["get", "agents", "--field-selector", "spec.approved=true"]);
        assert!(!unknown.succeeded, "{}", unknown.out);
    }

    fn classification(&self, agent: &str) {
        self.kubectl.run_with(&["apply", "-f", "-"], CLASSIFICATION_YAML);
        let label = r"{.metadata.labels.agentclassification\.agent-install\.openshift\.io/size}";
        let wait = format!("wait agent/{agent} --for=jsonpath={label}=twin --timeout=120s");
        self.k(&wait);
        self.k("wait agentclassification/twins --for=jsonpath={.status.matchedCount}=1 --timeout=120s");
        self.k("delete agentclassification twins --wait=false");
        let gone = format!("get agent {agent} -o jsonpath={label}");
        await_condition("the label to go", SOON, || {
            let left = self.k(&gone);
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
        self.k("wait agentclassification/twins --for=delete --timeout=120s");
    }

    /// The purpose of the whole walk: a host that is ready.
    fn approval(&self, agent: &str, watching: &mut Program) {
        let disk = self.k(&format!(
            "get agent {agent} -o jsonpath={{.status.inventory.disks[?(@.serial==\"SER-A\")].id}}"
        ));
        assert!(disk.starts_with("/dev/"), "{disk}");
        let approve =
            json!({"spec": {"approved": true, "hostname": "worker-0", "installation_disk_id": disk}});
        let printed = self.kubectl.run(&[
            "patch",
            "agent",
            agent,
            "--type",
            "merge",
            "-p",
            &approve.to_string(),
        ]);
        assert!(printed.contains("patched"), "{printed}");
        self.k(&format!(
            "wait --for=condition=RequirementsMet agent/{agent} --timeout=120s"
        ));
        self.k(&format!(
            "wait --for=condition=Validated agent/{agent} --timeout=120s"
        ));
        watching.await_output(&format!("{agent} +true +auto-assign"), LEAST_LIMIT);
        let listed = self.k("get agents --no-headers");
        assert_eq!(table(&listed)[0], [agent, "true", "auto-assign"], "{listed}");
        let taken = format!("{{.status.installation_disk_id}}={disk}");
        self.k(&format!(
            "wait agent/{agent} --for=jsonpath={taken} --timeout=120s"
        ));
        let host = self.host(agent);
        assert_eq!(host["requested_hostname"], "worker-0");
        assert_eq!(host["installation_disk_id"], disk.as_str());
    }

    /// The host as REST shows it.
    fn host(&self, agent: &str) -> Value {
        let path = format!("{}/hosts/{agent}", self.world.rest_path());
        self.world.client().get(&path).expect(200).json()
    }

    fn edits(&self, agent: &str) {
        // With an interactive editor.
        let script = self.kubectl.file(
            "editor.sh",
            "#!/bin/sh\nexec sed -i 's/^  hostname: worker-0$/  hostname: worker-1/' \"$1\"\n",
        );
        let printed = self.kubectl.edit(&["agent", agent], &format!("sh {script}"));
        assert!(printed.contains("edited"), "{printed}");
        self.host_becomes(agent, "worker-1");
        // A name that is invalid for hosts is reported, and the host keeps its own.
        self.world.patch_agent(agent, &json!({"hostname": "Not_Valid"}));
        self.world.await_agent(agent, "SpecSynced", "False", "InputError");
        assert_eq!(self.host(agent)["requested_hostname"], "worker-1");
        self.world.patch_agent(agent, &json!({"hostname": "worker-2"}));
        self.world.await_agent(agent, "SpecSynced", "True", "SyncOK");
        self.host_becomes(agent, "worker-2");
        // By server-side apply, over the result of client-side apply.
        let keyed = INFRA_ENV_YAML.replace(
            "  agentLabels:",
            "  additionalNTPSources: [198.51.100.1]\n  agentLabels:",
        );
        let printed = self
            .kubectl
            .run_with(&["apply", "--server-side", "-f", "-"], &keyed);
        assert!(printed.contains("serverside-applied"), "{printed}");
        await_condition("REST to have the NTP source", SOON, || {
            let path = self.world.rest_path();
            let seen = self.world.client().get(&path).expect(200).json();
            if seen["additional_ntp_sources"] == "198.51.100.1" {
                Ok(())
            } else {
                Err(seen.to_string())
            }
        });
    }

    fn host_becomes(&self, agent: &str, name: &str) {
        await_condition("the host to have the name", SOON, || {
            let host = self.host(agent);
            if host["requested_hostname"] == name {
                Ok(())
            } else {
                Err(host["requested_hostname"].to_string())
            }
        });
    }

    fn description(&self, agent: &str) {
        let described = self.k(&format!("describe agent {agent}"));
        for text in [
            "Kind:         Agent\n",
            "installation_disk_id:",
            "Conditions:",
            "AgentIsReady",
            "AcmeCorp",
        ] {
            assert!(described.contains(text), "no {text:?} in:\n{described}");
        }
    }

    /// Into a cluster and back.
    fn cluster(&self, agent: &str, host: &mut Host) {
        let kubeconfig = self.kubectl.file(
            "edge.kubeconfig",
            &std::fs::read_to_string(self.kubectl.kubeconfig()).unwrap(),
        );
        let from = format!("--from-file=kubeconfig={kubeconfig}");
        self.kubectl
            .run(&["create", "secret", "generic", "edge-kubeconfig", &from]);
        self.kubectl.apply(&imported_cluster("edge"));
        self.k("wait --for=condition=Completed agentclusterinstall/edge --timeout=120s");
        let listed = self.k("get aci");
        assert_eq!(table(&listed)[0], ["NAME", "CLUSTER", "STATE"]);
        assert_eq!(table(&listed)[1], ["edge", "edge", "adding-hosts"], "{listed}");

        let bind = json!({"clusterDeploymentName": {"name": "edge", "namespace": "hardware"}});
        self.world.patch_agent(agent, &bind);
        host.moves(self.world, agent, "binding");
        self.kubectl.await_that(
            "the Agent to be bound",
            &["agent", agent],
            host.limit(),
            |agent| {
                host.assert_on();
                is(agent, "Bound", "True", "Bound").then_some(())
            },
        );
        let listed = self.k("get agents --no-headers");
        assert_eq!(table(&listed)[0][..3], [agent, "edge", "true"], "{listed}");
        assert_eq!(self.host(agent)["kind"], "AddToExistingClusterHost");

        self.world
            .patch_agent(agent, &json!({"clusterDeploymentName": null}));
        host.moves(self.world, agent, "unbinding");
        self.kubectl
            .await_that("the Agent to be free", &["agent", agent], host.limit(), |agent| {
                host.assert_on();
                let free = is(agent, "Bound", "False", "Unbound");
                (free && is(agent, "RequirementsMet", "True", "AgentIsReady")).then_some(())
            });
        let listed = self.k("get agents --no-headers");
        assert_eq!(table(&listed)[0][..2], [agent, "true"], "{listed}");
        // The deletion of a cluster's objects does not wait for ours.
        self.k("delete clusterdeployment edge --timeout=120s");
        self.k("delete agentclusterinstall edge --ignore-not-found --timeout=120s");
    }

    fn everything_goes(&self, agent: &str, host: Host) {
        // A running machine would register again.
        drop(host);
        self.k(&format!("delete agent {agent} --timeout=120s"));
        let path = self.world.rest_path();
        let client = self.world.client();
        client.get(&format!("{path}/hosts/{agent}")).expect(404);
        self.k(&format!("delete infraenv {INFRA_ENV} --timeout=120s"));
        client.get(&path).expect(404);
        assert_eq!(
            self.k("get agents,infraenvs,nmstateconfigs,agentclassifications,clusterdeployments,agentclusterinstalls -o name"),
            ""
        );
    }
}
