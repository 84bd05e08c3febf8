//! Time: sources, their responses, and (as PID 1) setting the clock.

pub mod agreement;
pub mod clock;
pub mod discipline;
pub mod rtc;
pub mod sources;
