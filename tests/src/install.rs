//! Installations: the images that are written to disks, and Ignition configs, with their server and their parser.

pub mod cloud;
pub mod cloud_init;
pub mod disk_image;
pub mod ignition_parser;
pub mod ignition_server;
pub mod partitions;
pub mod provider_data;
pub mod sectors;
pub mod target;
