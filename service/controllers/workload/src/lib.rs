//! Provides clients of workload clusters: the clusters that hosts become nodes of.
//!
//! A workload cluster is reached with the kubeconfig that its ClusterDeployment names. It may be dead, slow or hostile, and
//! must affect only itself then: each request has a deadline and a limit on its response, few run at a time, and a cluster that
//! does not respond is tried again at growing intervals.
//!
//! | file | what |
//! |---|---|
//! | `kubeconfig` | a kubeconfig as a configuration, without parts that would run programs or read files here |
//! | `connection` | a client that connects to allowed addresses only |
//! | `answers` | whether a server answers at an address that is to be free |
//! | `circuit` | the time of the next request to a cluster that does not respond |
//! | `gate` | deadline, limits and circuit around one cluster's client |
//! | `secret` | the Secret with the kubeconfig |
//! | `clients` | clients by Secret, cached |
//! | `node` | Nodes, without what changes all the time |
//! | `node_settings` | labels and taints of Nodes |
//! | `in_place` | upgrades in place, and the Node of the former system |
//! | `drain` | drains a Node |

mod answers;
mod circuit;
mod clients;
mod connection;
pub mod drain;
mod gate;
pub mod in_place;
mod kubeconfig;
pub mod node;
pub mod node_settings;
mod secret;

pub use clients::{Workload, Workloads};
pub use gate::REQUEST_LIMIT;
pub use kubeconfig::KubeconfigError;
pub use secret::Unreachable;

#[cfg(test)]
mod tests;
