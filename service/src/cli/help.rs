//! Help at the command line: completion, man pages, tips for commands that do not exist.

pub mod completion;
pub mod man;
pub mod tips;
