//! Cluster API's Machines, with versions that the program that embeds the API converts.

use std::sync::Arc;

use muster_kube_api::{Conversion, Conversions};
use muster_resources::cluster_api::conversion::{Kind, convert};
use serde_json::Value;

/// Machines of Cluster API.
#[derive(Debug)]
struct Machines;

impl Conversion for Machines {
    fn convert(&self, object: Value, to: &str) -> Value {
        convert(Kind::Machine, object, to)
    }
}

pub fn conversions() -> Conversions {
    Conversions::default().with("cluster.x-k8s.io", "Machine", Arc::new(Machines))
}

pub fn definition() -> Value {
    let definitions = muster_resources::crds::builtin();
    let is_machine = |definition: &Value| definition["spec"]["names"]["kind"] == "Machine";
    definitions.into_iter().find(is_machine).unwrap()
}
