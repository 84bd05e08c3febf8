//! Makes AgentMachines that need an Agent at the same time take different ones.
//!
//! The API server guarantees that no Agent is taken twice: it refuses a write of an Agent that has changed. But twenty
//! machines that see the same list would all try its first Agent. So each chooses among those that no other machine is about
//! to take, and an Agent that was taken is recorded here before the watch shows it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::runtime::reflector::Store;
use muster_api::time::Timestamp;
use muster_core::record::KubeRef;
use muster_core::rules::placement::{Candidate, Need, NotTaken, place};

use super::agents::{self, AgentView};

/// Time after which a claim is removed that no watch has shown: the Agent was changed otherwise.
const LIFETIME: Duration = Duration::from_secs(60);

/// Agents that are being taken, by their names.
#[derive(Debug, Default)]
pub struct Claims(Mutex<HashMap<KubeRef, Claim>>);

#[derive(Debug, Clone)]
struct Claim {
    machine: KubeRef,
    cluster: KubeRef,
    until: Instant,
}

/// The choice for a machine.
#[derive(Debug)]
pub struct Choice {
    /// The Agent to take; `None`: none can be.
    pub agent: Option<Arc<AgentView>>,
    /// Every other Agent, and the reason why it is not chosen.
    pub others: Vec<(KubeRef, NotTaken)>,
}

impl Claims {
    fn all(&self) -> MutexGuard<'_, HashMap<KubeRef, Claim>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses an Agent at this time, and reserves it. The Agents of `failed` could not be taken before.
    pub fn choose(
        &self,
        need: &Need,
        all_agents: &Store<AgentView>,
        failed: &HashMap<KubeRef, NotTaken>,
        (now, at): (Instant, Timestamp),
    ) -> Choice {
        let known = all_agents.state();
        let mut claims = self.all();
        claims.retain(|_, claim| claim.until > now);
        let claimed = |one: &Candidate| -> Option<Candidate> {
            let claim = claims.get(&one.host)?;
            // The watch has shown that the Agent was taken, or released.
            one.taken_by.is_none().then(|| Candidate {
                taken_by: Some(claim.machine.clone()),
                cluster: Some(claim.cluster.clone()),
                ..one.clone()
            })
        };
        let overlaid: Vec<Candidate> = known.iter().filter_map(|one| claimed(&one.candidate)).collect();
        let plain = known
            .iter()
            .map(|one| &one.candidate)
            .filter(|one| one.taken_by.is_some() || !claims.contains_key(&one.host));
        let placement = place(need, plain.chain(&overlaid), at);
        let best = placement
            .ranked
            .iter()
            .find(|one| !failed.contains_key(&one.host));
        let chosen = best.map(|one| one.host.clone());
        let mut others = placement.not_taken(chosen.as_ref());
        for (name, why) in &mut others {
            if let Some(failure) = failed.get(name) {
                why.clone_from(failure);
            }
        }
        let agent = chosen.and_then(|name| agents::get(all_agents, &name));
        if let Some(agent) = &agent {
            let claim = Claim {
                machine: need.machine.clone(),
                cluster: need.cluster.clone(),
                until: now + LIFETIME,
            };
            claims.insert(agent.candidate.host.clone(), claim);
        }
        Choice { agent, others }
    }

    /// Removes the claim of an Agent that was not taken or is given back.
    pub fn forget(&self, agent: &KubeRef) {
        self.all().remove(agent);
    }

    /// The Agent that was taken for `machine` a moment ago.
    pub fn of(&self, machine: &KubeRef) -> Option<KubeRef> {
        let claims = self.all();
        let found = claims.iter().find(|(_, claim)| claim.machine == *machine);
        found.map(|(agent, _)| agent.clone())
    }
}

#[cfg(test)]
mod tests {
    use kube::runtime::reflector;
    use kube::runtime::watcher::Event;
    use muster_core::rules::placement::{Hardware, Open, Selector};
    use serde_json::json;

    use super::*;

    fn agents(names: &[&str]) -> Store<AgentView> {
        let (store, mut writer) = reflector::store();
        for name in names {
            let agent = json!({
                "metadata": {"name": name, "namespace": "hardware", "labels": {"infraenvs.agent-install.openshift.io": "hw"}}, "spec": {"approved": true, "role": ""},
                "status": {"conditions": [
                    {"type": "Bound", "status": "False"}, {"type": "Connected", "status": "True"},
                    {"type": "Validated", "status": "True"},
                ]},
            });
            writer.apply_watcher_event(&Event::Apply(serde_json::from_value(agent).unwrap()));
        }
        store
    }

    fn time() -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000, 0).unwrap()
    }

    fn need(machine: &str) -> Need {
        Need {
            machine: KubeRef::new("c", machine),
            cluster: KubeRef::new("c", "one"),
            namespace: "hardware".into(),
            open: Open::Of([KubeRef::new("hardware", "hw")].into()),
            selector: Selector::default(),
            failure_domain: None,
            minimum: Hardware::default(),
            imaged: None,
            architecture: None,
        }
    }

    #[test]
    fn machines_that_choose_at_once_choose_different_agents() {
        let agents = agents(&["a", "b"]);
        let (claims, now) = (Claims::default(), Instant::now());
        let choose = |machine: &str, at| {
            let choice = claims.choose(&need(machine), &agents, &HashMap::new(), (at, time()));
            choice.agent.map(|agent| agent.candidate.host.name.clone())
        };
        assert_eq!(choose("m1", now).as_deref(), Some("a"));
        assert_eq!(choose("m2", now).as_deref(), Some("b"));
        assert_eq!(choose("m3", now), None);
        // A machine that chooses again gets the same Agent.
        assert_eq!(choose("m2", now).as_deref(), Some("b"));
        assert_eq!(
            claims.of(&KubeRef::new("c", "m1")),
            Some(KubeRef::new("hardware", "a"))
        );
        claims.forget(&KubeRef::new("hardware", "a"));
        assert_eq!(choose("m3", now).as_deref(), Some("a"));
        assert_eq!(
            choose("m4", now + LIFETIME).as_deref(),
            Some("a"),
            "claims that nothing came of end"
        );
    }

    #[test]
    fn an_agent_that_was_tried_in_vain_is_passed_over_with_its_reason() {
        let agents = agents(&["a", "b"]);
        let claims = Claims::default();
        let tried = HashMap::from([(KubeRef::new("hardware", "a"), NotTaken::Changed)]);
        let choice = claims.choose(&need("m1"), &agents, &tried, (Instant::now(), time()));
        assert_eq!(choice.agent.unwrap().candidate.host.name, "b");
        assert_eq!(
            choice.others,
            [(KubeRef::new("hardware", "a"), NotTaken::Changed)]
        );
    }
}
