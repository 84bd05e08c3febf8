//! Validates the user's own Ignition. Source: docs/protocol/discovery-ignition.md#10.

use ignition_config::Config;

/// Validates that `text` is Ignition of the specifications 3.1.0 or 3.2.0, the ones that the boot images of all supported versions read.
///
/// # Errors
/// A sentence for people.
pub fn check_override(text: &str) -> Result<(), String> {
    match Config::parse_str(text) {
        Ok((Config::V3_1(_) | Config::V3_2(_), _)) => Ok(()),
        Ok(_) => Err("must be of the Ignition specification 3.1.0 or 3.2.0 (ignition.version)".into()),
        Err(ignition_config::Error::UnknownVersion(version)) => Err(format!(
            "must be of the Ignition specification 3.1.0 or 3.2.0 (ignition.version); it is {version}"
        )),
        Err(ignition_config::Error::InvalidVersion(_)) => {
            Err("ignition.version must be 3.1.0 or 3.2.0".into())
        }
        Err(error) => Err(format!("is not Ignition: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::check_override;

    #[test]
    fn only_the_two_specifications_are_taken() {
        for good in [
            r#"{"ignition":{"version":"3.1.0"}}"#,
            r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a"}]}}"#,
        ] {
            assert_eq!(check_override(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "no",
            "{}",
            r#"{"ignition":{"version":"2.2.0"}}"#,
            r#"{"ignition":{"version":"3.0.0"}}"#,
            r#"{"ignition":{"version":"3.4.0"}}"#,
            r#"{"ignition":{"version":"9.9.9"}}"#,
            r#"{"ignition":{"version":3}}"#,
            r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{}]}}"#,
        ] {
            assert!(check_override(bad).is_err(), "{bad}");
        }
    }
}
