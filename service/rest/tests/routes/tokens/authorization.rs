//! Every operation of the service's description is refused to callers without the right to it. Rules:
//! docs/protocol/rest-behaviour.md#2.

mod operations;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use muster_api::{BASE_PATH, MUSTER_PATH};
use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use muster_tests::http::{Answer, Requests};
use operations::{Operation, operations};
use serde_json::{Value, json};

use crate::log;
use crate::service::{Client, Service};
use crate::tokens::scopes;
use crate::world::Credential;

/// Paths that need no token, because firmware, probes and users without one must reach them.
const OPEN_PATHS: [&str; 5] = [
    "/health",
    "/ready",
    "/metrics",
    "/api/assisted-install/openapi",
    "/api/assisted-install/v2/openapi",
];

/// Every operation of the description: id, method, path.
fn described(client: &Client) -> BTreeMap<String, (String, String)> {
    let document = client
        .request("GET", "/api/assisted-install/v2/openapi", None)
        .expect(200)
        .json();
    let mut found = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in [
            "get", "post", "put", "patch", "delete", "head", "options", "trace",
        ] {
            if let Some(id) = item[method]["operationId"].as_str() {
                let twice = found.insert(id.to_owned(), (method.to_uppercase(), path.clone()));
                assert!(twice.is_none(), "two operations have the id {id}");
            } else {
                assert!(item.get(method).is_none(), "{method} {path} has no operationId");
            }
        }
    }
    found
}

/// Carrier of a token.
#[derive(Debug, Clone, Copy)]
enum Carrier {
    Raw,
    Bearer,
    SecretKey,
    ImageToken,
    ApiKeyInUrl,
    ImageTokenInUrl,
}

const CARRIERS: [Carrier; 6] = [
    Carrier::Raw,
    Carrier::Bearer,
    Carrier::SecretKey,
    Carrier::ImageToken,
    Carrier::ApiKeyInUrl,
    Carrier::ImageTokenInUrl,
];

/// A call of one operation with a token, or with none.
fn call(
    client: &Client,
    method: &str,
    url: &str,
    body: Option<&Value>,
    credential: Option<(Carrier, &str)>,
) -> Answer {
    let join = if url.contains('?') { "&" } else { "?" };
    let (client, url) = match credential {
        None => (client.clone(), url.to_owned()),
        Some((Carrier::Raw, token)) => (client.with("Authorization", token), url.to_owned()),
        Some((Carrier::Bearer, token)) => (
            client.with("Authorization", &format!("Bearer {token}")),
            url.to_owned(),
        ),
        Some((Carrier::SecretKey, token)) => (client.with("X-Secret-Key", token), url.to_owned()),
        Some((Carrier::ImageToken, token)) => (client.with("Image-Token", token), url.to_owned()),
        Some((Carrier::ApiKeyInUrl, token)) => (client.clone(), format!("{url}{join}api_key={token}")),
        Some((Carrier::ImageTokenInUrl, token)) => {
            (client.clone(), format!("{url}{join}image_token={token}"))
        }
    };
    let body = body.map(Value::to_string);
    client.request(method, &url, body.as_deref().map(str::as_bytes))
}

/// A fresh InfraEnv with two hosts, one of them in a cluster, so that each call finds what it may delete.
struct Targets {
    service: Service,
    operator: String,
    /// The last one that was made, with a host of the InfraEnv that was made with it.
    cluster: RefCell<String>,
    /// The last one that was added; no discovery of its machine was requested.
    bmc: RefCell<String>,
}

impl Targets {
    fn target(&self) -> (String, String) {
        let client = self.service.http().with("Authorization", &self.operator);
        let path = infra_env(&client);
        known_host(&client, &path, 1);
        let bound = known_host(&client, &path, 2);
        let cluster = client
            .post(
                "/clusters/import",
                &json!({"name": "day2", "api_vip_dnsname": "192.0.2.5", "openshift_cluster_id": host_id(9)}),
            )
            .expect(201)
            .json();
        let cluster = cluster["id"].as_str().unwrap();
        client
            .post(&format!("{bound}/actions/bind"), &json!({"cluster_id": cluster}))
            .expect(200);
        cluster.clone_into(&mut self.cluster.borrow_mut());
        let bmc = json!({"address": format!("{}.example.test", path.rsplit('/').next().unwrap()), "user_name": "u", "password": "p",
            "discover": false});
        let bmcs = format!("{MUSTER_PATH}{path}/bmcs");
        let bmc = client.request("POST", &bmcs, Some(bmc.to_string().as_bytes()));
        let bmc = bmc.expect(201).json();
        bmc["id"].as_str().unwrap().clone_into(&mut self.bmc.borrow_mut());
        let token = self.service.token(&path);
        (path.trim_start_matches("/infra-envs/").to_owned(), token)
    }

    /// Prepares the next call of an operation: an InfraEnv to be deleted must have no hosts.
    fn fresh(&self, operation: &str) -> (String, String) {
        if operation != "DeregisterInfraEnv" {
            return self.target();
        }
        let client = self.service.http().with("Authorization", &self.operator);
        let path = infra_env(&client);
        let token = self.service.token(&path);
        (path.trim_start_matches("/infra-envs/").to_owned(), token)
    }
}

/// An operation of the list, with its place in the description.
struct Asked<'a> {
    operation: &'a Operation,
    method: &'a str,
    path: &'a str,
    targets: &'a Targets,
    anonymous: Client,
}

impl Asked<'_> {
    /// Calls it on that InfraEnv, with a token or with none.
    fn call(&self, infra_env: &str, credential: Option<(Carrier, &str)>) -> Answer {
        let query = if self.operation.query.is_empty() {
            String::new()
        } else {
            format!("?{}", self.operation.query)
        };
        let cluster = self.targets.cluster.borrow();
        let url = format!("{}{query}", self.path)
            .replace("{infra_env_id}", infra_env)
            .replace("{ie}", infra_env)
            .replace("{host_id}", &host_id(1))
            .replace("{namespace}", "clusters")
            .replace("{name}", "workers")
            .replace("{h2}", &host_id(2))
            .replace("{validation_id}", "container-images-available")
            .replace("{job_id}", &host_id(7))
            .replace("{cluster_id}", &cluster)
            .replace("{bmc_id}", &self.targets.bmc.borrow())
            .replace("{token_id}", "none")
            .replace("{session_id}", "none");
        let body: Option<Value> = self.operation.body.as_ref().map(|body| {
            let text = body.to_string().replace("{ie}", infra_env);
            serde_json::from_str(&text.replace("{c}", &cluster)).unwrap()
        });
        call(&self.anonymous, self.method, &url, body.as_ref(), credential)
    }

    /// Tries every wrong token in every place, and the operator's in a URL.
    fn assert_refuses(&self, infra_env: &str, foreign: &str, garbage: &[&str]) {
        let id = self.operation.id;
        let refused = self.call(infra_env, None);
        assert_eq!(refused.status, 401, "{id} without a token: {}", refused.text());
        assert_eq!(
            refused.json(),
            json!({"code": 401, "message": "unauthenticated for invalid credentials"})
        );
        for carrier in CARRIERS {
            for token in garbage {
                let refused = self.call(infra_env, Some((carrier, token)));
                assert_eq!(
                    refused.status,
                    401,
                    "{id} with {token:?} as {carrier:?}: {}",
                    refused.text()
                );
                let message = refused.error_message();
                assert!(
                    token.len() < 20 || !message.contains(token),
                    "{id} repeats the token: {message}"
                );
            }
            let refused = self.call(infra_env, Some((carrier, foreign)));
            let allowed = [401, 403, 404];
            assert!(
                allowed.contains(&refused.status),
                "{id} with another's token as {carrier:?}: {} {}",
                refused.status,
                refused.text()
            );
            refused.error_message();
        }
        for carrier in [
            Carrier::ImageToken,
            Carrier::ApiKeyInUrl,
            Carrier::ImageTokenInUrl,
        ] {
            let refused = self.call(infra_env, Some((carrier, &self.targets.operator)));
            assert_eq!(
                refused.status, 401,
                "{id} with the operator's token as {carrier:?}"
            );
        }
    }

    /// Tries a right token in that place.
    fn assert_opens_or_refuses(&self, infra_env: &str, carrier: Carrier, own: &str) {
        let (id, operation) = (self.operation.id, self.operation);
        let (token, open) = match carrier {
            Carrier::Raw | Carrier::Bearer => (self.targets.operator.as_str(), true),
            Carrier::SecretKey => (own, operation.open_to.agent),
            Carrier::ImageToken | Carrier::ApiKeyInUrl | Carrier::ImageTokenInUrl => {
                (own, operation.open_to.url)
            }
        };
        let answer = self.call(infra_env, Some((carrier, token)));
        if open {
            assert!(
                (200..300).contains(&answer.status) || operation.refusal == Some(answer.status),
                "{id} with the right token as {carrier:?}: {} {}",
                answer.status,
                answer.text()
            );
        } else {
            assert_eq!(
                answer.status,
                401,
                "{id} with an InfraEnv's token as {carrier:?}: {}",
                answer.text()
            );
        }
    }
}

#[test]
fn every_operation_asks_for_a_token_and_takes_the_right_ones() {
    let service = Service::start_with_tokens();
    let (_, operator) = service.run(scopes::operator(&service.world, false, None));
    let Credential::Operator(operator) = operator else {
        unreachable!("it is an operator's")
    };
    let targets = Targets {
        service,
        operator,
        cluster: RefCell::default(),
        bmc: RefCell::default(),
    };
    let anonymous = targets.service.http();
    let described = described(&anonymous);
    let listed: BTreeSet<String> = operations()
        .iter()
        .map(|operation| operation.id.to_owned())
        .collect();
    assert_eq!(
        listed,
        described.keys().cloned().collect(),
        "the list above and the service's description differ"
    );
    for path in OPEN_PATHS {
        anonymous.request("GET", path, None).expect(200);
    }

    let (_, foreign) = targets.target();
    let garbage = [
        "",
        "x",
        "not.a.token",
        "Bearer",
        &format!("{}x", targets.operator),
        &tampered(&targets.operator),
        UNSIGNED,
    ];
    let (mut infra_env, mut own) = targets.target();
    for operation in operations() {
        let (method, path) = &described[operation.id];
        assert!(
            [BASE_PATH, MUSTER_PATH].iter().any(|base| path.starts_with(base)),
            "{path}"
        );
        let id = operation.id;
        let asked = Asked {
            operation: &operation,
            method,
            path,
            targets: &targets,
            anonymous: anonymous.clone(),
        };
        if method == "DELETE" {
            (infra_env, own) = targets.fresh(id);
        }
        asked.assert_refuses(&infra_env, &foreign, &garbage);
        for carrier in CARRIERS {
            asked.assert_opens_or_refuses(&infra_env, carrier, &own);
            if method == "DELETE" {
                (infra_env, own) = targets.fresh(id);
            }
        }
        // The InfraEnv is gone, or its token has been replaced.
        if method == "DELETE" || id == "RegenerateInfraEnvAgentToken" {
            (infra_env, own) = targets.target();
        }
    }
    let log = log::text();
    for secret in [&targets.operator, &own, &foreign] {
        assert!(!log.contains(secret.as_str()), "the log holds a token");
    }
}

/// `{"alg":"none"}` `{"operator":true}`: a careless verifier would accept it.
const UNSIGNED: &str = "eyJhbGciOiJub25lIn0.eyJvcGVyYXRvciI6dHJ1ZX0.";

/// The same token with another payload and the old signature.
fn tampered(token: &str) -> String {
    let parts: Vec<&str> = token.split('.').collect();
    let payload: String = parts[1].chars().rev().collect();
    format!("{}.{payload}.{}", parts[0], parts[2])
}

/// It gives no access to an image then, either: `tests/scenarios/rest/downloads.rs`.
#[test]
fn a_token_dies_with_its_infra_env() {
    let service = Service::start_with_tokens();
    let operator = service.operator();
    let path = infra_env(&operator);
    let token = service.token(&path);
    let agent = service.http().with("X-Secret-Key", &token);
    let host = known_host(&agent, &path, 1);
    agent.get(&format!("{host}/instructions")).expect(200);
    // The agent's token gives no access to events of others, not even if foreign hosts are named together with its own InfraEnv.
    let other = infra_env(&operator);
    let foreign_host = known_host(&operator, &other, 2);
    let id = path.trim_start_matches("/infra-envs/");
    let signed = service.http().with("Image-Token", &token);
    signed.get(&format!("/events?infra_env_id={id}")).expect(200);
    signed
        .get(&format!("/events?host_ids={}", host_id(1)))
        .expect(200);
    for query in [
        String::new(),
        format!("?infra_env_id={}", other.trim_start_matches("/infra-envs/")),
        format!("?host_ids={}", host_id(2)),
        format!("?host_ids={},{}", host_id(1), host_id(2)),
        format!("?infra_env_id={id}&host_ids={}", host_id(2)),
        format!("?cluster_id={id}"),
    ] {
        signed.get(&format!("/events{query}")).expect(404).error_message();
    }
    // The machine of the other InfraEnv, registered here as well, shows nothing of the other record.
    known_host(&agent, &path, 2);
    let events = signed
        .get(&format!("/events?host_ids={}", host_id(2)))
        .expect(200)
        .json();
    let events = events.as_array().expect("a list of events");
    assert!(
        !events.is_empty() && events.iter().all(|event| event["infra_env_id"] == id),
        "{events:?}"
    );
    operator
        .delete(&format!("{path}/hosts/{}", host_id(2)))
        .expect(204);
    agent
        .get(&format!("{foreign_host}/instructions"))
        .expect(403)
        .error_message();

    operator.delete(&host).expect(204);
    operator.delete(&path).expect(204);
    let message = agent
        .get(&format!("{host}/instructions"))
        .expect(401)
        .error_message();
    assert!(message.contains("no longer exists"), "{message}");
    signed.get(&path).expect(401);
}
