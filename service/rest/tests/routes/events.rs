//! Events over REST: filters, pages, counts. Rules: docs/protocol/rest-behaviour.md#7.

use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use muster_tests::http::{Answer, Requests};
use serde_json::{Value, json};

use crate::service::{Client, Service};
use crate::tokens::scopes::operator;
use crate::world::{Credential, World};

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

const BY_ID: &str = "/api/muster/v1/events";

/// An id that all events are before.
const LAST: &str = "ffffffff-ffff-ffff-ffff-ffffffffffff";

fn id_of(host: &str) -> &str {
    host.rsplit('/').next().unwrap()
}

/// The messages of all events by id, read part by part.
async fn by_id(world: &World, credential: &Credential, filters: &str) -> Vec<String> {
    let mut after = "00000000-0000-0000-0000-000000000000".to_owned();
    let mut messages = Vec::new();
    loop {
        let path = format!("{BY_ID}?limit=2&after={after}{filters}");
        let part = world.get(credential, &path).await.expect(200).json();
        let events = part["events"].as_array().unwrap();
        assert!(events.len() <= 2, "{part}");
        messages.extend(
            events
                .iter()
                .map(|event| event["message"].as_str().unwrap().to_owned()),
        );
        if part["more"] == false {
            return messages;
        }
        assert_eq!(part["next"], events[1]["id"]);
        part["next"].as_str().unwrap().clone_into(&mut after);
    }
}

/// The messages of the list by time.
async fn by_time(world: &World, filters: &str) -> Vec<String> {
    let path = format!("/events?limit=-1{filters}");
    let listed = list(&world.get(&world.operator, &path).await.expect(200));
    listed
        .iter()
        .map(|event| event["message"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn parts_by_id_are_together_the_list_with_each_filter() {
    let world = World::open().await;
    let (one, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let cluster = world.cluster().await;
    let host = world.host(one, 1).await;
    let guest = world.host(other, 2).await;
    world.bind(&host, cluster).await;
    for filters in [
        String::new(),
        format!("&infra_env_id={one}"),
        format!("&host_ids={},{}", id_of(&host), id_of(&guest)),
        format!("&cluster_id={cluster}"),
        format!("&cluster_id={cluster}&cluster_level=true"),
        format!("&infra_env_id={one}&severities=warning,error,critical"),
        format!("&infra_env_id={one}&categories=metrics"),
    ] {
        let (mut listed, mut parts) = (
            by_time(&world, &filters).await,
            by_id(&world, &world.operator, &filters).await,
        );
        listed.sort();
        parts.sort();
        assert_eq!(parts, listed, "{filters}");
    }
    assert!(by_time(&world, "").await.len() > 5);
}

#[tokio::test]
async fn a_client_that_follows_has_what_was_there_and_each_new_event() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let get = async |parameters: &str| {
        let path = format!("{BY_ID}?infra_env_id={infra_env}{parameters}");
        world.get(&world.operator, &path).await.expect(200).json()
    };
    let ids = |part: &Value| -> Vec<String> {
        let events = part["events"].as_array().unwrap();
        events
            .iter()
            .map(|event| event["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let begun = get("&limit=1").await;
    assert!(!ids(&begun).is_empty() && begun["more"] == false, "{begun}");
    world.host(infra_env, 1).await;
    let next = begun["next"].as_str().unwrap();
    let part = get(&format!("&after={next}")).await;
    let (before, all) = (ids(&begun), ids(&part));
    assert!(all.starts_with(&before), "{begun} {part}");
    assert!(all.len() > before.len() && all.is_sorted(), "{part}");
    let newest = part["events"].as_array().unwrap().last().unwrap();
    let keys = ["id", "event_time", "message", "severity", "name", "infra_env_id"];
    assert!(keys.iter().all(|key| newest[key].is_string()), "{newest}");
}

#[tokio::test]
async fn parts_before_an_id_are_the_list_backwards_and_all_filters_hold() {
    let world = World::open().await;
    let (one, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let (host, guest) = (world.host(one, 1).await, world.host(other, 2).await);
    let filters = format!("&host_ids={},{}&infra_env_id={one}", id_of(&host), id_of(&guest));
    let (mut before, mut messages) = (LAST.to_owned(), Vec::new());
    loop {
        let path = format!("{BY_ID}?limit=1&before={before}{filters}");
        let part = world.get(&world.operator, &path).await.expect(200).json();
        let events = part["events"].as_array().unwrap();
        assert!(
            events
                .iter()
                .all(|event| event["infra_env_id"] == one.to_string().as_str()),
            "{part}"
        );
        messages.extend(
            events
                .iter()
                .map(|event| event["message"].as_str().unwrap().to_owned()),
        );
        if part["more"] == false {
            break;
        }
        assert_eq!(part["next"], events[0]["id"]);
        part["next"].as_str().unwrap().clone_into(&mut before);
    }
    let mut listed = by_time(&world, &format!("&host_id={}", id_of(&host))).await;
    listed.reverse();
    assert_eq!(messages, listed);
    assert!(messages.len() > 1, "{messages:?}");

    let path = format!("{BY_ID}?before={LAST}&message=NOTHING-has-this");
    let none = world.get(&world.operator, &path).await.expect(200).json();
    assert_eq!(none["events"], json!([]), "without cluster_id, too");
}

#[tokio::test]
async fn events_are_a_table_without_formulas() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let agent = world.agent(infra_env).await;
    let event = json!({
        "name": "n", "severity": "critical", "message": "=1+1, and more", "infra_env_id": infra_env,
        "event_time": "2026-11-22T15:00:00Z",
    });
    world.post(&agent, "/events", &event).await.expect(201);
    let path = format!("{BY_ID}?before={LAST}&infra_env_id={infra_env}&format=csv");
    let table = world.get(&world.operator, &path).await.expect(200);
    assert_eq!(
        table.header("content-type"),
        "text/csv; charset=utf-8; header=present"
    );
    let text = table.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "event_time,severity,name,infra_env_id,cluster_id,host_id,message"
    );
    let newest = format!(",critical,n,{infra_env},,,\"'=1+1, and more\"");
    assert!(lines[1].ends_with(&newest), "{text}");
    assert_eq!(
        lines.len(),
        1 + by_time(&world, &format!("&infra_env_id={infra_env}")).await.len()
    );
}

#[tokio::test]
async fn a_token_for_one_infra_env_lists_its_events_by_id_alone() {
    let world = World::open().await;
    let (own, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let (host, foreign) = (world.host(own, 1).await, world.host(other, 2).await);
    let (_, guest) = operator(&world, true, Some(own)).await;
    let filters = format!("&infra_env_id={own}");
    let listed = by_id(&world, &guest, &filters).await;
    assert_eq!(listed, by_id(&world, &world.operator, &filters).await);
    for (parameters, status) in [
        (String::new(), 404),
        (format!("?infra_env_id={other}"), 404),
        (format!("?host_ids={}", id_of(&foreign)), 404),
        (format!("?host_ids={}", id_of(&host)), 200),
    ] {
        let answer = world.get(&guest, &format!("{BY_ID}{parameters}")).await;
        assert_eq!(answer.status, status, "{parameters}: {}", answer.text());
    }
    for credential in [world.agent(own).await, world.url(own).await, Credential::Nothing] {
        let path = format!("{BY_ID}?infra_env_id={own}");
        assert_eq!(world.get(&credential, &path).await.status, 401, "{credential:?}");
    }
}

#[tokio::test]
async fn bad_parameters_of_events_by_id_are_refused_by_name() {
    let world = World::open().await;
    for (bad, named) in [
        ("after=x", "after"),
        ("before=x", "before"),
        (
            "before=ffffffff-ffff-ffff-ffff-ffffffffffff&after=ffffffff-ffff-ffff-ffff-ffffffffffff",
            "before",
        ),
        ("format=xml", "format"),
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=1001", "limit"),
        ("infra_env_id=x", "infra_env_id"),
        ("severities=loud", "severities"),
    ] {
        let path = format!("{BY_ID}?{bad}");
        let answer = world.get(&world.operator, &path).await;
        let message = answer.expect(400).error_message();
        assert!(message.contains(named), "{bad}: {message}");
    }
}
