//! Polls a Kubernetes API, for which `kubectl` would be too slow in parallel to emulated machines.

use std::time::Duration;

use serde_json::Value;

use crate::condition::await_every;
use crate::http::HttpClient;
use crate::kube::{ControlPlane, Kubectl};

const INTERVAL: Duration = Duration::from_millis(300);
const LIMIT: Duration = Duration::from_secs(20);

/// A client that may read everything.
#[derive(Debug, Clone)]
pub struct Api {
    http: HttpClient,
}

/// Path of the list of Nodes.
pub fn nodes_path() -> &'static str {
    "/api/v1/nodes"
}

impl Api {
    /// A client of the built-in API, with the token of its kubeconfig.
    #[track_caller]
    pub fn built_in(kubectl: &Kubectl) -> Self {
        Self {
            http: kubectl.http().timeout(LIMIT),
        }
    }

    /// A client of a real API server.
    ///
    /// # Panics
    /// If it is gone.
    #[track_caller]
    pub fn real(plane: &ControlPlane) -> Self {
        let authority = std::fs::read(plane.authority()).expect("the control plane wrote its certificate");
        let http = HttpClient::trusting(&plane.url(), &authority);
        Self {
            http: http.timeout(LIMIT).with_token(plane.token()),
        }
    }

    /// Items of a list; empty if there is no such kind (yet).
    ///
    /// # Errors
    /// If the response has another form.
    pub fn list(&self, path: &str) -> Result<Vec<Value>, String> {
        let answer = self.http.try_request("GET", path, None)?;
        match answer.status {
            200 => Ok(answer.json()["items"].as_array().cloned().unwrap_or_default()),
            404 => Ok(Vec::new()),
            status => Err(format!("{path}: {status} {}", answer.text())),
        }
    }

    /// Changes an object of a list by a merge patch; false if the server refuses.
    pub fn merge(&self, list: &str, name: &str, patch: &str) -> bool {
        let http = self.http.with("Content-Type", "application/merge-patch+json");
        let answer = http.try_request("PATCH", &format!("{list}/{name}"), Some(patch.as_bytes()));
        answer.is_ok_and(|answer| answer.status == 200)
    }

    /// Waits until `find` returns a value for a list; its error is the last observation.
    ///
    /// # Panics
    /// After `limit`.
    #[track_caller]
    pub fn await_in<T>(
        &self,
        what: &str,
        path: &str,
        limit: Duration,
        mut find: impl FnMut(&[Value]) -> Result<T, String>,
    ) -> T {
        await_every(INTERVAL, what, limit, || find(&self.list(path)?))
    }
}
