//! Requirements for hosts: hardware by role and version, and the checks that are switched off.
//! Source: docs/protocol/hardware-requirements.md.

mod by_version;
mod of_host;
mod parse;
mod roles;
mod version;

pub use by_version::Requirements;
pub use of_host::{Required, required};
pub use parse::{BadRequirements, parse};
pub use roles::{AnyRole, RoleRequirements, RoleTable};
pub use version::Version;
