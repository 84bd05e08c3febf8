//! The interface of a step, and the parts of the agent that steps share with it. The steps themselves are in [`crate::session::steps`] and
//! [`crate::foreign::steps`].

mod dependencies;
mod handler;

pub use dependencies::Dependencies;
pub use handler::{EXIT_DEADLINE, EXIT_INTERNAL, Running, StepError, StepHandler, StepOutput, StepType};
pub(crate) use handler::{one_argument, reply};
