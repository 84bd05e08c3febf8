//! Operators' tokens with their sessions: listed and ended by operators, and how the service is.

use serde_json::{Value, json};

use crate::tokens::scopes::operator;
use crate::world::{Credential, World};

const TOKENS: &str = "/api/muster/v1/tokens";
const SESSIONS: &str = "/api/muster/v1/sessions";
const SERVICE: &str = "/api/muster/v1/service";

/// Begins a session; its id and its secret.
async fn session(world: &World, token: &Credential) -> (String, Credential) {
    let begun = world.post(token, SESSIONS, &json!({})).await.expect(201);
    let id = begun.json()["session_id"].as_str().unwrap().to_owned();
    let (secret, _) = begun.header("set-cookie").split_once(';').unwrap();
    let secret = secret.strip_prefix("__Host-muster=").unwrap();
    (id, Credential::Session(secret.to_owned()))
}

/// The token with this id in the list.
async fn listed(world: &World, reader: &Credential, id: &str) -> Value {
    let all = world.get(reader, TOKENS).await.expect(200).json();
    let mut all = all.as_array().unwrap().iter();
    all.find(|token| token["id"] == id).unwrap().clone()
}

#[tokio::test]
async fn an_operator_ends_sessions_and_tokens_of_others() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let ((_, admin), (id, token)) = (
        operator(&world, false, None).await,
        operator(&world, true, Some(pool)).await,
    );
    let (first, of_first) = session(&world, &token).await;
    let (second, of_second) = session(&world, &token).await;
    let shown = listed(&world, &admin, &id).await;
    assert_eq!(
        (&shown["name"], &shown["state"], &shown["read_only"]),
        (&json!("ci"), &json!("good"), &json!(true))
    );
    assert_eq!(shown["infra_env_id"], json!(pool));
    let sessions = shown["sessions"].as_array().unwrap();
    let mut ids: Vec<&Value> = sessions.iter().map(|session| &session["id"]).collect();
    ids.sort_by_key(|id| id.to_string());
    let mut wanted = [json!(first), json!(second)];
    wanted.sort_by_key(Value::to_string);
    assert_eq!(ids, [&wanted[0], &wanted[1]]);

    let end = format!("{SESSIONS}/{first}");
    world.ask(&admin, "DELETE", &end, None).await.expect(204);
    world.ask(&admin, "DELETE", &end, None).await.expect(404);
    let own = "/api/muster/v1/session";
    world.get(&of_first, own).await.expect(401);
    world.get(&of_second, own).await.expect(200);

    let revoke = format!("{TOKENS}/{id}");
    // A second time it is so already.
    for _ in 0..2 {
        world.ask(&admin, "DELETE", &revoke, None).await.expect(204);
    }
    world.get(&of_second, own).await.expect(401);
    world.get(&token, own).await.expect(401);
    let shown = listed(&world, &admin, &id).await;
    assert_eq!(
        (&shown["state"], &shown["sessions"]),
        (&json!("revoked"), &json!([]))
    );
    world
        .ask(&admin, "DELETE", &format!("{TOKENS}/none"), None)
        .await
        .expect(404);
}

#[tokio::test]
async fn who_only_reads_ends_nothing_and_who_has_one_pool_sees_nothing_of_it() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let (id, reader) = operator(&world, true, None).await;
    let (_, confined) = operator(&world, false, Some(pool)).await;
    for path in [TOKENS, SERVICE] {
        world.get(&reader, path).await.expect(200);
        world.get(&confined, path).await.expect(403);
        world.get(&world.agent(pool).await, path).await.expect(401);
    }
    for (credential, path) in [
        (&reader, format!("{TOKENS}/{id}")),
        (&confined, format!("{TOKENS}/{id}")),
        (&confined, format!("{SESSIONS}/any")),
    ] {
        world.ask(credential, "DELETE", &path, None).await.expect(403);
    }
    world.get(&reader, TOKENS).await.expect(200);
}

#[tokio::test]
async fn the_service_returns_how_it_is() {
    let world = World::open().await;
    let operations = &world.operations;
    operations.outages.beat(operations.store()).await.unwrap();
    world.infra_env(json!({})).await;
    let shown = world.get(&world.operator, SERVICE).await.expect(200).json();
    assert_eq!(shown["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(shown["agent_version"], "muster-agent/0");
    assert_eq!(shown["database"]["kind"], "sqlite");
    assert!(shown["database"]["bytes"].as_i64().unwrap() > 4096, "{shown}");
    let replicas = shown["replicas"].as_array().unwrap();
    assert_eq!(replicas.len(), 1);
    assert_eq!(
        (&replicas[0]["is_this"], &replicas[0]["has_left"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(replicas[0]["id"].as_str().unwrap().len(), 8);
    // No job runs here that would take the change of the new InfraEnv, or write the audit.
    let backlog = &shown["backlog"];
    assert!(backlog["changes"].as_i64().unwrap() > 0, "{shown}");
    assert_eq!(backlog["audit_entries"], 1);
    assert!(backlog["oldest_change_at"].is_string());
    assert_eq!(
        (&shown["kubernetes"], &shown["jobs"]),
        (&json!("off"), &json!("ok"))
    );
}
