//! Controllers that take Agents for Machines: the infrastructure provider of Cluster API, and node pools without HyperShift.

pub mod capi;
pub mod context;
pub mod images;
pub mod nodepool;

pub use context::{Context, OnlyPool, Pool};
pub use images::{OfferedImages, UnknownImages};
