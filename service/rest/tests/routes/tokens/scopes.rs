//! Tokens give access to what they were made for, and end.

use std::time::{Duration, Instant};

use muster_api::ids::InfraEnvId;
use muster_operations::auth::{ClusterUrl, OperatorClaims, UrlPurpose};
use muster_operations::now;
use muster_store::{LogOwner, OperatorToken};
use muster_tests::rest::PULL_SECRET;
use serde_json::json;

use crate::world::{Credential, World, host_id};

#[tokio::test]
async fn replaced_tokens_of_an_infra_env_are_refused_with_the_reason() {
    let world = World::open().await;
    let (infra_env, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let (old, bystander) = (world.agent(infra_env).await, world.agent(other).await);
    let hosts = format!("/infra-envs/{infra_env}/hosts");
    world.get(&old, &hosts).await.expect(200);
    let action = format!("/infra-envs/{infra_env}/regenerate-agent-token");
    world.post(&old, &action, &json!({})).await.expect(401);
    world.post(&world.operator, &action, &json!({})).await.expect(204);
    let refused = world.get(&old, &hosts).await.expect(401);
    assert!(refused.text().contains("downloaded since"), "{}", refused.text());
    world.get(&world.agent(infra_env).await, &hosts).await.expect(200);
    world
        .get(&bystander, &format!("/infra-envs/{other}/hosts"))
        .await
        .expect(200);
}

#[tokio::test]
async fn another_replica_refuses_replaced_and_revoked_tokens() {
    let one = World::open().await;
    let two = one.replica().await;
    let infra_env = one.infra_env(json!({})).await;
    let (old, url) = (one.agent(infra_env).await, one.url(infra_env).await);
    let hosts = format!("/infra-envs/{infra_env}/hosts");
    let path = format!("/infra-envs/{infra_env}");
    // The other service has the InfraEnv in memory now.
    two.get(&old, &hosts).await.expect(200);
    two.get(&url, &path).await.expect(200);
    let (id, named) = operator(&two, false, None).await;
    two.get(&named, &path).await.expect(200);

    one.operations.infra_envs.replace_tokens(infra_env).await.unwrap();
    let replaced = Instant::now();
    one.get(&old, &hosts).await.expect(401);
    one.get(&url, &path).await.expect(401);
    one.operations
        .store()
        .revoke_operator_token(&id, now())
        .await
        .unwrap();
    two.get(&named, &path).await.expect(401);
    while two.get(&old, &hosts).await.status != 401 {
        assert!(replaced.elapsed() < Duration::from_secs(60), "still taken");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    two.get(&url, &path).await.expect(401);
    let new = two.agent(infra_env).await;
    one.get(&new, &hosts).await.expect(200);
    two.get(&new, &hosts).await.expect(200);
}

#[tokio::test]
async fn an_agent_tells_events_of_its_own_hosts_and_their_clusters_alone() {
    let world = World::open().await;
    let (own, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let (cluster, foreign) = (world.cluster().await, world.cluster().await);
    let host = world.host(own, 1).await;
    world.bind(&host, cluster).await;
    let host = world.host(other, 2).await;
    world.bind(&host, foreign).await;
    let agent = world.agent(own).await;
    let tell = async |extra: serde_json::Value| {
        let mut body = json!({"name": "n", "severity": "critical", "message": "m", "event_time": "2026-11-22T15:00:00Z"});
        body.as_object_mut()
            .unwrap()
            .extend(extra.as_object().cloned().unwrap());
        world.post(&agent, "/events", &body).await.status
    };
    assert_eq!(tell(json!({"infra_env_id": own})).await, 201);
    assert_eq!(
        tell(json!({"infra_env_id": own, "cluster_id": cluster, "host_id": host_id(1)})).await,
        201
    );
    for foreign in [
        json!({"infra_env_id": own, "cluster_id": foreign}),
        json!({"infra_env_id": own, "cluster_id": "00000000-0000-0000-0000-00000000dead"}),
        json!({"infra_env_id": own, "host_id": host_id(2)}),
        json!({"infra_env_id": other}),
        json!({"cluster_id": cluster}),
        json!({"host_id": host_id(1), "cluster_id": foreign}),
    ] {
        let status = tell(foreign.clone()).await;
        assert!(matches!(status, 403 | 404), "{foreign}: {status}");
    }
    let events = world
        .get(&world.operator, &format!("/events?cluster_id={foreign}"))
        .await
        .expect(200);
    assert!(!events.text().contains("critical"), "{}", events.text());
}

#[tokio::test]
async fn a_clusters_url_opens_what_it_was_made_for_and_ends_with_the_cluster() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let (cluster, other) = (world.cluster().await, world.cluster().await);
    for number in [1, 2] {
        let host = world.host(infra_env, number).await;
        world.bind(&host, cluster).await;
        let owner = LogOwner::Host {
            infra_env_id: infra_env,
            host_id: host_id(number).parse().unwrap(),
        };
        let store = world.operations.store();
        let mut upload = store.begin_log(cluster, owner, now()).await.unwrap();
        store
            .append_log(&mut upload, format!("logs of {number}").as_bytes())
            .await
            .unwrap();
        store.finish_log(upload, now()).await.unwrap();
    }
    let signed = async |purpose, host: Option<u32>| {
        let record = world.operations.clusters.get(cluster).await.unwrap();
        let scope = ClusterUrl {
            purpose,
            host_id: host.map(|host| host_id(host).parse().unwrap()),
        };
        Credential::Url(
            world
                .operations
                .auth
                .cluster_url_token(&record, scope, now())
                .token
                .unwrap(),
        )
    };
    let logs = |id, query: &str| format!("/clusters/{id}/logs{query}");
    let of_one = signed(UrlPurpose::Logs, Some(1)).await;
    let (one, two) = (
        logs(cluster, &format!("?logs_type=host&host_id={}", host_id(1))),
        logs(cluster, &format!("?logs_type=host&host_id={}", host_id(2))),
    );
    assert!(
        world
            .get(&of_one, &one)
            .await
            .expect(200)
            .text()
            .contains("logs of 1")
    );
    world.get(&of_one, &two).await.expect(409);
    let all = world.get(&of_one, &logs(cluster, "")).await.expect(200);
    assert!(all.text().contains("logs of 1") && !all.text().contains("logs of 2"));
    world.get(&of_one, &logs(other, "")).await.expect(404);
    let events = signed(UrlPurpose::Events, None).await;
    let (own, foreign) = (
        format!("/events?cluster_id={cluster}"),
        format!("/events?cluster_id={other}"),
    );
    world.get(&events, &own).await.expect(200);
    world.get(&events, &foreign).await.expect(404);
    world.get(&events, "/events").await.expect(404);
    world.get(&events, &one).await.expect(404);
    world.get(&of_one, &own).await.expect(404);
    for path in [
        format!("/clusters/{cluster}"),
        format!("/clusters/{cluster}/hosts"),
        format!("/infra-envs/{infra_env}"),
    ] {
        let refused = world.get(&events, &path).await.status;
        assert!(matches!(refused, 401 | 404), "{path}: {refused}");
    }

    let action = format!("/clusters/{cluster}/regenerate-signing-key");
    world.post(&world.operator, &action, &json!({})).await.expect(204);
    let refused = world.get(&events, &own).await.expect(401);
    assert!(refused.text().contains("revoked"), "{}", refused.text());
    let events = signed(UrlPurpose::Events, None).await;
    world.get(&events, &own).await.expect(200);
    world.operations.delete_cluster(cluster).await.unwrap();
    for path in [&own, &one] {
        let refused = world.get(&events, path).await.expect(401);
        assert!(refused.text().contains("no longer exists"), "{}", refused.text());
    }
}

#[tokio::test]
async fn an_agent_sends_no_logs_of_the_controller() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let cluster = world.cluster().await;
    let host = world.host(infra_env, 1).await;
    world.bind(&host, cluster).await;
    let agent = world.agent(infra_env).await;
    let path = format!("/clusters/{cluster}/logs?logs_type=controller");
    let refused = world.post(&agent, &path, &json!({})).await.expect(403);
    assert!(refused.text().contains("operator's token"), "{}", refused.text());
    // The operator's request reaches the handler; its body is no form.
    world.post(&world.operator, &path, &json!({})).await.expect(400);
}

/// An operator's token that is in the database, with its id.
pub async fn operator(world: &World, read_only: bool, only: Option<InfraEnvId>) -> (String, Credential) {
    let made = OperatorToken {
        id: format!("t{}", InfraEnvId::random()),
        name: "ci".into(),
        read_only,
        infra_env_id: only,
        created_at: now(),
        expires_at: None,
        revoked_at: None,
    };
    world
        .operations
        .store()
        .insert_operator_token(&made)
        .await
        .unwrap();
    let token = world.operations.auth.operator_token(OperatorClaims {
        operator: true,
        jti: Some(made.id.clone()),
        name: made.name,
        read_only,
        only,
        exp: None,
    });
    (made.id, Credential::Operator(token))
}

#[tokio::test]
async fn an_operators_token_ends_at_once_when_it_is_revoked() {
    let world = World::open().await;
    let ((id, token), (_, other)) = (
        operator(&world, false, None).await,
        operator(&world, false, None).await,
    );
    world.get(&token, "/infra-envs").await.expect(200);
    world.get(&token, "/infra-envs").await.expect(200);
    world
        .operations
        .store()
        .revoke_operator_token(&id, now())
        .await
        .unwrap();
    let refused = world.get(&token, "/infra-envs").await.expect(401);
    assert!(refused.text().contains("revoked"), "{}", refused.text());
    world.get(&other, "/infra-envs").await.expect(200);
    let unknown = world.operations.auth.operator_token(OperatorClaims {
        operator: true,
        jti: Some("made-up".into()),
        ..OperatorClaims::default()
    });
    world
        .get(&Credential::Operator(unknown), "/infra-envs")
        .await
        .expect(401);
    let ended = world.operations.auth.operator_token(OperatorClaims {
        operator: true,
        exp: Some(1),
        ..OperatorClaims::default()
    });
    let refused = world
        .get(&Credential::Operator(ended), "/infra-envs")
        .await
        .expect(401);
    assert!(refused.text().contains("expired"), "{}", refused.text());
}

#[tokio::test]
async fn an_operators_token_opens_no_more_than_it_was_made_for() {
    let world = World::open().await;
    let (own, other, cluster) = (
        world.infra_env(json!({})).await,
        world.infra_env(json!({})).await,
        world.cluster().await,
    );
    let host = world.host(own, 1).await;
    let (_, reader) = operator(&world, true, None).await;
    world.get(&reader, "/infra-envs").await.expect(200);
    world.get(&reader, &host).await.expect(200);
    let name = json!({"host_name": "renamed"});
    world.patch(&reader, &host, &name).await.expect(403);
    world.ask(&reader, "DELETE", &host, None).await.expect(403);

    let (_, limited) = operator(&world, false, Some(own)).await;
    world.patch(&limited, &host, &name).await.expect(201);
    world
        .get(&limited, &format!("/events?infra_env_id={own}"))
        .await
        .expect(200);
    for path in [
        "/infra-envs".to_owned(),
        format!("/infra-envs/{other}"),
        format!("/infra-envs/{other}/hosts"),
        format!("/clusters/{cluster}"),
        "/clusters".to_owned(),
        format!("/events?infra_env_id={other}"),
        format!("/events?cluster_id={cluster}"),
        "/events".to_owned(),
    ] {
        let status = world.get(&limited, &path).await.status;
        assert!(matches!(status, 403 | 404), "{path}: {status}");
    }
    let body = json!({"cluster_id": cluster});
    world
        .post(&limited, &format!("{host}/actions/bind"), &body)
        .await
        .expect(403);
    world
        .post(
            &limited,
            "/infra-envs",
            &json!({"name": "x", "pull_secret": PULL_SECRET}),
        )
        .await
        .expect(403);
    // It is not an agent's token.
    let Credential::Operator(text) = &limited else {
        unreachable!()
    };
    world
        .post(
            &Credential::Agent(text.clone()),
            &format!("/infra-envs/{own}/hosts"),
            &json!({"host_id": host_id(3)}),
        )
        .await
        .expect(401);
}
