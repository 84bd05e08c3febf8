//! Names a record that changed, in the outbox and in notifications.

use muster_api::ids::{BmcId, ClusterId, HostId, InfraEnvId, JobId};

/// A record that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    Host {
        infra_env_id: InfraEnvId,
        id: HostId,
    },
    InfraEnv(InfraEnvId),
    /// A cluster, or the data that its hosts need of each other.
    Cluster(ClusterId),
    Bmc(BmcId),
    /// A job over many hosts; never in the outbox.
    Job {
        /// The InfraEnv that its token opens; `None`: everything.
        infra_env_id: Option<InfraEnvId>,
        id: JobId,
    },
}

impl Subject {
    pub(crate) fn columns(self) -> (&'static str, String) {
        match self {
            Self::Host { infra_env_id, id } => ("host", format!("{infra_env_id}/{id}")),
            Self::InfraEnv(id) => ("infra_env", id.to_string()),
            Self::Cluster(id) => ("cluster", id.to_string()),
            Self::Bmc(id) => ("bmc", id.to_string()),
            Self::Job {
                infra_env_id: Some(infra_env_id),
                id,
            } => ("job", format!("{infra_env_id}/{id}")),
            Self::Job {
                infra_env_id: None,
                id,
            } => ("job", id.to_string()),
        }
    }

    pub(crate) fn from_columns(kind: &str, key: &str) -> Option<Self> {
        match kind {
            "host" => {
                let (infra_env_id, id) = key.split_once('/')?;
                Some(Self::Host {
                    infra_env_id: infra_env_id.parse().ok()?,
                    id: id.parse().ok()?,
                })
            }
            "infra_env" => key.parse().ok().map(Self::InfraEnv),
            "cluster" => key.parse().ok().map(Self::Cluster),
            "bmc" => key.parse().ok().map(Self::Bmc),
            "job" => Some(match key.split_once('/') {
                Some((infra_env_id, id)) => Self::Job {
                    infra_env_id: Some(infra_env_id.parse().ok()?),
                    id: id.parse().ok()?,
                },
                None => Self::Job {
                    infra_env_id: None,
                    id: key.parse().ok()?,
                },
            }),
            _ => None,
        }
    }
}
