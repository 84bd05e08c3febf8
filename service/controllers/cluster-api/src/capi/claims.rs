//! Makes AgentMachines that need an Agent at the same time take different ones.
//!
//! The API server guarantees that no Agent is taken twice: it refuses a write of an Agent that has changed. But twenty
//! machines that see the same list would all try its first Agent. So each chooses among those that no other machine is about
//! to take, and an Agent that was taken is recorded here before the watch shows it.
//!
//! Quotas depend on that, too: one choice is made after the other, and each counts all that were taken or are being taken. The replica that
//! holds the lease is the only one that chooses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::ResourceExt;
use kube::runtime::reflector::Store;
use muster_api::time::Timestamp;
use muster_core::record::KubeRef;
use muster_core::rules::placement::{Candidate, Line, NotTaken, Quota, Waiting, place_in_line};

use super::agents::{self, AgentView};
use super::queue::Queue;

/// Time after which a claim is removed that no watch has shown: the Agent was changed otherwise.
const LIFETIME: Duration = Duration::from_secs(60);

/// Agents that are being taken, by their names.
#[derive(Debug, Default)]
pub struct Claims {
    taken: Mutex<HashMap<KubeRef, Claim>>,
    /// The machines that wait.
    pub queue: Queue,
    /// Held while a choice is made that quotas decide: it may take a while, and no thread of the program is to stand still behind it.
    pub choosing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Claim {
    machine: KubeRef,
    cluster: KubeRef,
    until: Instant,
    /// Version of the Agent with which it was taken; `None`: it is being taken.
    version: Option<String>,
}

impl Claim {
    /// True if the watch is behind the write, however long that takes: the Agent counts as taken.
    fn is_unseen(&self, agent: Option<&AgentView>) -> bool {
        let number = |version: &str| version.parse::<u64>().ok();
        let seen = agent.and_then(AgentView::resource_version);
        let seen = seen.as_deref().and_then(number);
        let written = self.version.as_deref().and_then(number);
        seen.zip(written).is_some_and(|(seen, written)| seen < written)
    }
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
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses an Agent at this time, and reserves it. `quotas`: those in force. The Agents of `failed` could not be taken before.
    pub fn choose(
        &self,
        (own, quotas): (&Waiting, &[Quota]),
        all_agents: &Store<AgentView>,
        failed: &HashMap<KubeRef, NotTaken>,
        (now, at): (Instant, Timestamp),
    ) -> Choice {
        let need = &own.need;
        let mut claims = self.all();
        claims.retain(|name, claim| {
            claim.until > now || claim.is_unseen(agents::get(all_agents, name).as_deref())
        });
        // After the claims: an Agent that was taken is in one of both.
        let known = all_agents.state();
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
        let waiting = match quotas {
            [] => Vec::new(),
            _ => self.queue.all(now),
        };
        let waiting: Vec<&Waiting> = waiting.iter().map(|one| &**one).collect();
        let line = Line {
            quotas,
            waiting: &waiting,
        };
        let placement = place_in_line(own, plain.chain(&overlaid), line, at);
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
                version: None,
            };
            claims.insert(agent.candidate.host.clone(), claim);
        }
        Choice { agent, others }
    }

    /// An Agent was taken as it was claimed: as it is now.
    pub fn took(&self, agent: &AgentView) {
        if let Some(claim) = self.all().get_mut(&agent.candidate.host) {
            claim.version = agent.resource_version();
        }
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
    use std::collections::BTreeSet;

    use kube::Resource as _;
    use kube::runtime::reflector;
    use kube::runtime::watcher::Event;
    use muster_core::rules::placement::{Hardware, Need, Open, Selector};
    use serde_json::json;

    use super::*;

    fn agents(names: &[&str]) -> Store<AgentView> {
        let (store, mut writer) = reflector::store();
        for name in names {
            let agent = json!({
                "metadata": {"name": name, "namespace": "hardware", "resourceVersion": "1", "labels": {"infraenvs.agent-install.openshift.io": "hw"}}, "spec": {"approved": true, "role": ""},
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

    fn own(machine: &str) -> Waiting {
        own_of("c", machine)
    }

    fn own_of(namespace: &str, machine: &str) -> Waiting {
        Waiting {
            need: need(namespace, machine),
            since: time(),
            refused: BTreeSet::new(),
        }
    }

    fn need(namespace: &str, machine: &str) -> Need {
        Need {
            machine: KubeRef::new(namespace, machine),
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
            let choice = claims.choose((&own(machine), &[]), &agents, &HashMap::new(), (at, time()));
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
        let choice = claims.choose((&own("m1"), &[]), &agents, &tried, (Instant::now(), time()));
        assert_eq!(choice.agent.unwrap().candidate.host.name, "b");
        assert_eq!(
            choice.others,
            [(KubeRef::new("hardware", "a"), NotTaken::Changed)]
        );
    }

    fn quota(limit: usize) -> Quota {
        Quota {
            name: "q".into(),
            consumer: "c".into(),
            selector: Selector::default(),
            open: Open::Of([KubeRef::new("hardware", "hw")].into()),
            limit: Some(limit),
            reserved: 0,
            priority: 1,
            since: time(),
        }
    }

    #[test]
    fn choices_at_once_never_exceed_a_limit_however_late_the_watch_is() {
        let names: Vec<String> = (0..40).map(|n| format!("a{n:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let agents = agents(&names);
        let (claims, quotas, now) = (Claims::default(), [quota(7)], Instant::now());
        let taken: Vec<KubeRef> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..40)
                .map(|n| {
                    let (claims, quotas, agents) = (&claims, &quotas, &agents);
                    scope.spawn(move || {
                        let own = own(&format!("m{n}"));
                        let choice = claims.choose((&own, quotas), agents, &HashMap::new(), (now, time()));
                        let mut taken = (*choice.agent?).clone();
                        taken.meta_mut().resource_version = Some("99".into());
                        claims.took(&taken);
                        Some(taken.candidate.host)
                    })
                })
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join().unwrap());
            ended.flatten().collect()
        });
        assert_eq!(taken.len(), 7);
        let later = now + 10 * LIFETIME;
        let more = |at| {
            let own = own("more");
            claims.choose((&own, &quotas), &agents, &HashMap::new(), (at, time()))
        };
        let choice = more(later);
        assert!(
            choice.agent.is_none(),
            "the Agents of before are older than the writes"
        );
        let exceeded = |(_, why): &&(KubeRef, NotTaken)| matches!(why, NotTaken::QuotaExceeded { .. });
        assert_eq!(choice.others.iter().filter(exceeded).count(), 33);
        claims.forget(&taken[0]);
        assert!(more(later).agent.is_some());
    }

    #[test]
    fn a_machine_of_a_higher_priority_that_waits_gets_the_agent() {
        let (agents, claims, now) = (agents(&["a"]), Claims::default(), Instant::now());
        let quotas = [quota(1)];
        claims.queue.join(own("m1"));
        let other = own_of("d", "m");
        let choose = |own: &Waiting| claims.choose((own, &quotas), &agents, &HashMap::new(), (now, time()));
        let choice = choose(&other);
        assert!(choice.agent.is_none());
        let [(_, NotTaken::BehindOthers(behind))] = choice.others.as_slice() else {
            panic!("{choice:?}")
        };
        assert!(behind.own.is_empty() && behind.others[&Some("q".to_owned())] == 1);
        assert!(choose(&own("m1")).agent.is_some());
    }
}
