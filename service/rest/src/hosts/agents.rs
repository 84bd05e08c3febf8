//! Operations that agents call.

pub mod agent_program;
pub mod instructions;
pub mod logs_progress;
pub mod progress;
pub mod register;
pub mod reply;
pub mod turn;
