//! Signs of life: polls of hosts, hosts whose deadline has passed, and beats of replicas.

mod check_in;
mod deadline;
mod replica;

pub use check_in::CheckIn;
pub use deadline::{Due, DueAfter};
pub use replica::{Beats, Replica};
