//! Decides what a host is, what can happen to it, what follows from it, and which input is acceptable.
//!
//! Three storeys, each sees only those below it: `record` (what is stored), `rules` (checks, findings, disks, requirements,
//! ignition, acceptable input), `lifecycle` (events change a record; views and instructions follow from it).
//! No I/O, no clock, no randomness: time and random values are parameters. Cargo keeps it so: this crate
//! sees no tokio, sqlx, kube, axum or reqwest.

mod json;
pub mod lifecycle;
pub mod record;
pub mod rules;
pub mod text;

// The paths of before the storeys; they go when their users have moved.
pub mod cluster {
    pub use crate::lifecycle::cluster::{
        Shape, Update, events as news, ignore as ignored, import, update, view,
    };
    pub use crate::record::{Cluster, ClusterData, ClusterTraits};
    pub use crate::rules::peer;
}
pub mod event {
    pub use crate::record::{EventLimits, MAX_MESSAGE, NewEvent};
}
pub mod findings {
    pub use crate::rules::findings::*;
}
pub mod host {
    pub use crate::lifecycle::host::events as news;
    pub use crate::lifecycle::host::*;
    pub use crate::record::{
        Host, HostData, HostReports, HostState, LogsState, NotBooted, Peer, Phase, Progress, Sees,
    };
    pub use crate::rules::facts::{BootArtifacts, ClusterFacts, HostFacts, InstallImages};
    pub use crate::rules::{agent_version, disks, facts, hostname, identity, labels, requirements, stages};
    pub use muster_api::fingerprint::Fingerprint;
    pub use muster_api::host::HostFinding as Finding;
}
pub mod ignition {
    pub use crate::rules::ignition::*;
}
pub mod infra_env {
    pub use crate::lifecycle::infra_env::{
        Unapplied, Update, create, events as news, replace, unapplied_by_live_image, update, view,
    };
    pub use crate::record::{InfraEnv, Settings};
    pub use crate::rules::input::{Invalid, static_network as check_static_network};
    pub use crate::rules::live_config::live_config;
}
pub mod kube {
    pub use crate::record::KubeRef;
}
pub mod secret {
    pub use crate::record::Secret;
}
pub mod validate {
    pub use crate::record::CheckId;
    pub use crate::rules::checks::*;
}
