//! Reports AgentMachines that wait for more than a minute.

use std::time::Duration;

use kube::{Resource, ResourceExt};
use muster_operations::now;
use muster_resources::{AgentMachine, AgentMachineStatus, StandardCondition};

use super::status::Type;
use crate::capi::overdue::Wait;
use crate::capi::provider::Provider;
use crate::events;

/// Watches over the wait for an Agent. Answers when it becomes overdue.
pub fn unreserved(
    object: &AgentMachine,
    status: &AgentMachineStatus,
    provider: &Provider,
) -> Option<Duration> {
    let condition = find(status, Type::AgentReserved)?;
    if condition.status == "True" {
        provider.overdue.forget(&object.uid().unwrap_or_default());
        return None;
    }
    let advice = "There is no deadline: it ends when an Agent can be taken, or the Machine is deleted";
    overdue(object, condition, advice, provider)
}

/// Watches over the wait for the host to leave its cluster.
pub fn leaving(object: &AgentMachine, status: &AgentMachineStatus, provider: &Provider) -> Option<Duration> {
    let advice =
        "There is no deadline: the Agent's state says what its host needs; to give it up, delete the Agent";
    overdue(object, find(status, Type::Deleting)?, advice, provider)
}

fn find(status: &AgentMachineStatus, type_: Type) -> Option<&StandardCondition> {
    let name: &str = type_.into();
    status.conditions.iter().find(|one| one.type_ == name)
}

fn overdue(
    object: &AgentMachine,
    condition: &StandardCondition,
    advice: &str,
    provider: &Provider,
) -> Option<Duration> {
    let since = &condition.last_transition_time;
    match provider
        .overdue
        .judge(&object.uid().unwrap_or_default(), since, now())
    {
        Wait::Young(left) => Some(left),
        Wait::Reported => None,
        Wait::Report => {
            let note = format!("It waits since {}. {advice}. {}", since.0, condition.message);
            let event = events::warning(&condition.type_, "StillWaiting", &note);
            provider.context.events.publish(event, object.object_ref(&()));
            None
        }
    }
}
