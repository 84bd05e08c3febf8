//! The management cluster of a walk: Muster, its InfraEnv, and the machines' Agents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::api::Api;
use super::{Host, Story, objects};
use crate::artifacts::{live_image, live_image_aarch64};
use crate::condition::{LEAST_LIMIT, await_condition};
use crate::install::target::TargetImage;
use crate::kube::{ControlPlane, Kubectl};
use crate::qemu::{Architecture, MACHINE_LIMIT};
use crate::service::{Service, Settings};

/// The namespace of the InfraEnv and the Agents.
pub const HARDWARE: &str = "hardware";
/// The InfraEnv.
const INFRA_ENV: &str = "hw";

/// Muster at work. Dropping it ends it.
pub struct Hub {
    pub service: Service,
    /// In [`HARDWARE`].
    pub kubectl: Kubectl,
    pub api: Api,
    /// Of the InfraEnv's machines.
    pub architecture: Architecture,
    folder: TempDir,
}

impl Hub {
    /// Settings of a service that installs the target image, with its own Cluster API provider.
    pub fn settings() -> Settings {
        Self::settings_for(Architecture::X86_64)
    }

    fn settings_for(architecture: Architecture) -> Settings {
        let settings = Self::settings_with(&TargetImage::built(architecture).os_images());
        match architecture {
            Architecture::X86_64 => settings,
            Architecture::Aarch64 => settings
                .argument("--live-image-aarch64")
                .argument(&live_image_aarch64().display().to_string()),
        }
    }

    /// The same with other OS images.
    pub fn settings_with(os_images: &Value) -> Settings {
        Settings::for_user_networks()
            .live_image(&live_image())
            .argument("--capi-provider")
            .argument(&format!("--os-images={os_images}"))
    }

    /// On the built-in API.
    #[track_caller]
    pub fn built_in(settings: Settings) -> Self {
        Self::built_in_with(Architecture::X86_64, settings)
    }

    /// The same for machines with that processor, with the settings for these.
    #[track_caller]
    pub fn built_in_for(architecture: Architecture) -> Self {
        Self::built_in_with(architecture, Self::settings_for(architecture))
    }

    #[track_caller]
    fn built_in_with(architecture: Architecture, settings: Settings) -> Self {
        let service = settings.start();
        let (kubectl, api) = (service.kubectl(), Api::built_in(&service.kubectl()));
        Self::with(service, &kubectl, api, architecture)
    }

    /// On a real API server that knows the kinds.
    #[track_caller]
    pub fn real(settings: Settings, plane: &ControlPlane) -> Self {
        Self::real_as(settings, plane, &plane.service_kubeconfig())
    }

    /// The same as a user with that kubeconfig.
    #[track_caller]
    pub fn real_as(settings: Settings, plane: &ControlPlane, kubeconfig: &Path) -> Self {
        let service = settings.kubeconfig(kubeconfig).start();
        Self::with(service, &plane.kubectl(), Api::real(plane), Architecture::X86_64)
    }

    #[track_caller]
    fn with(service: Service, kubectl: &Kubectl, api: Api, architecture: Architecture) -> Self {
        kubectl.apply(&hardware(architecture));
        Self {
            service,
            kubectl: kubectl.namespace(HARDWARE),
            api,
            architecture,
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// Takes the service along to another real API server that knows the kinds, as administrators do (docs/operations.md#moving-clusters-to-another-management-cluster):
    /// it is stopped, `moving` moves what is a cluster's, the InfraEnv is applied there, and the service starts with the same database.
    #[track_caller]
    pub fn move_to(&mut self, plane: &ControlPlane, kubeconfig: &Path, moving: impl FnOnce()) {
        assert!(self.service.terminate().success());
        moving();
        let kubectl = plane.kubectl();
        kubectl.apply(&hardware(self.architecture));
        self.kubectl = kubectl.namespace(HARDWARE);
        self.api = Api::real(plane);
        self.service.start_again_on(kubeconfig);
    }

    /// Lets AgentMachines of this namespace take the Agents.
    #[track_caller]
    pub fn give_hosts_to(&self, namespace: &str) {
        let given = format!("infraenv.agent-install.openshift.io/agents-for-namespaces={namespace}");
        self.kubectl
            .run(&["annotate", "--overwrite", "infraenv", INFRA_ENV, &given]);
    }

    /// Gives the machine with the card of that MAC a static network (nmstate), in which the card is called `card`: in the discovery
    /// image, and on its disk.
    #[track_caller]
    pub fn set_network(&self, mac: &str, card: &str, network: &Value) {
        let labels = json!({"network": card});
        self.kubectl.apply(&[json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
            "metadata": {"name": card, "labels": labels},
            "spec": {"interfaces": [{"name": card, "macAddress": mac}], "config": network},
        })]);
        let selector = json!({"spec": {"nmStateConfigLabelSelector": {"matchLabels": labels}}}).to_string();
        let infra_env = format!("infraenv/{INFRA_ENV}");
        self.kubectl
            .run(&["patch", &infra_env, "--type", "merge", "-p", &selector]);
        let applied = "--for=condition=StaticNetworkApplied";
        self.kubectl.run(&["wait", applied, &infra_env, "--timeout=120s"]);
    }

    /// The InfraEnv's ISO, from the URL of its status.
    #[track_caller]
    pub fn iso(&self) -> PathBuf {
        let infra_env = format!("infraenv/{INFRA_ENV}");
        let created = "--for=condition=ImageCreated";
        self.kubectl.run(&["wait", created, &infra_env, "--timeout=120s"]);
        let url = self
            .kubectl
            .run(&["get", &infra_env, "-o", "jsonpath={.status.isoDownloadURL}"]);
        let file = self.folder.path().join("discovery.iso");
        let client = self.service.client();
        if let Err(error) = client.download(&self.service.reachable(&url), &file) {
            panic!("{url}: {error}");
        }
        file
    }

    /// The InfraEnv's id in the REST API, as soon as it exists.
    ///
    /// # Panics
    /// If it does not appear.
    #[track_caller]
    pub fn infra_env_id(&self) -> String {
        await_condition("REST to know the InfraEnv", LEAST_LIMIT, || {
            let all = self.service.http().get("/infra-envs").expect(200).json();
            let id = all[0]["id"].as_str().map(str::to_owned);
            id.ok_or_else(|| all.to_string())
        })
    }

    /// Approves so many Agents of fit hosts for which there is an OS image.
    ///
    /// # Panics
    /// If they do not appear.
    #[track_caller]
    pub fn approve_some(&self, count: usize, limit: Duration) {
        let patch = json!({"spec": {"approved": true}}).to_string();
        let mut approved = BTreeSet::new();
        self.api.await_in(
            "all Agents to be approved",
            &Self::agents_path(),
            limit,
            |agents| {
                let known = agents.iter().filter(|agent| {
                    let architecture = &agent["status"]["inventory"]["cpu"]["architecture"];
                    state(agent) == "known-unbound" && architecture == "x86_64"
                });
                for agent in known {
                    if approved.len() < count
                        && !approved.contains(name(agent))
                        && self.api.merge(&Self::agents_path(), name(agent), &patch)
                    {
                        approved.insert(name(agent).to_owned());
                    }
                }
                if approved.len() == count {
                    Ok(())
                } else {
                    Err(format!("{} of {count}", approved.len()))
                }
            },
        );
    }

    /// Path of the Agents.
    pub fn agents_path() -> String {
        format!("/apis/agent-install.openshift.io/v1beta1/namespaces/{HARDWARE}/agents")
    }

    /// Starts the progress report about the Agents.
    pub fn story(&self) -> Story {
        Story::of_agents(self.api.clone(), Self::agents_path())
    }

    /// Waits until all Agents of these hosts meet the condition; returns their names in the order of the hosts.
    ///
    /// # Panics
    /// After `limit`, or if a machine switches itself off.
    #[track_caller]
    pub fn await_agents(
        &self,
        what: &str,
        hosts: &mut [Host],
        limit: Duration,
        fits: impl Fn(&Value) -> bool,
    ) -> Vec<String> {
        self.api.await_in(what, &Self::agents_path(), limit, |agents| {
            hosts
                .iter_mut()
                .map(|host| {
                    host.assert_on();
                    let found = agents.iter().find(|agent| hostname(agent) == host.name);
                    let agent = found.ok_or_else(|| format!("no Agent of {}", host.name))?;
                    if fits(agent) {
                        Ok(name(agent).to_owned())
                    } else {
                        Err(summary(agent))
                    }
                })
                .collect()
        })
    }

    /// Waits until the hosts are discovered, sets the name and disk of each, and approves it. Returns the Agents'
    /// names.
    #[track_caller]
    pub fn approve(&self, hosts: &mut [Host]) -> Vec<String> {
        let whole = |agent: &Value| state(agent) == "known-unbound" && system_disk(agent).is_some();
        let names = self.await_agents("hosts to be discovered", hosts, MACHINE_LIMIT, whole);
        let agents = self.api.list(&Self::agents_path()).unwrap_or_default();
        for agent in agents
            .iter()
            .filter(|agent| names.iter().any(|one| one == name(agent)))
        {
            let spec = json!({
                "approved": true, "hostname": hostname(agent), "installation_disk_id": system_disk(agent),
            });
            let patch = json!({ "spec": spec }).to_string();
            self.kubectl
                .run(&["patch", "agent", name(agent), "--type", "merge", "-p", &patch]);
        }
        names
    }

    /// Waits until a host writes the image, and its progress shows that; returns its place in the list.
    #[track_caller]
    pub fn await_writing(&self, hosts: &mut [Host], limit: Duration) -> usize {
        self.api
            .await_in("an image to be written", &Self::agents_path(), limit, |agents| {
                hosts.iter_mut().for_each(Host::assert_on);
                let writer = agents.iter().find(|agent| {
                    let progress = &agent["status"]["progress"];
                    progress["currentStage"] == "Writing image to disk"
                        && progress["progressInfo"]
                            .as_str()
                            .is_some_and(|info| !info.is_empty())
                });
                writer
                    .and_then(|agent| hosts.iter().position(|host| host.name == hostname(agent)))
                    .ok_or_else(|| agents.iter().map(summary).collect::<Vec<_>>().join("\n"))
            })
    }

    /// Waits until the hosts are available again.
    #[track_caller]
    pub fn await_available(&self, hosts: &mut [Host], limit: Duration) {
        self.await_agents("Agents to be available again", hosts, limit, |agent| {
            state(agent) == "known-unbound" && is(agent, "Bound", "False") && is(agent, "Validated", "True")
        });
    }

    /// Waits until all hosts but one, which is a node, are available or only not approved.
    #[track_caller]
    pub fn await_spares(&self, hosts: &mut [Host], limit: Duration) {
        let what = "all hosts but one to be available";
        self.api.await_in(what, &Self::agents_path(), limit, |agents| {
            hosts.iter_mut().for_each(Host::assert_on);
            let spares = agents.iter().filter(|agent| state(agent) == "known-unbound");
            if agents.len() == hosts.len() && spares.count() + 1 == hosts.len() {
                Ok(())
            } else {
                Err(agents.iter().map(summary).collect::<Vec<_>>().join("\n"))
            }
        });
    }
}

/// The InfraEnv, with what it needs.
fn hardware(architecture: Architecture) -> [Value; 3] {
    [
        objects::namespace(HARDWARE),
        objects::pull_secret(HARDWARE, "pull-secret"),
        objects::infra_env(HARDWARE, INFRA_ENV, architecture),
    ]
}

/// The id of the disk for the system in the lab.
fn system_disk(agent: &Value) -> Option<&str> {
    let disks = agent["status"]["inventory"]["disks"].as_array()?;
    let wanted = disks.iter().find(|disk| {
        let serial = disk["serialNumber"].as_str().or(disk["serial"].as_str());
        serial.is_some_and(|serial| serial.starts_with("SYSTEM-"))
    })?;
    wanted["id"].as_str()
}

/// Name of an object.
pub fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The name that a host has or will have.
pub fn hostname(agent: &Value) -> &str {
    let spec = agent["spec"]["hostname"].as_str().filter(|name| !name.is_empty());
    spec.or(agent["status"]["inventory"]["hostname"].as_str())
        .unwrap_or_default()
}

/// An Agent's state.
pub fn state(agent: &Value) -> &str {
    agent["status"]["debugInfo"]["state"].as_str().unwrap_or_default()
}

/// True when an object's condition has that status.
pub fn is(object: &Value, condition: &str, status: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|one| one["type"] == condition && one["status"] == status)
}

/// The parts of an Agent that a failure shows.
pub fn summary(agent: &Value) -> String {
    let status = &agent["status"];
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let conditions: Vec<String> = conditions
        .map(|one| {
            format!(
                "  {}={} {}: {}",
                one["type"], one["status"], one["reason"], one["message"]
            )
        })
        .collect();
    format!(
        "{} ({}): {} {} {}\n{}",
        hostname(agent),
        name(agent),
        state(agent),
        status["debugInfo"]["stateInfo"],
        status["progress"],
        conditions.join("\n")
    )
}
