//! Metal3's kinds on a built-in Kubernetes API in this process. The baremetal-operator, InfraEnvs and Agents are simulated.

mod hosts;
mod images;
mod world;
