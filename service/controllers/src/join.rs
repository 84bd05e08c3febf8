//! Brings installed hosts into their cluster as nodes: approves the certificates of their kubelets, finds their Nodes, and
//! sends the last stages of the installation. Source: docs/protocol/install-flow.md#10 and docs/protocol/kube-controllers.md#4.7.
//!
//! While hosts are joining a cluster, one task watches its Nodes and CertificateSigningRequests; otherwise nothing asks it.
//! What was approved is in the Agent's `status.csrStatus`, and everything else is read anew, so that a restart loses nothing.
//!
//! | file | what |
//! |---|---|
//! | `run`, `roster` | which hosts are joining, and one task a cluster |
//! | `cluster`, `view` | the watches of one cluster, and what they showed |
//! | `crew` | its hosts, looked at after each change |
//! | `assess` | what is to be done for a host: pure |
//! | `csr`, `request`, `node`, `times` | the rules for certificate requests and Nodes: pure |
//! | `act` | what is done in the cluster |
//! | `words`, `told` | what is awaited, in words, for conditions and Events |
//!
//! Where this differs on purpose from what docs/protocol/kube-controllers.md describes:
//!
//! - Requests of bootstrap tokens are approved as those of OpenShift's node-bootstrapper are, so that plain Kubernetes works.
//! - Addresses in a serving certificate must be the host's own, and a client certificate is approved only until the node has joined.
//! - A Node of an earlier installation is not taken for the new one.
//! - A node that is ready and asks for no serving certificate within half a minute is done: not every kubelet asks.
//! - Node labels are set as soon as the Node is there.

mod act;
mod assess;
mod cluster;
mod crew;
mod csr;
mod node;
mod request;
mod roster;
mod run;
mod times;
pub mod told;
mod view;
mod words;

pub use run::run;
