//! Measures the duration of synchronous writes on a disk without ever overwriting data.
//!
//! The load is that of upstream's agent (docs/protocol/agent-protocol.md#6): two writers at once, 22 MiB
//! each, blocks of 2300 bytes through the page cache, `fdatasync` after each; the worse of their 99th
//! percentiles counts. Differences, on purpose:
//! - It writes only to a disk proven blank: no partitions, holders, mounts or swap; opened exclusively, so
//!   that no other program can begin to use it; and under that claim every byte of the region, and of every
//!   place where partition tables, file systems, RAID and volume managers keep their signatures, reads back
//!   as zero ([`blank`]). Each block is read once more right before it is written. Otherwise nothing is
//!   written, and the reason is reported.
//! - The first MiB is never written, and each writer has a region of its own.
//! - Afterwards the region is zeroed again and read back to prove it, also after a failure, a panic or an
//!   early end. A loss of power leaves noise on a disk that was blank: the next check then measures nothing
//!   and gives the reason.
//! - A disk so slow that the time ends before the load does is rated by the writes that it completed.

mod blank;
mod check;
mod load;
mod outcome;
mod stop;
mod target;

pub use check::{check, measure};
pub use load::Load;
pub use outcome::{Outcome, SpeedError};
pub use stop::{Stop, stop_all};
