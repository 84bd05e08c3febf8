//! The steps that this agent can do, one file each. A new step is a file here and a line in [`Registry::standard`];
//! those that Muster's own service never asks for are in [`crate::foreign::steps`].

pub mod api_vip;
pub mod boot_artifacts;
pub mod connectivity;
mod dependencies;
pub mod domains;
mod handler;
pub mod install;
pub mod inventory;
pub mod logs;
pub mod ntp;
pub mod reboot;
mod registry;
pub mod tang;
pub mod upgrade;

pub use dependencies::Dependencies;
pub(crate) use handler::one_argument;
pub use handler::{EXIT_DEADLINE, EXIT_INTERNAL, Running, StepHandler, StepOutput, StepType};
pub use registry::Registry;
