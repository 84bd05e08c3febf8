//! Limits of the controllers: kinds that the API server has, namespaces, rights.

pub mod kinds;
pub mod namespaces;
pub mod rights;
