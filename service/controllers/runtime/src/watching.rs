//! Watches, and the triggers of reconciles that come from them.

pub mod debounce;
pub mod own_writes;
pub mod unreadable;
pub mod watch;
pub mod watches;
