//! Names the forms in which hosts are read.

/// The form in which hosts are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostForm {
    /// With inventories and reports, which are most of a host.
    Whole,
    /// Without them.
    Brief,
}
