//! The page of the service: what it shows, tokens and sessions that it ends, and who requested which change.

use muster_tests::rest::PULL_SECRET;
use serde_json::json;

use super::Browser;
use crate::tokens::scopes::operator;
use crate::world::{Credential, World};

const PAGE: &str = "/ui/service";

#[tokio::test]
async fn an_operator_sees_the_service_and_who_changed_what() {
    let world = World::open().await;
    let (id, token) = operator(&world, false, None).await;
    let visitor = Browser::signed_in(&world, &token).await;
    let empty = visitor.open(&world, PAGE).await.expect(200).text();
    for part in [
        "<h2>Replicas</h2>",
        "sqlite",
        "muster-agent/0",
        "<h2>Tokens of operators</h2>",
    ] {
        assert!(empty.contains(part), "{part}: {empty}");
    }
    let body = json!({"name": "<b>lab</b>", "pull_secret": PULL_SECRET});
    let made = world.post(&token, "/infra-envs", &body).await.expect(201);
    let pool = made.json()["id"].as_str().unwrap().to_owned();
    let shown = visitor.open(&world, PAGE).await.expect(200).text();
    for part in [
        "MusterBeginSession",
        "RegisterInfraEnv",
        &format!(r#"<a href="/ui/pools/{pool}"><bdi>&#60;b&#62;lab&#60;/b&#62;</bdi></a>"#),
        &format!("<code>{id}</code>"),
        r#"href="/api/muster/v1/audit?format=jsonl""#,
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let Credential::Operator(secret) = &token else {
        unreachable!("it is an operator's")
    };
    assert!(!shown.contains(secret.as_str()) && !shown.contains("<b>lab"));
}

#[tokio::test]
async fn the_audit_is_shown_in_windows() {
    let world = World::open().await;
    let visitor = Browser::operator(&world).await;
    for number in 0..120 {
        let body = json!({"name": format!("pool-{number}"), "pull_secret": PULL_SECRET});
        world
            .post(&world.operator, "/infra-envs", &body)
            .await
            .expect(201);
    }
    let newest = visitor.open(&world, PAGE).await.expect(200).text();
    assert!(newest.contains(">pool-119<") && !newest.contains(">pool-5<"));
    // One entry is that of the session.
    assert!(
        newest.contains(r##"href="/ui/service?before=22#audit""##),
        "{newest}"
    );
    let older = visitor
        .open(&world, &format!("{PAGE}?before=22"))
        .await
        .expect(200)
        .text();
    assert!(older.contains(">pool-5<") && older.contains(">pool-0<") && !older.contains(">pool-119<"));
    assert!(older.contains("Newest entries") && !older.contains("Older entries"));
}

#[tokio::test]
async fn tokens_are_revoked_and_sessions_ended_by_forms() {
    let world = World::open().await;
    let visitor = Browser::operator(&world).await;
    let (id, token) = operator(&world, false, None).await;
    let other = Browser::signed_in(&world, &token).await;
    let tokens = world
        .get(&world.operator, "/api/muster/v1/tokens")
        .await
        .expect(200)
        .json();
    let mut tokens = tokens.as_array().unwrap().iter();
    let found = tokens.find(|one| one["id"] == id.as_str()).unwrap();
    let session = found["sessions"][0]["id"].as_str().unwrap().to_owned();

    let ended = visitor
        .submit(&world, &format!("{PAGE}/end"), &format!("id={session}"))
        .await
        .expect(303);
    assert_eq!(ended.header("location"), PAGE);
    let shown = visitor.follow(&world, &ended).await.expect(200).text();
    assert!(
        shown.contains("The session has ended.")
            && shown.contains(&format!("muster token revoke --id {session}")),
        "{shown}"
    );
    other.open(&world, "/ui/hosts").await.expect(303);
    world.get(&token, "/infra-envs").await.expect(200);

    let revoke = format!("{PAGE}/revoke");
    let unsure = visitor
        .submit(&world, &revoke, &format!("id={id}"))
        .await
        .expect(400)
        .text();
    assert!(unsure.contains("tick that you are sure"), "{unsure}");
    world.get(&token, "/infra-envs").await.expect(200);
    let revoked = visitor
        .submit(&world, &revoke, &format!("id={id}&sure=yes"))
        .await
        .expect(303);
    assert_eq!(revoked.header("location"), PAGE);
    world.get(&token, "/infra-envs").await.expect(401);

    let unknown = visitor
        .submit(&world, &format!("{PAGE}/end"), "id=none")
        .await
        .expect(404)
        .text();
    assert!(unknown.contains("role=\"alert\""), "{unknown}");
    visitor
        .submit(&world, &format!("{PAGE}/end"), "id=%3Cb%3E")
        .await
        .expect(400);
    visitor
        .submit(&world, &format!("{PAGE}/explode"), "id=none")
        .await
        .expect(404);
}

#[tokio::test]
async fn who_reads_only_has_disabled_buttons_and_who_has_one_pool_a_sentence() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let (id, reader) = operator(&world, true, None).await;
    let reader = Browser::signed_in(&world, &reader).await;
    let shown = reader.open(&world, PAGE).await.expect(200).text();
    assert!(
        shown.contains(r#"<fieldset disabled aria-describedby="forbidden">"#)
            && shown.contains("RegisterInfraEnv"),
        "{shown}"
    );
    reader
        .submit(&world, &format!("{PAGE}/revoke"), &format!("id={id}&sure=yes"))
        .await
        .expect(403);
    let (_, confined) = operator(&world, false, Some(pool)).await;
    let confined = Browser::signed_in(&world, &confined).await;
    let shown = confined.open(&world, PAGE).await.expect(200).text();
    assert!(
        shown.contains("Your token is for one pool.") && !shown.contains("RegisterInfraEnv"),
        "{shown}"
    );
}
