//! The database itself: how it is opened and brought up to date, plans of statements, damage, sudden death, a full disk.

mod corruption;
mod crash;
mod opening;
mod plans;
mod releases;
mod space;
