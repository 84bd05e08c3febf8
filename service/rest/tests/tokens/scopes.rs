//! Tokens open what they were made for, and end.

use muster_operations::auth::{ClusterUrl, UrlPurpose};
use muster_operations::now;
use muster_store::LogOwner;
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
    assert!(refused.text.contains("downloaded since"), "{}", refused.text);
    world.get(&world.agent(infra_env).await, &hosts).await.expect(200);
    world
        .get(&bystander, &format!("/infra-envs/{other}/hosts"))
        .await
        .expect(200);
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
        world.post(&agent, "/events", &body).await.status.as_u16()
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
    assert!(!events.text.contains("critical"), "{}", events.text);
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
        let store = &world.operations.store;
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
            .text
            .contains("logs of 1")
    );
    world.get(&of_one, &two).await.expect(409);
    let all = world.get(&of_one, &logs(cluster, "")).await.expect(200);
    assert!(all.text.contains("logs of 1") && !all.text.contains("logs of 2"));
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
        let refused = world.get(&events, &path).await.status.as_u16();
        assert!(matches!(refused, 401 | 404), "{path}: {refused}");
    }

    let action = format!("/clusters/{cluster}/regenerate-signing-key");
    world.post(&world.operator, &action, &json!({})).await.expect(204);
    let refused = world.get(&events, &own).await.expect(401);
    assert!(refused.text.contains("revoked"), "{}", refused.text);
    let events = signed(UrlPurpose::Events, None).await;
    world.get(&events, &own).await.expect(200);
    world.operations.delete_cluster(cluster).await.unwrap();
    for path in [&own, &one] {
        let refused = world.get(&events, path).await.expect(401);
        assert!(refused.text.contains("no longer exists"), "{}", refused.text);
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
    assert!(refused.text.contains("operator's token"), "{}", refused.text);
    // The operator's is read: it is no form.
    world.post(&world.operator, &path, &json!({})).await.expect(400);
}
