//! Jobs over many hosts: plans, jobs that run, who sees them, and what is refused.

use std::time::Duration;

use muster_operations::jobs;
use muster_operations::now;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::tokens::scopes::operator;
use crate::world::{Credential, World, host_id};

const PATH: &str = "/api/muster/v1/jobs";

/// The jobs of a service, as it runs them in the background.
struct Running(CancellationToken, JoinSet<()>);

impl Running {
    fn begin(world: &World) -> Self {
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        tasks.spawn(jobs::host_jobs::run(world.operations.clone(), stop.clone()));
        Self(stop, tasks)
    }

    async fn end(mut self) {
        self.0.cancel();
        while self.1.join_next().await.is_some() {}
    }
}

fn role(role: &str) -> Value {
    json!({"action": {"kind": "role", "role": role}, "selection": {"query": ""}})
}

fn with(mut body: Value, extra: Value) -> Value {
    let fields = body.as_object_mut().unwrap();
    fields.extend(extra.as_object().unwrap().clone());
    body
}

fn path_of(job: &Value) -> String {
    format!("{PATH}/{}", job["id"].as_str().unwrap())
}

/// The job when it has ended.
async fn ended(world: &World, job: &Value) -> Value {
    let path = path_of(job);
    for _ in 0..600 {
        let found = world.get(&world.operator, &path).await.expect(200).json();
        if found["state"] != "running" {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the job does not end");
}

#[tokio::test]
async fn a_job_is_planned_run_and_shown_with_its_results() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({"name": "lab"})).await;
    for number in 1..=3 {
        world.host(infra_env, number).await;
    }
    let dry = with(role("worker"), json!({"dry_run": true}));
    let plan = world.post(&world.operator, PATH, &dry).await.expect(200).json();
    assert_eq!(
        (&plan["total"], &plan["will_change"], &plan["already"]),
        (&json!(3), &json!(3), &json!(0))
    );
    assert_eq!(plan["refused"], json!([]));
    assert!(plan.get("confirmation").is_none());
    let list = world.get(&world.operator, PATH).await.expect(200).json();
    assert_eq!(list, json!({"jobs": []}));

    let running = Running::begin(&world);
    let body = with(role("worker"), json!({"digest": plan["digest"]}));
    let job = world.post(&world.operator, PATH, &body).await.expect(201).json();
    assert_eq!(
        (&job["state"], &job["action"]),
        (&json!("running"), &json!({"kind": "role", "role": "worker"}))
    );
    let job = ended(&world, &job).await;
    assert_eq!(job["state"], "finished");
    assert_eq!(
        job["counts"],
        json!({"total": 3, "done": 3, "changed": 3, "already": 0, "failed": 0})
    );
    let host = &job["results"][0];
    assert_eq!(host["outcome"], "changed");
    assert_eq!(
        (
            &host["host"]["name"],
            &host["host"]["pool"],
            &host["host"]["infra_env_id"]
        ),
        (&json!("host-1"), &json!("lab"), &json!(infra_env))
    );
    running.end().await;

    let path = path_of(&job);
    let part = world
        .get(&world.operator, &format!("{path}?limit=2"))
        .await
        .expect(200)
        .json();
    assert_eq!(part["results"].as_array().unwrap().len(), 2);
    let next = part["next"].as_str().unwrap();
    let rest = world
        .get(&world.operator, &format!("{path}?limit=2&after={next}"))
        .await
        .expect(200)
        .json();
    assert_eq!(rest["results"][0]["host"]["name"], "host-3");
    assert!(rest.get("next").is_none());
    let none = world
        .get(&world.operator, &format!("{path}?failed=true"))
        .await
        .expect(200)
        .json();
    assert_eq!(none["results"], json!([]));
    let shown = world
        .get(
            &world.operator,
            &format!("/infra-envs/{infra_env}/hosts/{}", host_id(2)),
        )
        .await
        .expect(200)
        .json();
    assert_eq!(shown["role"], "worker");
}

#[tokio::test]
async fn what_a_host_refuses_is_its_result_and_the_others_go_on() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let cluster = world.cluster().await;
    for number in 1..=2 {
        world.host(infra_env, number).await;
    }
    let bound = format!("/infra-envs/{infra_env}/hosts/{}", host_id(1));
    world.bind(&bound, cluster).await;
    let bind = json!({"action": {"kind": "bind", "cluster": cluster}, "selection": {"query": ""}});
    let plan = with(bind.clone(), json!({"dry_run": true}));
    let plan = world.post(&world.operator, PATH, &plan).await.expect(200).json();
    assert_eq!((&plan["will_change"], &plan["already"]), (&json!(1), &json!(1)));
    let unbind = json!({"action": {"kind": "unbind"}, "selection": {"query": ""}});
    let running = Running::begin(&world);
    let job = world
        .post(&world.operator, PATH, &unbind)
        .await
        .expect(201)
        .json();
    let job = ended(&world, &job).await;
    // The first is on its way into the cluster, the second in none.
    assert_eq!(
        job["counts"],
        json!({"total": 2, "done": 2, "changed": 0, "already": 1, "failed": 1})
    );
    let failed = world
        .get(&world.operator, &format!("{}?failed=true", path_of(&job)))
        .await
        .expect(200)
        .json();
    let failed = failed["results"].as_array().unwrap();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["host"]["id"], host_id(1));
    assert!(failed[0]["reason"].as_str().unwrap().contains("on its way"));

    let retry = format!("{}/retry", path_of(&job));
    let again = world
        .post(&world.operator, &retry, &json!({}))
        .await
        .expect(201)
        .json();
    assert_eq!(
        (&again["retry_of"], &again["counts"]["total"]),
        (&job["id"], &json!(1))
    );
    ended(&world, &again).await;
    running.end().await;
}

#[tokio::test]
async fn requests_that_cannot_become_jobs_are_refused_with_the_reason() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    world.host(infra_env, 1).await;
    let delete = json!({"action": {"kind": "delete"}, "selection": {"query": ""}});
    let hostname = |fields: Value| {
        let action = with(json!({"kind": "hostname"}), fields);
        json!({"action": action, "selection": {"query": ""}})
    };
    for (body, status, words) in [
        (delete.clone(), 422, "type this number"),
        (with(delete.clone(), json!({"confirm": 2})), 422, "2 was typed"),
        (
            with(delete, json!({"digest": "00", "confirm": 1})),
            409,
            "plan again",
        ),
        (
            json!({"action": {"kind": "logs"}, "selection": {}}),
            400,
            "no hosts",
        ),
        (
            json!({"action": {"kind": "logs"}, "selection": {"query": "modle:x"}}),
            400,
            "is it model?",
        ),
        (
            json!({"action": {"kind": "logs"}, "selection": {"query": "", "sort": "cup"}}),
            400,
            "is it cpu?",
        ),
        (
            json!({"action": {"kind": "dance"}, "selection": {}}),
            400,
            "dance",
        ),
        (hostname(json!({"pattern": "node"})), 400, "{n}"),
        (hostname(json!({})), 400, "either a pattern"),
    ] {
        let refused = world.post(&world.operator, PATH, &body).await.expect(status);
        let text = refused.text();
        assert!(text.contains(words), "{body}: {text}");
    }
    let absent = format!("{PATH}/{}", host_id(7));
    world.get(&world.operator, &absent).await.expect(404);
    world
        .ask(&world.operator, "DELETE", &absent, None)
        .await
        .expect(404);
    let retry = format!("{absent}/retry");
    world.post(&world.operator, &retry, &json!({})).await.expect(404);
    for query in ["limit=-1", "limit=1001", "after=x"] {
        let path = format!("{absent}?{query}");
        world.get(&world.operator, &path).await.expect(400);
    }
}

#[tokio::test]
async fn a_job_is_seen_in_its_scope_and_ends_with_its_token() {
    let world = World::open().await;
    let (own, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let cluster = world.cluster().await;
    world.host(own, 1).await;
    world.host(other, 2).await;
    let (reader_id, reader) = operator(&world, true, None).await;
    assert!(!reader_id.is_empty());
    world.post(&reader, PATH, &role("worker")).await.expect(403);
    world.get(&reader, PATH).await.expect(200);
    let agent = world.agent(own).await;
    for credential in [&agent, &Credential::Nothing] {
        world.get(credential, PATH).await.expect(401);
        world.post(credential, PATH, &role("worker")).await.expect(401);
    }

    let (id, limited) = operator(&world, false, Some(own)).await;
    let bind = json!({"action": {"kind": "bind", "cluster": cluster}, "selection": {"query": ""}});
    world.post(&limited, PATH, &bind).await.expect(403);
    let job = world
        .post(&limited, PATH, &role("worker"))
        .await
        .expect(201)
        .json();
    assert_eq!(
        (&job["counts"]["total"], &job["token_id"]),
        (&json!(1), &json!(id))
    );
    let (_, stranger) = operator(&world, false, Some(other)).await;
    world.get(&stranger, &path_of(&job)).await.expect(404);
    let hidden = world.get(&stranger, PATH).await.expect(200).json();
    assert_eq!(hidden["jobs"], json!([]));
    let seen = world.get(&limited, PATH).await.expect(200).json();
    assert_eq!(seen["jobs"][0]["id"], job["id"]);

    let store = world.operations.store();
    store.revoke_operator_token(&id, now()).await.unwrap();
    let running = Running::begin(&world);
    let stopped = ended(&world, &job).await;
    assert_eq!(
        (&stopped["state"], &stopped["reason"]),
        (&json!("stopped"), &json!("token revoked"))
    );
    assert_eq!(stopped["results"][0]["outcome"], "pending");
    running.end().await;
}

#[tokio::test]
async fn a_cancelled_job_is_shown_as_it_ended() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    world.host(infra_env, 1).await;
    let job = world
        .post(&world.operator, PATH, &role("worker"))
        .await
        .expect(201)
        .json();
    for _ in 0..2 {
        let cancelled = world
            .ask(&world.operator, "DELETE", &path_of(&job), None)
            .await
            .expect(200)
            .json();
        assert_eq!(
            (&cancelled["state"], &cancelled["counts"]["done"]),
            (&json!("cancelled"), &json!(0))
        );
        assert!(cancelled["ended_at"].is_string());
    }
}
