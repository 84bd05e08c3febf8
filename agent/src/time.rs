//! Time: which sources there are, what they say, and (as PID 1) setting the clock by them.

pub mod agreement;
pub mod clock;
pub mod discipline;
pub mod sources;
