//! The recorded conversation with a running implementation (reference `wire/`), with responses from the core only.

use muster_api::host::HostUpdateParams;
use muster_api::infra_env::{InfraEnvCreateParams, InfraEnvUpdateParams};
use muster_api::steps::{StepReply, StepType};
use muster_core::lifecycle::host::reply::{Limits, interpret};
use muster_core::lifecycle::host::{
    HostEvent, Shown, instructions, registration_view, repeated_registration_view, view,
};
use muster_core::lifecycle::infra_env;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::registry::scene::is_upstream;
use crate::world::{World, start};

const ADMIN: Shown<'static> = Shown {
    last_seen: None,
    host_clock: None,
    user: "admin",
    kube: false,
    secrets: true,
};

const RECORDED: &str = include_str!("walk/recorded.json");

struct Recording {
    questions: Vec<Value>,
    differences: Vec<String>,
}

impl Recording {
    fn question(&self, name: &str) -> &Value {
        let found = self.questions.iter().find(|q| q["name"] == name);
        found.unwrap_or_else(|| panic!("no question {name}"))
    }

    fn body<T: DeserializeOwned>(&self, name: &str) -> T {
        serde_json::from_value(self.question(name)["request"].clone()).unwrap()
    }

    fn compare<T: Serialize>(&mut self, name: &str, ours: &T, names: &[(&str, String)]) {
        let mut expected = self.question(name)["answer"].clone();
        put_names(&mut expected, names);
        let ours = serde_json::to_value(ours).unwrap();
        differ(name, &expected, &ours, &mut self.differences);
    }
}

fn put_names(value: &mut Value, names: &[(&str, String)]) {
    match value {
        Value::String(text) => {
            for (name, real) in names {
                *text = text.replace(&format!("<{name}>"), real);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|item| put_names(item, names)),
        Value::Object(map) => map.values_mut().for_each(|item| put_names(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// True if `ours` fits the recording's placeholder; `None` if `expected` is none.
fn placeholder(expected: &str, ours: &Value) -> Option<bool> {
    match expected {
        "<time>" => Some(
            ours.as_str()
                .is_some_and(|t| t.len() >= 20 && !t.starts_with("0001")),
        ),
        "<words>" => Some(match ours {
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => !list.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        }),
        "<timestamp>" => Some(ours.as_i64().is_some_and(|t| t > 0)),
        "<step_id>" | "<download_url>" => Some(ours.as_str().is_some_and(|t| !t.is_empty())),
        _ => None,
    }
}

fn differ(at: &str, expected: &Value, ours: &Value, out: &mut Vec<String>) {
    if let Some(same) = expected.as_str().and_then(|text| placeholder(text, ours)) {
        if !same {
            out.push(format!("{at}: {ours}, not {expected}"));
        }
        return;
    }
    if let (Some(inner), Some(text)) = (expected.get("<json>"), ours.as_str()) {
        let ours = serde_json::from_str(text).unwrap_or(Value::Null);
        return differ(at, inner, &ours, out);
    }
    match (expected, ours) {
        (Value::Object(expected), Value::Object(ours)) => {
            for key in expected
                .keys()
                .chain(ours.keys().filter(|key| !expected.contains_key(*key)))
            {
                match (expected.get(key), ours.get(key)) {
                    (Some(e), Some(o)) => differ(&format!("{at}.{key}"), e, o, out),
                    (Some(e), None) => out.push(format!("{at}.{key}: absent, not {e}")),
                    (None, o) => out.push(format!("{at}.{key}: {o:?}, not absent")),
                }
            }
        }
        // Rows of checks are sorted by id in the recording; another test checks their order.
        (Value::Object(expected), Value::Array(rows)) => {
            let ids = rows.iter().filter_map(|row| row["id"].as_str());
            let mut ids: Vec<&str> = ids.filter(|id| is_upstream(id)).collect();
            let mut wanted: Vec<&str> = expected.keys().map(String::as_str).collect();
            ids.sort_unstable();
            wanted.sort_unstable();
            if ids != wanted {
                out.push(format!("{at}: {ids:?}, not {wanted:?}"));
            }
            for row in rows {
                let id = row["id"].as_str().unwrap_or_default();
                if let Some(expected) = expected.get(id) {
                    differ(&format!("{at}.{id}"), expected, row, out);
                }
            }
        }
        (Value::Array(expected), Value::Array(ours)) if expected.len() == ours.len() => {
            for (index, (e, o)) in expected.iter().zip(ours).enumerate() {
                differ(&format!("{at}[{index}]"), e, o, out);
            }
        }
        (Value::Number(e), Value::Number(o)) if e.as_f64() == o.as_f64() => {}
        (expected, ours) if expected == ours => {}
        (expected, ours) => out.push(format!("{at}: {ours}, not {expected}")),
    }
}

#[test]
fn our_answers_have_the_recorded_shapes() {
    let mut rec = Recording {
        questions: serde_json::from_str(RECORDED).unwrap(),
        differences: Vec::new(),
    };
    let mut world = World::new();
    let ie = world.infra_env.id;
    let ie_names = [("ie", ie.to_string()), ("ie2", ie.to_string())];
    let create = |body: InfraEnvCreateParams| infra_env::create(body, ie, "b".into(), start()).unwrap();
    let shown = |infra_env: &muster_core::record::InfraEnv| {
        infra_env::view(infra_env, "http://x/y.iso", None, "admin")
    };

    let most = create(rec.body("create infra-env, most"));
    rec.compare("create infra-env, most", &shown(&most), &ie_names);
    world.infra_env = create(rec.body("create infra-env, least"));
    rec.compare("create infra-env, least", &shown(&world.infra_env), &ie_names);
    rec.compare("get it", &shown(&world.infra_env), &ie_names);
    rec.compare("list", &vec![shown(&world.infra_env), shown(&most)], &ie_names);
    for name in [
        "patch ntp and image type",
        "patch proxy",
        "patch kernel arguments",
    ] {
        let body: InfraEnvUpdateParams = rec.body(name);
        let update = infra_env::update(&world.infra_env, body, world.now).unwrap();
        assert!(update.changed, "{name}");
        world.infra_env = update.infra_env;
        rec.compare(name, &shown(&world.infra_env), &ie_names);
    }

    let registration: Value = rec.body("register a host");
    let version = registration["discovery_agent_version"]
        .as_str()
        .unwrap()
        .to_owned();
    let registered = HostEvent::Registered {
        public_key: String::new(),
        fingerprint: None,
        agent_version: version.clone(),
    };
    let mut host = muster_core::lifecycle::host::register(
        registration["host_id"].as_str().unwrap().parse().unwrap(),
        ie,
        &version,
        muster_core::lifecycle::host::Machine::default(),
        &world.facts(),
        world.now,
    )
    .unwrap()
    .host;
    let names = [("ie", ie.to_string()), ("h", host.id.to_string())];
    // Our service returns a foreign agent's own version.
    let told = "quay.io/edge-infrastructure/assisted-installer-agent:latest";
    rec.compare(
        "register a host",
        &strip_command(&registration_view(&host, told, ADMIN)),
        &names,
    );
    host = world.after(&host, &registered);
    rec.compare(
        "register it again",
        &strip_command(&repeated_registration_view(&host, told, ADMIN)),
        &names,
    );
    let ask = |host: &_, world: &World| {
        instructions(host, &world.facts(), &mut |step: StepType| step.name().into())
    };
    world.poll();
    rec.compare("instructions, discovering", &ask(&host, &world), &names);
    for (reply, then, poll) in [
        ("inventory", "host, known", Some("instructions, known-unbound")),
        ("ntp reply", "host with ntp", None),
    ] {
        let reply: StepReply = rec.body(reply);
        for event in interpret(&reply, &Limits::default()).unwrap() {
            host = world.after(&host, &event);
        }
        rec.compare(
            then,
            &view(
                &host,
                Shown {
                    host_clock: Some(1_763_733_600),
                    last_seen: world.last_seen,
                    ..ADMIN
                },
            ),
            &names,
        );
        if let Some(poll) = poll {
            rec.compare(poll, &ask(&host, &world), &names);
        }
    }
    for name in ["hostname", "role", "disk", "node labels"] {
        let edit: HostUpdateParams = rec.body(name);
        host = world.after(&host, &HostEvent::Edited(edit));
        rec.compare(
            name,
            &view(
                &host,
                Shown {
                    last_seen: world.last_seen,
                    ..ADMIN
                },
            ),
            &names,
        );
    }

    // Known, intended differences: without OS images there is no version to fill in, and our checks run at once, not in
    // a monitor.
    let meant = |line: &String| {
        line.contains(".openshift_version: absent, not \"5.0\"")
            || line.starts_with("host with ntp.validations_info.network.ntp-synced.status: \"success\"")
    };
    let unmeant: Vec<&String> = rec.differences.iter().filter(|line| !meant(line)).collect();
    assert!(unmeant.is_empty(), "{unmeant:#?}");
    assert_eq!(
        rec.differences
            .iter()
            .filter(|line| line.starts_with("host"))
            .count(),
        1,
        "a difference that is listed as meant is gone"
    );
}

/// The command is compared by its contents.
fn strip_command<T: Serialize>(answer: &T) -> Value {
    let mut answer = serde_json::to_value(answer).unwrap();
    let args = answer["next_step_runner_command"]["args"][0].as_str().unwrap();
    let args: Value = serde_json::from_str(args).unwrap();
    assert_eq!(args["host_id"], answer["id"], "{args}");
    assert_eq!(args.as_object().unwrap().len(), 3);
    answer["next_step_runner_command"] = json!({"args": [args.to_string()]});
    answer
}
