//! The version of an Ignition config.

use serde_json::Value;

use crate::rules::ignition_spec::NEWEST;

/// The version as numbers; `None`: it is not Ignition of specification 2 or 3.
pub(crate) fn version(config: &Value) -> Option<(u32, u32, u32)> {
    let text = config.pointer("/ignition/version")?.as_str()?;
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let version = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && matches!(version.0, 2 | 3)).then_some(version)
}

/// True if the rules of a version are known to this program: not those of specification 2, and not those of
/// specifications that are newer than it.
pub(crate) fn is_known((major, minor, _): (u32, u32, u32)) -> bool {
    major == 3 && minor <= u32::from(NEWEST)
}
