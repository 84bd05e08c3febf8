//! Finds hosts among many: what a list needs of each host.

mod summary;

pub use summary::{
    BmcSummary, DiskSummary, DriveType, Firmware, GpuSummary, HardwareSummary, HostSummary, PortSummary,
    Surroundings, WaitSummary, listed_summary, summary,
};
