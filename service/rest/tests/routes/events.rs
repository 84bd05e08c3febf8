//! Events over REST: filters, pages, counts. Rules: docs/protocol/rest-behaviour.md#7.

use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use muster_tests::http::{Answer, Requests};
use serde_json::{Value, json};

use crate::service::{Client, Service};

#[track_caller]
fn count(answer: &Answer) -> usize {
    answer
        .header("event-count")
        .parse()
        .unwrap_or_else(|_| panic!("{:?}", answer.headers))
}

fn list(answer: &Answer) -> Vec<Value> {
    answer.json().as_array().unwrap().clone()
}

/// Two InfraEnvs with two hosts and one; returns their ids.
fn two_infra_envs(client: &Client) -> [String; 2] {
    let (one, two) = (infra_env(client), infra_env(client));
    known_host(client, &one, 1);
    known_host(client, &one, 2);
    known_host(client, &two, 3);
    [one, two].map(|path| path.trim_start_matches("/infra-envs/").to_owned())
}

#[test]
fn events_are_filtered_and_counted() {
    let service = Service::start();
    let client = service.http();
    let [one, two] = two_infra_envs(&client);
    let get = |query: &str| client.get(&format!("/events{query}")).expect(200);

    let all = get("");
    let of_one = get(&format!("?infra_env_id={one}"));
    let of_two = get(&format!("?infra_env_id={two}"));
    assert!(
        count(&of_one) > count(&of_two) && count(&of_two) >= 3,
        "{} {}",
        of_one.text(),
        of_two.text()
    );
    assert_eq!(count(&all), count(&of_one) + count(&of_two));
    for answer in [&all, &of_one, &of_two] {
        assert_eq!(list(answer).len(), count(answer));
        for header in ["info", "warning", "error", "critical"] {
            assert_eq!(
                answer.header(&format!("severity-count-{header}")),
                "0",
                "only counted with cluster_id"
            );
        }
    }
    for event in list(&of_one) {
        assert_eq!(event["infra_env_id"], one.as_str());
        let allowed = [
            "name",
            "cluster_id",
            "host_id",
            "infra_env_id",
            "severity",
            "event_time",
            "message",
            "props",
        ];
        assert!(
            event
                .as_object()
                .unwrap()
                .keys()
                .all(|key| allowed.contains(&key.as_str())),
            "{event}"
        );
        assert!(!event["message"].as_str().unwrap().is_empty());
    }
    let names: Vec<Value> = list(&of_two)
        .into_iter()
        .map(|event| event["name"].clone())
        .collect();
    assert!(
        names.contains(&json!("infra_env_registered"))
            || names
                .iter()
                .any(|name| name.as_str().unwrap().contains("infra_env")),
        "{names:?}"
    );
    assert!(names.contains(&json!("host_registration_succeeded")), "{names:?}");

    let of_host = get(&format!("?host_id={}", host_id(1)));
    assert!(
        list(&of_host)
            .iter()
            .all(|event| event["host_id"] == host_id(1).as_str())
            && count(&of_host) > 0
    );
    let of_hosts = get(&format!("?host_ids={},{}", host_id(1), host_id(3)));
    let of_third = get(&format!("?host_ids={}", host_id(3)));
    assert_eq!(count(&of_hosts), count(&of_host) + count(&of_third));

    let total = count(&of_one);
    let warnings = get(&format!("?infra_env_id={one}&severities=warning,error,critical"));
    assert!(list(&warnings).iter().all(|event| event["severity"] != "info"));
    let infos = get(&format!("?infra_env_id={one}&severities=info"));
    assert_eq!(count(&infos) + count(&warnings), total);
    assert_eq!(count(&get(&format!("?infra_env_id={one}&categories=metrics"))), 0);
    assert_eq!(
        count(&get(&format!("?infra_env_id={one}&message=nothing-says-this"))),
        total,
        "message needs cluster_id"
    );
    let unknown = "99999999-0000-4000-8000-000000000000";
    for query in [
        format!("?infra_env_id={unknown}"),
        format!("?host_id={unknown}"),
        format!("?cluster_id={unknown}"),
    ] {
        assert!(list(&get(&query)).is_empty());
    }
}

#[test]
fn pages_of_events_are_together_the_whole() {
    let service = Service::start();
    let client = service.http();
    let [one, _] = two_infra_envs(&client);
    let get = |query: &str| client.get(&format!("/events{query}")).expect(200);
    let of_one = get(&format!("?infra_env_id={one}"));
    let total = count(&of_one);
    let mut pages = Vec::new();
    for offset in (0..total).step_by(2) {
        let page = get(&format!("?infra_env_id={one}&limit=2&offset={offset}"));
        assert_eq!(count(&page), total, "the count ignores the limit");
        pages.extend(list(&page));
    }
    assert_eq!(pages, list(&of_one));
    let mut backwards = list(&get(&format!("?infra_env_id={one}&order=descending")));
    backwards.reverse();
    assert_eq!(backwards, list(&of_one));
    let times: Vec<&str> = pages
        .iter()
        .map(|event| event["event_time"].as_str().unwrap())
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    let none = get(&format!("?infra_env_id={one}&limit=0"));
    assert_eq!((list(&none).len(), count(&none)), (0, total));
    assert_eq!(
        list(&get(&format!("?infra_env_id={one}&limit=-1&offset=-5"))).len(),
        total
    );
    assert!(list(&get(&format!("?infra_env_id={one}&offset=100000"))).is_empty());
}

#[test]
fn bad_filters_of_events_are_refused_by_name() {
    let service = Service::start();
    let client = service.http();
    for (bad, named) in [
        ("infra_env_id=x", "infra_env_id"),
        ("host_id=x", "host_id"),
        ("host_ids=x,y", "host_ids"),
        ("severities=loud", "severities"),
        ("categories=x", "categories"),
        ("order=sideways", "order"),
        ("limit=many", "limit"),
        ("limit=1&limit=2", "limit"),
    ] {
        let message = client.get(&format!("/events?{bad}")).expect(400).error_message();
        assert!(message.contains(named), "{bad}: {message}");
    }
}

#[test]
fn what_the_live_image_cannot_apply_is_an_event() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let id = infra_env.trim_start_matches("/infra-envs/");
    let override_ = json!({"ignition_config_override": r#"{"ignition":{"version":"3.1.0"}}"#});
    client.patch(&infra_env, &override_).expect(201);
    let events = client.get(&format!("/events?infra_env_id={id}")).expect(200);
    let messages = list(&events);
    assert!(
        messages
            .iter()
            .any(|event| event["message"].as_str().unwrap().contains("gnition")),
        "{}",
        events.text()
    );
}
