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
