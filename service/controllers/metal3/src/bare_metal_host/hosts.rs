//! Holds the state that the reconciles of BareMetalHosts share.

use std::sync::Arc;

use kube::runtime::reflector::Store;
use kube::{Api, ResourceExt};
use muster_controller::error::Error;
use muster_resources::Agent;
use muster_resources::metal3::BareMetalHost;

use super::agents::{AgentView, agent_of, claimants, elder_of};
use crate::context::Context;
use crate::flow::Flow;

/// Shared by the reconciles of all BareMetalHosts.
pub struct Hosts {
    pub context: Arc<Context>,
    pub flow: Flow,
    pub agents: Store<AgentView>,
    /// The BareMetalHosts themselves.
    pub own: Store<BareMetalHost>,
}

impl Hosts {
    pub fn api(&self, host: &BareMetalHost) -> Api<BareMetalHost> {
        Api::namespaced(self.context.client.clone(), &host.namespace().unwrap_or_default())
    }

    pub fn agents(&self, host: &BareMetalHost) -> Api<Agent> {
        Api::namespaced(self.context.client.clone(), &host.namespace().unwrap_or_default())
    }

    /// Name of another BareMetalHost that has the Agent with this MAC.
    pub fn elder(&self, host: &BareMetalHost) -> Option<String> {
        elder_of(host, &self.own.state()).map(ResourceExt::name_any)
    }

    /// Reads the whole Agent of a host.
    ///
    /// # Errors
    /// Fails if the API server does.
    pub async fn agent(&self, host: &BareMetalHost) -> Result<Option<Agent>, Error> {
        let known = self.agents.state();
        let Some(found) = agent_of(host, &known) else {
            return Ok(None);
        };
        Ok(self.agents(host).get_opt(&found.name_any()).await?)
    }

    /// The machines other than that of the Agent `chosen` that report the MAC address of `host`, as a sentence; `None`: there are none.
    pub fn claimed(&self, host: &BareMetalHost, chosen: Option<&Agent>) -> Option<String> {
        const MOST: usize = 5;
        let chosen = chosen.map(ResourceExt::name_any);
        let others = claimants(host, chosen.as_deref(), &self.agents.state());
        let named: Vec<String> = others.iter().take(MOST).map(|one| one.name.clone()).collect();
        let which = chosen.map_or_else(
            || "of another InfraEnv than its label names".to_owned(),
            |chosen| format!("in addition to {chosen}, which stays its Agent"),
        );
        (!named.is_empty()).then(|| {
            format!(
                "its MAC address is reported by the Agents {} ({} in all) {which}: they are not taken for it, and not approved; see which machine is the right one, and delete the Agents of the others",
                named.join(", "),
                others.len()
            )
        })
    }
}
