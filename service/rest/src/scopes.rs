//! Limits a caller to the scope of its token.

use std::sync::Arc;

use muster_api::ids::{ClusterId, InfraEnvId};
use muster_http::{Caller, Problem};
use muster_operations::Operations;
use muster_operations::auth::UrlPurpose;
use muster_operations::hosts::Hosts;
use muster_operations::infra_envs::InfraEnvs;

/// The InfraEnv to which a user is limited; `None`: it sees everything.
pub fn scope_of(caller: Caller) -> Option<InfraEnvId> {
    match caller {
        Caller::Anybody | Caller::Operator | Caller::Cluster { .. } => None,
        Caller::OperatorOf(id) | Caller::InfraEnv(id) | Caller::InfraEnvUrl(id) => Some(id),
    }
}

/// Reads scopes.
#[derive(Clone)]
pub struct Scopes {
    infra_envs: Arc<InfraEnvs>,
    hosts: Arc<Hosts>,
}

impl Scopes {
    /// The scopes of a service.
    pub fn of(operations: &Operations) -> Self {
        Self {
            infra_envs: operations.infra_envs.clone(),
            hosts: operations.hosts.clone(),
        }
    }

    /// The InfraEnv to which `caller`'s view of this cluster's hosts is limited; `None`: all hosts.
    ///
    /// # Errors
    /// 404 if the caller's token gives no access to the cluster.
    pub async fn of_cluster(&self, caller: Caller, id: ClusterId) -> Result<Option<InfraEnvId>, Problem> {
        let unknown = || Problem::not_found(format!("cluster {id}"));
        let own = match caller {
            Caller::Anybody | Caller::Operator => return Ok(None),
            Caller::Cluster { id: own, url } if own == id && url.purpose == UrlPurpose::Logs => {
                return Ok(None);
            }
            Caller::Cluster { .. } => return Err(unknown()),
            Caller::OperatorOf(own) | Caller::InfraEnv(own) | Caller::InfraEnvUrl(own) => own,
        };
        if self.infra_envs.get(own).await?.cluster_id == Some(id) {
            return Ok(Some(own));
        }
        if self.hosts.are_in_cluster(own, id).await? {
            return Ok(Some(own));
        }
        Err(unknown())
    }
}
