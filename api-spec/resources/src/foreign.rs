//! Kinds that others own, with the members that are used here.

pub mod cluster_api;
pub mod cluster_deployment;
pub mod cluster_image_set;
pub mod hypershift;
pub mod metal3;
