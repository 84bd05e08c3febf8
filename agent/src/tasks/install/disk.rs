//! Chooses the disk, finds all of its names and users, and clears it.

pub mod choose;
pub mod device;
pub mod family;
pub mod mapper;
pub mod raid;
pub mod teardown;
pub mod twins;
pub mod users;
pub mod wipe;
