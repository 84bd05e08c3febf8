//! Filters compared with a second reading of their terms that knows nothing of the first.

use chrono::Duration;
use muster_api::host::{HostRole, HostStatus};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::search::HostSwitchPort;
use muster_core::query::{BmcSummary, DiskSummary, DriveType, HostSummary, WaitSummary};
use muster_core::record::{CheckId, SleepCause};
use muster_core::rules::sleep::Power;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use regex::Regex;
use uuid::Uuid;

use super::sample::{bare, host, now, passes};

const NAMES: &[&str] = &["node-1", "Node-2", "node-10", "rack 7", "Éa", "a*b", "a,b"];
const MODELS: &[&str] = &["", "R750", "r750", "PowerEdge R750", "DL380"];

fn disk(terabytes: u64) -> DiskSummary {
    DiskSummary {
        bytes: terabytes * 1_000_000_000_000,
        drive_type: DriveType::Ssd,
        serial: format!("D{terabytes}"),
    }
}

fn port(switch: &str) -> HostSwitchPort {
    HostSwitchPort {
        switch: switch.into(),
        port: "Eth1".into(),
    }
}

prop_compose! {
    fn any_host()(
        known in any::<bool>(), id in 1_u128..1_000_000,
        name in select(NAMES), model in select(MODELS), pool in 0..2 * NAMES.len(),
        status in select(&[HostStatus::Known, HostStatus::KnownUnbound, HostStatus::Error]),
        sleep in select(&[Power::Awake, Power::Asleep(SleepCause::Idle), Power::Waking]),
        role in select(&[HostRole::Worker, HostRole::Master]), approved in option::of(any::<bool>()),
        wait in option::of((0_i64..4, option::of(-2_i64..3))), (since, seen) in (0_i64..4, 0_i64..4),
        labels in vec((select(&["zone", "rack"]), select(&["a", "b", ""])), 0..3),
        findings in vec(select(&["waiting", "clock-offset"]), 0..2),
        checks in vec(select(&[CheckId::Connected, CheckId::NtpSynced]), 0..2),
        (cpu, gib, speed, celsius) in (0_u32..4, 0_u64..4, 0_u32..3, option::of(0_u8..5)), disks in vec(0_u64..4, 0..3),
        switches in vec(select(&["sw1", "sw2", "SW2"]), 0..3), mac in 0_u8..4, vlans in vec(1_u16..4, 0..3),
    ) -> HostSummary {
        let mut one = if known { host() } else { bare() };
        one.id = HostId(Uuid::from_u128(id));
        // Each name is that of two InfraEnvs.
        (one.name, one.pool) = (name.into(), NAMES[pool / 2].into());
        one.infra_env_id = InfraEnvId(Uuid::from_u128(0xe000 + pool as u128));
        (one.status, one.role, one.approved) = (status, role, approved);
        one.sleep = sleep;
        one.celsius = celsius;
        one.wait = wait.map(|(minutes, until)| WaitSummary {
            what: "something".into(),
            since: now() - Duration::minutes(minutes),
            until: until.map(|minutes| now() + Duration::minutes(minutes)),
            then: "".into(),
            what_to_do: "".into(),
        });
        (one.since, one.seen_at) = (now() - Duration::minutes(since), now() - Duration::minutes(seen));
        one.labels = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        one.findings = findings.into_iter().map(str::to_owned).collect();
        one.failed_checks = checks;
        one.bmc = approved.map(|_| BmcSummary {
            name: "bmc".into(),
            address: format!("192.0.2.{mac}"),
            power: "On".into(),
            wakes: false,
        });
        if let Some(hardware) = &mut one.hardware {
            hardware.model = model.into();
            (hardware.cpu_threads, hardware.memory_bytes) = (cpu, gib << 30);
            hardware.nic_speed_mbps = speed * 1000;
            hardware.disks = disks.into_iter().map(disk).collect();
            hardware.ports = switches.into_iter().map(port).collect();
            hardware.macs = vec![format!("52:54:00:00:00:{mac:02x}")];
            hardware.ips = vec![format!("10.0.{}.{mac}", mac % 2)];
            hardware.vlans = vlans;
        }
        one
    }
}

/// Up to a dozen hosts with different ids.
pub fn hosts() -> impl Strategy<Value = Vec<HostSummary>> {
    vec(any_host(), 0..12).prop_map(|mut hosts| {
        hosts.sort_by_key(|host| host.id);
        hosts.dedup_by_key(|host| host.id);
        hosts
    })
}

/// A value of a term.
#[derive(Debug, Clone)]
enum Asked {
    Word(String),
    /// Key, text with wildcards.
    Text(&'static str, String),
    /// Key, sign, number, unit.
    Number(&'static str, &'static str, u64, &'static str),
    /// Key, sign, minutes.
    Age(&'static str, &'static str, i64),
    Overdue,
    Label(&'static str, Option<&'static str>),
    /// Third part of 10.0.x.0/24.
    Network(u8),
    Mac(u8),
    Any(&'static str),
    None(&'static str),
}

/// Signs of comparisons.
const SIGNS: &[&str] = &[">", "<", ">=", "<="];
const WORDS: &[&str] = &[
    "node",
    "NODE-1*",
    "r750",
    "edge*r",
    "éa",
    "10.0.1",
    "5254.0000.0001",
    "52:54:00:00:00:02",
    "sw2",
    "a*b",
    "d3",
    "bmc",
    "eth",
];
const TEXT_KEYS: &[&str] = &["name", "pool", "model", "switch", "serial", "bmc"];
const TEXTS: &[&str] = &[
    "node-1", "node-*", "*10", "r750", "*R7*", "sw2", "D*", "ÉA", "a*b", "*b*",
];
/// Keys that take some words only, with one of these.
const WORD_KEYS: &[(&str, &str)] = &[
    ("state", "known"),
    ("state", "KNOWN*"),
    ("state", "Known-Bound"),
    ("state", "known-unbound"),
    ("state", "asleep"),
    ("state", "WAK*"),
    ("role", "worker"),
    ("finding", "waiting"),
    ("check", "*connected"),
];
const KNOWN_OR_NOT: &[&str] = &[
    "model", "wait", "label", "cpu", "disk", "approved", "switch", "temp",
];
/// Keys with numbers, and the unit to write.
const NUMBERS: &[(&str, &str)] = &[
    ("cpu", ""),
    ("memory", "GiB"),
    ("disk", "TB"),
    ("disk", ""),
    ("nic-speed", "G"),
    ("vlan", ""),
    ("temp", ""),
];

fn any_asked() -> impl Strategy<Value = Asked> {
    let text = |(key, text): (&'static str, &str)| Asked::Text(key, text.to_owned());
    prop_oneof![
        select(WORDS).prop_map(|word| Asked::Word(word.to_owned())),
        (select(TEXT_KEYS), select(TEXTS)).prop_map(text),
        select(WORD_KEYS).prop_map(text),
        (select(NUMBERS), select(SIGNS), 0_u64..5)
            .prop_map(|((key, unit), sign, number)| Asked::Number(key, sign, number, unit)),
        (select(&["wait", "seen", "since"]), select(SIGNS), 0_i64..5)
            .prop_map(|(key, sign, minutes)| Asked::Age(key, sign, minutes)),
        Just(Asked::Overdue),
        (select(&["zone", "rack"]), option::of(select(&["a", "b", ""])))
            .prop_map(|(key, value)| Asked::Label(key, value)),
        (0_u8..3).prop_map(Asked::Network),
        (0_u8..5).prop_map(Asked::Mac),
        select(KNOWN_OR_NOT).prop_map(Asked::Any),
        select(KNOWN_OR_NOT).prop_map(Asked::None),
    ]
}

impl Asked {
    fn written(&self) -> String {
        match self {
            Self::Word(word) => format!("{}", Quoted(word)),
            Self::Text(key, text) => format!("{key}:{}", Quoted(text)),
            Self::Number(key, sign, number, unit) => format!("{key}:{sign}{number}{unit}"),
            Self::Age(key, sign, minutes) => format!("{key}:{sign}{minutes}m"),
            Self::Overdue => "wait:overdue".into(),
            Self::Label(key, None) => format!("label:{key}"),
            Self::Label(key, Some(value)) => format!("label:{key}={value}"),
            Self::Network(third) => format!("ip:10.0.{third}.0/24"),
            Self::Mac(last) => format!("mac:52-54-00-00-00-{last:02x}"),
            Self::Any(key) => format!("{key}:*"),
            Self::None(key) => format!("{key}:\"\""),
        }
    }

    fn fits(&self, host: &HostSummary) -> bool {
        let hardware = host.hardware.as_ref();
        match self {
            Self::Word(word) => searched(host).iter().any(|text| glob(word, false).is_match(text)),
            Self::Text(key, text) => texts(key, host).iter().any(|one| glob(text, true).is_match(one)),
            Self::Number(key, sign, number, unit) => {
                let own = numbers(key, unit, host);
                let factor = match *unit {
                    "GiB" => 1 << 30,
                    "TB" => 1_000_000_000_000,
                    "G" => 1000,
                    _ => 1,
                };
                own.iter().any(|own| compare(sign, *own, number * factor))
            }
            Self::Age(key, sign, minutes) => {
                let since = match *key {
                    "wait" => host.wait.as_ref().map(|wait| wait.since),
                    "seen" => Some(host.seen_at),
                    _ => Some(host.since),
                };
                since.is_some_and(|since| compare(sign, (now() - since).num_minutes(), *minutes))
            }
            Self::Overdue => host
                .wait
                .as_ref()
                .is_some_and(|wait| wait.until.is_some_and(|until| until < now())),
            Self::Label(key, value) => host
                .labels
                .iter()
                .any(|(own, own_value)| own == key && value.is_none_or(|value| value == own_value)),
            Self::Network(third) => {
                hardware.is_some_and(|it| it.ips.iter().any(|ip| ip.starts_with(&format!("10.0.{third}."))))
            }
            Self::Mac(last) => {
                hardware.is_some_and(|it| it.macs.contains(&format!("52:54:00:00:00:{last:02x}")))
            }
            Self::Any(key) => has(key, host),
            Self::None(key) => !has(key, host),
        }
    }
}

/// A text in quotation marks but for its wildcards.
struct Quoted<'a>(&'a str);

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self.0.split('*').map(|part| format!("\"{part}\"")).collect();
        f.write_str(&parts.join("*"))
    }
}

fn glob(pattern: &str, is_whole: bool) -> Regex {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    let (begin, end) = if is_whole { ("^", "$") } else { ("", "") };
    Regex::new(&format!("(?is){begin}{}{end}", parts.join(".*"))).unwrap()
}

fn compare<T: Ord>(sign: &str, a: T, b: T) -> bool {
    match sign {
        ">" => a > b,
        "<" => a < b,
        ">=" => a >= b,
        _ => a <= b,
    }
}

fn searched(host: &HostSummary) -> Vec<String> {
    let keys = ["name", "model", "switch", "serial", "bmc"];
    let mut texts: Vec<String> = keys.iter().flat_map(|key| texts(key, host)).collect();
    texts.extend([host.id.to_string(), host.reason.clone()]);
    if let Some(hardware) = &host.hardware {
        texts.extend(hardware.macs.iter().chain(&hardware.ips).cloned());
        texts.extend(hardware.macs.iter().map(|mac| {
            let digits = mac.replace(':', "");
            format!("{}.{}.{}", &digits[..4], &digits[4..8], &digits[8..])
        }));
        texts.extend(hardware.ports.iter().map(|port| port.port.clone()));
        texts.push(hardware.vendor.clone());
    }
    texts
}

fn texts(key: &str, host: &HostSummary) -> Vec<String> {
    let hardware = host.hardware.clone().unwrap_or_default();
    let texts = match key {
        "name" => vec![host.name.clone()],
        "pool" => vec![host.pool.clone(), host.infra_env_id.to_string()],
        "state" => {
            let other = match host.status {
                HostStatus::Known => "known-bound",
                HostStatus::KnownUnbound => "known",
                _ => "",
            };
            vec![host.status.to_string(), other.to_owned(), sleep(host).to_owned()]
        }
        "role" => vec![host.role.to_string()],
        "finding" => host.findings.clone(),
        "check" => host
            .failed_checks
            .iter()
            .map(|check| check.id().to_owned())
            .collect(),
        "model" => vec![hardware.model],
        "switch" => hardware.ports.into_iter().map(|port| port.switch).collect(),
        "serial" => hardware
            .disks
            .into_iter()
            .map(|disk| disk.serial)
            .chain([hardware.serial])
            .collect(),
        "bmc" => host
            .bmc
            .iter()
            .flat_map(|bmc| [bmc.name.clone(), bmc.address.clone()])
            .chain([hardware.bmc_address])
            .collect(),
        other => panic!("{other}"),
    };
    texts.into_iter().filter(|text| !text.is_empty()).collect()
}

fn sleep(host: &HostSummary) -> &'static str {
    match host.sleep {
        Power::Asleep(_) => "asleep",
        Power::Waking => "waking",
        _ => "",
    }
}

fn numbers(key: &str, unit: &str, host: &HostSummary) -> Vec<u64> {
    if key == "temp" {
        return host.celsius.map(u64::from).into_iter().collect();
    }
    let Some(hardware) = &host.hardware else {
        return Vec::new();
    };
    let known = |number: u64| Some(number).filter(|number| *number > 0).into_iter().collect();
    match (key, unit) {
        ("cpu", _) => known(hardware.cpu_threads.into()),
        ("memory", _) => known(hardware.memory_bytes),
        ("nic-speed", _) => known(hardware.nic_speed_mbps.into()),
        ("disk", "") => vec![hardware.disks.len() as u64],
        ("disk", _) => hardware.disks.iter().map(|disk| disk.bytes).collect(),
        ("vlan", _) => hardware.vlans.iter().map(|id| u64::from(*id)).collect(),
        other => panic!("{other:?}"),
    }
}

fn has(key: &str, host: &HostSummary) -> bool {
    match key {
        "wait" => host.wait.is_some(),
        "label" => !host.labels.is_empty(),
        "approved" => host.approved.is_some(),
        "cpu" | "temp" => !numbers(key, "", host).is_empty(),
        "disk" => host
            .hardware
            .as_ref()
            .is_some_and(|hardware| !hardware.disks.is_empty()),
        text => !texts(text, host).is_empty(),
    }
}

/// A filter of up to three terms.
pub fn filters() -> impl Strategy<Value = String> {
    vec((any::<bool>(), any_asked()), 0..4).prop_map(|terms| written(&terms))
}

/// The terms, with a minus sign where they are negated.
fn written(terms: &[(bool, Asked)]) -> String {
    let sign = |is_negated| if is_negated { "-" } else { "" };
    let terms = terms.iter();
    let terms: Vec<String> = terms
        .map(|(is_negated, asked)| format!("{}{}", sign(*is_negated), asked.written()))
        .collect();
    terms.join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn filters_let_the_same_hosts_pass_as_a_naive_reading(
        hosts in hosts(), terms in vec((any::<bool>(), any_asked()), 0..4),
    ) {
        let written = written(&terms);
        for host in &hosts {
            let expected = terms.iter().all(|(is_negated, asked)| asked.fits(host) != *is_negated);
            prop_assert_eq!(passes(&written, host), expected, "{} {:?}", written, host);
        }
    }
}
