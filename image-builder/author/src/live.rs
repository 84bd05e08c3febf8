//! Builds and inspects the live ISO (`muster-image live`).

pub mod agent;
pub mod build;
pub mod description;
pub mod inputs;
pub mod inspect;
pub mod options;
pub mod parts;
pub mod record;
