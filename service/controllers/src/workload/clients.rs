//! Caches the clients of workload clusters, by the Secret that holds the kubeconfig.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use muster_core::record::KubeRef;
use muster_resources::ClusterDeployment;

use super::gate::{Gate, behind};
use super::kubeconfig;
use super::secret::{self, Found, Unreachable};

/// A client that nobody asked for in this time is dropped, with its connections.
const IDLE_LIMIT: Duration = Duration::from_secs(600);

/// A workload cluster, as of one version of its kubeconfig.
pub struct Workload {
    /// To its API. Every request has a deadline of [`REQUEST_LIMIT`](super::REQUEST_LIMIT), and fails at once while the
    /// cluster is known not to answer.
    pub client: Client,
    /// The API server's address.
    pub server: String,
    gate: Arc<Gate>,
}

impl Workload {
    /// Since when the cluster has not answered, and why; `None`: it answered the last request.
    pub fn silence(&self) -> Option<String> {
        self.gate.silence().map(|open| open.to_string())
    }
}

/// The workload clusters.
pub struct Workloads {
    hub: Client,
    known: Mutex<HashMap<KubeRef, Known>>,
}

struct Known {
    found: Found,
    workload: Arc<Workload>,
    used: Instant,
}

impl Workloads {
    /// Those whose kubeconfigs are in `hub`.
    pub fn new(hub: Client) -> Self {
        Self {
            hub,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<KubeRef, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cluster of a ClusterDeployment.
    ///
    /// # Errors
    /// When there is no usable kubeconfig.
    pub async fn of_deployment(&self, deployment: &ClusterDeployment) -> Result<Arc<Workload>, Unreachable> {
        self.of_secret(&secret::of_deployment(deployment)).await
    }

    /// The cluster whose kubeconfig is in this Secret (key `kubeconfig`, or Cluster API's `value`). The same as before while
    /// the Secret is the same.
    ///
    /// # Errors
    /// When there is no usable kubeconfig.
    pub async fn of_secret(&self, name: &KubeRef) -> Result<Arc<Workload>, Unreachable> {
        let found = secret::read(&self.hub, name).await.inspect_err(|error| {
            // One that cannot be read now may well be the same afterwards.
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
        let config = kubeconfig::config(found.text.reveal()).map_err(unusable)?;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|_| {
            unusable("its certificates or keys cannot be used; they are PEM in base64".into())
        })?;
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

    /// Drops the client of a cluster that nothing is to be done in any more.
    pub fn forget(&self, name: &KubeRef) {
        self.known().remove(name);
    }
}
