//! Configures images of other systems than CoreOS: puts the host's seed for cloud-init into a partition of its own at the
//! end of the disk. Contents are never printed: they hold secrets. Source: docs/protocol/capi-day1.md#2.3.

pub mod others;
pub mod place;
pub mod volume;

use muster_api::steps::{HostSeed, LARGEST_SEED, Seed};

/// A response without a usable seed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    #[error("the seed for cloud-init is no JSON (line {line}, column {column})")]
    Json { line: usize, column: usize },
    #[error(
        "the service's configuration of this host is no seed for cloud-init (`cloud_init` is missing), which the image needs"
    )]
    Absent,
    #[error("the seed for cloud-init has no user-data or no meta-data")]
    Empty,
    #[error("the seed for cloud-init has {0} bytes; at most {LARGEST_SEED} fit into its partition")]
    TooLarge(usize),
}

/// Parses the content of the host's ignition download for an image that cloud-init configures.
///
/// # Errors
/// [`SeedError`]
pub fn parse(body: &[u8]) -> Result<Seed, SeedError> {
    let read: HostSeed = serde_json::from_slice(body).map_err(|error| SeedError::Json {
        line: error.line(),
        column: error.column(),
    })?;
    let seed = read.cloud_init.ok_or(SeedError::Absent)?;
    if seed.user_data.is_empty() || seed.meta_data.is_empty() {
        return Err(SeedError::Empty);
    }
    match seed.length() {
        length if length > LARGEST_SEED => Err(SeedError::TooLarge(length)),
        _ => Ok(seed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_read_and_ignition_is_refused_without_quoting_it() {
        let good = br##"{"cloud_init":{"user_data":"#cloud-config\n","meta_data":"{}\n"}}"##;
        let seed = parse(good).unwrap();
        assert_eq!(seed.user_data, "#cloud-config\n");
        assert_eq!(seed.network_config, None);
        for (body, error) in [
            (
                "<html>hunter2</html>".to_owned(),
                SeedError::Json { line: 1, column: 1 },
            ),
            (
                r#"{"ignition":{"version":"3.4.0"},"hunter2":1}"#.to_owned(),
                SeedError::Absent,
            ),
            (
                r#"{"cloud_init":{"user_data":"hunter2"}}"#.to_owned(),
                SeedError::Empty,
            ),
            (
                format!(
                    r#"{{"cloud_init":{{"user_data":"hunter2{}","meta_data":"{{}}"}}}}"#,
                    "x".repeat(LARGEST_SEED)
                ),
                SeedError::TooLarge(LARGEST_SEED + 9),
            ),
        ] {
            let found = parse(body.as_bytes()).unwrap_err();
            assert!(!found.to_string().contains("hunter2"), "{found}");
            assert_eq!(found, error);
        }
    }
}
