//! The walk from blank machines to nodes and back: the common code of the installation scenarios and `make demo`.

mod api;
mod control_plane;
mod fleet_hosts;
mod host;
mod hub;
mod kubelets;
mod machine_deployment;
mod node_pool;
pub mod objects;
mod story;

pub use api::{Api, nodes_path};
pub use control_plane::{ControlPlaneWalk, Nodes, Observation};
pub use fleet_hosts::FleetHosts;
pub use host::Host;
pub use hub::{HARDWARE, Hub, hostname, name, state, summary};
pub use kubelets::Kubelets;
pub use machine_deployment::{MachineDeploymentWalk, apply_our_crds};
pub use node_pool::{CLUSTERS, NodePoolWalk, POOL};
pub use story::Story;
