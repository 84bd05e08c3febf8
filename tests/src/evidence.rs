//! Evidence: output of programs and consoles, what an agent sent, the reason of a failure when it happens.

pub mod failures;
pub mod recorder;
pub mod transcript;
