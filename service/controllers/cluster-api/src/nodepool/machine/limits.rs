//! Sets the time that waits of Machines should take at most, and the advice for users about each.

use muster_controller::waits::{INSTALLATION_MINUTES, Limit, NODE_MINUTES};

use super::status::Reason;
use crate::nodepool::waits::Limited;

impl Limited for Reason {
    fn limit(self) -> Limit {
        match self {
            Self::DataSecretMissing => Limit::minutes(
                10,
                "Give the NodePool its bootstrap data: the Secret user-data-NODEPOOL with the key value.",
            ),
            Self::DoesNotExist => Limit::minutes(
                10,
                "The condition Ready of its NodePool shows why; or delete the Machine, so that another takes its place.",
            ),
            Self::NotReady => Limit::minutes(
                INSTALLATION_MINUTES,
                "The Events of the AgentMachine and its Agent show what the host waits for. To take another host, delete the Machine.",
            ),
            Self::NodeDoesNotExist | Self::NodeNotHealthy | Self::NodeHealthyUnknown => Limit::minutes(
                NODE_MINUTES,
                "Look at the Node in its cluster, and at the console of its host. To replace it, delete the Machine.",
            ),
            Self::InPlaceUpdating => Limit::minutes(
                INSTALLATION_MINUTES,
                "The conditions of the AgentMachine and its Agent show what the host waits for; a drain ends with the NodePool's nodeDrainTimeout. To take another host, delete the Machine.",
            ),
            Self::ConnectionDown => Limit::minutes(
                10,
                "See that the cluster's API is up and that the kubeconfig of the HostedCluster is good.",
            ),
            Self::WaitingForPreDrainHook => Limit::minutes(
                60,
                "Who set the annotation takes it away; if nobody is left who does, take it away by hand.",
            ),
            Self::DrainingNode => Limit::minutes(
                60,
                "See what keeps the pods; set the NodePool's nodeDrainTimeout to end the wait for them.",
            ),
            // A node that returns by itself takes two steps, each with a limit of an hour.
            Self::WaitingForPreTerminateHook | Self::WaitingForInfrastructureDeletion => Limit::minutes(
                120,
                "The condition Deleting of the AgentMachine shows what its host waits for. To give the host up, delete its Agent.",
            ),
            Self::DeletingNode => {
                Limit::minutes(10, "See that the cluster's API is up, and delete the Node there.")
            }
            _ => Limit::minutes(10, ""),
        }
    }
}
