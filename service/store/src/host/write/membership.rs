//! Stores the membership of a host in a cluster, with the part of the host that the cluster's other hosts need.

use std::collections::{BTreeMap, HashMap};

use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use muster_core::record::{Host, Peer};
use muster_core::rules::cluster_peers::peer;
use muster_core::rules::findings::matters_to_others;
use muster_sql::{Kind, in_parts, push_tuples};
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::cluster::HOLDS_CLUSTER;
use crate::error::{StoreError, failed};
use crate::feed::{PendingChanges, Subject, note_change};
use crate::host::change::{HostKey, Membership};
use crate::row::{Json, Reading, document};

impl Membership {
    pub(super) fn of(host: &Host) -> Option<Self> {
        host.cluster_id.map(|cluster_id| Self {
            cluster_id,
            peer: peer(host),
            installing: HOLDS_CLUSTER.contains(&host.state.status()),
        })
    }
}

/// A host with its place in a cluster from now on.
#[derive(Clone, Copy)]
pub(super) struct Moved<'a> {
    pub(super) key: HostKey,
    pub(super) now: Option<&'a Membership>,
    pub(super) at: Timestamp,
}

/// Writes the changes of hosts' memberships, and publishes a change of each cluster that hosts joined, left or changed in.
///
/// # Errors
/// `Missing` when a host joins a cluster that does not exist, or begins to be installed into a deleted one.
pub(super) async fn write(
    transaction: &mut Transaction<'static, Any>,
    kind: Kind,
    pending: &mut PendingChanges,
    hosts: &[Moved<'_>],
) -> Result<()> {
    let mut before = stored(transaction, kind, hosts).await?;
    let mut changed = Vec::new();
    // Sorted by the same order everywhere, so that two writers never wait for each other.
    let mut touched: BTreeMap<ClusterId, Touch> = BTreeMap::new();
    let mut touch = |cluster_id, one: Touch| {
        touched
            .entry(cluster_id)
            .and_modify(|known: &mut Touch| known.add(one))
            .or_insert(one);
    };
    for host in hosts {
        match (before.remove(&host.key), host.now) {
            (None, None) => {}
            (Some((left, _)), None) => {
                let (infra_env_id, id) = host.key;
                sqlx::query("DELETE FROM cluster_members WHERE host_id = $1 AND infra_env_id = $2")
                    .bind(id.to_string())
                    .bind(infra_env_id.to_string())
                    .execute(&mut **transaction)
                    .await
                    .map_err(failed("taking a host out of a cluster"))?;
                touch(left, Touch::left(host.at));
            }
            (Some((same, Some(peer))), Some(now)) if same == now.cluster_id && peer == now.peer => {}
            (before, Some(now)) => {
                let peer = document("cluster_members", "peer", &now.peer)?;
                changed.push((host.key, now.cluster_id, peer));
                let (stayed, left) = match before {
                    Some((same, peer)) if same == now.cluster_id => (Some(peer), None),
                    Some((left, _)) => (None, Some(left)),
                    None => (None, None),
                };
                if let Some(left) = left {
                    touch(left, Touch::left(host.at));
                }
                let joined = Touch {
                    changes: 1,
                    must_live: now.installing || stayed.is_none(),
                    matters: stayed
                        .flatten()
                        .is_none_or(|before| matters_to_others(Some(&before), Some(&now.peer))),
                    at: host.at,
                };
                touch(now.cluster_id, joined);
            }
        }
    }
    upsert(transaction, kind, &changed).await?;
    for (cluster_id, touch) in touched {
        touch.write(transaction, pending, cluster_id).await?;
    }
    Ok(())
}

/// The clusters of hosts as they are stored. A peer that an older version of Muster wrote counts as different.
async fn stored(
    transaction: &mut Transaction<'static, Any>,
    kind: Kind,
    hosts: &[Moved<'_>],
) -> Result<HashMap<HostKey, (ClusterId, Option<Peer>)>> {
    let mut found = HashMap::new();
    for part in in_parts(hosts) {
        let mut sql = String::from(
            "SELECT infra_env_id, host_id, cluster_id, peer FROM cluster_members WHERE host_id IN ",
        );
        push_tuples(&mut sql, kind, 1, part.len());
        let query = sqlx::query(sqlx::AssertSqlSafe(sql));
        let rows = part
            .iter()
            .fold(query, |query, host| query.bind(host.key.1.to_string()))
            .fetch_all(&mut **transaction)
            .await
            .map_err(failed("reading the clusters of hosts"))?;
        for row in &rows {
            let reading = Reading::new(row, "cluster_members", &["infra_env_id", "host_id"]);
            let key = (reading.get("infra_env_id")?, reading.get("host_id")?);
            if part.iter().any(|host| host.key == key) {
                let peer = reading.get::<Json<Peer>>("peer").ok().map(|document| document.0);
                found.insert(key, (reading.get("cluster_id")?, peer));
            }
        }
    }
    Ok(found)
}

async fn upsert(
    transaction: &mut Transaction<'static, Any>,
    kind: Kind,
    members: &[(HostKey, ClusterId, String)],
) -> Result<()> {
    for part in in_parts(members) {
        let mut sql =
            String::from("INSERT INTO cluster_members (host_id, infra_env_id, cluster_id, peer) VALUES ");
        push_tuples(&mut sql, kind, part.len(), 4);
        sql.push_str(
            " ON CONFLICT (host_id, infra_env_id) DO UPDATE SET cluster_id = excluded.cluster_id, peer = excluded.peer",
        );
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        for ((infra_env_id, id), cluster_id, peer) in part {
            query = query
                .bind(id.to_string())
                .bind(infra_env_id.to_string())
                .bind(cluster_id.to_string())
                .bind(peer.as_str());
        }
        query
            .execute(&mut **transaction)
            .await
            .map_err(failed("storing the clusters of hosts"))?;
    }
    Ok(())
}

/// A change of the hosts of a cluster.
#[derive(Clone, Copy)]
struct Touch {
    /// Changes of members.
    changes: i64,
    /// The cluster must not be deleted.
    must_live: bool,
    /// Its other hosts have to be validated again.
    matters: bool,
    at: Timestamp,
}

impl Touch {
    fn left(at: Timestamp) -> Self {
        Self {
            changes: 1,
            must_live: false,
            matters: true,
            at,
        }
    }

    /// Adds the change of another host.
    fn add(&mut self, other: Self) {
        self.changes += other.changes;
        self.must_live |= other.must_live;
        self.matters |= other.matters;
        self.at = self.at.max(other.at);
    }

    async fn write(
        &self,
        transaction: &mut Transaction<'static, Any>,
        pending: &mut PendingChanges,
        cluster_id: ClusterId,
    ) -> Result<()> {
        let alive = if self.must_live {
            " AND deleted_at IS NULL"
        } else {
            ""
        };
        let sql = format!(
            "UPDATE clusters SET members_version = members_version + $2 WHERE id = $1{alive} RETURNING version"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(cluster_id.to_string())
            .bind(self.changes)
            .fetch_optional(&mut **transaction)
            .await
            .map_err(failed("updating the version of a cluster's members"))?;
        let Some(row) = row else {
            if self.must_live {
                return Err(StoreError::Missing {
                    table: "clusters",
                    id: cluster_id.to_string(),
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
            Subject::Cluster(cluster_id),
            version,
            self.at,
        )
        .await
    }
}
