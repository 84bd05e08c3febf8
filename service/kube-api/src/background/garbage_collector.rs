//! Deletes the remains of a deletion: owned objects, the content of namespaces, the objects of CRDs.

mod containers;
mod owners;
mod run;
mod work;

pub use run::run;
