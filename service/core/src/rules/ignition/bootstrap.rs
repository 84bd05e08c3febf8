//! Validates the Ignition of a Cluster API bootstrap provider.

use serde_json::Value;

use crate::rules::ignition_spec::NEWEST;

/// Longest bootstrap data, bytes: the limit of a Secret.
pub const MAX_BOOTSTRAP: usize = 1 << 20;

/// Validates that `text` is Ignition of some specification; provider and OS image have to agree about its version.
/// Versions that are known here are validated by Ignition's own rules.
///
/// # Errors
/// A sentence for users, which never repeats the text: it holds secrets.
pub fn check_bootstrap(text: &str) -> Result<(), String> {
    if text.len() > MAX_BOOTSTRAP {
        return Err(format!(
            "has {} bytes; at most {MAX_BOOTSTRAP} are taken",
            text.len()
        ));
    }
    let config: Value = serde_json::from_str(text).map_err(|error| {
        format!(
            "is not JSON (line {}): set format: ignition at the bootstrap provider",
            error.line()
        )
    })?;
    match version(&config) {
        None => Err(
            "is not Ignition of specification 2 or 3 (ignition.version): set format: ignition at the bootstrap provider".into(),
        ),
        Some(version) if is_known(version) => super::check_override(text).map(drop),
        Some(_) => Ok(()),
    }
}

/// True if the rules of a version are known here: not those of specification 2, and not those of specifications that
/// are newer than this program.
pub(super) fn is_known((major, minor, _): (u32, u32, u32)) -> bool {
    major == 3 && minor <= u32::from(NEWEST)
}

/// The specification's version as numbers.
pub(super) fn version(config: &Value) -> Option<(u32, u32, u32)> {
    let text = config.pointer("/ignition/version")?.as_str()?;
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let version = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && matches!(version.0, 2 | 3)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignition_of_any_specification_is_taken_and_nothing_else() {
        for good in ["2.3.0", "3.0.0", "3.5.0", "3.9.0"] {
            let text = format!(r#"{{"ignition":{{"version":"{good}"}}}}"#);
            assert_eq!(check_bootstrap(&text), Ok(()));
        }
        for bad in [
            "",
            "#cloud-config\nhunter2: x",
            "{}",
            r#"{"ignition":{"version":"1.0.0"}}"#,
            "[]",
        ] {
            let why = check_bootstrap(bad).unwrap_err();
            assert!(
                why.contains("format: ignition") && !why.contains("hunter2"),
                "{why}"
            );
        }
        assert!(check_bootstrap(&" ".repeat(MAX_BOOTSTRAP + 1)).is_err());
        let refused = r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a//hunter2"}]}}"#;
        let why = check_bootstrap(refused).unwrap_err();
        assert!(
            why.contains("storage.files.0.path: ") && !why.contains("hunter2"),
            "{why}"
        );
    }
}
