//! Validates the user's own Ignition. Source: docs/protocol/discovery-ignition.md#10.

use serde_json::Value;

use crate::rules::ignition_spec::{self as spec, Config, NEWEST, Problem, version_text};
use crate::rules::requirements::Version;

/// Most problems that are named; one is often the cause of the next.
const NAMED: usize = 5;

/// Validates that `text` is Ignition of a specification from 3.0.0 to 3.6.0, by Ignition's own rules.
///
/// # Errors
/// A sentence for users, with the path of each member that Ignition would refuse; it repeats no value.
pub fn check_override(text: &str) -> Result<Config, String> {
    spec::parse(text).map_err(|problems| format!("is not what Ignition takes: {}", sentence(&problems, None)))
}

/// Validates that the Ignition of this version of OpenShift supports the specification of `config`. Without a version,
/// or with a newer one than this program knows, all pass.
///
/// # Errors
/// A sentence for users with both versions.
pub fn check_known(config: &Config, openshift_version: &str) -> Result<(), String> {
    let newest = known_to(openshift_version);
    if config.minor <= newest {
        return Ok(());
    }
    Err(format!(
        "is of Ignition's specification {}, and version {openshift_version} reads up to {}",
        version_text(config.minor),
        version_text(newest)
    ))
}

/// The newest specification that all builds of a release support. Source: the output of Butane for it.
fn known_to(openshift_version: &str) -> u8 {
    let Some(Version([major, minor, _])) = Version::parse(openshift_version) else {
        return NEWEST;
    };
    match (major, minor) {
        (0..=3, _) | (4, 0..=6) => 1,
        (4, 7..=13) => 2,
        (4, 14..=18) => 4,
        (4, _) | (5, 0) => 5,
        _ => NEWEST,
    }
}

/// The first problems as text. `merged`: the config that they are about, if the user did not write all of it, so that
/// indices do not help the user.
pub(super) fn sentence(problems: &[Problem], merged: Option<&Value>) -> String {
    let named = problems.iter().take(NAMED).map(|problem| {
        let name = merged.and_then(|config| name_of(config, &problem.path));
        match name {
            Some(name) => format!("{} ({name}): {}", problem.path, problem.why),
            None => problem.to_string(),
        }
    });
    let mut text = named.collect::<Vec<_>>().join("; ");
    if problems.len() > NAMED {
        text += &format!("; and {} more", problems.len() - NAMED);
    }
    text
}

/// The path or name of the innermost item of a list that `path` leads through.
fn name_of<'a>(config: &'a Value, path: &str) -> Option<&'a str> {
    let mut found = None;
    let mut at = config;
    for step in path.split('.') {
        at = match step.parse::<usize>() {
            Ok(index) => at.get(index)?,
            Err(_) => match at.get(step) {
                Some(inner) => inner,
                None => break,
            },
        };
        let name = ["path", "name", "device"]
            .iter()
            .find_map(|key| at.get(key)?.as_str());
        found = name.or(found);
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Problem, check_known, check_override, sentence};

    #[test]
    fn each_stable_specification_is_taken_and_nothing_else() {
        for minor in 0..=6 {
            let good = format!(
                r#"{{"ignition":{{"version":"3.{minor}.0"}},"storage":{{"files":[{{"path":"/a"}}]}}}}"#
            );
            assert_eq!(check_override(&good).map(|config| config.minor), Ok(minor));
        }
        for bad in [
            "",
            "no",
            "{}",
            r#"{"ignition":{"version":"2.2.0"}}"#,
            r#"{"ignition":{"version":"3.7.0-experimental"}}"#,
            r#"{"ignition":{"version":"9.9.9"}}"#,
            r#"{"ignition":{"version":3}}"#,
            r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{}]}}"#,
        ] {
            assert!(check_override(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_refused_is_named_by_its_path_and_never_by_its_value() {
        let secret = json!({"ignition": {"version": "3.4.0"},
            "storage": {"files": [{"path": "/a", "mode": 644_000, "contents": {"source": "data:;base64,hunter2!"}}]},
            "systemd": {"units": [{"name": "x", "contents": "[Service]\nhunter2"}]}});
        let why = check_override(&secret.to_string()).unwrap_err();
        for path in [
            "storage.files.0.contents.source: ",
            "storage.files.0.mode: ",
            "systemd.units.0.name: ",
            "systemd.units.0.contents: ",
        ] {
            assert!(why.contains(path), "{why}");
        }
        assert!(!why.contains("hunter2"), "{why}");
    }

    #[test]
    fn a_release_reads_what_butane_writes_for_it() {
        let config =
            |minor| check_override(&format!(r#"{{"ignition":{{"version":"3.{minor}.0"}}}}"#)).unwrap();
        for (version, newest) in [
            ("4.6", 1),
            ("4.12.3", 2),
            ("4.14.0-rc.1", 4),
            ("4.19", 5),
            ("4.22", 5),
            ("5.0.1", 5),
            ("5.1", 6),
            ("", 6),
        ] {
            assert_eq!(check_known(&config(newest), version), Ok(()), "{version}");
            if newest < 6 {
                assert!(check_known(&config(newest + 1), version).is_err(), "{version}");
            }
        }
    }

    #[test]
    fn a_problem_of_a_merged_config_says_which_item_it_is() {
        let merged = json!({"storage": {"files": [{"path": "/etc/x", "mode": 9999}]}});
        let problems = [Problem {
            path: "storage.files.0.mode".into(),
            why: "is wrong".into(),
            unreadable: false,
        }];
        assert_eq!(
            sentence(&problems, Some(&merged)),
            "storage.files.0.mode (/etc/x): is wrong"
        );
    }
}
