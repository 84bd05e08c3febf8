//! Compares results of `muster_core::rules::ignition_spec` with recorded results of Ignition 2.26 for the same configs;
//! and checks that nothing is served that Ignition would refuse.
//!
//! `ignition_spec/parts.jsonl` has the parts of the configs, `record.jsonl` the recorded results. To record them again:
//! `$(.ci/kube --where ignition-verdicts) record service/core/tests/core/ignition_spec/parts.jsonl 41 500 > .../record.jsonl`.

use std::collections::{BTreeSet, HashMap};

use muster_api::infra_env::{InfraEnvCreateParams, Proxy};
use muster_core::lifecycle::infra_env;
use muster_core::record::{InfraEnv, Secret};
use muster_core::rules::ignition::{AgentSettings, discovery};
use muster_core::rules::ignition_spec::{Config, parse};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde::Deserialize;
use serde_json::Value;

use crate::world::{create_params, start};

const PARTS: &str = include_str!("ignition_spec/parts.jsonl");
const RECORD: &str = include_str!("ignition_spec/record.jsonl");

/// Configs that we refuse on purpose although Ignition accepts them.
const STRICTER: [(&str, &str); 6] = [
    ("member twice", "Go's decoder mixes the two"),
    ("member twice in two cases", "Go's decoder mixes the two"),
    (
        "version 3.7.0-experimental",
        "it is no promise; the next Ignition may refuse it",
    ),
    (
        "quoted parameter",
        "an escape in a quoted parameter of a data: URL, which nothing writes",
    ),
    ("version 3.01.0", "a version is written in one way here"),
    (
        "half a character",
        "it is no Unicode; Go puts another character in its place",
    ),
];

#[derive(Deserialize)]
struct Part {
    name: String,
    #[serde(default)]
    config: Value,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Sum {
    parts: Vec<String>,
    minor: u8,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Recorded {
    Verdict {
        parts: Vec<String>,
        minors: Vec<u8>,
        errors: BTreeSet<String>,
    },
    Union {
        parent: Sum,
        child: Sum,
        merged: Value,
    },
}

struct Parts(HashMap<String, Part>);

impl Parts {
    fn read() -> Self {
        let parts = PARTS.lines().map(|line| {
            let part: Part = serde_json::from_str(line).unwrap();
            (part.name.clone(), part)
        });
        Self(parts.collect())
    }

    /// Returns the text that `record.go` writes.
    fn text(&self, names: &[String], minor: u8) -> String {
        let version = format!("3.{minor}.0");
        let parts: Vec<&Part> = names.iter().map(|name| &self.0[name]).collect();
        if let [Part { text: Some(text), .. }] = parts.as_slice() {
            return text.replace("VERSION", &version);
        }
        let mut all = serde_json::json!({"ignition": {"version": version}});
        for part in parts {
            all = joined(all, &part.config);
        }
        all.to_string()
    }

    fn config(&self, sum: &Sum) -> Config {
        let mut config = parse(&self.text(&sum.parts, sum.minor)).unwrap();
        lose(&mut config);
        config
    }
}

fn joined(one: Value, two: &Value) -> Value {
    match (one, two) {
        (Value::Object(mut one), Value::Object(two)) => {
            for (name, value) in two {
                let value = match one.remove(name) {
                    Some(old) => joined(old, value),
                    None => value.clone(),
                };
                one.insert(name.clone(), value);
            }
            Value::Object(one)
        }
        (Value::Array(mut one), Value::Array(two)) => {
            one.extend(two.iter().cloned());
            Value::Array(one)
        }
        (_, two) => two.clone(),
    }
}

fn recorded() -> impl Iterator<Item = Recorded> {
    RECORD.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// The paths of refused members, as `ignition-verdicts` prints them.
fn refused(text: &str) -> BTreeSet<String> {
    let problems = parse(text).err().unwrap_or_default();
    problems
        .into_iter()
        .map(|problem| {
            if problem.unreadable {
                "$".into()
            } else {
                problem.path
            }
        })
        .collect()
}

#[test]
fn the_same_members_are_refused_as_ignition_refuses() {
    let parts = Parts::read();
    let (mut same, mut stricter, mut others) = (0, 0, Vec::new());
    for recorded in recorded() {
        let Recorded::Verdict {
            parts: names,
            minors,
            mut errors,
        } = recorded
        else {
            continue;
        };
        // Ignition names a member that does not exist, in addition to the one that does.
        errors.retain(|path| !path.ends_with(".keys"));
        for minor in minors {
            let text = parts.text(&names, minor);
            let ours = refused(&text);
            let is_stricter = STRICTER.iter().any(|(name, _)| names == [*name]);
            if is_stricter {
                assert!(!ours.is_empty(), "{names:?} is refused no longer");
                stricter += 1;
            } else if ours == errors {
                same += 1;
            } else {
                others.push(format!(
                    "{names:?} of 3.{minor}: Ignition refuses {errors:?}, we {ours:?}"
                ));
            }
        }
    }
    println!("{same} verdicts are the same, {stricter} are stricter on purpose");
    assert!(
        others.is_empty(),
        "{} differ:\n{}",
        others.len(),
        others.join("\n")
    );
    assert!(same > 2500, "{same}");
}

#[test]
fn configs_are_merged_as_ignition_merges() {
    let parts = Parts::read();
    let mut same = 0;
    for recorded in recorded() {
        let Recorded::Union {
            parent,
            child,
            mut merged,
        } = recorded
        else {
            continue;
        };
        let mut ours = parts.config(&parent).at(6).with(parts.config(&child).at(6)).value;
        strip(&mut merged);
        strip(&mut ours);
        assert_eq!(
            ours, merged,
            "{:?} of 3.{}, {:?} of 3.{}",
            parent.parts, parent.minor, child.parts, child.minor
        );
        same += 1;
    }
    println!("{same} unions are the same");
    assert!(same >= 400, "{same}");
}

/// Removes members that Ignition loses when it translates a config of 3.4 to a newer specification; we keep them
/// (findings/ignition-forgets-advertisement.sh).
fn lose(config: &mut Config) {
    if config.minor > 4 {
        return;
    }
    let volumes = config
        .value
        .pointer_mut("/storage/luks")
        .and_then(Value::as_array_mut);
    for volume in volumes.into_iter().flatten() {
        let pins = volume.pointer_mut("/clevis/tang").and_then(Value::as_array_mut);
        for pin in pins.into_iter().flatten().filter_map(Value::as_object_mut) {
            pin.remove("advertisement");
        }
    }
}

/// Removes Go's values for "unset".
fn strip(value: &mut Value) {
    const TEXTS: [&str; 5] = ["device", "name", "path", "url", "version"];
    match value {
        Value::Object(members) => {
            for inner in members.values_mut() {
                strip(inner);
            }
            members.retain(|name, inner| match inner {
                Value::Null => false,
                Value::Object(inner) => !inner.is_empty(),
                Value::Array(inner) => !inner.is_empty(),
                Value::String(text) => !text.is_empty() || !TEXTS.contains(&name.as_str()),
                Value::Number(number) => name != "number" || number.as_i64() != Some(0),
                Value::Bool(_) => true,
            });
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn lines() -> impl Strategy<Value = String> {
    let lines = [
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO2gtPj7Qm1hmwRMZ0KfbOHXLVWKKBXwDtoq8FtLYS2O one",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO2gtPj7Qm1hmwRMZ0KfbOHXLVWKKBXwDtoq8FtLYS2O two",
        "  ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO2gtPj7Qm1hmwRMZ0KfbOHXLVWKKBXwDtoq8FtLYS2O one",
        "from=\"192.0.2.0/24\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO2gtPj7Qm1hmwRMZ0KfbOHXLVWKKBXwDtoq8FtLYS2O one",
        "# a comment",
        "",
    ];
    vec(select(lines.to_vec()), 0..5).prop_map(|lines| lines.join("\n"))
}

fn proxy_url() -> impl Strategy<Value = Option<String>> {
    let urls = [
        "",
        "http://proxy.example:3128",
        "HTTP://proxy.example",
        "http://user:p%40ss@proxy.example:3128/",
        "http://user:p^ss@proxy.example:3128",
        "http://user:100%@proxy.example:3128",
        "http://[2001:db8::1]:3128",
        "http://[2001:db8::1%25eth0]:3128",
        "http://pr%6fxy.example:3128",
        "http://proxy.example:3128/a%zz",
        "http://proxy.example:3128/?a#%zz",
        "http://pröxy.example",
        "http://proxy.example:",
        "http:proxy.example:3128",
        "http://a:b:c",
    ];
    option::of(prop_oneof![
        3 => select(urls.to_vec()).prop_map(str::to_owned),
        1 => "http://[ -~]{1,12}@?[ -~]{1,12}",
    ])
}

fn comma_list() -> impl Strategy<Value = Option<String>> {
    let names = [
        "a.example",
        " a.example",
        ".b.example",
        "192.0.2.0/24",
        "192.0.2.1",
        "2001:db8::1",
    ];
    option::of(vec(select(names.to_vec()), 0..5).prop_map(|names| names.join(",")))
}

fn overriding() -> impl Strategy<Value = Option<String>> {
    let parts = Parts::read();
    let names: Vec<String> = parts.0.keys().cloned().collect();
    let text = (vec(select(names), 1..3), 0..=6u8)
        .prop_filter("texts stand alone", {
            let texts: BTreeSet<String> = parts
                .0
                .values()
                .filter(|part| part.text.is_some())
                .map(|part| part.name.clone())
                .collect();
            move |(names, _)| !names.iter().any(|name| texts.contains(name))
        })
        .prop_map(move |(names, minor)| parts.text(&names, minor));
    option::of(text)
}

prop_compose! {
    fn params()(
        keys in lines(), http_proxy in proxy_url(), https_proxy in proxy_url(), no_proxy in comma_list(),
        sources in comma_list(), instead in any::<bool>(), ignition_config_override in overriding(),
    ) -> InfraEnvCreateParams {
        let (ntp_sources, additional_ntp_sources) = if instead { (sources, None) } else { (None, sources) };
        InfraEnvCreateParams {
            ssh_authorized_key: Some(keys),
            proxy: Some(Proxy { http_proxy, https_proxy, no_proxy }),
            ntp_sources,
            additional_ntp_sources,
            ignition_config_override,
            ..create_params()
        }
    }
}

fn served(infra_env: &InfraEnv) -> String {
    let token = Secret::new("t0ken");
    let agent = AgentSettings {
        service_url: "https://muster.example.test",
        token: Some(&token),
        ca_pem: "CA",
        programs: &[],
        networks: true,
    };
    discovery(infra_env, &agent).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_accepted_is_served_as_ignition_takes_it(params in params()) {
        let made = infra_env::create(params, muster_api::ids::InfraEnvId(uuid::Uuid::from_u128(7)), "boot".into(), start());
        if let Ok(infra_env) = made {
            let text = served(&infra_env);
            let problems = parse(&text).err();
            prop_assert_eq!(problems, None, "{}", text);
        }
    }
}
