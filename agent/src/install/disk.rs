//! Chooses the disk, knows all of its names and users, and cleans it up.

pub mod choose;
pub mod device;
pub mod family;
pub mod mapper;
pub mod raid;
pub mod teardown;
pub mod twins;
pub mod users;
pub mod wipe;
