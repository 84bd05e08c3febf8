//! The commands that do what a job does.

use muster_api::MUSTER_PATH;
use muster_api::jobs::{DiskRule, JobAction, JobRequest};

use crate::words::quoted;

/// Longest body of a command for `curl`, bytes: what is longer is sent from a file.
const LONGEST: usize = 2000;

/// The `muster` line for the hosts that fit a query; `None`: `muster` has none for this action.
pub fn muster(action: &JobAction, query: &str) -> Option<String> {
    let set = |option: &str, value: &str| format!("set --{option} {}", quoted(value));
    let words = match action {
        JobAction::Approve => "approve".to_owned(),
        JobAction::RevokeApproval => "approve --revoke".to_owned(),
        JobAction::Bind { cluster } => format!("bind --cluster {cluster}"),
        JobAction::Unbind => "unbind".to_owned(),
        JobAction::Install => "install".to_owned(),
        JobAction::Role { role } => set("role", muster_api::host::HostRole::from(*role).name()),
        JobAction::Labels { set, remove } => {
            let mut words = "set".to_owned();
            let set = set.iter().map(|(key, value)| format!("{key}={value}"));
            for label in set.chain(remove.iter().map(|key| format!("{key}-"))) {
                words.push_str(&format!(" --label {}", quoted(&label)));
            }
            words
        }
        JobAction::Hostname {
            pattern: Some(pattern),
            ..
        } => set("name", pattern),
        JobAction::Disk {
            rule: DiskRule::Path { path },
        } => set("disk", path),
        JobAction::Power { power } => format!("power {}", power.name()),
        JobAction::Logs => "logs".to_owned(),
        JobAction::Delete => "delete".to_owned(),
        JobAction::Hostname { pattern: None, .. } | JobAction::Disk { .. } | JobAction::Discover => {
            return None;
        }
    };
    Some(format!("muster host {words} --query {}", quoted(query)))
}

/// The request of REST, for `curl`; `None`: it is long.
pub fn curl(request: &JobRequest) -> Option<String> {
    let body = serde_json::to_string(request).ok()?;
    if body.len() > LONGEST {
        return None;
    }
    Some(format!(
        "curl -X POST -H \"Authorization: Bearer $MUSTER_TOKEN\" -H 'Content-Type: application/json' -d {} \
         \"$MUSTER_URL{MUSTER_PATH}/jobs\"",
        quoted(&body)
    ))
}

#[cfg(test)]
mod tests {
    use muster_api::jobs::JobPower;

    use super::*;

    #[test]
    fn commands_have_the_values_and_the_query_as_single_words() {
        let pattern = JobAction::Hostname {
            pattern: Some("it's-{n:03}".to_owned()),
            names: Default::default(),
        };
        assert_eq!(
            muster(&pattern, "cpu:>8").as_deref(),
            Some(r"muster host set --name 'it'\''s-{n:03}' --query 'cpu:>8'")
        );
        let power = JobAction::Power { power: JobPower::Off };
        assert_eq!(
            muster(&power, "").as_deref(),
            Some("muster host power off --query ''")
        );
        assert_eq!(muster(&JobAction::Discover, ""), None);
        let request = JobRequest {
            action: JobAction::Approve,
            selection: Default::default(),
            dry_run: false,
            digest: None,
            confirm: None,
        };
        let line = curl(&request).unwrap();
        assert!(
            line.contains(
                r#"-d '{"action":{"kind":"approve"},"selection":{}}' "$MUSTER_URL/api/muster/v1/jobs""#
            ),
            "{line}"
        );
    }
}
