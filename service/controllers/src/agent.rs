//! Reconciles Agents: one custom resource a host. Source: docs/protocol/kube-controllers.md#3, §4 and §5.
//!
//! Hosts register without an Agent, so a host that changed first gets its Agent ([`lifecycle::creation`]); then the Agent
//! is reconciled as any other object ([`reconcile`]). A reconcile reads the host once, reads nothing from the
//! API server that the watch has shown, and writes only differences: an Agent costs two to three writes from
//! registration to its inventory.
//!
//! | file | what |
//! |---|---|
//! | `run`, `lanes` | two kube controllers over one cache: for users' requests and for all else |
//! | `triggers` | what requests a reconcile |
//! | `cache`, `cached` | Agents as last seen, without what is large |
//! | `desired`, `metadata` | the Agent without its status |
//! | `patch` | the parts of it to write |
//! | `spec/edits`, `membership` | spec to host, decided |
//! | `spec/host_side`, `token`, `hold` | spec to host, done; the start of an installation |
//! | `spec/reboot`, `rebooting` | the reboot of an installed host, requested by an annotation |
//! | `spec/mirrored` | host to spec, where REST made the InfraEnv |
//! | `status/conditions`, `words`, `inventory`, `links` | its status |
//! | `status/wait` | the reason of a wait, for Events |
//! | `lifecycle/creation`, `refused` | Agents of new hosts; those that the API server refuses |
//! | `lifecycle/gone`, `restore`, `orphans` | hosts without Agents, Agents without hosts, hosts without an InfraEnv |
//! | `lifecycle/reclaim` | nodes whose Agent is deleted |
//!
//! Where this differs on purpose from what docs/protocol/kube-controllers.md describes:
//!
//! - An Agent is made with its labels, annotations, approval and finalizer, and not changed into that by
//!   writes that follow.
//! - A setting that cannot be accepted is reported in `SpecSynced`, and the others of the same spec are
//!   accepted nevertheless. A disk that is chosen before the host has reported its disks waits for them.
//! - A machine that registers in another InfraEnv of the namespace leaves a host that is in a cluster, has a key, or polled within 90
//!   seconds, where it is: it gets a host and an Agent of its own in addition, or waits.
//! - `clusterDeploymentName` of a host that is not fit yet waits (`BackendError`) and is followed as soon as
//!   the host is known. The label with the ClusterDeployment's namespace is set when the host is bound, not
//!   when it has registered again.
//! - A host that is being added to a cluster can be taken out of it: its installation is cancelled first.
//! - `fencingCredentialsSecretRef` is an `InputError`: fencing is for clusters that are not installed here.
//! - Installed nodes are not reclaimed by a pod on the cluster, but by Muster's agent on the node; nodes without it wait for a user to boot
//!   them.
//! - An installed node whose Agent is deleted is reclaimed before it is forgotten, under the conditions under which another implementation
//!   removes it from its cluster; an Event of the InfraEnv names a node that cannot be reclaimed. The Node itself is left to its cluster.
//! - `holdInstallation` holds hosts that are added to a cluster, too, and a host whose spec is not followed completely is not installed.
//! - A restored host is validated again from its inventory; one that was in the middle of an installation is
//!   restored as `error`.
//! - Empty lists of the inventory's annotation are lists, never `null`.

pub mod cache;
pub mod cached;
pub mod desired;
pub mod lanes;
pub mod lifecycle;
pub mod metadata;
pub mod patch;
mod reconcile;
mod run;
pub mod spec;
pub mod status;
mod triggers;

#[cfg(test)]
mod tests;

pub use run::run;
