//! Refuses or tells what a user asks of a host by REST where its Agent decides: a custom resource of the user has the last word, and
//! what is undone silently looks like a failure.

use muster_api::host::{DiskRole, HostRole, HostUpdateParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::events::muster_agent_decides;
use muster_core::lifecycle::host::{HostEvent, RefusalClass, Refused};
use muster_core::record::{Host, InfraEnv, KubeRef};
use serde_json::{Map, Value, json};

use super::Hosts;
use crate::bridge::BridgeState;
use crate::{Result, request_id};

/// A host that a user has changed by REST.
#[derive(Debug)]
pub struct ByUser {
    pub host: Host,
    /// For the user: its Agent has the last word, and the command that changes that; `None`: REST decides.
    pub note: Option<String>,
}

impl Hosts {
    /// Applies what a user asks by REST. Where an Agent decides, a move is refused, since the Agent would undo it, and a setting is
    /// taken, with a note and an event that say who has the last word.
    ///
    /// # Errors
    /// Those of [`Self::apply`].
    pub async fn apply_by_user(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: HostId,
        event: HostEvent,
    ) -> Result<ByUser> {
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        let agent = agent_of(&infra_env, id).filter(|_| bridge.is_on());
        let Some(agent) = agent else {
            let host = self.apply(infra_env_id, id, event).await?;
            return Ok(ByUser { host, note: None });
        };
        if matches!(event, HostEvent::Bound { .. } | HostEvent::Unbound) {
            return Err(self.refused_move(infra_env_id, &agent, id, &event).await?.into());
        }
        let spec = in_spec(&event);
        let host = self.apply(infra_env_id, id, event).await?;
        let why = format!(
            "has settings by REST, and its Agent {agent} has the last word: a setting that the Agent's spec has, too, becomes the Agent's again; patch its spec to change that"
        );
        self.tell_of_agent(&host, &why).await?;
        let how = match spec.is_empty() {
            true => "patch its spec to change that".into(),
            false => format!("to change it there: {}", patch_line(&agent, &spec)),
        };
        let note = format!(
            "the host's Agent {agent} has the last word: a setting that its spec has, too, becomes the Agent's again; {how}"
        );
        Ok(ByUser {
            host,
            note: Some(note),
        })
    }

    /// The refusal of a move, which names the command that does it.
    async fn refused_move(
        &self,
        infra_env_id: InfraEnvId,
        agent: &KubeRef,
        id: HostId,
        event: &HostEvent,
    ) -> Result<Refused> {
        let found = self.get(infra_env_id, id).await?;
        let how = match event {
            HostEvent::Bound { cluster_id } => {
                let deployment = match self.clusters.get(*cluster_id).await {
                    Ok(cluster) => cluster.kube,
                    Err(error) if error.is_missing() => None,
                    Err(error) => return Err(error),
                };
                match deployment {
                    Some(KubeRef { namespace, name }) => {
                        patch_line(agent, &cluster_in_spec(json!({"name": name, "namespace": namespace})))
                    }
                    None => "patch spec.clusterDeploymentName of the Agent, which can name only clusters that have a ClusterDeployment (docs/custom-resources.md has an example)".into(),
                }
            }
            _ => patch_line(agent, &cluster_in_spec(Value::Null)),
        };
        Ok(Refused {
            class: RefusalClass::UserConflict,
            status: Some(found.state.status()),
            event: event.name(),
            reason: format!(
                "The host's Agent {agent} decides which cluster it is in (spec.clusterDeploymentName), and would undo this: {how}"
            ),
        })
    }

    /// Tells in the host's events what its Agent decided; `why` is the end of a sentence that begins with the host.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn tell_of_agent(&self, host: &Host, why: &str) -> Result<()> {
        let told = muster_agent_decides(host, why, self.now());
        request_id::naming(&self.store).insert_events(&[told]).await?;
        Ok(())
    }
}

/// The Agent that decides about this host; `None`: REST does.
fn agent_of(infra_env: &InfraEnv, id: HostId) -> Option<KubeRef> {
    let kube = infra_env.kube.as_ref();
    kube.filter(|_| infra_env.belongs_to_resource())
        .map(|kube| KubeRef::new(&kube.namespace, id.to_string()))
}

fn cluster_in_spec(reference: Value) -> Map<String, Value> {
    Map::from_iter([("clusterDeploymentName".into(), reference)])
}

/// The fields of an Agent's spec that say what `event` does. Secrets are left out: the command is shown and logged.
fn in_spec(event: &HostEvent) -> Map<String, Value> {
    let mut spec = Map::new();
    let HostEvent::Edited(HostUpdateParams {
        host_name,
        host_role,
        disks_selected_config,
        node_labels,
        machine_config_pool_name,
        ..
    }) = event
    else {
        return spec;
    };
    let disks = disks_selected_config.iter().flatten();
    let disk = disks
        .filter(|disk| disk.role == Some(DiskRole::Install))
        .map(|disk| &disk.id);
    let labels = node_labels.iter().map(|labels| {
        let pairs = labels.iter().map(|label| (label.key.clone(), json!(label.value)));
        Value::Object(pairs.collect())
    });
    let fields = [
        ("hostname", host_name.as_ref().map(|name| json!(name))),
        ("role", host_role.map(|role| json!(HostRole::from(role).name()))),
        ("installation_disk_id", disk.map(|id| json!(id)).next()),
        ("nodeLabels", labels.into_iter().next()),
        (
            "machineConfigPool",
            machine_config_pool_name.as_ref().map(|pool| json!(pool)),
        ),
    ];
    for (name, value) in fields {
        spec.extend(value.map(|value| (name.to_owned(), value)));
    }
    spec
}

/// The command that patches the Agent's spec.
fn patch_line(agent: &KubeRef, spec: &Map<String, Value>) -> String {
    let patch = json!({"spec": spec}).to_string().replace('\'', r"'\''");
    let KubeRef { namespace, name } = agent;
    format!("kubectl -n {namespace} patch agent {name} --type merge -p '{patch}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_by_rest_is_told_as_the_patch_that_does_it() {
        let params = json!({
            "host_name": "node-1", "host_role": "worker", "machine_config_pool_name": "it's",
            "disks_selected_config": [{"id": "/dev/sda", "role": "install"}],
            "node_labels": [{"key": "rack", "value": "r1"}],
            "ignition_endpoint_token": "secret",
        });
        let event = HostEvent::Edited(serde_json::from_value(params).unwrap());
        let line = patch_line(&KubeRef::new("lab", "1"), &in_spec(&event));
        assert_eq!(
            line,
            r#"kubectl -n lab patch agent 1 --type merge -p '{"spec":{"hostname":"node-1","installation_disk_id":"/dev/sda","machineConfigPool":"it'\''s","nodeLabels":{"rack":"r1"},"role":"worker"}}'"#
        );
        assert!(in_spec(&HostEvent::Unbound).is_empty());
    }
}
