//! The resources that are served: built-in kinds and those of CRDs, with their rules, versions and columns.

pub mod builtin;
mod conversion;
pub mod crd;
mod event;
mod registry;
mod resource;
mod strategy;
pub mod table;

pub use conversion::{Conversion, Conversions, Converter};
pub use registry::Registry;
pub use resource::{Resource, Scale};
pub use strategy::Strategy;
