//! Partition tables, and commands to devices below the file systems.

pub mod gpt;
pub mod passthrough;
