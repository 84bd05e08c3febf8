//! Configs of specification 2 that are made of the members in docs/bootstrap-data.md.

use muster_core::rules::bootstrap_data::translated;
use muster_core::rules::ignition::check_bootstrap;
use muster_core::rules::ignition_spec::parse;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::in_data_url;

type Members = Vec<(&'static str, BoxedStrategy<Value>)>;

fn one_of(values: &[Value]) -> BoxedStrategy<Value> {
    select(values.to_vec()).boxed()
}

fn texts(values: &[&str]) -> BoxedStrategy<Value> {
    let values: Vec<Value> = values.iter().map(|text| Value::from(*text)).collect();
    one_of(&values)
}

fn flag() -> BoxedStrategy<Value> {
    any::<bool>().prop_map(Value::Bool).boxed()
}

/// An object with all of the first members and some of the others.
fn object(always: Members, sometimes: Members) -> BoxedStrategy<Value> {
    let always = always.into_iter().map(|(name, value)| {
        value
            .prop_map(move |value| Some((name.to_owned(), value)))
            .boxed()
    });
    let sometimes = sometimes.into_iter().map(|(name, value)| {
        option::of(value)
            .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
            .boxed()
    });
    let members: Vec<BoxedStrategy<Option<(String, Value)>>> = always.chain(sometimes).collect();
    members
        .prop_map(|members| Value::Object(members.into_iter().flatten().collect()))
        .boxed()
}

fn list(of: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    vec(of, 0..4).prop_map(Value::Array).boxed()
}

/// A list of objects of which no two have the same `key`: specification 3 refuses a second one.
fn unique(of: BoxedStrategy<Value>, key: &'static str) -> BoxedStrategy<Value> {
    let once = move |items: Vec<Value>| {
        let mut kept: Vec<Value> = Vec::new();
        for item in items {
            if kept.iter().all(|one| one[key] != item[key]) {
                kept.push(item);
            }
        }
        Value::Array(kept)
    };
    vec(of, 0..4).prop_map(once).boxed()
}

fn source() -> BoxedStrategy<Value> {
    texts(&["data:,a", "data:;base64,YQ==", "https://a.example/x", ""])
}

fn contents() -> BoxedStrategy<Value> {
    let verification = one_of(&[json!({}), json!({"hash": format!("sha512-{}", "a".repeat(128))})]);
    object(
        vec![("source", source())],
        vec![
            ("compression", texts(&["", "gzip"])),
            ("verification", verification),
        ],
    )
}

/// The members of files, directories and links, with paths in a folder of their own.
fn node(folder: &str) -> (Members, Members) {
    let paths: Vec<Value> = ["a", "b", "c//d", "e/./f"]
        .iter()
        .map(|name| Value::from(format!("{folder}/{name}")))
        .collect();
    let owner = one_of(&[json!({}), json!({"id": 7}), json!({"name": "x"})]);
    (
        vec![("filesystem", texts(&["root", "data"])), ("path", one_of(&paths))],
        vec![("user", owner.clone()), ("group", owner)],
    )
}

fn files() -> BoxedStrategy<Value> {
    let file = |more: Members| {
        let (always, mut sometimes) = node("/etc");
        sometimes.push(("mode", one_of(&[json!(0), json!(420), json!(2541)])));
        sometimes.push(("contents", contents()));
        sometimes.extend(more);
        object(always, sometimes)
    };
    let replacing = file(vec![("overwrite", one_of(&[json!(true)]))]);
    let appended = file(vec![("append", flag())]);
    list(prop_oneof![replacing, appended].boxed())
}

fn storage() -> BoxedStrategy<Value> {
    let (always, mut sometimes) = node("/opt");
    sometimes.push(("overwrite", flag()));
    let directories = unique(object(always, sometimes), "path");
    let (mut always, mut sometimes) = node("/srv");
    always.push(("target", texts(&["/dev/null", "a"])));
    sometimes.push(("hard", flag()));
    let links = unique(object(always, sometimes), "path");
    let partitions = one_of(&[
        json!([]),
        json!([{}]),
        json!([{}, {"number": 1}, {}]),
        json!([{"number": 4, "label": "a", "size": 2048}, {"number": 2, "sizeMiB": 10, "start": 0}]),
        json!([{"number": 1, "label": "x", "start": 2048, "size": 4096, "wipePartitionEntry": true}]),
        json!([{"number": 3, "shouldExist": false, "wipePartitionEntry": true}]),
    ]);
    let disk = object(
        vec![("device", texts(&["/dev/vdb", "/dev/vdc"]))],
        vec![("wipeTable", flag()), ("partitions", partitions)],
    );
    let options = one_of(&[json!([]), json!(["-E", "-E"])]);
    let array = object(
        vec![
            ("name", texts(&["a", "b"])),
            ("level", texts(&["raid1", "raid6"])),
            ("devices", one_of(&[json!(["/dev/vdb", "/dev/vdc"])])),
        ],
        vec![("spares", one_of(&[json!(1)])), ("options", options.clone())],
    );
    let create = one_of(&[json!({"force": true}), json!({"force": true, "options": ["-a"]})]);
    let mount = object(
        vec![
            ("device", texts(&["/dev/vdb1"])),
            ("format", texts(&["ext4", "xfs", "btrfs", "vfat", "swap"])),
        ],
        vec![
            ("label", texts(&["", "l"])),
            ("uuid", texts(&["0"])),
            ("options", options),
            ("wipeFilesystem", flag()),
            ("create", create),
        ],
    );
    let data = json!({"name": "data", "path": "/sysroot/var/data"});
    let filesystems = option::of(mount).prop_map(move |mount| match mount {
        Some(mount) => json!([data, {"name": "other", "mount": mount}]),
        None => json!([data]),
    });
    object(
        vec![("filesystems", filesystems.boxed())],
        vec![
            ("files", files()),
            ("directories", directories),
            ("links", links),
            ("disks", unique(disk, "device")),
            ("raid", unique(array, "name")),
        ],
    )
}

fn units() -> BoxedStrategy<Value> {
    let contents = texts(&["", "[Unit]\nDescription=a\n", "[Service]\nExecStart=/bin/true\n"]);
    let dropin = object(
        vec![("name", texts(&["1.conf", "2.conf"]))],
        vec![("contents", contents.clone())],
    );
    let unit = object(
        vec![("name", texts(&["a.service", "b.mount"]))],
        vec![
            ("contents", contents),
            ("enable", flag()),
            ("enabled", flag()),
            ("mask", flag()),
            ("dropins", list(dropin)),
        ],
    );
    object(vec![], vec![("units", list(unit))])
}

fn networkd() -> BoxedStrategy<Value> {
    let contents = texts(&["", "[Match]\nName=ü\n"]);
    let dropin = object(
        vec![("name", texts(&["1.conf"]))],
        vec![("contents", contents.clone())],
    );
    let unit = object(
        vec![("name", texts(&["a.network", "b.netdev"]))],
        vec![("contents", contents), ("dropins", list(dropin))],
    );
    object(vec![], vec![("units", list(unit))])
}

fn created() -> Members {
    let groups = one_of(&[json!([]), json!(["a", "a", "b"])]);
    let mut members = vec![("uid", one_of(&[json!(0), json!(7)])), ("groups", groups)];
    for name in ["gecos", "homeDir", "primaryGroup", "shell"] {
        members.push((name, texts(&["", "/x"])));
    }
    for name in ["noCreateHome", "noLogInit", "noUserGroup", "system"] {
        members.push((name, flag()));
    }
    members
}

fn passwd() -> BoxedStrategy<Value> {
    let name = || ("name", texts(&["a", "b", "c"]));
    let account = || {
        vec![
            ("passwordHash", texts(&["", "$6$x"])),
            ("sshAuthorizedKeys", one_of(&[json!([]), json!(["k", "k"])])),
        ]
    };
    let mut direct = account();
    direct.extend(created());
    let mut older = account();
    older.push(("create", object(vec![], created())));
    let user = prop_oneof![object(vec![name()], direct), object(vec![name()], older)];
    let group = object(
        vec![name()],
        vec![
            ("gid", one_of(&[json!(7)])),
            ("passwordHash", texts(&["x"])),
            ("system", flag()),
        ],
    );
    object(
        vec![],
        vec![
            ("users", unique(user.boxed(), "name")),
            ("groups", unique(group, "name")),
        ],
    )
}

/// The section `ignition`; `inner`: a config for its references.
fn ignition(inner: Value) -> BoxedStrategy<Value> {
    let reference = json!({"source": in_data_url(&inner), "verification": {}});
    // Ignition 3 takes none twice.
    let other = json!({"source": in_data_url(&json!({"ignition": {"version": "2.1.0", "timeouts": {"httpTotal": 9}}})), "verification": {}});
    let references = one_of(&[
        json!({}),
        json!({"append": [reference]}),
        json!({"append": [reference, other], "replace": {}}),
        json!({"replace": reference}),
    ]);
    let authority = json!({"source": "data:,x", "verification": {}});
    let security = one_of(&[
        json!({}),
        json!({"tls": {}}),
        json!({"tls": {"certificateAuthorities": [authority]}}),
    ]);
    object(
        vec![("version", texts(&["2.0.0", "2.1.0", "2.2.0", "2.3.0", "2.4.0"]))],
        vec![
            ("config", references),
            ("security", security),
            (
                "timeouts",
                one_of(&[json!({}), json!({"httpTotal": 7, "httpResponseHeaders": 0})]),
            ),
            (
                "proxy",
                one_of(&[json!({"httpProxy": "http://p.example", "noProxy": ["a", "a"]})]),
            ),
        ],
    )
}

fn whole(ignition: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    object(
        vec![("ignition", ignition)],
        vec![
            ("storage", storage()),
            ("systemd", units()),
            ("networkd", networkd()),
            ("passwd", passwd()),
        ],
    )
}

/// A config of the table's members; those in it are of them, too.
fn of_the_table() -> impl Strategy<Value = Value> {
    let inner = whole(object(vec![("version", texts(&["2.3.0"]))], vec![]));
    inner.prop_flat_map(|inner| whole(ignition(inner)))
}

/// Paths of all values, as JSON pointers.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                pointers(inner, &format!("{at}/{name}"), all);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                pointers(inner, &format!("{at}/{index}"), all);
            }
        }
        _ => {}
    }
}

/// Values that stand where others are expected.
fn odd() -> BoxedStrategy<Value> {
    one_of(&[
        json!(null),
        json!(""),
        json!("hunter2"),
        json!("/hunter2/../x"),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(true),
        json!([]),
        json!([null]),
        json!(["hunter2"]),
        json!({}),
        json!({"x": "hunter2"}),
        json!([{"name": "hunter2"}]),
    ])
}

/// Configs that are right by themselves may not be right together: a group by its id in one, by its name in the other.
fn checked(text: &str) -> Result<(), String> {
    check_bootstrap(text).or_else(|why| {
        let is_of_parts = why.contains("in the config that its parts make together");
        if is_of_parts { Ok(()) } else { Err(why) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_config_of_the_tables_members_is_taken_and_ignition_takes_its_translation(config in of_the_table()) {
        let translated = translated(&config);
        prop_assert!(translated.is_ok(), "{:?}: {}", translated, config);
        let text = translated.unwrap().to_string();
        prop_assert_eq!(parse(&text).err(), None, "{}", text);
        prop_assert_eq!(checked(&text), Ok(()), "{}", text);
        prop_assert_eq!(checked(&config.to_string()), Ok(()), "{}", config);
    }

    #[test]
    fn whatever_stands_in_a_config_nothing_is_taken_that_ignition_refuses(
        config in of_the_table(), odd in odd(), index in any::<prop::sample::Index>(),
    ) {
        let mut all = Vec::new();
        pointers(&config, "", &mut all);
        let at = index.get(&all).clone();
        let mut config = config;
        *config.pointer_mut(&at).unwrap() = odd;
        match translated(&config) {
            Ok(translated) => prop_assert_eq!(parse(&translated.to_string()).err(), None, "{}", config),
            Err(refused) => prop_assert!(!refused.to_string().contains("hunter2"), "{}", refused),
        }
    }
}
