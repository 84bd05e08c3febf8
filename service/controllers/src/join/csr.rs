//! Decides about certificate signing requests of nodes. Source: docs/protocol/install-flow.md#10.
//!
//! Two sorts matter: the client certificate with which a kubelet becomes a node, and the serving certificate with which it is
//! reached. The rules are stricter than upstream's: a client certificate is approved only until the node has joined, and names and
//! addresses in a serving certificate must be the host's own, not merely those in the Node, which its kubelet reports.

mod refusal;

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::ResourceExt;
use muster_api::time::Timestamp;
use muster_controller::times::timestamp;

pub use self::refusal::CsrRefusal;
use super::own_names::OwnNames;
use super::request::{self, Request, RequestError};

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING_SIGNER: &str = "kubernetes.io/kubelet-serving";
/// Prefix of the user names of nodes.
const NODE_PREFIX: &str = "system:node:";
const NODES: &str = "system:nodes";
const AUTHENTICATED: &str = "system:authenticated";

/// The user that requests client certificates for OpenShift's new nodes.
const NODE_BOOTSTRAPPER: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const NODE_BOOTSTRAPPER_GROUPS: [&str; 3] = [
    "system:serviceaccounts",
    "system:serviceaccounts:openshift-machine-config-operator",
    AUTHENTICATED,
];

/// Prefix of the user names of bootstrap tokens; the token's id follows.
const TOKEN_PREFIX: &str = "system:bootstrap:";
/// The group of all bootstrap tokens, and the prefix of further groups that a token may have.
const TOKEN_GROUP: &str = "system:bootstrappers";

/// The sort of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    Client,
    Serving,
}

impl Sort {
    /// The name in `status.csrStatus`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Serving => "serving",
        }
    }
}

/// The decision on a request, as the conditions of its object show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Pending,
    Approved(Option<Timestamp>),
    /// The request was denied, or its signing failed.
    Refused,
}

/// A request for a node's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    /// Name of the CertificateSigningRequest.
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub sort: Sort,
    /// The node that the certificate is for, as written.
    pub node: String,
    pub decision: Decision,
    pub created: Option<Timestamp>,
    pub user: String,
    groups: BTreeSet<String>,
    usages: BTreeSet<String>,
    /// The content of the request, or the error in it.
    request: Result<Request, RequestError>,
}

/// A host, as far as its node's certificates are concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub hostname: String,
    /// Addresses that the host reported before its installation.
    pub addresses: Vec<IpAddr>,
}

/// The node of a host, as far as its certificates are concerned.
#[derive(Debug, Clone, Copy)]
pub struct NodeNames<'a> {
    pub name: &'a str,
    pub addresses: &'a BTreeSet<IpAddr>,
    /// Addresses of the cluster's other nodes.
    pub of_others: &'a BTreeSet<IpAddr>,
}

/// Reads an object; `None`: the certificate is for no node.
pub fn read(object: &CertificateSigningRequest) -> Option<Csr> {
    let spec = &object.spec;
    let user = spec.username.clone().unwrap_or_default();
    let sort = match spec.signer_name.as_str() {
        CLIENT_SIGNER => Sort::Client,
        SERVING_SIGNER => Sort::Serving,
        _ => return None,
    };
    let request = request::read(&spec.request.0);
    let named = match sort {
        Sort::Client => request
            .as_ref()
            .map_or("", |request| request.common_name.as_str()),
        Sort::Serving => user.as_str(),
    };
    Some(Csr {
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        resource_version: object.resource_version().unwrap_or_default(),
        sort,
        node: named.strip_prefix(NODE_PREFIX).unwrap_or(named).to_owned(),
        decision: decision(object),
        created: object.creation_timestamp().and_then(|time| timestamp(&time)),
        groups: spec.groups.iter().flatten().cloned().collect(),
        usages: spec.usages.iter().flatten().cloned().collect(),
        user,
        request,
    })
}

fn decision(object: &CertificateSigningRequest) -> Decision {
    let conditions = object
        .status
        .iter()
        .flat_map(|status| &status.conditions)
        .flatten();
    let mut decided = Decision::Pending;
    for condition in conditions {
        match condition.type_.as_str() {
            "Denied" | "Failed" => return Decision::Refused,
            "Approved" => {
                let at = condition.last_update_time.as_ref().and_then(timestamp);
                decided = Decision::Approved(at);
            }
            _ => {}
        }
    }
    decided
}

impl Csr {
    /// True if the certificate is for a node of this name. Names of nodes have no capitals, names of hosts may.
    pub fn is_for(&self, hostname: &str) -> bool {
        !hostname.is_empty() && self.node.eq_ignore_ascii_case(hostname)
    }

    /// True if the name of the node has the same first part: one of the two is a full name.
    pub fn is_nearly_for(&self, hostname: &str) -> bool {
        let first = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
        !self.is_for(hostname) && !first(hostname).is_empty() && first(&self.node) == first(hostname)
    }

    /// True if a node renews its own client certificate. Such requests are left to the controllers of its cluster.
    pub fn is_renewal(&self) -> bool {
        self.sort == Sort::Client && self.is_by(&self.node)
    }

    /// True when the node of this name made the request itself.
    pub fn is_by(&self, node: &str) -> bool {
        self.user.strip_prefix(NODE_PREFIX) == Some(node)
    }

    /// Checks that the request may be approved for `host`. `node`: the Node of the host; `None` until the node has joined. `own`: names and
    /// addresses of the cluster's API and services.
    ///
    /// # Errors
    /// Returns the reason why the request must not be approved.
    pub fn check(
        &self,
        host: &Identity,
        node: Option<NodeNames<'_>>,
        own: &OwnNames,
    ) -> Result<(), CsrRefusal> {
        let request = self.request.as_ref().map_err(Clone::clone)?;
        if let Some(odd) = request.oddities.first() {
            return Err(CsrRefusal::Odd(odd.clone()));
        }
        if !self.is_for(&host.hostname) {
            return Err(CsrRefusal::OtherNode {
                node: self.node.clone(),
                hostname: host.hostname.clone(),
            });
        }
        if own.has_name(&self.node) {
            return Err(CsrRefusal::NameOfCluster {
                node: self.node.clone(),
            });
        }
        if request.organisations != [NODES] {
            return Err(CsrRefusal::Organisation {
                found: request.organisations.join(", "),
            });
        }
        match (self.sort, node) {
            (Sort::Client, None) => self.check_client(request),
            (Sort::Client, Some(node)) => Err(CsrRefusal::HasJoined {
                node: node.name.to_owned(),
            }),
            (Sort::Serving, Some(node)) => self.check_serving(request, host, node, own),
            (Sort::Serving, None) => Err(CsrRefusal::NotJoined),
        }
    }

    fn check_client(&self, request: &Request) -> Result<(), CsrRefusal> {
        self.check_common_name(request)?;
        if !(request.dns_names.is_empty() && request.addresses.is_empty()) {
            return Err(CsrRefusal::AlternativeNames);
        }
        self.check_usages("client auth")?;
        self.check_requester()
    }

    /// Checks the whole name, including the prefix.
    fn check_common_name(&self, request: &Request) -> Result<(), CsrRefusal> {
        let wanted = format!("{NODE_PREFIX}{}", self.node);
        if request.common_name == wanted {
            return Ok(());
        }
        Err(CsrRefusal::CommonName {
            found: request.common_name.clone(),
            wanted,
        })
    }

    fn check_usages(&self, wanted: &'static str) -> Result<(), CsrRefusal> {
        let allowed = ["digital signature", "key encipherment", wanted];
        let complete = self.usages.contains("digital signature") && self.usages.contains(wanted);
        if complete && self.usages.iter().all(|usage| allowed.contains(&usage.as_str())) {
            return Ok(());
        }
        let usages: Vec<&str> = self.usages.iter().map(String::as_str).collect();
        Err(CsrRefusal::Usages {
            found: usages.join(", "),
            wanted,
        })
    }

    fn has_group(&self, group: &str) -> bool {
        self.groups.contains(group)
    }

    /// Checks that the requester is OpenShift's node-bootstrapper or a bootstrap token of Kubernetes.
    fn check_requester(&self) -> Result<(), CsrRefusal> {
        let refused = |why: &'static str| {
            Err(CsrRefusal::Requester {
                user: self.user.clone(),
                why,
            })
        };
        if self.user == NODE_BOOTSTRAPPER {
            let wanted: BTreeSet<String> = NODE_BOOTSTRAPPER_GROUPS.map(str::to_owned).into();
            if self.groups == wanted {
                return Ok(());
            }
            return refused("whose groups are not those of the node-bootstrapper");
        }
        let Some(id) = self.user.strip_prefix(TOKEN_PREFIX) else {
            return refused("which is neither OpenShift's node-bootstrapper nor a bootstrap token");
        };
        let is_id = id.len() == 6
            && id
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let is_own = |group: &String| {
            group == AUTHENTICATED
                || group == TOKEN_GROUP
                || group
                    .strip_prefix(TOKEN_GROUP)
                    .is_some_and(|rest| rest.len() > 1 && rest.starts_with(':'))
        };
        if !is_id {
            return refused("which is no bootstrap token's name");
        }
        if !(self.has_group(TOKEN_GROUP) && self.has_group(AUTHENTICATED) && self.groups.iter().all(is_own)) {
            return refused("whose groups are not those of a bootstrap token");
        }
        Ok(())
    }

    fn check_serving(
        &self,
        request: &Request,
        host: &Identity,
        node: NodeNames<'_>,
        own: &OwnNames,
    ) -> Result<(), CsrRefusal> {
        let wanted = format!("{NODE_PREFIX}{}", node.name);
        if self.user != wanted {
            return Err(CsrRefusal::OtherRequester {
                user: self.user.clone(),
                wanted,
            });
        }
        self.check_common_name(request)?;
        if !(self.has_group(NODES) && self.has_group(AUTHENTICATED)) {
            return Err(CsrRefusal::Groups);
        }
        self.check_usages("server auth")?;
        if request.dns_names.is_empty() && request.addresses.is_empty() {
            return Err(CsrRefusal::Nameless);
        }
        let mut names = request.dns_names.iter();
        if let Some(name) = names.find(|name| !is_name_of(name, host, node, own)) {
            return Err(CsrRefusal::Name {
                name: name.clone(),
                node: node.name.to_owned(),
            });
        }
        for address in &request.addresses {
            if !node.addresses.contains(address) {
                return Err(CsrRefusal::NotOfNode(*address));
            }
            check_address(*address, host, node, own)?;
        }
        Ok(())
    }
}

/// True for the name of the node or of the host, or the host's name below the cluster's domain. Names in the status of the Node do not
/// count, since its kubelet reports them.
fn is_name_of(name: &str, host: &Identity, node: NodeNames<'_>, own: &OwnNames) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let is_own =
        is(node.name) || is(&host.hostname) || own.full_name(&host.hostname).is_some_and(|full| is(&full));
    is_own && !own.has_name(name)
}

/// Checks that the host had the address when its installation was requested. An address that DHCP assigned later is refused, since it
/// cannot be distinguished from a forged one.
fn check_address(
    address: IpAddr,
    host: &Identity,
    node: NodeNames<'_>,
    own: &OwnNames,
) -> Result<(), CsrRefusal> {
    if own.has_address(address) {
        return Err(CsrRefusal::AddressOfCluster(address));
    }
    if node.of_others.contains(&address) {
        return Err(CsrRefusal::AddressOfOther(address));
    }
    if host.addresses.contains(&address) {
        return Ok(());
    }
    Err(CsrRefusal::NotReported(address))
}

#[cfg(test)]
mod tests;
