//! Makes the NoCloud seed of a host whose image is configured by cloud-init. Source: docs/protocol/capi-day1.md#2.3.

mod netplan;

use muster_api::live::network::StaticNetwork;
use muster_api::steps::{LARGEST_SEED, Seed};
use serde::Serialize;
use thiserror::Error;

use super::Subject;

pub use netplan::{NotInNetplan, network_config};

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
    uuid: &'a str,
    #[serde(rename = "local_ipv4", skip_serializing_if = "Option::is_none")]
    local_ipv4: Option<&'a str>,
    provider_id: &'a str,
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
        uuid: &subject.uuid,
        local_ipv4: subject.local_ipv4.as_deref(),
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
            instance_id: format!("{ID}-0a1b2c3d"),
            hostname: "host-1.example.test".into(),
            name: "host-1.example.test".into(),
            uuid: ID.into(),
            local_ipv4: local_ipv4.map(str::to_owned),
            provider_id: format!("agent://{ID}"),
        }
    }

    #[test]
    fn meta_data_has_the_keys_that_templates_of_providers_name() {
        let made = seed(USER_DATA, &subject(Some("192.0.2.5")), None).unwrap();
        assert_eq!(made.user_data, USER_DATA);
        assert_eq!(made.network_config, None);
        assert_eq!(
            made.meta_data,
            r#"{
  "instance-id": "00000000-0000-0000-0000-000000000005-0a1b2c3d",
  "local-hostname": "host-1.example.test",
  "hostname": "host-1.example.test",
  "name": "host-1.example.test",
  "uuid": "00000000-0000-0000-0000-000000000005",
  "local_ipv4": "192.0.2.5",
  "provider-id": "agent://00000000-0000-0000-0000-000000000005"
}
"#
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
    fn what_does_not_fit_into_the_partition_is_refused_without_its_content() {
        let large = format!("#cloud-config\nhunter2: {}\n", "x".repeat(LARGEST_SEED));
        let why = seed(&large, &subject(None), None).unwrap_err().to_string();
        assert!(
            why.contains("at most 3145728 fit") && !why.contains("hunter2"),
            "{why}"
        );
    }
}
