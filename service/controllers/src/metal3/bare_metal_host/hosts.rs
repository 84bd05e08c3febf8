//! Holds what the reconciles of BareMetalHosts share.

use std::sync::Arc;

use kube::runtime::reflector::Store;
use kube::{Api, ResourceExt};
use muster_resources::Agent;
use muster_resources::metal3::BareMetalHost;

use super::agents::{AgentView, elder_of, newest_of};
use crate::context::Context;
use crate::error::Error;
use crate::metal3::flow::Flow;

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

    /// Name of another BareMetalHost, whose Agent the one with this MAC is.
    pub fn elder(&self, host: &BareMetalHost) -> Option<String> {
        elder_of(host, &self.own.state()).map(ResourceExt::name_any)
    }

    /// The whole Agent of a host.
    ///
    /// # Errors
    /// If the API server does not answer.
    pub async fn agent(&self, host: &BareMetalHost) -> Result<Option<Agent>, Error> {
        let known = self.agents.state();
        let Some(found) = newest_of(host, &known) else {
            return Ok(None);
        };
        Ok(self.agents(host).get_opt(&found.name_any()).await?)
    }
}
