//! Makes the NoCloud seed of a host whose image is configured by cloud-init. Source: docs/protocol/capi-day1.md#2.3.

mod netplan;

use muster_api::live::network::StaticNetwork;
use muster_api::steps::{LARGEST_SEED, Seed};
use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::Subject;

pub use netplan::{NotInNetplan, network_config};

/// Bytes of the digest that an instance id ends in.
const DIGEST: usize = 8;

/// A seed that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SeedError {
    #[error(transparent)]
    Network(#[from] NotInNetplan),
    #[error("its files have {0} bytes; at most {LARGEST_SEED} fit into the partition for cloud-init")]
    TooLarge(usize),
}

/// `meta-data`. Providers' templates refer to these keys; `-` and `_` are the same there.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct MetaData<'a> {
    instance_id: &'a str,
    local_hostname: &'a str,
    hostname: &'a str,
    name: &'a str,
    uuid: String,
    #[serde(rename = "local_ipv4", skip_serializing_if = "Option::is_none")]
    local_ipv4: Option<String>,
    provider_id: &'a str,
}

/// The instance id for a host (`uuid`) with this user data: cloud-init runs everything once for each. Bootstrap data is
/// made for each Machine, so that another claim of the host has another id. Form: `UUID-16 hexadecimal digits`.
pub fn instance_id(uuid: &str, user_data: &str) -> String {
    let digest = Sha256::digest(user_data);
    let digits = digest.iter().take(DIGEST).map(|byte| format!("{byte:02x}"));
    format!("{uuid}-{}", digits.collect::<String>())
}

/// The files of the seed: `user_data` as it is, since cloud-init resolves its templates; `meta-data` of the subject;
/// `network-config` if there is a static network, else cloud-init takes DHCP.
///
/// # Errors
/// [`SeedError`]; no part of the user data is in it.
pub fn seed(user_data: &str, subject: &Subject, network: Option<&StaticNetwork>) -> Result<Seed, SeedError> {
    let meta_data = MetaData {
        instance_id: &subject.instance_id,
        local_hostname: &subject.hostname,
        hostname: &subject.hostname,
        name: &subject.name,
        uuid: subject.uuid.to_string(),
        local_ipv4: subject.local_ipv4.as_ref().map(ToString::to_string),
        provider_id: &subject.provider_id,
    };
    let seed = Seed {
        user_data: user_data.to_owned(),
        meta_data: yaml(&meta_data),
        network_config: network.map(network_config).transpose()?,
    };
    match seed.length() {
        length if length > LARGEST_SEED => Err(SeedError::TooLarge(length)),
        _ => Ok(seed),
    }
}

/// A document of YAML, in its form that is JSON, too: every text is in quotes. Without them Python's reader of YAML 1.1
/// takes a MAC address of digits for a number in base 60, and `on` for a truth value.
fn yaml<T: Serialize>(value: &T) -> String {
    let mut text =
        serde_json::to_string_pretty(value).expect("these types have text keys and finite numbers");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER_DATA: &str =
        "## template: jinja\n#cloud-config\nruncmd: ['echo {{ ds.meta_data.local_ipv4 }}']\n";
    const ID: &str = "00000000-0000-0000-0000-000000000005";

    fn subject(local_ipv4: Option<&str>) -> Subject {
        Subject {
            instance_id: instance_id(ID, USER_DATA).into(),
            hostname: "host-1.example.test".into(),
            name: "host-1.example.test".into(),
            uuid: ID.parse().unwrap(),
            local_ipv4: local_ipv4.map(|ip| ip.parse().unwrap()),
            provider_id: format!("agent://{ID}").into(),
        }
    }

    #[test]
    fn meta_data_has_the_keys_that_templates_of_providers_name() {
        let made = seed(USER_DATA, &subject(Some("192.0.2.5")), None).unwrap();
        assert_eq!(made.user_data, USER_DATA);
        assert_eq!(made.network_config, None);
        let digits = &instance_id(ID, USER_DATA)[37..];
        assert_eq!(
            made.meta_data,
            format!(
                r#"{{
  "instance-id": "{ID}-{digits}",
  "local-hostname": "host-1.example.test",
  "hostname": "host-1.example.test",
  "name": "host-1.example.test",
  "uuid": "{ID}",
  "local_ipv4": "192.0.2.5",
  "provider-id": "agent://{ID}"
}}
"#
            )
        );
        let read: serde_json::Value = serde_saphyr::from_str(&made.meta_data).unwrap();
        assert_eq!(read["local_ipv4"], "192.0.2.5");
    }

    #[test]
    fn an_address_that_is_not_known_is_left_out() {
        let made = seed(USER_DATA, &subject(None), None).unwrap();
        assert!(!made.meta_data.contains("local_ipv4"), "{}", made.meta_data);
    }

    #[test]
    fn the_instance_changes_with_the_host_and_with_its_user_data() {
        let one = instance_id(ID, USER_DATA);
        assert_eq!(one.len(), 36 + 1 + 16);
        assert_eq!(one, instance_id(ID, USER_DATA));
        assert_ne!(one, instance_id(ID, "#cloud-config\n"));
        assert_ne!(
            one,
            instance_id("00000000-0000-0000-0000-000000000006", USER_DATA)
        );
        // The first bytes of the SHA-256 of nothing.
        assert_eq!(instance_id("a", ""), "a-e3b0c44298fc1c14");
    }

    #[test]
    fn what_does_not_fit_into_the_partition_is_refused_without_its_content() {
        let large = format!("#cloud-config\nhunter2: {}\n", "x".repeat(LARGEST_SEED));
        let why = seed(&large, &subject(None), None).unwrap_err().to_string();
        assert!(
            why.contains("at most 3145728 fit") && !why.contains("hunter2"),
            "{why}"
        );
    }
}
