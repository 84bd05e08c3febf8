//! The console: a full screen on displays, lines on serial consoles.

pub mod screen;
pub mod terminals;
