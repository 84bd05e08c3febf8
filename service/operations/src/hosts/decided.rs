//! Refuses or tells what a user asks of a host by REST where its Agent decides: a custom resource of the user has the last word, and
//! what is undone silently looks like a failure.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::events::muster_agent_decides;
use muster_core::lifecycle::host::{HostEvent, RefusalClass, Refused};
use muster_core::record::{Host, InfraEnv};

use super::Hosts;
use crate::bridge::BridgeState;
use crate::{Result, request_id};

impl Hosts {
    /// Applies what a user asks by REST. Where an Agent decides, a move is refused, since the Agent would undo it, and a setting is
    /// taken, with an event that says who has the last word.
    ///
    /// # Errors
    /// Those of [`Self::apply`].
    pub async fn apply_by_user(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: HostId,
        event: HostEvent,
    ) -> Result<Host> {
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        let agent = agent_of(&infra_env, id).filter(|_| bridge.is_on());
        let Some(agent) = agent else {
            return self.apply(infra_env_id, id, event).await;
        };
        if matches!(event, HostEvent::Bound { .. } | HostEvent::Unbound) {
            let found = self.get(infra_env_id, id).await?;
            let refused = Refused {
                class: RefusalClass::UserConflict,
                status: Some(found.state.status()),
                event: event.name(),
                reason: format!(
                    "The host's Agent {agent} decides which cluster it is in, and would undo this: patch spec.clusterDeploymentName of the Agent"
                ),
            };
            return Err(refused.into());
        }
        let changed = self.apply(infra_env_id, id, event).await?;
        let why = format!(
            "has settings by REST, and its Agent {agent} has the last word: a setting that the Agent's spec has, too, becomes the Agent's again; patch its spec to change that"
        );
        self.tell_of_agent(&changed, &why).await?;
        Ok(changed)
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

/// `NAMESPACE/NAME` of the Agent that decides about this host; `None`: REST does.
fn agent_of(infra_env: &InfraEnv, id: HostId) -> Option<String> {
    let kube = infra_env.kube.as_ref();
    kube.filter(|_| infra_env.belongs_to_resource())
        .map(|kube| format!("{}/{id}", kube.namespace))
}
