//! Runs one task for each cluster that hosts are joining, and none for the others.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use muster_api::host::HostStatus;
use muster_api::ids::ClusterId;
use muster_core::record::KubeRef;
use muster_operations::chain;
use muster_operations::records::{HostForm, StoreError};
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::assess::is_joining;
use super::cluster;
use super::queue::{Key, Queue};
use crate::context::Context;

/// Between two queries of a database that does not respond, and before a task that panicked is restarted.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Changed hosts that are read by one statement.
const AT_ONCE: usize = 32;

/// States in which hosts can be joining.
const STATUSES: [HostStatus; 2] = [
    HostStatus::InstallingInProgress,
    HostStatus::InstallingPendingUserAction,
];

/// Runs until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    // Subscribed before anything is read: no change from here on is missed.
    let mut changed = pin!(context.changes.subscribe_hosts().ready_chunks(AT_ONCE));
    let mut clusters = Clusters {
        context: context.clone(),
        running: HashMap::new(),
        of_host: HashMap::new(),
        tasks: JoinSet::new(),
    };
    let listed = async {
        loop {
            match context.operations.hosts.keys_in(&STATUSES).await {
                Ok(keys) => return keys,
                Err(error) => retry_later(&error).await,
            }
        }
    };
    let listed = tokio::select! {
        keys = listed => keys,
        () = stop.cancelled() => return,
    };
    for keys in listed.chunks(AT_ONCE) {
        clusters.look_at(keys).await;
    }
    loop {
        tokio::select! {
            Some(keys) = changed.next() => clusters.look_at(&keys).await,
            Some(ended) = clusters.tasks.join_next_with_id() => clusters.ended(ended).await,
            () = stop.cancelled() => break,
        }
    }
    clusters.tasks.shutdown().await;
}

async fn retry_later(error: &StoreError) {
    tracing::warn!(error = chain(error), "joining hosts cannot be read; trying again");
    sleep(RETRY_INTERVAL).await;
}

/// The tasks, by cluster.
struct Clusters {
    context: Arc<Context>,
    running: HashMap<ClusterId, (Arc<Queue>, AbortHandle)>,
    of_host: HashMap<Key, ClusterId>,
    tasks: JoinSet<()>,
}

impl Clusters {
    /// Handles changed hosts. A host that cannot be read does not count as joining; the error is reported where the host is shown.
    async fn look_at(&mut self, keys: &[Key]) {
        let hosts = loop {
            match self.context.operations.hosts.read(keys, HostForm::Brief).await {
                Ok(found) => break found,
                Err(error) => retry_later(&error).await,
            }
        };
        let joining: HashMap<Key, ClusterId> = hosts
            .iter()
            .filter(|host| is_joining(&host.state, &host.data, host.cluster_id))
            .filter_map(|host| Some(((host.infra_env_id, host.id), host.cluster_id?)))
            .collect();
        for key in keys {
            self.joins(*key, joining.get(key).copied()).await;
        }
    }

    /// Records the cluster that the host joins now.
    async fn joins(&mut self, key: Key, cluster: Option<ClusterId>) {
        let before = match cluster {
            Some(cluster) => self.of_host.insert(key, cluster),
            None => self.of_host.remove(&key),
        };
        if before != cluster
            && let Some(before) = before
        {
            self.leave(before, key).await;
        }
        if let Some(cluster) = cluster {
            self.queue(cluster).add(key);
        }
    }

    async fn leave(&mut self, cluster: ClusterId, key: Key) {
        if let Ok(Some(infra_env)) = self.context.operations.infra_envs.find(key.0).await
            && let Some(kube) = &infra_env.kube
        {
            let agent = KubeRef::new(&kube.namespace, key.1.to_string());
            self.context.joining.set(&agent, None);
        }
        let Some((queue, task)) = self.running.get(&cluster) else {
            return;
        };
        if queue.remove(key) {
            task.abort();
            self.running.remove(&cluster);
        }
    }

    fn queue(&mut self, cluster: ClusterId) -> Arc<Queue> {
        if let Some((queue, _)) = self.running.get(&cluster) {
            return queue.clone();
        }
        let queue = Arc::new(Queue::default());
        self.start(cluster, queue.clone());
        queue
    }

    fn start(&mut self, cluster: ClusterId, queue: Arc<Queue>) {
        let task = cluster::run(self.context.clone(), cluster, queue.clone());
        let handle = self.tasks.spawn(task);
        self.running.insert(cluster, (queue, handle));
    }

    /// Handles the end of a task. Only a task that panicked has hosts left.
    async fn ended(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let broken = self.running.iter().find(|(_, (_, task))| task.id() == id);
        let Some((&cluster, (queue, _))) = broken else {
            return;
        };
        tracing::error!(cluster.id = %cluster, ?ended, "the task of a workload cluster broke; it is restarted");
        let queue = queue.clone();
        for host in queue.hosts() {
            queue.add(host);
        }
        sleep(RETRY_INTERVAL).await;
        self.start(cluster, queue);
    }
}
