//! Finds an Agent for an AgentMachine and takes it. Source: docs/protocol/capi-agent-provider.md#2 steps 9 and 10.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kube::ResourceExt;
use muster_api::time::{Timestamp, now};
use muster_controller::error::{Error, unless_absent, words};
use muster_controller::references::kube_ref;
use muster_controller::times::timestamp;
use muster_core::record::KubeRef;
use muster_core::rules::placement::{Candidate, Hardware, Need, NotTaken, Open, Quota, Waiting, place};
use muster_resources::AgentMachine;
use muster_resources::names::annotation;

use super::binding::{Binding, api, send};
use crate::capi::agents::AgentView;
use crate::capi::claims::Choice;
use crate::capi::provider::Provider;
use crate::capi::quantity;
use crate::capi::selectors::selector;

/// Agents that are tried in one reconcile.
const TRIES: usize = 5;

/// The outcome for an AgentMachine.
pub struct Outcome {
    /// The Agent that is taken, as it is now.
    pub agent: Option<AgentView>,
    /// Every other Agent, and why it was not taken.
    pub others: Vec<(KubeRef, NotTaken)>,
    /// Time after which the AgentMachine is reconciled again: some were fit, and none could be taken.
    pub again: Option<Duration>,
}

/// Wait before Agents are tried again that changed while they were being taken.
pub const RETRY_INTERVAL: Duration = Duration::from_secs(1);

impl Outcome {
    /// The time until the first Agent can be taken that cannot be for a while; `None`: there is none, or one is taken.
    pub fn back_off_ends_in(&self, now: Timestamp) -> Option<Duration> {
        if self.agent.is_some() {
            return None;
        }
        let first = self.others.iter().filter_map(|(_, why)| why.until()).min()?;
        // A moment later: timers and clocks differ a little.
        Some((first - now).to_std().unwrap_or_default() + Duration::from_secs(1))
    }
}

/// Returns the need of an AgentMachine.
///
/// # Errors
/// Returns the annotation or the part of the selector that cannot be read, and what to do.
pub fn need(
    machine: &AgentMachine,
    cluster: &KubeRef,
    (namespace, open): (String, Open),
    (failure_domain, architecture): (Option<&str>, Option<String>),
) -> Result<Need, String> {
    let size = |key: &str, wanted: &str| match machine.annotations().get(key) {
        None => Ok(0),
        Some(text) => {
            quantity::parse(text).ok_or_else(|| format!("The annotation {key} is {text:?}; give {wanted}"))
        }
    };
    Ok(Need {
        machine: kube_ref(machine),
        cluster: cluster.clone(),
        namespace,
        open,
        selector: selector(
            machine.spec.agent_label_selector.as_ref(),
            "spec.agentLabelSelector",
        )?,
        failure_domain: failure_domain.map(str::to_owned),
        minimum: Hardware {
            cpus: size(annotation::MINIMUM_CPUS, "a number of processors")?,
            memory_bytes: size(annotation::MINIMUM_MEMORY, "an amount of memory such as 64Gi")?,
            disk_bytes: size(annotation::MINIMUM_DISK, "a size such as 500G")?,
        },
        imaged: None,
        architecture,
    })
}

/// Describes an AgentMachine that waits for an Agent, and counts it as waiting where there are quotas.
pub fn line_up(provider: &Provider, object: &AgentMachine, need: Need, quotas: &[Quota]) -> Waiting {
    let since = object.creation_timestamp().as_ref().and_then(timestamp);
    let waiting = Waiting {
        refused: provider.claims.queue.refused(&need.machine),
        since: since.unwrap_or_else(now),
        need,
    };
    if !quotas.is_empty() && provider.claims.queue.join(waiting.clone()) {
        provider.quotas.recount();
    }
    waiting
}

/// True while AgentMachines may come first that were not reconciled since the start.
pub fn is_early(provider: &Provider, machine: &KubeRef) -> bool {
    let others = || -> Vec<KubeRef> {
        let waits = |one: &AgentMachine| {
            let has_agent = one
                .status
                .as_ref()
                .is_some_and(|status| status.agent_ref.is_some());
            !has_agent && one.metadata.deletion_timestamp.is_none() && kube_ref(one) != *machine
        };
        let others = provider.agent_machines.state_filter(waits);
        others.iter().map(|one| kube_ref(&**one)).collect()
    };
    provider.claims.queue.is_incomplete(others, Instant::now())
}

/// Takes the best Agent that can be taken. `quotas`: those in force for its namespace.
///
/// # Errors
/// Fails if the API server does.
pub async fn claim(
    provider: &Provider,
    own: &Waiting,
    quotas: &[Quota],
    binding: &Binding,
) -> Result<Outcome, Error> {
    let need = &own.need;
    let mut failed = HashMap::new();
    loop {
        let choice = choose(provider, own, quotas, &failed).await;
        let Some(agent) = choice.agent else {
            stay(provider, own, quotas, &failed);
            return Ok(Outcome {
                agent: None,
                others: choice.others,
                again: (!failed.is_empty()).then_some(RETRY_INTERVAL),
            });
        };
        let name = agent.candidate.host.clone();
        if failed.len() >= TRIES {
            provider.claims.forget(&name);
            stay(provider, own, quotas, &failed);
            let mut others = choice.others;
            others.push((name, NotTaken::Changed));
            return Ok(Outcome {
                agent: None,
                others,
                again: Some(RETRY_INTERVAL),
            });
        }
        match take(provider, (need, quotas), binding, &agent).await {
            Ok(Ok(taken)) => {
                provider.claims.took(&taken);
                provider.claims.queue.leave(&need.machine);
                return Ok(Outcome {
                    agent: Some(taken),
                    others: choice.others,
                    again: None,
                });
            }
            Ok(Err(why)) => {
                tracing::debug!(machine = %need.machine, agent = %name, %why, "an Agent could not be taken");
                provider.claims.forget(&name);
                failed.insert(name, why);
            }
            Err(error) => {
                // The Agent may be taken or not; the next reconcile finds out.
                return Err(error);
            }
        }
    }
}

async fn choose(
    provider: &Provider,
    own: &Waiting,
    quotas: &[Quota],
    failed: &HashMap<KubeRef, NotTaken>,
) -> Choice {
    let _alone = match quotas {
        [] => None,
        _ => Some(provider.claims.choosing.lock().await),
    };
    let at = (Instant::now(), now());
    provider
        .claims
        .choose((own, quotas), &provider.agents, failed, at)
}

/// Keeps an AgentMachine waiting, and Agents that the API server refused it from no other.
fn stay(provider: &Provider, own: &Waiting, quotas: &[Quota], failed: &HashMap<KubeRef, NotTaken>) {
    if quotas.is_empty() {
        return;
    }
    let refused = failed
        .iter()
        .filter(|(_, why)| matches!(why, NotTaken::Refused(_)))
        .map(|(name, _)| name.clone());
    let waiting = Waiting {
        refused: refused.collect(),
        ..own.clone()
    };
    if provider.claims.queue.join(waiting) {
        provider.quotas.reorder();
    }
}

/// Takes `agent`. An Agent that changed since it was read is judged again, once.
async fn take(
    provider: &Provider,
    (need, quotas): (&Need, &[Quota]),
    binding: &Binding,
    agent: &AgentView,
) -> Result<Result<AgentView, NotTaken>, Error> {
    let (client, name) = (&provider.context.client, &agent.candidate.host);
    let first = match binding.patch(agent) {
        None => return Ok(Ok(agent.clone())),
        Some(patch) => answer(send(client, name, patch).await)?,
    };
    if !matches!(first, Err(NotTaken::Changed)) {
        return Ok(first);
    }
    let Some(newer) = unless_absent(api(client, name).get(&name.name).await)? else {
        return Ok(Err(NotTaken::BeingDeleted));
    };
    if let Some(why) = unfitness(need, &newer.candidate) {
        return Ok(Err(why));
    }
    if !quotas.is_empty() && newer.candidate.labels != agent.candidate.labels {
        // Another quota may be about it now.
        return Ok(Err(NotTaken::Changed));
    }
    match binding.patch(&newer) {
        None => Ok(Ok(newer)),
        Some(patch) => answer(send(client, name, patch).await),
    }
}

fn unfitness(need: &Need, candidate: &Candidate) -> Option<NotTaken> {
    let placement = place(need, [candidate], now());
    placement.unfit.into_iter().next().map(|(_, why)| why)
}

/// Classifies the response: taken, not taken for a reason in this Agent, or a failure of the API server.
fn answer(answered: kube::Result<AgentView>) -> Result<Result<AgentView, NotTaken>, Error> {
    match answered {
        Ok(agent) => Ok(Ok(agent)),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(Err(NotTaken::Changed)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Err(NotTaken::BeingDeleted)),
        Err(error @ kube::Error::Api(_)) if is_refusal(&error) => Ok(Err(NotTaken::Refused(words(&error)))),
        Err(error) => Err(error.into()),
    }
}

fn is_refusal(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429)
}

#[cfg(test)]
mod tests {
    use muster_resources::AgentMachineSpec;
    use serde_json::json;

    use super::*;
    use crate::capi::selectors::MOST_TERMS;

    fn machine(annotations: &[(&str, &str)], selector: serde_json::Value) -> AgentMachine {
        let mut machine = AgentMachine::new(
            "m",
            AgentMachineSpec {
                agent_label_selector: serde_json::from_value(selector).unwrap(),
                ..AgentMachineSpec::default()
            },
        );
        machine.metadata.namespace = Some("c".into());
        let pairs = annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        machine.metadata.annotations = Some(pairs.collect());
        machine
    }

    /// The namespace of the machine; hosts of it need no permission of an InfraEnv.
    fn of_c() -> (String, Open) {
        ("c".into(), Open::Of(std::collections::BTreeSet::new()))
    }

    #[test]
    fn annotations_say_how_large_a_host_must_be() {
        let cluster = KubeRef::new("c", "one");
        let sized = machine(
            &[
                (annotation::MINIMUM_CPUS, "8"),
                (annotation::MINIMUM_MEMORY, "16Gi"),
                (annotation::MINIMUM_DISK, "1T"),
            ],
            json!(null),
        );
        let need = need(&sized, &cluster, of_c(), (None, None)).unwrap();
        assert_eq!(
            need.minimum,
            Hardware {
                cpus: 8,
                memory_bytes: 16 << 30,
                disk_bytes: 1_000_000_000_000
            }
        );
        let wrong = machine(&[(annotation::MINIMUM_CPUS, "many")], json!(null));
        let error = super::need(&wrong, &cluster, of_c(), (None, None)).unwrap_err();
        assert!(error.contains("minimum-cpus is \"many\""), "{error}");
    }

    #[test]
    fn a_selector_with_an_unknown_operator_is_refused() {
        let cluster = KubeRef::new("c", "one");
        let good = machine(
            &[],
            json!({
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["d"]}],
            }),
        );
        assert_eq!(
            need(&good, &cluster, of_c(), (None, None))
                .unwrap()
                .selector
                .0
                .len(),
            2
        );
        let wrong = machine(
            &[],
            json!({"matchExpressions": [{"key": "c", "operator": "Like"}]}),
        );
        assert!(
            need(&wrong, &cluster, of_c(), (None, None))
                .unwrap_err()
                .contains("\"Like\"")
        );
    }

    #[test]
    fn a_selector_that_compares_for_ever_is_refused() {
        let cluster = KubeRef::new("c", "one");
        let of = |values: usize| {
            let values: Vec<String> = (0..values).map(|value| value.to_string()).collect();
            let selector = json!({
                "matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "NotIn", "values": values}],
            });
            need(&machine(&[], selector), &cluster, of_c(), (None, None)).map(drop)
        };
        assert_eq!(of(MOST_TERMS - 2), Ok(()));
        assert!(of(MOST_TERMS - 1).unwrap_err().contains("at most 200 are taken"));
    }

    #[test]
    fn the_first_end_of_a_back_off_is_waited_for_unless_an_agent_is_taken() {
        let at = |seconds: i64| Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap();
        let failed = |seconds| {
            let why = NotTaken::FailedBefore {
                count: 1,
                until: at(seconds),
                why: None,
            };
            (KubeRef::new("hardware", "a"), why)
        };
        let outcome = |others| Outcome {
            agent: None,
            others,
            again: None,
        };
        assert_eq!(outcome(vec![]).back_off_ends_in(at(0)), None);
        let two = outcome(vec![failed(90), failed(30)]);
        assert_eq!(two.back_off_ends_in(at(0)), Some(Duration::from_secs(31)));
        assert_eq!(two.back_off_ends_in(at(60)), Some(Duration::from_secs(1)));
    }
}
