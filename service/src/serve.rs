//! Runs the service: opens everything, prints where it listens, runs until it is told to stop.

mod banner;
mod certificate;
pub mod data_lock;
mod front;
mod last_resort;
mod notify;
mod open;
mod room;
mod run;
mod signals;

pub use open::open_keys;
pub use run::run;
