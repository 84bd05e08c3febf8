//! Decides about certificate signing requests of nodes. Source: docs/protocol/install-flow.md#10.
//!
//! Two sorts matter: the client certificate with which a kubelet becomes a node, and the serving certificate with which it is
//! reached. Stricter than upstream in two points: a client certificate is approved only until the node has joined, and the
//! addresses in a serving certificate must be the host's own, not merely those that the Node claims.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::ResourceExt;
use muster_api::time::Timestamp;

use super::request::{self, Request};
use super::times::timestamp;

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING_SIGNER: &str = "kubernetes.io/kubelet-serving";
/// Begins the user names of nodes.
const NODE_PREFIX: &str = "system:node:";
const NODES: &str = "system:nodes";
const AUTHENTICATED: &str = "system:authenticated";

/// Requests client certificates for OpenShift's new nodes.
const NODE_BOOTSTRAPPER: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const NODE_BOOTSTRAPPER_GROUPS: [&str; 3] = [
    "system:serviceaccounts",
    "system:serviceaccounts:openshift-machine-config-operator",
    AUTHENTICATED,
];

/// Begins the user names of bootstrap tokens; the token's id follows.
const TOKEN_PREFIX: &str = "system:bootstrap:";
/// The group of all bootstrap tokens, and the beginning of those that a token may have besides.
const TOKEN_GROUP: &str = "system:bootstrappers";

/// The sort of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    Client,
    Serving,
}

impl Sort {
    /// As in `status.csrStatus`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Serving => "serving",
        }
    }
}

/// The decision of whoever decides first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Pending,
    Approved(Option<Timestamp>),
    /// Denied, or its signing failed.
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
    /// The node that it is for, as written.
    pub node: String,
    pub decision: Decision,
    pub created: Option<Timestamp>,
    pub user: String,
    groups: BTreeSet<String>,
    usages: BTreeSet<String>,
    /// Or what is wrong with it.
    request: Result<Request, String>,
}

/// A host, as far as its node's certificates are concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub hostname: String,
    /// Addresses that it reported, with their networks.
    pub addresses: Vec<IpNet>,
}

/// The node of a host, as far as its certificates are concerned.
#[derive(Debug, Clone, Copy)]
pub struct NodeNames<'a> {
    pub name: &'a str,
    pub dns_names: &'a BTreeSet<String>,
    pub addresses: &'a BTreeSet<IpAddr>,
    /// Those of the cluster's other nodes.
    pub of_others: &'a BTreeSet<IpAddr>,
}

/// Reads an object; `None`: it is for no node.
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
    /// True when it is for a node of this name. Names of nodes have no capitals, and those of hosts may.
    pub fn is_for(&self, hostname: &str) -> bool {
        !hostname.is_empty() && self.node.eq_ignore_ascii_case(hostname)
    }

    /// True when it is for a node whose name has the same first part: one of the two is a full name.
    pub fn is_nearly_for(&self, hostname: &str) -> bool {
        let first = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
        !self.is_for(hostname) && !first(hostname).is_empty() && first(&self.node) == first(hostname)
    }

    /// True when a node renews its own certificate, which is its cluster's affair.
    pub fn is_renewal(&self) -> bool {
        self.sort == Sort::Client && self.is_by(&self.node)
    }

    /// True when the node of this name made it itself.
    pub fn is_by(&self, node: &str) -> bool {
        self.user.strip_prefix(NODE_PREFIX) == Some(node)
    }

    /// Checks it as the request of a host whose node is `node` (`None`: it has not joined).
    ///
    /// # Errors
    /// A sentence that says why it is not approved.
    pub fn check(&self, host: &Identity, node: Option<NodeNames<'_>>) -> Result<(), String> {
        let request = self.request.as_ref().map_err(Clone::clone)?;
        if let Some(odd) = request.oddities.first() {
            return Err(odd.clone());
        }
        if !self.is_for(&host.hostname) {
            return Err(format!(
                "it is for the node {:?}, and the host is called {:?}",
                self.node, host.hostname
            ));
        }
        if request.organisations != [NODES] {
            return Err(format!(
                "its organisation is {:?} instead of {NODES}",
                request.organisations.join(", ")
            ));
        }
        match (self.sort, node) {
            (Sort::Client, None) => self.check_client(request),
            (Sort::Client, Some(node)) => Err(format!(
                "the node {} has already joined with a certificate of its own",
                node.name
            )),
            (Sort::Serving, Some(node)) => self.check_serving(request, host, node),
            (Sort::Serving, None) => Err("its node has not joined yet".into()),
        }
    }

    fn check_client(&self, request: &Request) -> Result<(), String> {
        self.check_common_name(request)?;
        if !(request.dns_names.is_empty() && request.addresses.is_empty()) {
            return Err("it has alternative names, and a client certificate of a node has none".into());
        }
        self.check_usages("client auth")?;
        self.check_requester()
    }

    /// The whole name, prefix and all.
    fn check_common_name(&self, request: &Request) -> Result<(), String> {
        let wanted = format!("{NODE_PREFIX}{}", self.node);
        if request.common_name == wanted {
            return Ok(());
        }
        Err(format!(
            "its common name is {:?} instead of {wanted:?}",
            request.common_name
        ))
    }

    fn check_usages(&self, wanted: &str) -> Result<(), String> {
        let allowed = ["digital signature", "key encipherment", wanted];
        let complete = self.usages.contains("digital signature") && self.usages.contains(wanted);
        if complete && self.usages.iter().all(|usage| allowed.contains(&usage.as_str())) {
            return Ok(());
        }
        let usages: Vec<&str> = self.usages.iter().map(String::as_str).collect();
        Err(format!(
            "its usages are {:?} instead of digital signature and {wanted}",
            usages.join(", ")
        ))
    }

    fn has_group(&self, group: &str) -> bool {
        self.groups.contains(group)
    }

    /// OpenShift's node-bootstrapper, or a bootstrap token of Kubernetes.
    fn check_requester(&self) -> Result<(), String> {
        let refused = |why: &str| Err(format!("it was made by {:?}, {why}", self.user));
        if self.user == NODE_BOOTSTRAPPER {
            let wanted: BTreeSet<String> = NODE_BOOTSTRAPPER_GROUPS.map(str::to_owned).into();
            if self.groups == wanted {
                return Ok(());
            }
            return refused("with other groups than it has");
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
            return refused("with other groups than a bootstrap token has");
        }
        Ok(())
    }

    fn check_serving(&self, request: &Request, host: &Identity, node: NodeNames<'_>) -> Result<(), String> {
        if self.user != format!("{NODE_PREFIX}{}", node.name) {
            return Err(format!(
                "it was made by {:?} instead of {NODE_PREFIX}{}",
                self.user, node.name
            ));
        }
        self.check_common_name(request)?;
        if !(self.has_group(NODES) && self.has_group(AUTHENTICATED)) {
            return Err(format!(
                "its maker is not in the groups {NODES} and {AUTHENTICATED}"
            ));
        }
        self.check_usages("server auth")?;
        if request.dns_names.is_empty() && request.addresses.is_empty() {
            return Err("it has neither a name nor an address".into());
        }
        if let Some(name) = request
            .dns_names
            .iter()
            .find(|name| !is_name_of(name, host, node))
        {
            return Err(format!("its name {name:?} is not one of the node's"));
        }
        for address in &request.addresses {
            if !node.addresses.contains(address) {
                return Err(format!("its address {address} is not one of the node's"));
            }
            check_address(*address, host, node)?;
        }
        Ok(())
    }
}

fn is_name_of(name: &str, host: &Identity, node: NodeNames<'_>) -> bool {
    name == node.name || name.eq_ignore_ascii_case(&host.hostname) || node.dns_names.contains(name)
}

/// The host reported the address, or one of the same network: DHCP may give the installed system another one. An address of
/// another node is never the host's.
fn check_address(address: IpAddr, host: &Identity, node: NodeNames<'_>) -> Result<(), String> {
    if host.addresses.iter().any(|net| net.addr() == address) {
        return Ok(());
    }
    if node.of_others.contains(&address) {
        return Err(format!("its address {address} is another node's"));
    }
    if host.addresses.iter().any(|net| net.contains(&address)) {
        return Ok(());
    }
    Err(format!(
        "its address {address} is in no network that the host reported"
    ))
}

#[cfg(test)]
mod tests;
