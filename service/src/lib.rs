//! The Muster service: wires operations, REST, image streams and controllers into one program.

pub mod addresses;
pub mod authority;
pub mod bmcs;
pub mod builtin_access;
mod builtin_api;
pub mod claimed_file;
pub mod cli;
pub mod image_downloads;
pub mod installation;
pub mod kubernetes;
pub mod listen;
pub mod logging;
pub mod manager;
pub mod requirements;
pub mod retention;
pub mod sealed_objects;
pub mod secrets_key;
pub mod serve;
pub mod settings;
pub mod upkeep;
mod viewers;
