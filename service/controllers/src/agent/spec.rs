//! From an Agent's spec to its host: what is to change, decided and done; and back, where REST made the InfraEnv.

mod attempt;
pub mod edits;
mod hold;
pub(super) mod host_side;
pub(super) mod image;
pub mod membership;
pub mod mirrored;
pub mod reboot;
mod rebooting;
pub mod reinstall;
mod reinstalling;
pub(super) mod token;
