//! A real Kubernetes: etcd, kube-apiserver and kube-controller-manager as processes of the test, on loopback, and the
//! `kubectl` of the same release; also Cluster API's controllers, and a workload cluster that machines join. `.ci/kube`
//! provides the programs. Source of flags and figures: docs/protocol/kube-lab.md.

mod api;
mod cluster_api;
mod clusterctl;
mod control_plane;
mod health;
mod helm;
mod kubectl;
pub mod list_kind;
mod metal3;
mod played_control_planes;
pub mod played_nodes;
mod pod_node;
mod programs;
mod registry;
mod scheduler;
mod signing;
mod workload;
pub mod world;

pub use api::{Api, KubeServed, control_plane, on_each_api, serve_in_namespaces};
pub use cluster_api::ClusterApi;
pub use clusterctl::Clusterctl;
pub use control_plane::{ControlPlane, SERVICE_ADDRESS, Settings};
pub use health::Health;
pub use helm::Helm;
pub use kubectl::{Kubectl, Output};
pub use metal3::Metal3;
pub use played_control_planes::{MemberWatch, Played, PlayedControlPlanes, PlayedMachine};
pub use pod_node::{PodNode, PodPort};
pub use programs::program;
pub use registry::Registry;
pub use scheduler::Scheduler;
pub use signing::KubeletCertificate;
pub use workload::{CONFIG_LABEL, Workload};
