//! The searches over all InfraEnvs: for hosts, and for records of all kinds.

use muster_api::ids::InfraEnvId;
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use crate::tokens::scopes::operator;
use crate::world::{Credential, World};

const PATH: &str = "/api/muster/v1/hosts";

fn names(found: &Value) -> Vec<&str> {
    let hosts = found["hosts"].as_array().unwrap().iter();
    hosts.map(|host| host["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn hosts_of_all_infra_envs_are_found_in_order_and_counted() {
    let world = World::open().await;
    let (first, second) = (
        world.infra_env(json!({"name": "lab"})).await,
        world.infra_env(json!({"name": "rack"})).await,
    );
    for number in [10, 9] {
        world.host(first, number).await;
    }
    world.host(second, 1).await;
    let get = async |query: &str| world.get(&world.operator, &format!("{PATH}?{query}")).await;
    let found = get("facets=pool,state").await.expect(200).json();
    assert_eq!(names(&found), ["host-1", "host-9", "host-10"]);
    assert_eq!((&found["total"], &found["visible"]), (&json!(3), &json!(3)));
    assert_eq!(found["facets"][0]["key"], "pool");
    assert_eq!(
        found["facets"][0]["values"],
        json!([
            {"value": "lab", "id": first, "hosts": 2, "term": "pool:lab"},
            {"value": "rack", "id": second, "hosts": 1, "term": "pool:rack"},
        ])
    );
    assert!(found.get("next").is_none());
    let host = &found["hosts"][0];
    assert_eq!(
        (&host["infra_env"], &host["infra_env_id"]),
        (&json!("rack"), &json!(second))
    );
    assert_eq!(host["hardware"]["cpu_threads"], json!(8));

    let part = get("sort=-name&limit=2").await.expect(200).json();
    assert_eq!(names(&part), ["host-10", "host-9"]);
    let next = part["next"].as_str().unwrap();
    let rest = get(&format!("sort=-name&limit=2&after={next}"))
        .await
        .expect(200)
        .json();
    assert_eq!(names(&rest), ["host-1"]);
    assert!(rest.get("next").is_none());

    let none = get("q=pool:rack%20cpu:%3E99").await.expect(200).json();
    assert_eq!((&none["total"], &none["visible"]), (&json!(0), &json!(3)));
    assert_eq!(
        none["removals"],
        json!([{"term": "pool:rack", "removes": 2, "removes_alone": 0}, {"term": "cpu:>99", "removes": 3, "removes_alone": 1}])
    );
}

#[tokio::test]
async fn infra_envs_of_one_name_are_counted_apart() {
    let world = World::open().await;
    let twins = [world.infra_env(json!({})).await, world.infra_env(json!({})).await];
    for (number, twin) in [(1, twins[0]), (2, twins[1]), (3, twins[1])] {
        world.host(twin, number).await;
    }
    let found = world
        .get(&world.operator, &format!("{PATH}?facets=pool&q=host-2"))
        .await
        .expect(200)
        .json();
    assert_eq!(
        found["facets"][0]["values"],
        json!([{"value": "hw", "id": twins[1], "hosts": 1, "term": format!("pool:{}", twins[1])}])
    );
    let found = world
        .get(&world.operator, &format!("{PATH}?facets=pool"))
        .await
        .expect(200)
        .json();
    let values = found["facets"][0]["values"].as_array().unwrap().iter();
    let counts: Vec<(&Value, &Value)> = values.map(|value| (&value["id"], &value["hosts"])).collect();
    assert_eq!(
        counts,
        [(&json!(twins[1]), &json!(2)), (&json!(twins[0]), &json!(1))]
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_its_place() {
    let world = World::open().await;
    for (query, words) in [
        ("q=modle:x", "q: at byte 0: \"modle\" is no key; is it model?"),
        ("q=a%20cpu:many", "at byte 6"),
        ("sort=cup", "is it cpu?"),
        ("after=nonsense", "begin again without it"),
        ("limit=0", "1 to 1000"),
        ("limit=1001", "1 to 1000"),
        ("facets=state,serial", "facets: \"serial\" is none of state, pool"),
        ("format=xml", "format"),
        ("columns=name", "only with format=csv"),
        (
            "format=csv&columns=name,colour",
            "columns: \"colour\" is none of id, name",
        ),
    ] {
        let refused = world.get(&world.operator, &format!("{PATH}?{query}")).await;
        let message = refused.expect(400).error_message();
        assert!(message.contains(words), "{query}: {message}");
    }
}

#[tokio::test]
async fn a_token_for_one_infra_env_finds_its_hosts_alone() {
    let world = World::open().await;
    let (own, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    world.host(own, 1).await;
    world.host(other, 2).await;
    let (_, guest) = operator(&world, true, Some(own)).await;
    let found = world
        .get(&guest, &format!("{PATH}?facets=pool"))
        .await
        .expect(200)
        .json();
    assert_eq!(names(&found), ["host-1"]);
    assert_eq!((&found["total"], &found["visible"]), (&json!(1), &json!(1)));
    let table = world.get(&guest, &format!("{PATH}?format=csv")).await.expect(200);
    assert_eq!(table.text().lines().count(), 2);
    let agent = world.agent(own).await;
    world.get(&agent, PATH).await.expect(401);
    world.get(&Credential::Nothing, PATH).await.expect(401);
}

#[tokio::test]
async fn a_table_has_a_line_of_names_and_no_formulas() {
    let world = World::open().await;
    let infra_env = world
        .infra_env(json!({"name": "=HYPERLINK(\"http://203.0.113.1\")"}))
        .await;
    world.host(infra_env, 1).await;
    let path = format!("{PATH}?format=csv&columns=name,infra_env,cpu_threads,name");
    let table = world.get(&world.operator, &path).await.expect(200);
    assert_eq!(
        table.header("content-type"),
        "text/csv; charset=utf-8; header=present"
    );
    assert_eq!(
        table.text(),
        "name,infra_env,cpu_threads\nhost-1,\"'=HYPERLINK(\"\"http://203.0.113.1\"\")\",8\n"
    );
}

const RECORDS: &str = "/api/muster/v1/search";

/// The records that a text finds, each as its kind and its name.
async fn records(world: &World, who: &Credential, text: &str) -> Vec<(String, String)> {
    let text: String = byte_serialize(text.as_bytes()).collect();
    let found = world.get(who, &format!("{RECORDS}?q={text}")).await;
    let found = found.expect(200).json();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let records = found["records"].as_array().unwrap().iter();
    records
        .map(|record| (word(&record["kind"]), word(&record["name"])))
        .collect()
}

fn of(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

/// A BMC of an InfraEnv.
async fn bmc(world: &World, infra_env: InfraEnvId, name: &str) {
    let body = json!({
        "name": name, "address": format!("{name}.example.test"), "user_name": "u", "password": "p", "discover": false,
    });
    let path = format!("/api/muster/v1/infra-envs/{infra_env}/bmcs");
    world.post(&world.operator, &path, &body).await.expect(201);
}

#[tokio::test]
async fn one_text_finds_records_of_all_kinds_and_the_best_are_first() {
    let world = World::open().await;
    let (zebra, rack) = (
        world.infra_env(json!({"name": "zebra"})).await,
        world.infra_env(json!({"name": "rack"})).await,
    );
    let cluster = world.cluster().await;
    for number in [10, 1] {
        world.host(zebra, number).await;
    }
    world.host(rack, 2).await;
    bmc(&world, rack, "sn-1-bmc").await;
    let find = async |text: &str| records(&world, &world.operator, text).await;
    assert_eq!(
        find("sn-1").await,
        [of("host", "host-1"), of("host", "host-10"), of("bmc", "sn-1-bmc")]
    );
    for text in [
        "02:00:00:00:00:02",
        "0200.0000.0002",
        "SN-2",
        "  HOST-2 ",
        "acme sn-2",
    ] {
        assert_eq!(find(text).await, [of("host", "host-2")], "{text}");
    }
    assert_eq!(find("zebra").await, [of("infra-env", "zebra")]);
    assert_eq!(find(&rack.to_string()).await, [of("infra-env", "rack")]);
    assert_eq!(find("day2").await, [of("cluster", "day2")]);
    assert_eq!(find(&cluster.to_string()).await, [of("cluster", "day2")]);
    for nothing in ["", "   ", "state:*", "sn-1 nowhere"] {
        assert_eq!(find(nothing).await, [], "{nothing}");
    }

    let path = format!("{RECORDS}?q=sn-2");
    let found = world.get(&world.operator, &path).await.expect(200).json();
    let record = &found["records"][0];
    assert_eq!(record["infra_env_id"], json!(rack));
    let detail = record["detail"].as_str().unwrap();
    assert!(detail.contains("rack · ACME Server 1 · SN-2"), "{detail}");
    let refused = world
        .get(&world.operator, &format!("{RECORDS}?q={}", "x".repeat(5000)))
        .await;
    let message = refused.expect(400).error_message();
    assert!(message.starts_with("q: "), "{message}");
}

#[tokio::test]
async fn an_answer_has_twenty_records_and_the_number_of_all() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    for number in 1..=23 {
        world.host(infra_env, number).await;
    }
    bmc(&world, infra_env, "host-2-bmc").await;
    let path = format!("{RECORDS}?q=host");
    let found = world.get(&world.operator, &path).await.expect(200).json();
    assert_eq!(found["records"].as_array().unwrap().len(), 20);
    assert_eq!(found["total"], json!(24));
    assert_eq!(found["records"][19]["name"], "host-20");
}

#[tokio::test]
async fn a_token_for_one_infra_env_finds_its_records_alone() {
    let world = World::open().await;
    let (own, other) = (
        world.infra_env(json!({"name": "zebra-1"})).await,
        world.infra_env(json!({"name": "zebra-2"})).await,
    );
    world.cluster().await;
    for (infra_env, number) in [(own, 1), (other, 2)] {
        world.host(infra_env, number).await;
        bmc(&world, infra_env, &format!("zebra-bmc-{number}")).await;
    }
    let (_, guest) = operator(&world, true, Some(own)).await;
    assert_eq!(
        records(&world, &guest, "zebra").await,
        [of("infra-env", "zebra-1"), of("bmc", "zebra-bmc-1")]
    );
    assert_eq!(records(&world, &guest, "acme").await, [of("host", "host-1")]);
    assert_eq!(records(&world, &guest, "day2").await, []);
    let agent = world.agent(own).await;
    world.get(&agent, &format!("{RECORDS}?q=zebra")).await.expect(401);
}
