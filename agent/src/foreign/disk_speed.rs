//! How long a synchronous write takes on a disk, measured without ever overwriting data.
//!
//! The load is that of the field's agent (docs/protocol/agent-protocol.md#6): two writers at once, 22 MiB each, blocks of 2300
//! bytes through the page cache, `fdatasync` after each; the worse of their 99th percentiles counts. Differences, on
//! purpose:
//! - It is written only where the disk is proven blank: no partitions, holders, mounts or swap; opened exclusively, so
//!   that nobody can begin to use it meanwhile; and under that claim every byte of the region, and of every place where
//!   partition tables, file systems, RAID and volume managers keep their signatures, is read back as zero ([`blank`]).
//!   Each block is read once more right before it is written. Elsewhere nothing is written, and the reason is told.
//! - The first MiB is left alone, and each writer has a region of its own.
//! - Afterwards the region is zero again, and read back to prove it; also after a failure, a panic or an early end.
//!   A loss of power leaves noise on a disk that was blank: the next check then measures nothing and says why.
//! - A disk so slow that the time ends before the load does is judged by the writes that it did.

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
