//! Installations: the image that is written to disks, and Ignition configs, with their server and their parser.

pub mod ignition_parser;
pub mod ignition_server;
pub mod target;
