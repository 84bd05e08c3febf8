//! Why a request for a certificate must not be approved.

use std::net::IpAddr;

use super::{AUTHENTICATED, NODES, RequestError};

/// The reason why a request must not be approved, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CsrRefusal {
    #[error(transparent)]
    Unreadable(#[from] RequestError),
    /// A part that no kubelet's request has.
    #[error("{0}")]
    Odd(String),
    #[error("it is for the node {node:?}, and the host is called {hostname:?}")]
    OtherNode { node: String, hostname: String },
    #[error("{node:?} is a name of the cluster's API or services")]
    NameOfCluster { node: String },
    #[error("its organisation is {found:?} instead of {nodes}", nodes = NODES)]
    Organisation { found: String },
    #[error("the node {node} has already joined with a certificate of its own")]
    HasJoined { node: String },
    #[error("its node has not joined yet")]
    NotJoined,
    #[error("it has alternative names, and a client certificate of a node has none")]
    AlternativeNames,
    #[error("its common name is {found:?} instead of {wanted:?}")]
    CommonName { found: String, wanted: String },
    #[error("its usages are {found:?} instead of digital signature and {wanted}")]
    Usages { found: String, wanted: &'static str },
    #[error("it was made by {user:?}, {why}")]
    Requester { user: String, why: &'static str },
    #[error("it was made by {user:?} instead of {wanted}")]
    OtherRequester { user: String, wanted: String },
    #[error("its requester is not in the groups {nodes} and {authenticated}", nodes = NODES, authenticated = AUTHENTICATED)]
    Groups,
    #[error("it has neither a name nor an address")]
    Nameless,
    #[error("its name {name:?} is neither the node's, {node:?}, nor the one below the cluster's domain")]
    Name { name: String, node: String },
    #[error("its address {0} is not one of the node's")]
    NotOfNode(IpAddr),
    #[error("its address {0} is one of the cluster's API or services")]
    AddressOfCluster(IpAddr),
    #[error("its address {0} is another node's")]
    AddressOfOther(IpAddr),
    #[error("its address {0} is none that the host reported before its installation")]
    NotReported(IpAddr),
}
