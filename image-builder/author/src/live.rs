//! `muster-image live`: the live ISO, built once and reused while its ingredients are the same.

pub mod agent;
pub mod build;
pub mod description;
pub mod inputs;
pub mod inspect;
pub mod options;
pub mod parts;
pub mod record;
