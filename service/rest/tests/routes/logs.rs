//! Logs that an operator requests of a host: the callers that may request, send and read them, and the refusals. Logs that agents send
//! without a request are in `tests/scenarios/faults/cluster_logs.rs`, on both databases.

use std::time::Duration;

use muster_api::MUSTER_PATH;
use muster_api::ids::InfraEnvId;
use muster_operations::records::LogOwner;
use muster_tests::http::Answer;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::world::{Credential, World, host_id};

const BOUNDARY: &str = "multipart/form-data; boundary=x";

/// Longer than an upload waits.
const LIMIT: Duration = Duration::from_secs(60);

/// Long enough for an upload that need not wait.
const BRIEFLY: Duration = Duration::from_secs(2);

/// A free host with Muster's agent; the path of its logs.
async fn host(world: &World, infra_env: InfraEnvId, number: u32) -> String {
    let body = json!({"host_id": host_id(number), "discovery_agent_version": "muster-agent/0.1.0"});
    let agent = world.agent(infra_env).await;
    let hosts = format!("/infra-envs/{infra_env}/hosts");
    world.post(&agent, &hosts, &body).await.expect(201);
    format!("{MUSTER_PATH}{hosts}/{}/logs", host_id(number))
}

fn form(field: &str, content: &str) -> String {
    format!(
        "--x\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"logs.tar.gz\"\r\n\r\n{content}\r\n--x--\r\n"
    )
}

async fn send(world: &World, who: &Credential, logs: &str, form: String) -> Answer {
    let path = format!("{logs}/archive");
    world.post_text(who, &path, (BOUNDARY, form)).await
}

async fn ask(world: &World, who: &Credential, logs: &str) -> Answer {
    world.post(who, logs, &json!({})).await
}

async fn state(world: &World, logs: &str) -> Value {
    world.get(&world.operator, logs).await.expect(200).json()
}

#[tokio::test]
async fn operators_ask_and_read_and_the_agent_of_the_infra_env_sends() {
    let world = World::open().await;
    let (pool, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let logs = host(&world, pool, 1).await;
    let (agent, foreign, url) = (
        world.agent(pool).await,
        world.agent(other).await,
        world.url(pool).await,
    );
    let archive = format!("{logs}/archive");
    for nobody in [&Credential::Nothing, &agent, &foreign, &url] {
        ask(&world, nobody, &logs).await.expect(401);
        world.get(nobody, &logs).await.expect(401);
        world.get(nobody, &archive).await.expect(401);
    }
    ask(&world, &world.operator, &logs).await.expect(202);
    for nobody in [&Credential::Nothing, &url] {
        send(&world, nobody, &logs, form("upfile", "no"))
            .await
            .expect(401);
    }
    let refused = send(&world, &foreign, &logs, form("upfile", "no")).await;
    assert!(matches!(refused.status, 401 | 403 | 404), "{refused:?}");
    // A machine with the id of a host of the other InfraEnv.
    let of_other = logs.replace(&pool.to_string(), &other.to_string());
    ask(&world, &world.operator, &of_other).await.expect(404);
    send(&world, &foreign, &of_other, form("upfile", "no"))
        .await
        .expect(404);
    send(&world, &agent, &logs, form("upfile", "all"))
        .await
        .expect(204);
    let read = world.get(&world.operator, &archive).await.expect(200);
    assert_eq!(read.text(), "all");
}

#[tokio::test]
async fn logs_come_once_for_a_request_and_replace_the_last() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let (logs, agent) = (host(&world, pool, 1).await, world.agent(pool).await);
    assert_eq!(state(&world, &logs).await, json!({"state": "not-asked"}));
    let archive = format!("{logs}/archive");
    let none = world.get(&world.operator, &archive).await.expect(409);
    assert!(none.text().contains("none have come"), "{}", none.text());
    let unasked = send(&world, &agent, &logs, form("upfile", "unasked"))
        .await
        .expect(409);
    assert!(unasked.text().contains("nobody waits"), "{}", unasked.text());

    for content in ["first", "the second"] {
        let asked = ask(&world, &world.operator, &logs).await.expect(202).json();
        let again = ask(&world, &world.operator, &logs).await.expect(202).json();
        assert_eq!(asked["state"], "asked");
        assert_eq!(asked["asked_at"], again["asked_at"], "it is under way");
        assert!(
            asked["until"].is_string() && asked["next_poll_at"].is_string(),
            "{asked}"
        );
        // A malformed upload leaves the request as it is.
        send(&world, &agent, &logs, form("other", "x")).await.expect(400);
        let cut = form("upfile", "cut");
        send(&world, &agent, &logs, cut[..cut.len() - 9].to_owned())
            .await
            .expect(400);
        assert_eq!(state(&world, &logs).await["state"], "asked");
        send(&world, &agent, &logs, form("upfile", content))
            .await
            .expect(204);
        let came = state(&world, &logs).await;
        assert_eq!(came["state"], "came");
        assert_eq!(came["archive"]["size"], content.len());
        let read = world.get(&world.operator, &archive).await.expect(200);
        assert_eq!(read.text(), content);
    }
    // They are deleted with the host.
    let path = logs.strip_prefix(MUSTER_PATH).unwrap().trim_end_matches("/logs");
    world.ask(&world.operator, "DELETE", path, None).await.expect(204);
    world.get(&world.operator, &logs).await.expect(404);
    world.get(&world.operator, &archive).await.expect(404);
    ask(&world, &world.operator, &logs).await.expect(404);
    send(&world, &agent, &logs, form("upfile", "late"))
        .await
        .expect(404);
}

async fn upload(world: &World, path: &str) -> Answer {
    let form = form("upfile", "logs");
    world.post_text(&world.operator, path, (BOUNDARY, form)).await
}

/// Few are written at once: the database has one writer at a time.
#[tokio::test]
async fn an_upload_waits_for_others_and_is_told_to_come_back_when_they_do_not_end() {
    let world = World::open().await;
    let cluster = world.cluster().await;
    let path = format!("/clusters/{cluster}/logs?logs_type=controller");
    upload(&world, &path).await.expect(204);

    let begin_all = async || {
        let begin = || world.operations.logs.begin(Some(cluster), LogOwner::Controller);
        let mut held = Vec::new();
        while let Ok(begun) = timeout(BRIEFLY, begin()).await {
            held.push(begun.unwrap());
        }
        held
    };
    let held = begin_all().await;
    {
        let mut waiting = std::pin::pin!(upload(&world, &path));
        assert!(
            timeout(BRIEFLY, &mut waiting).await.is_err(),
            "it waits for its turn"
        );
        drop(held);
        let answer = timeout(LIMIT, waiting).await.expect("it gets its turn");
        answer.expect(204);
    }
    let _held = begin_all().await;
    let refused = timeout(LIMIT, upload(&world, &path))
        .await
        .expect("it does not wait for ever");
    assert!(refused.expect(503).text().contains("try again"));
}
