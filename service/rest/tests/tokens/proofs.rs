//! A host that registered with a key is nobody else, whoever has the token of its image.

use muster_api::BASE_PATH;
use muster_api::host_key::{HOST_KEY_HEADER, HOST_PROOF_HEADER, Proof, signed_text};
use muster_api::ids::InfraEnvId;
use muster_operations::now;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use crate::world::{Answer, World, host_id, reply};

/// A machine, or somebody who plays one.
struct Machine {
    pair: Ed25519KeyPair,
}

impl Machine {
    fn new(seed: u8) -> Self {
        Self {
            pair: Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap(),
        }
    }

    fn proof(&self, method: &str, path: &str, number: u32, time: i64) -> Vec<(&'static str, String)> {
        let nonce = format!("n{}", InfraEnvId::random().0.simple());
        let nonce = &nonce[..32];
        let host = host_id(number).parse().unwrap();
        let path = format!("{BASE_PATH}{}", path.split('?').next().unwrap());
        let text = signed_text(method, &path, host, time, nonce);
        let proof = Proof {
            time,
            nonce: nonce.to_owned(),
            signature: hex::encode(self.pair.sign(text.as_bytes())),
        };
        vec![(HOST_PROOF_HEADER, proof.to_string())]
    }

    async fn asks(
        &self,
        world: &World,
        pool: InfraEnvId,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let headers = self.proof(method, path, 1, now().timestamp());
        world
            .send(&world.agent(pool).await, method, path, body, &headers)
            .await
    }

    async fn registers(&self, world: &World, pool: InfraEnvId, number: u32) -> Answer {
        let path = format!("/infra-envs/{pool}/hosts");
        let mut headers = self.proof("POST", &path, number, now().timestamp());
        headers.push((HOST_KEY_HEADER, hex::encode(self.pair.public_key())));
        let body = json!({"host_id": host_id(number)});
        world
            .send(&world.agent(pool).await, "POST", &path, Some(&body), &headers)
            .await
    }
}

#[tokio::test]
async fn a_host_with_a_key_is_not_played_by_others() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let (own, thief) = (Machine::new(1), Machine::new(2));
    own.registers(&world, pool, 1).await.expect(201);
    let host = format!("/infra-envs/{pool}/hosts/{}", host_id(1));
    let steps = format!("{host}/instructions");
    own.asks(&world, pool, "GET", &steps, None).await.expect(200);
    own.asks(&world, pool, "GET", &format!("{steps}?timestamp=7"), None)
        .await
        .expect(200);

    let agent = world.agent(pool).await;
    let stage = json!({"current_stage": "Done"});
    let output = reply("inventory", &json!({}));
    let logs = json!({"logs_state": "completed"});
    let event = json!({"name": "n", "severity": "info", "message": "m", "infra_env_id": pool, "host_id": host_id(1),
        "event_time": "2026-11-22T15:00:00Z"});
    let cluster = world.cluster().await;
    for (method, path, body) in [
        ("GET", steps.clone(), None),
        ("POST", steps.clone(), Some(&output)),
        ("PUT", format!("{host}/progress"), Some(&stage)),
        ("PUT", format!("{host}/logs-progress"), Some(&logs)),
        ("POST", "/events".to_owned(), Some(&event)),
        (
            "POST",
            format!(
                "/clusters/{cluster}/logs?logs_type=host&infra_env_id={pool}&host_id={}",
                host_id(1)
            ),
            None,
        ),
        (
            "GET",
            format!("/infra-env/{pool}/hosts/{}/downloads/ignition", host_id(1)),
            None,
        ),
    ] {
        let refused = world.ask(&agent, method, &path, body).await;
        assert_eq!(refused.status, 401, "{method} {path}: {}", refused.text);
        thief.asks(&world, pool, method, &path, body).await.expect(401);
        let proved = own.asks(&world, pool, method, &path, body).await;
        assert_ne!(proved.status, 401, "{method} {path}: {}", proved.text);
    }
    // Those of the pool without one are as before.
    world.host(pool, 2).await;

    // A proof is good once, and not for long.
    let headers = own.proof("GET", &steps, 1, now().timestamp());
    world
        .send(&agent, "GET", &steps, None, &headers)
        .await
        .expect(200);
    let refused = world
        .send(&agent, "GET", &steps, None, &headers)
        .await
        .expect(401);
    assert!(refused.text.contains("used before"), "{}", refused.text);
    let headers = own.proof("GET", &steps, 1, now().timestamp() - 3600);
    world
        .send(&agent, "GET", &steps, None, &headers)
        .await
        .expect(401);

    // Nobody registers in its place while it is heard; it does so itself.
    let refused = thief.registers(&world, pool, 1).await.expect(503);
    assert!(refused.text.contains("another machine"), "{}", refused.text);
    let body = json!({"host_id": host_id(1)});
    world
        .post(&agent, &format!("/infra-envs/{pool}/hosts"), &body)
        .await
        .expect(503);
    let events = world
        .get(&world.operator, &format!("/events?host_ids={}", host_id(1)))
        .await
        .expect(200);
    assert!(events.text.contains("host_key_in_use"), "{}", events.text);
    own.registers(&world, pool, 1).await.expect(201);
    own.asks(&world, pool, "GET", &steps, None).await.expect(200);

    // A key must be had, not only named.
    let path = format!("/infra-envs/{pool}/hosts");
    let mut headers = thief.proof("POST", &path, 3, now().timestamp());
    headers.push((HOST_KEY_HEADER, hex::encode(own.pair.public_key())));
    let body = json!({"host_id": host_id(3)});
    world
        .send(&agent, "POST", &path, Some(&body), &headers)
        .await
        .expect(401);

    // A deleted host is forgotten with its key.
    world
        .ask(&world.operator, "DELETE", &host, None)
        .await
        .expect(204);
    thief.registers(&world, pool, 1).await.expect(201);
}

#[tokio::test]
async fn an_infra_env_can_take_hosts_with_keys_alone() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let foreign = world.host(pool, 2).await;
    let agent = world.agent(pool).await;
    world
        .get(&agent, &format!("{foreign}/instructions"))
        .await
        .expect(200);
    let demand = json!({"require_host_keys": true});
    let shown = world
        .patch(&world.operator, &format!("/infra-envs/{pool}"), &demand)
        .await
        .expect(201)
        .json();
    assert_eq!(shown["require_host_keys"], true);
    let refused = world
        .get(&agent, &format!("{foreign}/instructions"))
        .await
        .expect(401);
    assert!(refused.text.contains("require_host_keys"), "{}", refused.text);
    let body = json!({"host_id": host_id(3)});
    let hosts = format!("/infra-envs/{pool}/hosts");
    let refused = world.post(&agent, &hosts, &body).await.expect(400);
    assert!(refused.text.contains("require_host_keys"), "{}", refused.text);
    Machine::new(1).registers(&world, pool, 1).await.expect(201);
}
