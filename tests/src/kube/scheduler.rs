//! Binds pods to a node, like kube-scheduler with one node and room for all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::control_plane::ControlPlane;
use crate::http::HttpClient;

const INTERVAL: Duration = Duration::from_millis(300);
const UNBOUND: &str = "/api/v1/pods?fieldSelector=spec.nodeName%3D";

/// A scheduler that ends when it is dropped.
pub struct Scheduler {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    last_error: Arc<Mutex<String>>,
}

impl Scheduler {
    /// Binds every pod without a node to that one.
    ///
    /// # Panics
    /// If the control plane's certificate is gone.
    pub fn start(plane: &ControlPlane, node: &str) -> Self {
        let authority = std::fs::read(plane.authority()).expect("the control plane wrote its certificate");
        let client = HttpClient::trusting(&plane.url(), &authority).with_token(plane.token());
        let is_over = Arc::new(AtomicBool::new(false));
        let last_error = Arc::<Mutex<String>>::default();
        let (over, error, node) = (Arc::clone(&is_over), Arc::clone(&last_error), node.to_owned());
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                if let Err(why) = bind_all(&client, &node) {
                    *error.lock().unwrap_or_else(PoisonError::into_inner) = why;
                }
                std::thread::sleep(INTERVAL);
            }
        });
        Self {
            is_over,
            thread: Some(thread),
            last_error,
        }
    }

    /// The last error; empty if there was none.
    pub fn last_error(&self) -> String {
        self.last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn bind_all(client: &HttpClient, node: &str) -> Result<(), String> {
    let answer = client.try_request("GET", UNBOUND, None)?;
    let pods: Value = serde_json::from_slice(&answer.body).map_err(|error| error.to_string())?;
    for pod in pods["items"].as_array().into_iter().flatten() {
        let metadata = &pod["metadata"];
        if metadata["deletionTimestamp"].is_string() {
            continue;
        }
        let (Some(namespace), Some(name)) = (metadata["namespace"].as_str(), metadata["name"].as_str())
        else {
            continue;
        };
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
        let bound = client.try_request("POST", &path, Some(binding.to_string().as_bytes()))?;
        if bound.status != 201 {
            return Err(format!("{name}: {}", bound.text()));
        }
    }
    Ok(())
}
