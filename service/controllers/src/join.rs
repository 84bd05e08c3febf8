//! Brings installed hosts into their cluster as nodes: approves the certificates of their kubelets, finds their Nodes, and
//! sends the last stages of the installation. Source: docs/protocol/install-flow.md#10 and docs/protocol/kube-controllers.md#4.7.
//!
//! While hosts are joining a cluster, one task watches its Nodes and CertificateSigningRequests; otherwise no request is sent to the
//! cluster. Approvals are stored in the Agent's `status.csrStatus`, and everything else is read again, so that a restart loses nothing.
//!
//! | file | what |
//! |---|---|
//! | `run`, `queue` | the hosts that are joining, and one task for each cluster |
//! | `cluster`, `view` | the watches of one cluster, and the objects that they showed |
//! | `members` | the hosts of one cluster, assessed after each change |
//! | `assess` | the next actions for a host: pure |
//! | `csr`, `request` | the rules for certificate requests: pure |
//! | `pending` | the requests that are not approved, for REST: pure |
//! | `own_names` | names and addresses of the cluster's API and services, for which no node gets a certificate |
//! | `act` | carries the actions out in the cluster |
//! | `words`, `awaited` | what hosts wait for, as text for conditions and Events |
//!
//! Where this differs on purpose from what docs/protocol/kube-controllers.md describes:
//!
//! - Requests of bootstrap tokens are approved as those of OpenShift's node-bootstrapper are, so that plain Kubernetes works.
//! - Names and addresses in a serving certificate must be those that the host had when its installation was requested, never the cluster's.
//! - A client certificate is approved only until the node has joined, and never in the name of a Node whose kubelet is alive or that is
//!   another machine's.
//! - A Node of an earlier installation is not taken for the new one.
//! - A node that is ready and requests no serving certificate within half a minute is complete: not every kubelet requests one.
//! - Node labels are set as soon as the Node exists.

mod act;
mod assess;
pub mod awaited;
mod cluster;
mod csr;
mod members;
mod own_names;
mod pending;
mod queue;
mod request;
mod run;
mod view;
mod words;

pub use run::run;
