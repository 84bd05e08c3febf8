//! Each key and operator of filters.

use muster_api::host::HostStatus;
use muster_core::query::{HostSummary, Key, Query};
use muster_core::record::SleepCause;
use muster_core::rules::sleep::Power;

use super::sample::{bare, host, passes, query};

/// Terms that the sample passes.
const PASSED: &[&str] = &[
    "",
    "   ",
    // Words: in name, id, serial numbers, MAC and IP addresses, maker, model, management controller, switch, port, reason.
    "node",
    "NODE-7",
    "node*7",
    "n*7 *e-7*",
    "1111-0000",
    "sn-0007",
    "disk-a",
    "52:54:00:12:34",
    "52-54-00-12-34-57",
    "5254.0012.3456",
    "525400123456",
    "123457",
    "198.51.100",
    "2001:db8::7",
    "dell",
    "poweredge",
    "r750",
    "\"poweredge r750\"",
    "power\"edge r\"*0",
    "192.0.2.7",
    "bmc-7.example",
    "sw2",
    "gi1/0/7",
    "\"image, 70 %\"",
    "nothing,node",
    "-nothing",
    "-nothing,nobody",
    // Texts are whole, unless they have wildcards.
    "name:node-7",
    "name:NODE*",
    "name:*",
    "id:11111111-0000-4000-8000-000000000001",
    "id:1111*",
    "pool:rack-1",
    "pool:rack-*",
    "pool:00000000-0000-0000-0000-000000000007",
    "cluster:prod",
    "cluster:00000000-0000-0000-0000-00000000000c",
    "-cluster:\"\"",
    "state:installing-in-progress",
    "state:install*",
    "state:known,installing-in-progress",
    "-state:known,error",
    "STATE:*progress",
    "stage:writing-image-to-disk",
    "stage:\"Writing image to disk\"",
    "stage:writing*",
    "role:worker",
    "approved:yes",
    "approved:true",
    "-approved:no",
    "temp:61",
    "temp:>60",
    "temp:<=61",
    "temp:*",
    "label:zone",
    "label:zone=a",
    "label:z*=*",
    "label:example.test/size=",
    "label:example.test/size=*",
    "label:\"zone=a\"",
    "-label:zone=b",
    "-label:rack",
    "finding:*",
    "finding:waiting",
    "finding:clock-*",
    "-finding:duplicate-address",
    "check:ntp-synced",
    "check:*",
    "-check:connected",
    // Times.
    "wait:*",
    "wait:>10m",
    "wait:20m",
    "wait:<1h",
    "wait:overdue",
    "wait:OVERDUE",
    "seen:<5m",
    "seen:30s",
    "seen:>=30s",
    "-seen:>1m",
    "since:24h",
    "since:>2h59m",
    "since:<=3h",
    "since:1d",
    // Numbers.
    "cpu:64",
    "cpu:>32",
    "cpu:<65",
    "cpu:>=64",
    "cpu:<=64",
    "cpu:32,64",
    "memory:256",
    "memory:256GiB",
    "memory:0.25T",
    "memory:>255G",
    "memory:<0.3TiB",
    "disk:2",
    "disk:>1",
    "disk:480GB",
    "disk:1.92T",
    "disk:>1.9T",
    "disk:<500G",
    "disk:ssd",
    "disk:HDD,fc",
    "-disk:>2T",
    "gpu:2",
    "gpu:>0",
    "gpu:*h100*",
    "gpu:\"nvidia corporation h100 80gb\"",
    "nic-speed:25G",
    "nic-speed:25000",
    "nic-speed:>=10Gbit",
    "vlan:10",
    "vlan:>100",
    "-vlan:11",
    // Addresses and hardware.
    "mac:52:54:00:12:34:56",
    "mac:52-54-00-12-34-57",
    "mac:5254.0012.3456",
    "mac:525400*",
    "mac:*34:57",
    "ip:198.51.100.7",
    "ip:198.51.100.0/24",
    "ip:198.51.100.*",
    "ip:2001:DB8:0::7",
    "ip:2001:db8::/32",
    "ip:2001:db8:*",
    "serial:SN-0007",
    "serial:disk-a",
    "vendor:dell*",
    "model:\"PowerEdge R750\"",
    "model:*r750",
    "switch:sw1",
    "switch:sw1 switch:sw2",
    "port:Gi1/0/7",
    "bmc:bmc-7",
    "bmc:bmc-7.*",
    "bmc:192.0.2.7",
    "bmc:192.0.2.0/28",
    "power:on",
    "firmware:uefi",
    "secureboot:no",
    "secureboot:off",
    "agent:muster-agent/0.1.0",
    "agent:0.1.*",
    // All terms must hold.
    "cpu:>32 -finding:duplicate* switch:sw1",
    "node cluster:prod -approved:no",
];

/// Terms that it does not pass.
const STOPPED: &[&str] = &[
    "nothing",
    "-node",
    "node nothing",
    "n*8",
    "52:54:00:12:34:58",
    "2:54:00:12:34:5a",
    "rack-1",
    "prod",
    "worker",
    "name:node",
    "name:*8",
    "id:1111",
    "pool:rack",
    "pool:rack-11",
    "-pool:rack-1",
    "cluster:pro",
    "cluster:\"\"",
    "-cluster:*",
    "state:known",
    "state:*unbound",
    "stage:done",
    "role:master",
    "temp:>61",
    "-temp:>60",
    "temp:\"\"",
    "approved:no",
    "label:zon",
    "label:zone=b",
    "label:zone=",
    "label:example.test/size=x",
    "-label:zone=b,zone",
    "-finding:*",
    "finding:\"\"",
    "finding:one-way-link",
    "-check:*",
    "check:connected",
    "wait:>20m",
    "wait:21m",
    "-wait:overdue",
    "wait:\"\"",
    "seen:>30s",
    "seen:<30s",
    "since:2h",
    "cpu:63",
    "cpu:>64",
    "cpu:<64",
    "-cpu:64",
    "cpu:\"\"",
    "memory:255",
    "memory:>256GiB",
    "memory:257G",
    "disk:3",
    "disk:1.925T",
    "disk:480.0G",
    "disk:>2T",
    "disk:fc",
    "gpu:1",
    "gpu:h100",
    "nic-speed:10G",
    "nic-speed:>25G",
    "vlan:11",
    "vlan:>200",
    "mac:52:54:00:12:34:58",
    "mac:*34",
    "ip:198.51.100.70",
    "ip:198.51.101.0/24",
    "ip:198.51.100.8*",
    "ip:2001:db8::8",
    "serial:SN",
    "serial:*b",
    "vendor:dell",
    "model:R750",
    "switch:sw",
    "switch:sw3",
    "port:1",
    "bmc:bmc",
    "bmc:192.0.2.8",
    "power:off",
    // Controllers have words of their own.
    "power:paused",
    "firmware:bios",
    "secureboot:yes",
    "agent:0.1",
];

#[test]
fn each_key_and_operator_lets_the_right_hosts_pass() {
    let host = host();
    for text in PASSED {
        assert!(passes(text, &host), "{text}");
    }
    for text in STOPPED {
        assert!(!passes(text, &host), "{text}");
    }
}

#[test]
fn a_state_is_found_in_clusters_and_outside_by_its_name() {
    let in_state = |status| HostSummary { status, ..host() };
    let (bound, unbound) = (HostStatus::Disconnected, HostStatus::DisconnectedUnbound);
    for (text, passed) in [
        ("state:disconnected", [true, true]),
        ("state:Disconnected*", [true, true]),
        ("state:disconnected-bound", [true, false]),
        ("state:disconnected-unbound", [false, true]),
        ("-state:disconnected", [false, false]),
    ] {
        let found = [bound, unbound].map(|status| passes(text, &in_state(status)));
        assert_eq!(found, passed, "{text}");
    }
    assert!(passes("state:error", &in_state(HostStatus::Error)));
    let asleep = HostSummary {
        sleep: Power::Asleep(SleepCause::Idle),
        ..in_state(HostStatus::KnownUnbound)
    };
    for (text, passed) in [
        ("state:asleep", true),
        ("state:known-unbound", true),
        ("state:known,waking", true),
        ("state:waking", false),
        ("-state:asleep", false),
    ] {
        assert_eq!(passes(text, &asleep), passed, "{text}");
    }
    assert!(!passes("state:asleep", &in_state(HostStatus::KnownUnbound)));
    assert!(!passes("state:known", &in_state(bound)));
    assert!(Query::parse("state:error-bound").is_err());
}

#[test]
fn every_key_has_a_case() {
    for key in Key::ALL {
        let has = |texts: &[&str]| {
            texts
                .iter()
                .any(|text| text.trim_start_matches('-').starts_with(&format!("{key}:")))
        };
        assert!(has(PASSED) && has(STOPPED), "{key}");
    }
}

#[test]
fn what_is_not_known_is_none() {
    let bare = bare();
    let always_known = [
        Key::Name,
        Key::Id,
        Key::Pool,
        Key::State,
        Key::Role,
        Key::Seen,
        Key::Since,
    ];
    for key in Key::ALL {
        let is_known = always_known.contains(key);
        assert_eq!(passes(&format!("{key}:*"), &bare), is_known, "{key}");
        assert_eq!(passes(&format!("{key}:\"\""), &bare), !is_known, "{key}");
        assert!(passes(&format!("{key}:*"), &host()), "{key}");
    }
    for text in [
        "cpu:<4",
        "disk:0",
        "gpu:0",
        "memory:<1G",
        "wait:<1h",
        "approved:no",
        "temp:<200",
        "mac:52*",
        "ip:0.0.0.0/0",
    ] {
        assert!(!passes(text, &bare), "{text}");
        assert!(passes(&format!("-{text}"), &bare), "{text}");
    }
}

#[test]
fn filters_have_one_canonical_text() {
    for (text, canonical) in [
        ("", ""),
        ("  a \t b\n", "a b"),
        ("\"a\"", "a"),
        ("\"a b\"", "\"a b\""),
        ("a\" b\"", "\"a b\""),
        ("a\"*\"b*", "\"a*b\"*"),
        ("a**b", "a*b"),
        (r#""say \"\\\"""#, r#""say \"\\\"""#),
        ("52:54:00", "\"52:54:00\""),
        ("\"-a\"", "\"-a\""),
        ("\">a\"", "\">a\""),
        ("\"cpu>32\"", "\"cpu>32\""),
        ("model>7", "\"model>7\""),
        ("a>b", "\"a>b\""),
        ("-a,b", "-a,b"),
        ("CPU:>=032", "cpu:>=32"),
        ("memory:64", "memory:64GiB"),
        ("memory:>1.50tb", "memory:>1.50TiB"),
        ("disk:4,1T", "disk:4,1TB"),
        ("nic-speed:25gbe", "nic-speed:25G"),
        ("seen:90s", "seen:<=1m30s"),
        ("wait:10m,Overdue", "wait:>=10m,overdue"),
        ("approved:TRUE", "approved:yes"),
        ("stage:\"Writing image to disk\"", "stage:Writing-image-to-disk"),
        ("model:\"PowerEdge R750\"", "model:\"PowerEdge R750\""),
        ("mac:52-54-00-12-34-56", "mac:525400123456"),
        ("ip:2001:DB8:0::7,10.0.0.0/8", "ip:2001:db8::7,10.0.0.0/8"),
        ("label:zone=\"a b\"", "label:zone=\"a b\""),
        ("label:zone=", "label:zone=\"\""),
        ("cluster:\"\",*", "cluster:\"\",*"),
        ("gpu:\"2\"", "gpu:2"),
    ] {
        let read = query(text);
        assert_eq!(read.to_string(), canonical, "{text}");
        assert_eq!(Query::parse(canonical), Ok(read), "{text}");
    }
}

#[test]
fn keys_with_words_name_them() {
    for key in Key::ALL {
        for word in key.words() {
            assert!(Query::parse(&format!("{key}:\"{word}\"")).is_ok(), "{key}:{word}");
        }
    }
    assert!(Key::State.words().contains(&"known-unbound".to_owned()));
    assert!(Key::Finding.words().contains(&"duplicate-host-id".to_owned()));
    assert_eq!(Key::Pool.words(), Vec::<String>::new());
}
