//! Validates the Ignition of a Cluster API bootstrap provider.

use serde_json::Value;

use crate::rules::bootstrap_data::{check_nested, is_known, translated, unreachable_devices, version};

/// Longest bootstrap data, bytes: the limit of a Secret.
pub const MAX_BOOTSTRAP: usize = 1 << 20;

/// Validates that a host can apply the Ignition in `text`. Specification 2 is translated; versions of 3 that are known here
/// are validated by Ignition's own rules, with the configs in them; devices that the OS image cannot have are refused.
///
/// # Errors
/// A sentence for users, which never repeats the text: it holds secrets.
pub fn check_bootstrap(text: &str) -> Result<(), String> {
    bootstrap_in_3(text).map(drop)
}

/// Validates `text` as [`check_bootstrap`] does. Returns its translation if it is of specification 2.
///
/// # Errors
/// As [`check_bootstrap`].
pub fn bootstrap_in_3(text: &str) -> Result<Option<Value>, String> {
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
    let Some(version) = version(&config) else {
        return Err(
            "is not Ignition of specification 2 or 3 (ignition.version): set format: ignition at the bootstrap provider".into(),
        );
    };
    if version.0 == 2 {
        let config = translated(&config)
            .map_err(|refused| format!("cannot be translated from Ignition 2 to 3: {refused}"))?;
        applicable(&config)?;
        let bytes = config.to_string().len();
        if bytes > MAX_BOOTSTRAP {
            return Err(format!(
                "has {bytes} bytes in Ignition 3; at most {MAX_BOOTSTRAP} are taken"
            ));
        }
        return Ok(Some(config));
    }
    if is_known(version) {
        super::check_override(text)?;
    }
    applicable(&config)?;
    Ok(None)
}

fn applicable(config: &Value) -> Result<(), String> {
    let refused = check_nested(config).err().or_else(|| unreachable_devices(config));
    match refused {
        None => Ok(()),
        Some(refused) => Err(format!("cannot be applied: {refused}")),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

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
        let translated = bootstrap_in_3(&config.to_string()).unwrap().unwrap();
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
