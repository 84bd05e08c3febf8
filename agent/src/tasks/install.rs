//! Installs the host: chooses the disk and nothing else, writes the image to it, puts the ignition where the target
//! reads it, and restarts the machine. Source: docs/protocol/install-flow.md#2.
//!
//! The first mebibyte of the disk, which makes it bootable, is written last: whatever ends an installation earlier, the
//! disk does not boot and the host can be discovered again.

pub mod arguments;
pub mod boot;
pub mod control;
pub mod coreos_installer;
pub mod disk;
pub mod error;
pub mod ignition;
pub mod image;
pub mod loop_device;
pub mod progress;
pub mod request;
pub mod retry;
pub mod seed;
pub mod sequence;
pub mod tools;
pub mod waiting;
pub mod writing;
