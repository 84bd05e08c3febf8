//! A table of BMCs, and what reads it: the program's own reader, which `muster bmc import` has, too.

use muster_api::bmc::BmcCreateParams;

/// A table of BMCs as it was pasted.
pub struct BmcTable {
    pub text: String,
    /// YAML in place of CSV.
    pub is_yaml: bool,
    /// Of entries that have none.
    pub user: Option<String>,
    /// Of entries that have none.
    pub password: Option<String>,
}

/// Reads a table: its BMCs with their lines, or what is wrong, a text a line. No text has a password in it.
pub type ReadBmcs = fn(&BmcTable) -> Result<Vec<(u64, BmcCreateParams)>, Vec<String>>;
