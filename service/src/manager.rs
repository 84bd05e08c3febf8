//! The provider of Cluster API as a program of its own, `muster manager`: no database, no BMC, no REST. Controllers are
//! [`muster_controllers::manager`].

mod listeners;
mod run;

pub use run::run;
