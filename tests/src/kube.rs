//! A real Kubernetes: etcd, kube-apiserver and kube-controller-manager as processes of the test, on loopback,
//! and the `kubectl` of the same release. `.ci/kube` provides the programs. Source of flags and figures:
//! docs/protocol/kube-lab.md.

mod control_plane;
mod kubectl;
mod programs;

pub use control_plane::{ControlPlane, Settings};
pub use kubectl::{Kubectl, Output};
pub use programs::program;
