//! Caches the clients of workload clusters, by the Secret that holds the kubeconfig.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use muster_core::record::KubeRef;
use muster_outgoing::Networks;
use muster_resources::ClusterDeployment;

use super::gate::{Gate, behind};
use super::secret::{self, Found, Unreachable};
use super::{connection, kubeconfig};

/// Time without use after which a client is dropped, with its connections.
const IDLE_LIMIT: Duration = Duration::from_secs(600);

/// A workload cluster, as of one version of its kubeconfig.
pub struct Workload {
    /// Client of the cluster's API. Every request has a deadline of [`REQUEST_LIMIT`](super::REQUEST_LIMIT), and fails at once while the
    /// cluster is known not to respond.
    pub client: Client,
    /// The API server's address.
    pub server: String,
    gate: Arc<Gate>,
}

impl Workload {
    /// The time since which the cluster has not responded, and why; `None`: it responded to the last request.
    pub fn silence(&self) -> Option<String> {
        self.gate.silence().map(|open| open.to_string())
    }
}

/// The workload clusters.
pub struct Workloads {
    hub: Client,
    pub(super) networks: Arc<Networks>,
    known: Mutex<HashMap<KubeRef, Known>>,
}

struct Known {
    found: Found,
    workload: Arc<Workload>,
    used: Instant,
}

impl Workloads {
    /// Returns clients by the kubeconfigs in `hub`, with API servers in `networks`.
    pub fn new(hub: Client, networks: Networks) -> Self {
        Self {
            hub,
            networks: Arc::new(networks),
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<KubeRef, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cluster of a ClusterDeployment.
    ///
    /// # Errors
    /// Fails if there is no usable kubeconfig.
    pub async fn of_deployment(&self, deployment: &ClusterDeployment) -> Result<Arc<Workload>, Unreachable> {
        self.of_secret(&secret::of_deployment(deployment)).await
    }

    /// Returns the cluster of the kubeconfig in this Secret (key `kubeconfig`, or Cluster API's `value`). The same as before while
    /// the Secret is unchanged.
    ///
    /// # Errors
    /// Fails if there is no usable kubeconfig.
    pub async fn of_secret(&self, name: &KubeRef) -> Result<Arc<Workload>, Unreachable> {
        let found = secret::read(&self.hub, name).await.inspect_err(|error| {
            // A Secret that cannot be read now may well be unchanged afterwards.
            if !matches!(error, Unreachable::Hub(..)) {
                self.known().remove(name);
            }
        })?;
        let now = Instant::now();
        {
            let mut known = self.known();
            known.retain(|key, one| key == name || now.duration_since(one.used) < IDLE_LIMIT);
            if let Some(one) = known.get_mut(name)
                && one.found.uid == found.uid
                && one.found.text == found.text
            {
                one.used = now;
                one.found = found;
                return Ok(one.workload.clone());
            }
        }
        let unusable = |why| Unreachable::Kubeconfig(name.clone(), why);
        let read = kubeconfig::config(found.text.reveal(), &self.networks).map_err(unusable)?;
        let server = read.config.cluster_url.to_string();
        let client = connection::client(read, &self.networks).map_err(unusable)?;
        let gate = Arc::new(Gate::default());
        let workload = Arc::new(Workload {
            client: behind(gate.clone(), client),
            server,
            gate,
        });
        let one = Known {
            found,
            workload: workload.clone(),
            used: now,
        };
        self.known().insert(name.clone(), one);
        Ok(workload)
    }

    /// Checks that the Secret of a ClusterDeployment's cluster has a kubeconfig that can be used; no request is sent to the cluster.
    ///
    /// # Errors
    /// Fails if there is no usable kubeconfig.
    pub async fn check(&self, deployment: &ClusterDeployment) -> Result<(), Unreachable> {
        let name = secret::of_deployment(deployment);
        let found = secret::read(&self.hub, &name).await?;
        let usable = kubeconfig::config(found.text.reveal(), &self.networks);
        usable.map(drop).map_err(|why| Unreachable::Kubeconfig(name, why))
    }

    /// Drops the client of a cluster that is not needed any more.
    pub fn forget(&self, name: &KubeRef) {
        self.known().remove(name);
    }
}
