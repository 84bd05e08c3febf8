//! The commands that do what a job does.

use muster_api::MUSTER_PATH;
use muster_api::host::HostRole;
use muster_api::jobs::{DiskRule, JobAction, JobRequest};

use crate::words::quoted;

/// Longest body of a command for `curl`, bytes: what is longer is sent from a file.
const LONGEST: usize = 2000;

/// Bytes of the unit in which sizes of disks are written.
const GB: u64 = 1_000_000_000;

/// The `muster` line for the hosts that fit a query, in the order `sort` where names are given in it; empty: by name. `None`: it reads a file.
pub fn muster(action: &JobAction, query: &str, sort: &str) -> Option<String> {
    let words = match action {
        JobAction::Approve => "approve".to_owned(),
        JobAction::RevokeApproval => "approve --revoke".to_owned(),
        JobAction::Bind { cluster } => format!("bind --cluster {cluster}"),
        JobAction::Unbind => "unbind".to_owned(),
        JobAction::Install => "install".to_owned(),
        JobAction::Role { role } => format!("role {}", HostRole::from(*role).name()),
        JobAction::Labels { set, remove } => {
            let set = set.iter().map(|(key, value)| format!("{key}={value}"));
            let remove = remove.iter().map(|key| format!("{key}-"));
            let labels: Vec<String> = set.chain(remove).map(|label| quoted(&label)).collect();
            format!("labels {}", labels.join(" "))
        }
        JobAction::Hostname { pattern, .. } => {
            let pattern = quoted(pattern.as_deref()?);
            match sort {
                "" => format!("hostname {pattern}"),
                sort => format!("hostname {pattern} --sort={}", quoted(sort)),
            }
        }
        JobAction::Disk { rule } => match rule {
            DiskRule::SmallestSsdAbove { bytes } if bytes % GB == 0 => {
                format!("disk --smallest-ssd-above {}GB", bytes / GB)
            }
            DiskRule::SmallestSsdAbove { bytes } => format!("disk --smallest-ssd-above {bytes}"),
            DiskRule::Path { path } => format!("disk --path {}", quoted(path)),
            DiskRule::Wwn { wwn } => format!("disk --wwn {}", quoted(wwn)),
            DiskRule::List { .. } => return None,
        },
        JobAction::Power { power } => format!("power {}", power.name()),
        JobAction::Discover => "discover".to_owned(),
        JobAction::Logs => "logs".to_owned(),
        JobAction::Delete => "delete".to_owned(),
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
            muster(&pattern, "cpu:>8", "-cpu").as_deref(),
            Some(r"muster host hostname 'it'\''s-{n:03}' --sort='-cpu' --query 'cpu:>8'")
        );
        let labels = JobAction::Labels {
            set: [("rack".to_owned(), "r 2".to_owned())].into(),
            remove: vec!["zone".to_owned()],
        };
        for (action, line) in [
            (
                JobAction::Power { power: JobPower::Off },
                "muster host power off --query ''",
            ),
            (labels, "muster host labels 'rack=r 2' 'zone-' --query ''"),
            (
                JobAction::Disk {
                    rule: DiskRule::SmallestSsdAbove { bytes: 100 * GB },
                },
                "muster host disk --smallest-ssd-above 100GB --query ''",
            ),
            (JobAction::Discover, "muster host discover --query ''"),
        ] {
            assert_eq!(muster(&action, "", "name").as_deref(), Some(line));
        }
        let names = JobAction::Hostname {
            pattern: None,
            names: Default::default(),
        };
        assert_eq!(muster(&names, "", ""), None);
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
