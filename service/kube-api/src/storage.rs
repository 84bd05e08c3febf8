//! Stores objects in SQLite or PostgreSQL: each write is one revision, and replaced versions stay readable
//! until compaction.

mod batch;
mod change;
mod cipher;
mod commit;
mod error;
mod query;
mod records;
mod rows;
mod sql;
mod write;

pub use change::{BYTES_AT_ONCE, Change, ChangeKind, Changes};
pub use cipher::{Cipher, CipherError};
pub use error::StorageError;
pub use query::{ListQuery, Page};
pub use records::{Key, Revision, Stored};
pub use sql::SqlStorage;
pub use write::{Expected, Write, Written};
