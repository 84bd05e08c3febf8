//! Stores objects in SQLite or PostgreSQL: each write is one revision, and replaced versions stay readable
//! until compaction.

mod change;
mod cipher;
mod commit;
mod database;
mod error;
mod query;
mod records;
mod rows;
mod sql;
mod write;

pub use change::{BYTES_AT_ONCE, Change, ChangeKind, Changes};
pub use cipher::{Cipher, CipherError};
pub use database::Database;
pub use error::StorageError;
pub use query::{ListQuery, Page};
pub use records::{Key, Revision, Stored};
pub use sql::SqlStorage;
pub use write::{Expected, Write, Written};
