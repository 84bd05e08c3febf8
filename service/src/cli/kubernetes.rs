//! Commands about Kubernetes APIs: definitions, access to the built-in one, finalizers.

pub mod crds;
pub mod kubeconfig;
pub mod uninstall;
