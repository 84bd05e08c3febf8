//! What a person in front of the machine sees: a screen on a display, lines on a serial line.

pub mod screen;
pub mod terminals;
