//! Differences between an Agent as it is cached and as it should be.

use muster_controller::digest::digest;
use muster_controller::status::{add, difference, members, remove};
use muster_resources::AgentStatus;
use serde_json::Value;

use super::cached::CachedAgent;

const INVENTORY: &str = "inventory";
const VALIDATIONS: &str = "validationsInfo";

/// JSON-patch operations that turn the status of `agent`, which is `before`, into `new`; empty: nothing differs. An
/// inventory that `new` does not have stays.
pub fn status(agent: &CachedAgent, before: Option<&AgentStatus>, mut new: AgentStatus) -> Vec<Value> {
    let Some(before) = before else {
        return difference(None, members(&new));
    };
    let inventory = new.inventory.take();
    let validations = std::mem::take(&mut new.validations_info);
    let mut operations = difference(Some(&members(before)), members(&new));
    if let Some(inventory) = inventory
        && agent.inventory != Some(digest(&inventory))
    {
        operations.push(add(INVENTORY, &inventory));
    }
    if validations.is_empty() {
        if agent.validations.is_some() {
            operations.push(remove(VALIDATIONS));
        }
    } else if agent.validations != Some(digest(&validations)) {
        operations.push(add(VALIDATIONS, &validations));
    }
    operations
}

#[cfg(test)]
mod tests {
    use muster_resources::inventory::HostInventory;
    use muster_resources::{Agent, ValidationResult};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_status_that_is_there_is_not_written_again() {
        let mut there = AgentStatus {
            role: Some("worker".into()),
            inventory: Some(HostInventory {
                hostname: Some("a".into()),
                ..HostInventory::default()
            }),
            ..AgentStatus::default()
        };
        let check = ValidationResult {
            id: "connected".into(),
            ..Default::default()
        };
        there.validations_info.insert("network".into(), vec![check]);
        let agent = CachedAgent::from(Agent {
            status: Some(there.clone()),
            ..Default::default()
        });
        let status = |new: AgentStatus| status(&agent, Some(&agent.status()), new);
        assert!(status(there.clone()).is_empty());

        let mut silent = there.clone();
        silent.inventory = None;
        assert!(status(silent).is_empty(), "an inventory is not taken back");

        let mut other = there.clone();
        other.inventory = Some(HostInventory::default());
        other.validations_info.clear();
        assert_eq!(
            status(other),
            [
                json!({"op": "add", "path": "/status/inventory", "value": HostInventory::default()}),
                json!({"op": "remove", "path": "/status/validationsInfo"}),
            ]
        );
    }

    #[test]
    fn a_first_status_is_sent_as_a_whole() {
        let first = AgentStatus {
            inventory: Some(HostInventory::default()),
            ..AgentStatus::default()
        };
        let operations = status(&CachedAgent::from(Agent::default()), None, first);
        assert_eq!(operations.len(), 1);
        assert_eq!(operations[0]["path"], "/status");
        assert!(operations[0]["value"]["inventory"].is_object());
    }
}
