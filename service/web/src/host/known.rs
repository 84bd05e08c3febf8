//! Reads a host with its surroundings, as its page shows them.

use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::bmc::Bmc;
use muster_api::cluster::{Cluster, IgnoredValidations};
use muster_api::event::Event;
use muster_api::host::{Host, HostLogs, HostStateChange};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::search::FoundHost;
use serde::de::DeserializeOwned;

use super::actions::{Action, After, Done};
use super::{labels, power};
use crate::rest::{Refusal, Visitor};

/// Events that are shown.
const EVENTS: u32 = 50;

/// A host as REST returns it, with its surroundings.
pub struct Known {
    pub host: Host,
    pub summary: FoundHost,
    /// The place in the stream of changes.
    pub revision: String,
    pub at: String,
    pub past: Vec<HostStateChange>,
    pub events: Vec<Event>,
    pub clusters: Vec<Cluster>,
    /// The checks that its cluster ignores.
    pub ignored: IgnoredValidations,
    pub bmc: Option<Bmc>,
    pub logs: HostLogs,
}

impl Known {
    /// # Errors
    /// As REST refuses; 404 if there is no such host.
    pub async fn read(visitor: &Visitor, infra_env_id: InfraEnvId, id: HostId) -> Result<Self, Refusal> {
        let path = path(infra_env_id, id);
        let host: Host = visitor.get(&path).await?;
        let found = visitor
            .hosts(&format!("id:{id} pool:{infra_env_id}"), 1, "")
            .await?;
        let Some(summary) = found.hosts.into_iter().next() else {
            return Err(visitor.refusal(StatusCode::NOT_FOUND, format!("host {id} was not found")));
        };
        let events =
            format!("/events?infra_env_id={infra_env_id}&host_id={id}&order=descending&limit={EVENTS}");
        let ignored = match host.cluster_id {
            Some(cluster) => part(visitor, &format!("/clusters/{cluster}/ignored-validations")).await?,
            None => IgnoredValidations::default(),
        };
        // The list of all BMCs is long.
        let bmc = match summary.bmc {
            Some(_) => power::bmc_of(visitor, infra_env_id, id).await?,
            None => None,
        };
        Ok(Self {
            summary,
            revision: found.revision,
            at: found.at,
            past: visitor.get(&format!("{path}/history")).await?,
            events: visitor.get(&events).await?,
            // A token for one InfraEnv sees no clusters.
            clusters: part(visitor, "/clusters").await?,
            ignored,
            bmc,
            logs: part(visitor, &format!("{MUSTER_PATH}{path}/logs")).await?,
            host,
        })
    }

    /// The action that was carried out.
    pub fn done(&self, action: Action, removed: &[String]) -> Done {
        let present = labels::read(&self.host.node_labels);
        let removed: Vec<String> = removed
            .iter()
            .filter(|key| !present.contains_key(*key))
            .cloned()
            .collect();
        let after = After {
            host: &self.host,
            cluster: &self.summary.cluster,
            bmc: self.bmc.as_ref(),
            ignored: &self.ignored,
            has_agent: self.summary.approved.is_some(),
            removed: &removed,
        };
        after.done(action)
    }
}

/// The path of a host in REST.
pub fn path(infra_env_id: InfraEnvId, id: HostId) -> String {
    format!("/infra-envs/{infra_env_id}/hosts/{id}")
}

/// `GET` of a part that the visitor's token may not show, or that was deleted meanwhile: it is empty then.
async fn part<T: DeserializeOwned + Default>(visitor: &Visitor, path: &str) -> Result<T, Refusal> {
    let unseen = [StatusCode::FORBIDDEN, StatusCode::NOT_FOUND];
    Ok(visitor.get_unless(&unseen, path).await?.unwrap_or_default())
}
