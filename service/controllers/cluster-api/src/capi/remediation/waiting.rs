//! Finds the AgentRemediation that waits for an Agent, when the Agent answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::runtime::reflector::ObjectRef;
use muster_controller::references::object_ref;
use muster_core::record::KubeRef;
use muster_resources::AgentRemediation;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// AgentRemediations by the Agents of their Machines. They are found again by the first reconciles after a start.
#[derive(Debug)]
pub struct Waiting {
    by_agent: Mutex<HashMap<KubeRef, KubeRef>>,
    requests: UnboundedSender<ObjectRef<AgentRemediation>>,
}

impl Waiting {
    /// Returns an empty one, and the AgentRemediations to reconcile.
    pub fn new() -> (Arc<Self>, UnboundedReceiver<ObjectRef<AgentRemediation>>) {
        let (requests, requested) = unbounded_channel();
        let waiting = Self {
            by_agent: Mutex::default(),
            requests,
        };
        (Arc::new(waiting), requested)
    }

    fn by_agent(&self) -> MutexGuard<'_, HashMap<KubeRef, KubeRef>> {
        self.by_agent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the AgentRemediation of the Machine that has this Agent.
    pub fn set(&self, agent: KubeRef, remediation: KubeRef) {
        self.by_agent().insert(agent, remediation);
    }

    /// Forgets an AgentRemediation.
    pub fn end(&self, remediation: &KubeRef) {
        self.by_agent().retain(|_, one| one != remediation);
    }

    /// Requests a reconcile of the AgentRemediation that waits for this Agent.
    pub fn agent_changed(&self, agent: &KubeRef) {
        if let Some(remediation) = self.by_agent().get(agent) {
            // Sending fails only when the controller has ended.
            let _ = self.requests.send(object_ref(remediation));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_answers_requests_the_remediation_that_waits_for_it() {
        let (waiting, mut requested) = Waiting::new();
        let (agent, remediation) = (KubeRef::new("hardware", "a"), KubeRef::new("c", "m"));
        waiting.agent_changed(&agent);
        assert!(requested.try_recv().is_err());
        waiting.set(agent.clone(), remediation.clone());
        waiting.agent_changed(&agent);
        assert_eq!(requested.try_recv().unwrap(), object_ref(&remediation));
        waiting.end(&remediation);
        waiting.agent_changed(&agent);
        assert!(requested.try_recv().is_err());
    }
}
