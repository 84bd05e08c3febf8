//! Stores the membership of a host in a cluster, with the part of the host that the cluster's other hosts need.

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{Host, Peer};
use muster_core::rules::findings::matters_to_others;
use muster_core::rules::peer::peer;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::change::note_change;
use crate::cluster::HOLDS_CLUSTER;
use crate::error::{StoreError, failed};
use crate::notify::PendingChanges;
use crate::row::{Json, Reading, document};
use crate::subject::Subject;

/// A host's place in a cluster, as it is stored.
pub(super) struct Membership {
    cluster_id: ClusterId,
    peer: Peer,
    /// True while the host is being installed, for which the cluster must not be deleted.
    installing: bool,
}

impl Membership {
    pub(super) fn of(host: &Host) -> Option<Self> {
        host.cluster_id.map(|cluster_id| Self {
            cluster_id,
            peer: peer(host),
            installing: HOLDS_CLUSTER.contains(&host.state.status()),
        })
    }
}

/// Writes the change of a host's membership, and publishes a change of each cluster that it joined, left or is different in.
///
/// # Errors
/// `Missing` when it joins a cluster that is not there, or begins to be installed into one that is deleted.
pub(super) async fn write(
    transaction: &mut Transaction<'static, Any>,
    pending: &mut PendingChanges,
    (infra_env_id, id): (InfraEnvId, HostId),
    now: Option<Membership>,
    at: Timestamp,
) -> Result<()> {
    let row = sqlx::query(
        "SELECT infra_env_id, host_id, cluster_id, peer FROM cluster_members WHERE host_id = $1 AND infra_env_id = $2",
    )
    .bind(id.to_string())
    .bind(infra_env_id.to_string())
    .fetch_optional(&mut **transaction)
    .await
    .map_err(failed("reading a host's cluster"))?;
    let before = match &row {
        Some(row) => {
            let reading = Reading::new(row, "cluster_members", &["infra_env_id", "host_id"]);
            // One that an older version of Muster wrote counts as different.
            let peer = reading.get::<Json<Peer>>("peer").ok().map(|document| document.0);
            Some((reading.get::<ClusterId>("cluster_id")?, peer))
        }
        None => None,
    };
    let mut touched = Vec::new();
    match (before, now) {
        (None, None) => {}
        (Some((left, _)), None) => {
            sqlx::query("DELETE FROM cluster_members WHERE host_id = $1 AND infra_env_id = $2")
                .bind(id.to_string())
                .bind(infra_env_id.to_string())
                .execute(&mut **transaction)
                .await
                .map_err(failed("taking a host out of a cluster"))?;
            touched.push(Touch::left(left));
        }
        (Some((same, Some(peer))), Some(now)) if same == now.cluster_id && peer == now.peer => {}
        (before, Some(now)) => {
            sqlx::query(
                "INSERT INTO cluster_members (host_id, infra_env_id, cluster_id, peer) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (host_id, infra_env_id) DO UPDATE SET cluster_id = excluded.cluster_id, peer = excluded.peer",
            )
            .bind(id.to_string())
            .bind(infra_env_id.to_string())
            .bind(now.cluster_id.to_string())
            .bind(document("cluster_members", "peer", &now.peer)?)
            .execute(&mut **transaction)
            .await
            .map_err(failed("storing a host's cluster"))?;
            let (stayed, left) = match before {
                Some((same, peer)) if same == now.cluster_id => (Some(peer), None),
                Some((left, _)) => (None, Some(left)),
                None => (None, None),
            };
            touched.extend(left.map(Touch::left));
            touched.push(Touch {
                cluster_id: now.cluster_id,
                must_live: now.installing || stayed.is_none(),
                matters: stayed
                    .flatten()
                    .is_none_or(|before| matters_to_others(Some(&before), Some(&now.peer))),
            });
        }
    }
    // In one order everywhere, so that two writers never wait for each other.
    touched.sort_unstable_by_key(|touch| touch.cluster_id);
    for touch in touched {
        touch.write(transaction, pending, at).await?;
    }
    Ok(())
}

/// A change of the hosts of a cluster.
struct Touch {
    cluster_id: ClusterId,
    /// The cluster must not be deleted.
    must_live: bool,
    /// Its other hosts have to be validated again.
    matters: bool,
}

impl Touch {
    fn left(cluster_id: ClusterId) -> Self {
        Self {
            cluster_id,
            must_live: false,
            matters: true,
        }
    }

    async fn write(
        &self,
        transaction: &mut Transaction<'static, Any>,
        pending: &mut PendingChanges,
        at: Timestamp,
    ) -> Result<()> {
        let alive = if self.must_live {
            " AND deleted_at IS NULL"
        } else {
            ""
        };
        let sql = format!(
            "UPDATE clusters SET members_version = members_version + 1 WHERE id = $1{alive} RETURNING version"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(self.cluster_id.to_string())
            .fetch_optional(&mut **transaction)
            .await
            .map_err(failed("updating the version of a cluster's members"))?;
        let Some(row) = row else {
            if self.must_live {
                return Err(StoreError::Missing {
                    table: "clusters",
                    id: self.cluster_id.to_string(),
                });
            }
            return Ok(());
        };
        if !self.matters {
            return Ok(());
        }
        let version = row.try_get::<i64, _>(0).map_err(failed("reading a version"))?;
        note_change(
            transaction,
            pending,
            Subject::Cluster(self.cluster_id),
            version,
            at,
        )
        .await
    }
}
