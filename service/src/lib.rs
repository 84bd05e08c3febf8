//! The Muster service.

pub mod images;
