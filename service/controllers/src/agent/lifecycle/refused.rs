//! Records which Agents the API server refuses, for a condition of their InfraEnv: no Agent exists whose status could show it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::Stream;
use kube::core::Status;
use muster_core::record::KubeRef;

use crate::announced::Announced;

/// Refused Agents by InfraEnv: name and the API server's message.
#[derive(Default)]
pub struct RefusedAgents {
    all: Mutex<HashMap<KubeRef, BTreeMap<String, String>>>,
    changed: Announced,
}

/// True if a write is refused for its content or its sender, and not because of a concurrent change.
pub fn is_refusal(status: &Status) -> bool {
    (400..500).contains(&status.code) && !matches!(status.code, 401 | 404 | 409 | 429)
}

impl RefusedAgents {
    fn all(&self) -> MutexGuard<'_, HashMap<KubeRef, BTreeMap<String, String>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of refused Agents of an InfraEnv, and the reason for the first of them; `None`: no Agent is refused.
    pub fn of(&self, infra_env: &KubeRef) -> Option<(usize, String)> {
        let all = self.all();
        let agents = all.get(infra_env)?;
        let (_, why) = agents.first_key_value()?;
        Some((agents.len(), why.clone()))
    }

    /// Sets the reason why an Agent is refused; `None`: it is not refused.
    pub fn set(&self, infra_env: &KubeRef, agent: &str, why: Option<String>) {
        let before = self.of(infra_env);
        let mut all = self.all();
        match why {
            Some(why) => drop(
                all.entry(infra_env.clone())
                    .or_default()
                    .insert(agent.to_owned(), why),
            ),
            None => {
                if let Some(agents) = all.get_mut(infra_env) {
                    agents.remove(agent);
                    if agents.is_empty() {
                        all.remove(infra_env);
                    }
                }
            }
        }
        drop(all);
        if before != self.of(infra_env) {
            self.changed.send(infra_env);
        }
    }

    /// Removes an Agent without a host.
    pub fn forget(&self, agent: &KubeRef) {
        let of_it = |(infra_env, agents): (&KubeRef, &BTreeMap<String, String>)| {
            (infra_env.namespace == agent.namespace && agents.contains_key(&agent.name))
                .then(|| infra_env.clone())
        };
        let infra_envs: Vec<KubeRef> = self.all().iter().filter_map(of_it).collect();
        for infra_env in infra_envs {
            self.set(&infra_env, &agent.name, None);
        }
    }

    /// InfraEnvs whose refused Agents changed. For one listener; empty for a second.
    pub fn changes(&self) -> impl Stream<Item = KubeRef> + Send + use<> {
        self.changed.listen()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt};

    #[test]
    fn refusals_are_counted_by_infra_env_until_they_end() {
        let refused = RefusedAgents::default();
        let rack = KubeRef::new("lab", "rack");
        assert_eq!(refused.of(&rack), None);
        refused.set(&rack, "b", Some("exceeded quota".into()));
        refused.set(&rack, "a", Some("exceeded quota: agents".into()));
        assert_eq!(refused.of(&rack), Some((2, "exceeded quota: agents".into())));
        refused.set(&rack, "a", None);
        refused.forget(&KubeRef::new("other", "b"));
        assert_eq!(refused.of(&rack), Some((1, "exceeded quota".into())));
        refused.forget(&KubeRef::new("lab", "b"));
        assert_eq!(refused.of(&rack), None);
        let told = Box::pin(refused.changes())
            .take(4)
            .collect::<Vec<_>>()
            .now_or_never();
        assert_eq!(told.map(|told| told.len()), Some(4));
    }

    #[test]
    fn what_passes_by_itself_is_no_refusal() {
        let of = |code| {
            is_refusal(&Status {
                code,
                ..Status::default()
            })
        };
        assert!([400, 403, 413, 422].into_iter().all(of));
        assert!(![401, 404, 409, 429, 500, 503].into_iter().any(of));
    }
}
