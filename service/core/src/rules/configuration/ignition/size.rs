//! Checks that a discovery configuration fits into an image. Source: docs/protocol/discovery-ignition.md#11 and §12.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::discovery::{AgentSettings, discovery};
use crate::record::{InfraEnv, Secret};
use crate::rules::input::Invalid;

/// Size of the area that CoreOS images keep for the archive, bytes.
pub const MAX_ARCHIVE_BYTES: usize = 262_144;

/// Reserved for the service's additions at the time the image is made, which may change later: its URL, token and CA.
/// Bytes.
const RESERVED_BYTES: usize = 16 << 10;

/// Checks that the archive of `infra_env`'s configuration fits, before its image is known, and without static networks;
/// and that an override can be merged with all possible additions of the service.
///
/// # Errors
/// Names the setting that is most probably too large, or the override.
pub fn check_size(infra_env: &InfraEnv) -> Result<(), Invalid> {
    let token = Secret::default();
    let least = AgentSettings {
        service_url: "",
        token: Some(&token),
        ca_pem: "",
        programs: &[],
        networks: false,
    };
    let written = |agent: &AgentSettings<'_>| {
        discovery(infra_env, agent)
            .map_err(|error| Invalid::new("ignition_config_override", error.to_string()))
    };
    if !infra_env.settings.ignition_config_override.is_empty() {
        written(&AgentSettings {
            ca_pem: "of the service, if it has one",
            networks: true,
            ..least.clone()
        })?;
    }
    let config = written(&least)?;
    let bytes = archive_bytes(config.as_bytes());
    let limit = MAX_ARCHIVE_BYTES - RESERVED_BYTES;
    if bytes <= limit {
        return Ok(());
    }
    let settings = &infra_env.settings;
    let (field, _) = [
        (
            "ignition_config_override",
            settings.ignition_config_override.len(),
        ),
        ("additional_trust_bundle", settings.additional_trust_bundle.len()),
        ("pull_secret", settings.pull_secret.reveal().len()),
        ("ssh_authorized_key", settings.ssh_authorized_key.len()),
    ]
    .into_iter()
    .max_by_key(|(_, len)| *len)
    .expect("the list is not empty");
    Err(Invalid::new(
        field,
        format!(
            "makes the discovery configuration too large: {bytes} bytes compressed, and at most {limit} fit into an image"
        ),
    ))
}

/// gzip of a newc cpio with the one entry `config.ign`, padded to 4.
fn archive_bytes(config: &[u8]) -> usize {
    const HEADER: usize = 110;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let mut write = |bytes: &[u8]| gzip.write_all(bytes).expect("writing to memory cannot fail");
    // Headers are hexadecimal digits; zeros stand in for them.
    write(&[b'0'; HEADER + 12]);
    write(config);
    write(&[b'0'; HEADER + 14]);
    let len = gzip.finish().expect("writing to memory cannot fail").len();
    len.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::archive_bytes;

    #[test]
    fn the_archive_is_compressed_and_padded() {
        let same = archive_bytes(&vec![b'a'; 1 << 20]);
        assert!(same < 4096, "{same}");
        assert_eq!(same % 4, 0);
    }
}
