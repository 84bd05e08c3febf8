//! The known specifications.

/// The newest stable one of Ignition: the 6 of 3.6.0.
pub const NEWEST: u8 = 6;

/// As `ignition.version` has it.
pub fn version_text(minor: u8) -> String {
    format!("3.{minor}.0")
}
