//! Hands out clients of workload clusters: the clusters that hosts become nodes of.
//!
//! A workload cluster is reached with the kubeconfig that its ClusterDeployment names. It may be dead, slow or hostile, and
//! costs only itself then: each request has a deadline and a limit of what it may answer, few run at a time, and a cluster that
//! does not answer is left alone for longer and longer.
//!
//! | file | what |
//! |---|---|
//! | `kubeconfig` | a kubeconfig as a configuration, without what would run programs or read files here |
//! | `circuit` | when a cluster that does not answer is asked again |
//! | `gate` | deadline, limits and circuit around one cluster's client |
//! | `secret` | where the kubeconfig is |
//! | `clients` | clients by Secret, cached |

mod circuit;
mod clients;
mod gate;
mod kubeconfig;
mod secret;

pub use clients::{Workload, Workloads};
pub use gate::REQUEST_LIMIT;
pub use secret::{Unreachable, check};

#[cfg(test)]
mod tests;
