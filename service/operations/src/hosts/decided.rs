//! Refuses a user's request by REST about a host if its Agent decides, and names the command that works instead
//! (docs/two-doors.md).

use std::sync::Arc;

use muster_api::host::{DiskRole, HostRole, HostUpdateParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::events::muster_agent_decides;
use muster_core::lifecycle::host::{HostEvent, Step};
use muster_core::record::{Host, HostData, InfraEnv, KubeRef};
use muster_core::rules::hostname;
use serde_json::{Value, json};

use super::Hosts;
use crate::bridge::BridgeState;
use crate::owned::{OfResource, Owned, SpecWay, Ways, command};
use crate::resources::{ResourceKind, Seen};
use crate::{Result, request_id};

impl Hosts {
    /// Applies a user's request by REST.
    ///
    /// # Errors
    /// [`OperationError::OfResource`](crate::OperationError::OfResource) if it changes a setting that the host's Agent
    /// decides; those of [`Self::apply`].
    pub async fn apply_by_user(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: HostId,
        event: HostEvent,
    ) -> Result<Host> {
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        self.check_agent(bridge, &infra_env, id, &event).await?;
        self.apply(infra_env_id, id, event).await
    }

    /// The host as [`Self::apply_by_user`] would make it; nothing is stored.
    ///
    /// # Errors
    /// The same.
    pub async fn dry_run_by_user(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: HostId,
        event: &HostEvent,
    ) -> Result<Host> {
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        self.check_agent(bridge, &infra_env, id, event).await?;
        let found = self.get(infra_env_id, id).await?;
        Ok(self.step(&infra_env, &found, event).await?.host)
    }

    /// True if a user's request by REST would change a host that was read; nothing is stored.
    ///
    /// # Errors
    /// Those of [`Self::apply_by_user`].
    pub(crate) async fn would_change_by_user(
        &self,
        bridge: &BridgeState,
        infra_env: &Arc<InfraEnv>,
        found: &Host,
        event: &HostEvent,
    ) -> Result<bool> {
        self.check_agent(bridge, infra_env, found.id, event).await?;
        Ok(self.step(infra_env, found, event).await?.changed)
    }

    /// # Errors
    /// The event changes something that the host's Agent sets.
    async fn check_agent(
        &self,
        bridge: &BridgeState,
        infra_env: &Arc<InfraEnv>,
        id: HostId,
        event: &HostEvent,
    ) -> Result<()> {
        if let Some(part) = in_spec(event)
            && let Some(agent) = agent_of(infra_env, id)
            && let Some(seen) = decider(bridge, infra_env, &agent, &part).await
        {
            let found = self.get(infra_env.id, id).await?;
            let name = hostname::requested(&found).map_or_else(|| id.to_string(), str::to_owned);
            if self.changes(infra_env, &found, &part).await?
                && let Some(owned) = Owned::of(format!("host {name}"), ResourceKind::Agent, &agent, seen)
            {
                return Err(self.refused(&owned, &part).await?.into());
            }
        }
        Ok(())
    }

    async fn step(&self, infra_env: &Arc<InfraEnv>, found: &Host, event: &HostEvent) -> Result<Step> {
        Ok(self.decide(infra_env, found, event, self.now()).await??)
    }

    /// True if the event changes a setting in an Agent's spec.
    async fn changes(&self, infra_env: &Arc<InfraEnv>, found: &Host, event: &HostEvent) -> Result<bool> {
        if matches!(event, HostEvent::Bound { .. } | HostEvent::Unbound) {
            return Ok(true);
        }
        let step = self.step(infra_env, found, event).await?;
        Ok(said(&step.host.data) != said(&found.data))
    }

    async fn refused(&self, owned: &Owned<'_>, event: &HostEvent) -> Result<OfResource> {
        if let Some(maker) = &owned.maker {
            return Ok(owned.taken(maker));
        }
        let (agent, object) = (owned.kube, format!("{} {}", owned.kind.word(), owned.kube.name));
        let (mut spec, mut others) = (SpecWay::default(), Ways::default());
        match event {
            HostEvent::Bound { cluster_id } => {
                let deployment = match self.clusters.get(*cluster_id).await {
                    Ok(cluster) => cluster.kube,
                    Err(error) if error.is_missing() => None,
                    Err(error) => return Err(error),
                };
                match deployment {
                    Some(KubeRef { namespace, name }) => spec.set(
                        "clusterDeploymentName",
                        json!({"name": name, "namespace": namespace}),
                    ),
                    None => others.push(format!(
                        "make a ClusterDeployment of the cluster (docs/custom-resources.md has an example), and name it in spec.clusterDeploymentName: {}",
                        command(agent, &format!("edit {object}"))
                    )),
                }
            }
            HostEvent::Unbound => spec.set("clusterDeploymentName", Value::Null),
            HostEvent::Edited(params) => edited(&mut spec, params),
            HostEvent::InstallerArgsSet(words) => spec.set("installerArgs", json!(json!(words).to_string())),
            // It may hold secrets, and the command is shown and logged.
            _ => spec.edit("ignitionConfigOverrides"),
        }
        let mut ways = spec.ways(agent, &object);
        ways.extend(others);
        Ok(owned.unchanged(&ways))
    }

    /// Adds an event about a decision of the host's Agent; `why` is the end of a sentence that begins with the host.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn tell_of_agent(&self, host: &Host, why: &str) -> Result<()> {
        let told = muster_agent_decides(host, why, self.now());
        request_id::naming(&self.store).insert_events(&[told]).await?;
        Ok(())
    }
}

/// The Agent of a host, if its InfraEnv belongs to a custom resource or is mirrored.
fn agent_of(infra_env: &InfraEnv, id: HostId) -> Option<KubeRef> {
    let kube = infra_env.kube.as_ref()?;
    Some(KubeRef::new(&kube.namespace, id.to_string()))
}

/// The object that decides about `part`; `None`: REST does. In a mirrored InfraEnv that is only a Machine which has
/// taken the Agent.
async fn decider(
    bridge: &BridgeState,
    infra_env: &InfraEnv,
    agent: &KubeRef,
    part: &HostEvent,
) -> Option<Seen> {
    let kube = infra_env.kube.as_ref()?;
    let is_owned = infra_env.belongs_to_resource();
    if is_owned && bridge.look(ResourceKind::InfraEnv, kube).await == Seen::Gone {
        return None;
    }
    if is_of_machine(part)
        && let seen @ Seen::MadeBy(_) = bridge.look(ResourceKind::Agent, agent).await
    {
        return Some(seen);
    }
    is_owned.then_some(Seen::There)
}

/// True for parts that an AgentMachine writes into its Agent.
fn is_of_machine(part: &HostEvent) -> bool {
    match part {
        HostEvent::Bound { .. } | HostEvent::Unbound => true,
        HostEvent::Edited(params) => {
            params.machine_config_pool_name.is_some()
                || params.ignition_endpoint_token.is_some()
                || params.ignition_endpoint_http_headers.is_some()
        }
        _ => false,
    }
}

/// The part of an event that an Agent's spec can hold.
fn in_spec(event: &HostEvent) -> Option<HostEvent> {
    match event {
        HostEvent::Bound { .. }
        | HostEvent::Unbound
        | HostEvent::InstallerArgsSet(_)
        | HostEvent::IgnitionOverrideSet(_) => Some(event.clone()),
        HostEvent::Edited(params) => {
            let said = HostUpdateParams {
                disks_skip_formatting: None,
                fencing_credentials: None,
                ..params.clone()
            };
            (said != HostUpdateParams::default()).then_some(HostEvent::Edited(said))
        }
        _ => None,
    }
}

/// The settings of an Agent's spec.
fn said(data: &HostData) -> impl PartialEq {
    (
        (
            data.role,
            data.requested_hostname.clone(),
            data.installation_disk_id.clone(),
        ),
        (data.node_labels.clone(), data.machine_config_pool_name.clone()),
        (
            data.ignition_endpoint_token.clone(),
            data.ignition_endpoint_http_headers.clone(),
        ),
        (
            data.installer_args.clone(),
            data.ignition_config_overrides.clone(),
        ),
    )
}

/// Adds the changes of `params` to the spec's command. Secrets are left out: the command is shown and logged.
fn edited(spec: &mut SpecWay, params: &HostUpdateParams) {
    let HostUpdateParams {
        host_name,
        host_role,
        disks_selected_config,
        node_labels,
        machine_config_pool_name,
        ignition_endpoint_token,
        ignition_endpoint_http_headers,
        disks_skip_formatting: _,
        fencing_credentials: _,
    } = params;
    let mut disks = disks_selected_config.iter().flatten();
    let disk = disks.find(|disk| disk.role == Some(DiskRole::Install));
    let labels = node_labels.as_ref().map(|labels| {
        let pairs = labels.iter().map(|label| (label.key.clone(), json!(label.value)));
        Value::Object(pairs.collect())
    });
    let fields = [
        ("hostname", host_name.as_ref().map(|name| json!(name))),
        ("role", host_role.map(|role| json!(HostRole::from(role).name()))),
        ("installation_disk_id", disk.map(|disk| json!(disk.id))),
        ("nodeLabels", labels),
        (
            "machineConfigPool",
            machine_config_pool_name.as_ref().map(|pool| json!(pool)),
        ),
    ];
    for (path, value) in fields {
        if let Some(value) = value {
            spec.set(path, value);
        }
    }
    if ignition_endpoint_token.is_some() {
        spec.edit("ignitionEndpointTokenReference");
    }
    if ignition_endpoint_http_headers.is_some() {
        spec.edit("ignitionEndpointHTTPHeaders");
    }
}
