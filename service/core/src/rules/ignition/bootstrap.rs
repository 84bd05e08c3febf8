//! Validates the bootstrap data of a Cluster API bootstrap provider.

use crate::rules::bootstrap_data::{self, BootstrapData, Refused};

/// Validates that `text` can be what a host is installed with: Ignition, whose version provider and OS image have to agree
/// about, or a cloud-config that has a translation.
///
/// # Errors
/// A sentence for users with the member that is refused; it never repeats the text, which holds secrets.
pub fn check_bootstrap(text: &str) -> Result<(), String> {
    let sentence = |refused: Refused| format!("is refused: {refused}");
    match bootstrap_data::read(text).map_err(sentence)? {
        BootstrapData::Ignition(_) => Ok(()),
        BootstrapData::CloudConfig(config) => config.check().map_err(sentence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_member_and_repeats_nothing() {
        for good in [
            r#"{"ignition":{"version":"2.3.0"}}"#,
            r#"{"ignition":{"version":"3.9.0"}}"#,
            "#cloud-config\nruncmd: [hunter2]\n",
        ] {
            assert_eq!(check_bootstrap(good), Ok(()), "{good}");
        }
        for (bad, member) in [
            ("hunter2", "is refused: the first line: "),
            ("#cloud-config\npackages: [hunter2]\n", "is refused: packages: "),
            ("#cloud-config\nruncmd: hunter2\n", "is refused: runcmd: "),
            ("{}", "is refused: ignition.version: "),
            (
                r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a//hunter2"}]}}"#,
                "is refused: storage.files.0.path: ",
            ),
        ] {
            let why = check_bootstrap(bad).unwrap_err();
            assert!(why.starts_with(member) && !why.contains("hunter2"), "{why}");
        }
    }
}
