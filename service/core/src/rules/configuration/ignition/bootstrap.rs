//! Validates the bootstrap data of a Cluster API bootstrap provider.

use crate::record::Host;
use crate::rules::bootstrap_data::{self, BootstrapData, Refused, Subject};

/// Validates that `text` can be what a host is installed with by some image: Ignition of a version about which provider and OS
/// image have to agree, or a cloud-config.
///
/// # Errors
/// A sentence for users with the member that is refused; it never repeats the text, which holds secrets.
pub fn check_bootstrap_form(text: &str) -> Result<(), String> {
    bootstrap_data::read(text).map(drop).map_err(sentence)
}

/// The same for an image that Ignition configures: a cloud-config must have a translation.
///
/// # Errors
/// A sentence for users with the member that is refused; it never repeats the text, which holds secrets.
pub fn check_bootstrap(text: &str) -> Result<(), String> {
    match bootstrap_data::read(text).map_err(sentence)? {
        BootstrapData::Ignition(_) => Ok(()),
        BootstrapData::CloudConfig(config) => config.check().map_err(sentence),
    }
}

fn sentence(refused: Refused) -> String {
    format!("is refused: {refused}")
}

/// The reason why an image that Ignition configures cannot be given the bootstrap data of `host`, with the values that the
/// host has now; `None`: it can, or the data was not read.
pub fn unfit_bootstrap(host: &Host) -> Option<String> {
    let stored = host.bootstrap_ignition.reveal();
    if stored.is_empty() {
        return None;
    }
    let refused = of_host(host, stored).err()?;
    Some(format!(
        "the OS image is configured by Ignition: the bootstrap data of the host: {refused}"
    ))
}

/// Bootstrap data as Ignition 3; a cloud-config is translated with the values that the host has now.
pub(super) fn of_host(host: &Host, stored: &str) -> Result<String, Refused> {
    match bootstrap_data::read(stored)? {
        BootstrapData::Ignition(text) => Ok(text),
        BootstrapData::CloudConfig(config) => config.ignition_for(&Subject::of(host, stored)),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;

    fn in_data_url(config: &Value) -> String {
        format!(
            "data:application/json;base64,{}",
            STANDARD.encode(config.to_string())
        )
    }

    #[test]
    fn specification_2_is_taken_as_far_as_it_can_be_translated() {
        let units = json!([{"name": "a.service", "enable": true}, {"name": "a.service", "mask": true}]);
        let mut config = json!({"ignition": {"version": "2.3.0"}, "systemd": {"units": units}});
        let Ok(BootstrapData::Ignition(translated)) = bootstrap_data::read(&config.to_string()) else {
            panic!("it is taken")
        };
        let translated: Value = serde_json::from_str(&translated).unwrap();
        assert_eq!(translated["ignition"]["version"], "3.3.0");
        assert_eq!(
            translated["systemd"]["units"],
            json!([{"name": "a.service", "enabled": true, "mask": true}])
        );
        config["storage"] = json!({"files": [{"filesystem": "oem", "path": "/hunter2"}]});
        let why = check_bootstrap(&config.to_string()).unwrap_err();
        assert!(
            why.contains("`storage.files.0.filesystem`: ") && !why.contains("hunter2"),
            "{why}"
        );
        let newer = r#"{"ignition":{"version":"2.5.0"}}"#;
        assert!(
            check_bootstrap(newer)
                .unwrap_err()
                .contains("`ignition.version`: ")
        );
    }

    #[test]
    fn configs_in_a_config_are_validated_alone_and_together() {
        let holding = |inner: &[Value]| {
            let merge: Vec<Value> = inner
                .iter()
                .map(|one| json!({"source": in_data_url(one)}))
                .collect();
            let outer = json!({"ignition": {"version": "3.4.0", "config": {"merge": merge}},
                "storage": {"links": [{"path": "/etc/x", "target": "/y"}]}});
            check_bootstrap(&outer.to_string())
        };
        let of = |path: &str| json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": path, "contents": {"source": "data:,hunter2"}}]}});
        assert_eq!(holding(&[of("/etc/a"), of("/etc/b")]), Ok(()));
        for (inner, named) in [
            (
                of("relative"),
                "`ignition.config.merge.1.source -> storage.files.0.path`: ",
            ),
            (
                json!({"ignition": {"version": "2.3.0"}}),
                "`ignition.config.merge.1.source`: ",
            ),
            (json!("#cloud-config"), "holds no Ignition config"),
            // The link is in the outer config.
            (of("/etc/x/z"), "`storage.files.1`: "),
        ] {
            let why = holding(&[of("/etc/a"), inner]).unwrap_err();
            assert!(why.contains(named) && !why.contains("hunter2"), "{why}");
        }
    }

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
            ("hunter2", "is refused: `line 1`: "),
            ("#cloud-config\npackages: [hunter2]\n", "is refused: `packages`: "),
            ("#cloud-config\nruncmd: hunter2\n", "is refused: `runcmd`: "),
            ("{}", "is refused: `ignition.version`: "),
            (
                r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a//hunter2"}]}}"#,
                "is refused: `storage.files.0.path`: ",
            ),
        ] {
            let why = check_bootstrap(bad).unwrap_err();
            assert!(why.starts_with(member) && !why.contains("hunter2"), "{why}");
        }
    }
}
