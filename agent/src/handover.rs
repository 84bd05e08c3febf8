//! Hands over to a newer program of the agent: downloads it from the service, tries it, and becomes it in place, as the same host.

pub mod build;
pub mod error;
pub mod plan;
pub mod prepare;
pub mod successor;
pub mod trial;
