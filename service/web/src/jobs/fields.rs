//! The values of an action: fields of a form, and what is typed into them.

use std::collections::BTreeMap;

use muster_api::cluster::Cluster;
use muster_api::host::HostRoleUpdate;
use muster_api::ids::ClusterId;
use muster_api::jobs::{DiskRule, JobAction};
use serde_json::Value;

use super::kind::Kind;
use super::table::table;
use crate::rest::Form;
use crate::words::disk;

/// Bytes of the unit in which sizes of disks are typed.
const GB: u64 = 1_000_000_000;

/// The ways to find a disk: name in forms, and words.
const RULES: [(&str, &str); 3] = [
    ("ssd", "the smallest SSD or NVMe disk above a size, GB"),
    ("path", "by path"),
    ("wwn", "by World Wide Name"),
];

/// The roles that are given, as REST names them.
const ROLES: [&str; 4] = ["auto-assign", "master", "arbiter", "worker"];

/// Labels, keys, or other values in a title at most.
const SHOWN: usize = 3;

/// A field of the form.
pub struct Field {
    pub name: &'static str,
    pub label: &'static str,
    /// An example, or more about it; empty: none.
    pub hint: &'static str,
    /// What was typed.
    pub value: String,
    pub input: Input,
}

pub enum Input {
    Line,
    Lines,
    Choice(Vec<Choice>),
}

pub struct Choice {
    pub value: String,
    pub text: String,
    pub is_chosen: bool,
}

/// The fields of an action, with what was typed before. `clusters`: those that hosts can be bound to.
pub fn fields(kind: Kind, form: &Form, clusters: &[Cluster]) -> Vec<Field> {
    let field = |name: &'static str, label: &'static str, hint: &'static str, input: Input| Field {
        name,
        label,
        hint,
        value: form.field(name),
        input,
    };
    let choice = |name: &str, value: &str, text: &str| Choice {
        is_chosen: form.field(name) == value,
        value: value.to_owned(),
        text: text.to_owned(),
    };
    match kind {
        Kind::Bind => {
            let choices = clusters.iter();
            let choices = choices.map(|one| choice("cluster", &one.id.to_string(), &one.name));
            let input = Input::Choice(choices.collect());
            vec![field("cluster", "Cluster", "", input)]
        }
        Kind::Role => {
            let choices = ROLES.iter().map(|role| choice("role", role, role));
            vec![field("role", "Role", "", Input::Choice(choices.collect()))]
        }
        Kind::Labels => vec![field(
            "labels",
            "Node labels",
            "KEY=VALUE sets one, KEY- removes one; blanks or lines between",
            Input::Lines,
        )],
        Kind::Pattern => vec![field(
            "pattern",
            "Pattern",
            "such as node-{n:03}, {serial} or {switch}-{port}; {mac} is there, too; {n} counts in the order of the list",
            Input::Line,
        )],
        Kind::Names => vec![field(
            "names",
            "Table",
            "on each line an id or a serial number of a host, a comma (or a tab, as spreadsheets copy), and its name",
            Input::Lines,
        )],
        Kind::Disk => {
            let choices = RULES.iter().map(|(value, text)| choice("rule", value, text));
            vec![
                field("rule", "Which disk", "", Input::Choice(choices.collect())),
                field(
                    "disk",
                    "Size, path or name",
                    "such as 100, /dev/disk/by-path/pci-0000:00:1f.2-ata-1, or 0x5000c500a1b2c3d4",
                    Input::Line,
                ),
            ]
        }
        Kind::Disks => vec![field(
            "disks",
            "Table",
            "on each line an id or a serial number of a host, a comma (or a tab, as spreadsheets copy), and the path or the World Wide Name \
             of its disk",
            Input::Lines,
        )],
        _ => Vec::new(),
    }
}

/// The action with the values of a form.
///
/// # Errors
/// With the reason, for a value that is missing or cannot be read.
pub fn action(kind: Kind, form: &Form) -> Result<JobAction, String> {
    if let Some(action) = kind.plain() {
        return Ok(action);
    }
    match kind {
        Kind::Bind => {
            let cluster: Result<ClusterId, _> = form.field("cluster").parse();
            let cluster = cluster.map_err(|_| "choose the cluster".to_owned())?;
            Ok(JobAction::Bind { cluster })
        }
        Kind::Role => {
            let role: Result<HostRoleUpdate, _> = serde_json::from_value(Value::String(form.field("role")));
            let role = role.map_err(|_| "choose the role".to_owned())?;
            Ok(JobAction::Role { role })
        }
        Kind::Labels => labels(&form.field("labels")),
        Kind::Names => Ok(JobAction::Hostname {
            pattern: None,
            names: table(&form.field("names"), "name")?,
        }),
        Kind::Disks => Ok(JobAction::Disk {
            rule: DiskRule::List {
                disks: table(&form.field("disks"), "disk")?,
            },
        }),
        Kind::Disk => {
            let rule = rule(&form.field("rule"), form.field("disk"))?;
            Ok(JobAction::Disk { rule })
        }
        _ => match form.field("pattern") {
            empty if empty.is_empty() => Err("type a pattern, such as node-{n:03}".to_owned()),
            pattern => Ok(JobAction::Hostname {
                pattern: Some(pattern),
                names: BTreeMap::new(),
            }),
        },
    }
}

/// `KEY=VALUE` and `KEY-`.
fn labels(text: &str) -> Result<JobAction, String> {
    let mut set: BTreeMap<String, String> = BTreeMap::new();
    let mut remove: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match (word.split_once('='), word.strip_suffix('-')) {
            (Some((key, value)), _) => {
                set.insert(key.to_owned(), value.to_owned());
            }
            (None, Some(key)) => remove.push(key.to_owned()),
            (None, None) => {
                return Err(format!(
                    "{word:?} is no label: write KEY=VALUE to set one, KEY- to remove one"
                ));
            }
        }
    }
    match set.is_empty() && remove.is_empty() {
        true => Err("type a label: KEY=VALUE sets it, KEY- removes it".to_owned()),
        false => Ok(JobAction::Labels { set, remove }),
    }
}

fn rule(name: &str, value: String) -> Result<DiskRule, String> {
    match name {
        "path" if value.is_empty() => Err("type the path of the disk".to_owned()),
        "path" => Ok(DiskRule::Path { path: value }),
        "wwn" if value.is_empty() => Err("type the World Wide Name of the disk".to_owned()),
        "wwn" => Ok(DiskRule::Wwn { wwn: value }),
        _ => {
            let number = value.trim_end_matches(['G', 'g', 'B', 'b']).trim();
            let bytes = number.parse::<u64>().ok().and_then(|size| size.checked_mul(GB));
            let bytes =
                bytes.ok_or_else(|| format!("{value:?} is no size: type a number of GB, such as 100"))?;
            Ok(DiskRule::SmallestSsdAbove { bytes })
        }
    }
}

/// The values of an action; empty: it has none.
pub fn words(action: &JobAction) -> String {
    match action {
        JobAction::Bind { cluster } => cluster.to_string(),
        JobAction::Role { role } => muster_api::host::HostRole::from(*role).name().to_owned(),
        JobAction::Labels { set, remove } => {
            let set = set.iter().map(|(key, value)| format!("{key}={value}"));
            let remove = remove.iter().map(|key| format!("{key}-"));
            let all: Vec<String> = set.chain(remove).collect();
            match all.len().saturating_sub(SHOWN) {
                0 => all.join(" "),
                more => format!("{} and {more} more", all[..SHOWN].join(" ")),
            }
        }
        JobAction::Hostname {
            pattern: Some(pattern),
            ..
        } => pattern.clone(),
        // A job has its names with its hosts.
        JobAction::Hostname { pattern: None, names } => match names.len() {
            0 => String::new(),
            number => crate::words::count(number, "name"),
        },
        JobAction::Disk { rule } => match rule {
            DiskRule::SmallestSsdAbove { bytes } => format!("the smallest SSD above {}", disk(*bytes)),
            DiskRule::Path { path } => path.clone(),
            DiskRule::Wwn { wwn } => wwn.clone(),
            // A job has its disks with its hosts.
            DiskRule::List { disks } => match disks.len() {
                0 => String::new(),
                number => crate::words::count(number, "disk"),
            },
        },
        JobAction::Approve
        | JobAction::RevokeApproval
        | JobAction::Unbind
        | JobAction::Install
        | JobAction::Power { .. }
        | JobAction::Discover
        | JobAction::Logs
        | JobAction::Delete => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: Kind, form: &str) -> Result<JobAction, String> {
        action(kind, &Form::of(form.as_bytes()))
    }

    #[test]
    fn labels_are_set_and_removed() {
        let JobAction::Labels { set, remove } =
            of(Kind::Labels, "labels=rack%3Dr2%0D%0Azone- infra%3D").unwrap()
        else {
            panic!("labels");
        };
        let expected = [("infra", ""), ("rack", "r2")];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(set, BTreeMap::from(expected));
        assert_eq!(remove, ["zone"]);
        assert!(of(Kind::Labels, "labels=rack").unwrap_err().contains("\"rack\""));
        of(Kind::Labels, "").unwrap_err();
    }

    #[test]
    fn a_disk_is_chosen_by_size_path_or_name() {
        for (form, rule) in [
            (
                "rule=ssd&disk=100",
                DiskRule::SmallestSsdAbove { bytes: 100 * GB },
            ),
            (
                "rule=ssd&disk=480 GB",
                DiskRule::SmallestSsdAbove { bytes: 480 * GB },
            ),
            (
                "rule=path&disk=/dev/sda",
                DiskRule::Path {
                    path: "/dev/sda".to_owned(),
                },
            ),
            (
                "rule=wwn&disk=0x5",
                DiskRule::Wwn {
                    wwn: "0x5".to_owned(),
                },
            ),
        ] {
            assert_eq!(of(Kind::Disk, form), Ok(JobAction::Disk { rule }), "{form}");
        }
        for form in ["rule=ssd&disk=", "rule=ssd&disk=x", "rule=path", "rule=wwn&disk="] {
            assert!(of(Kind::Disk, form).is_err(), "{form}");
        }
    }

    #[test]
    fn each_kind_has_its_action_and_its_words() {
        let id = "00000000-0000-0000-0000-000000000001";
        for kind in Kind::ALL {
            let form = format!(
                "cluster={id}&role=worker&labels=a%3Db&pattern=n-%7Bn%7D&names=SN-1,a&disks=SN-1,/dev/sda\
                 &rule=ssd&disk=9"
            );
            let action = of(kind, &form).unwrap();
            assert_eq!(Kind::of(&action), kind);
            assert_eq!(words(&action).is_empty(), kind.plain().is_some(), "{kind:?}");
            let has_fields = !fields(kind, &Form::of(b""), &[]).is_empty();
            assert_eq!(has_fields, kind.plain().is_none(), "{kind:?}");
            // Nothing is done by values that nobody typed.
            assert_eq!(of(kind, "").is_ok(), kind.plain().is_some(), "{kind:?}");
        }
    }
}
