//! The clock, and the times in which the service could receive no polls.

pub mod clock;
pub mod outages;
