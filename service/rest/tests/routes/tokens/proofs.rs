//! No machine can pose as a host that registered with a key, even with the token of its image.

use muster_api::host_key::{HOST_KEY_HEADER, HOST_PROOF_HEADER, Proof, signed_text};
use muster_api::ids::InfraEnvId;
use muster_api::{BASE_PATH, MUSTER_PATH, REPLACING_TOKEN_HEADER};
use muster_core::lifecycle::host::key;
use muster_core::record::HostState;
use muster_operations::now;
use muster_tests::hosts::plain::reply;
use muster_tests::http::Answer;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use crate::world::{Credential, World, host_id};

/// A machine, or one that poses as it.
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
        let path = path.split('?').next().unwrap();
        let base = if path.starts_with(MUSTER_PATH) {
            ""
        } else {
            BASE_PATH
        };
        let path = format!("{base}{path}");
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
        ("POST", format!("{MUSTER_PATH}{host}/logs/archive"), None),
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
        assert_eq!(refused.status, 401, "{method} {path}: {}", refused.text());
        thief.asks(&world, pool, method, &path, body).await.expect(401);
        let proved = own.asks(&world, pool, method, &path, body).await;
        assert_ne!(proved.status, 401, "{method} {path}: {}", proved.text());
    }
    // Hosts of the pool without a key are as before.
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
    assert!(refused.text().contains("used before"), "{}", refused.text());
    let headers = own.proof("GET", &steps, 1, now().timestamp() - 3600);
    world
        .send(&agent, "GET", &steps, None, &headers)
        .await
        .expect(401);

    // No other machine registers in its place while it polls; it does so itself.
    let refused = thief.registers(&world, pool, 1).await.expect(503);
    assert!(refused.text().contains("another machine"), "{}", refused.text());
    let body = json!({"host_id": host_id(1)});
    world
        .post(&agent, &format!("/infra-envs/{pool}/hosts"), &body)
        .await
        .expect(503);
    let events = world
        .get(&world.operator, &format!("/events?host_ids={}", host_id(1)))
        .await
        .expect(200);
    assert!(events.text().contains("host_key_in_use"), "{}", events.text());
    own.registers(&world, pool, 1).await.expect(201);
    own.asks(&world, pool, "GET", &steps, None).await.expect(200);

    // The private key is needed, not only the public one.
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
    assert!(refused.text().contains("require_host_keys"), "{}", refused.text());
    let body = json!({"host_id": host_id(3)});
    let hosts = format!("/infra-envs/{pool}/hosts");
    let refused = world.post(&agent, &hosts, &body).await.expect(400);
    assert!(refused.text().contains("require_host_keys"), "{}", refused.text());
    Machine::new(1).registers(&world, pool, 1).await.expect(201);
}

/// A request of machine number 1 with this token and a proof.
async fn says(
    world: &World,
    own: &Machine,
    token: &Credential,
    (method, path): (&str, &str),
    body: Option<&Value>,
) -> Answer {
    let headers = own.proof(method, path, 1, now().timestamp());
    world.send(token, method, path, body, &headers).await
}

#[tokio::test]
async fn an_installed_host_with_a_key_outlasts_its_token_and_is_given_the_new_one() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let (own, thief) = (Machine::new(1), Machine::new(2));
    own.registers(&world, pool, 1).await.expect(201);
    world.host(pool, 2).await;
    let old = world.agent(pool).await;
    world.operations.infra_envs.replace_tokens(pool).await.unwrap();
    world.operations.infra_envs.replace_tokens(pool).await.unwrap();
    let host = format!("/infra-envs/{pool}/hosts/{}", host_id(1));
    let steps = format!("{host}/instructions");

    // In discovery: the machine must boot a new image.
    let refused = says(&world, &own, &old, ("GET", &steps), None).await.expect(401);
    assert!(refused.text().contains("downloaded since"), "{}", refused.text());
    assert!(!refused.headers.contains_key(REPLACING_TOKEN_HEADER));

    for state in HostState::one_of_each().into_iter().filter(key::outlasts_token) {
        world.put(pool, 1, state.clone()).await;
        let answer = says(&world, &own, &old, ("GET", &steps), None).await.expect(200);
        let given = answer.headers[REPLACING_TOKEN_HEADER]
            .to_str()
            .unwrap()
            .to_owned();
        let Credential::Agent(present) = world.agent(pool).await else {
            panic!("an agent's token is one of an agent");
        };
        assert_eq!(given, present, "{state:?}");
        let again = says(&world, &own, &Credential::Agent(given), ("GET", &steps), None).await;
        assert!(!again.expect(200).headers.contains_key(REPLACING_TOKEN_HEADER));
    }
    world.put(pool, 1, HostState::InstallingInProgress).await;
    let logs = json!({"logs_state": "completed"});
    let progress = format!("{host}/logs-progress");
    says(&world, &own, &old, ("PUT", &progress), Some(&logs))
        .await
        .expect(204);

    // No other machine, and no other operation.
    let body = json!({"host_id": host_id(1)});
    let hosts = format!("/infra-envs/{pool}/hosts");
    for (who, method, path, body) in [
        (&thief, "GET", steps.as_str(), None),
        (&own, "POST", hosts.as_str(), Some(&body)),
        (&own, "GET", hosts.as_str(), None),
        (&own, "GET", &format!("/infra-envs/{pool}"), None),
    ] {
        let refused = says(&world, who, &old, (method, path), body).await.expect(401);
        assert!(!refused.headers.contains_key(REPLACING_TOKEN_HEADER), "{path}");
    }
    world.get(&old, &steps).await.expect(401);
    world.put(pool, 2, HostState::AddedToExistingCluster).await;
    let keyless = format!("{hosts}/{}/instructions", host_id(2));
    world.get(&old, &keyless).await.expect(401);
    let headers = own.proof("GET", &keyless, 2, now().timestamp());
    world
        .send(&old, "GET", &keyless, None, &headers)
        .await
        .expect(401);
}
