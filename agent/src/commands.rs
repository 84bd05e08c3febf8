//! The subcommands of `muster-agent`, one file each.

pub mod disk_speed;
pub mod erase_disk;
pub mod inventory;
pub mod node;
pub mod run;
pub mod self_check;
mod signals;
pub mod try_out;
pub mod write_image;
