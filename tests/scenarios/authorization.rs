//! Every operation that the service describes is refused to those who may not call it. Rules:
//! docs/protocol/rest-behaviour.md#2.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use muster_api::BASE_PATH;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use crate::database::{Database, Served, host_id, infra_env, known_host, on_each_database};
use muster_tests::http::{Answer, HttpClient};

on_each_database!(
    every_operation_asks_for_a_token_and_takes_the_right_ones,
    a_token_dies_with_its_infra_env
);

/// In which ways an InfraEnv's own token opens an operation. The operator's opens every one, in
/// `Authorization`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OpenTo {
    /// `X-Secret-Key`.
    agent: bool,
    /// `?api_key=`, `?image_token=`, `Image-Token`.
    url: bool,
}

const OPERATOR_ONLY: OpenTo = OpenTo {
    agent: false,
    url: false,
};
const AGENT: OpenTo = OpenTo {
    agent: true,
    url: false,
};
const URL: OpenTo = OpenTo {
    agent: false,
    url: true,
};
const BOTH: OpenTo = OpenTo {
    agent: true,
    url: true,
};

/// One operation: its id in the description, who else than the operator may call it, a query, a good body.
struct Operation {
    id: &'static str,
    open_to: OpenTo,
    query: &'static str,
    body: Option<Value>,
    /// Further statuses for an authorised caller.
    refusal: Option<u16>,
}

/// Operations about new clusters, which are refused to every caller.
const DAY1: [(&str, OpenTo, u16); 30] = [
    ("v2RegisterCluster", OPERATOR_ONLY, 409),
    ("v2RegisterDisconnectedCluster", OPERATOR_ONLY, 409),
    ("v2InstallCluster", OPERATOR_ONLY, 409),
    ("V2CancelInstallation", OPERATOR_ONLY, 409),
    ("v2ResetCluster", OPERATOR_ONLY, 409),
    ("TransformClusterToAddingHosts", OPERATOR_ONLY, 400),
    ("TransformClusterToDay2", OPERATOR_ONLY, 400),
    ("v2CompleteInstallation", AGENT, 409),
    ("v2UpdateClusterFinalizingProgress", AGENT, 409),
    ("v2UploadClusterIngressCert", AGENT, 409),
    ("V2GetCredentials", OPERATOR_ONLY, 409),
    ("V2DownloadClusterCredentials", AGENT, 409),
    ("V2GetPresignedForClusterCredentials", OPERATOR_ONLY, 400),
    ("V2DownloadClusterFiles", BOTH, 409),
    ("V2GetPresignedForClusterFiles", OPERATOR_ONLY, 400),
    ("v2GetClusterInstallConfig", OPERATOR_ONLY, 400),
    ("v2UpdateClusterInstallConfig", OPERATOR_ONLY, 409),
    ("V2ListClusterManifests", OPERATOR_ONLY, 409),
    ("V2CreateClusterManifest", OPERATOR_ONLY, 409),
    ("V2UpdateClusterManifest", OPERATOR_ONLY, 409),
    ("V2DeleteClusterManifest", OPERATOR_ONLY, 409),
    ("v2DownloadClusterManifest", OPERATOR_ONLY, 409),
    ("v2GetPreflightRequirements", OPERATOR_ONLY, 409),
    ("GetClusterSupportedPlatforms", OPERATOR_ONLY, 409),
    ("V2ListOfClusterOperators", AGENT, 409),
    ("V2ReportMonitoredOperatorStatus", AGENT, 409),
    ("V2GetClusterUISettings", OPERATOR_ONLY, 409),
    ("V2UpdateClusterUISettings", OPERATOR_ONLY, 409),
    ("V2GetBundle", OPERATOR_ONLY, 404),
    ("V2ListOperatorProperties", OPERATOR_ONLY, 404),
];

/// The checked-in list. An operation that is not in it fails the test: decide who may call it and write it
/// down here.
fn operations() -> Vec<Operation> {
    let operation = |id, open_to, query, body| Operation {
        id,
        open_to,
        query,
        body,
        refusal: None,
    };
    let refusable = |id, open_to, refusal, body| Operation {
        refusal: Some(refusal),
        ..operation(id, open_to, "", body)
    };
    let level = "openshift_version=4.20";
    let mut list = vec![
        operation("ListInfraEnvs", OPERATOR_ONLY, "", None),
        operation(
            "RegisterInfraEnv",
            OPERATOR_ONLY,
            "",
            Some(json!({"name": "new", "pull_secret": PULL_SECRET})),
        ),
        operation("GetInfraEnv", BOTH, "", None),
        operation("UpdateInfraEnv", OPERATOR_ONLY, "", Some(json!({}))),
        operation("DeregisterInfraEnv", OPERATOR_ONLY, "", None),
        operation("GetInfraEnvDownloadURL", OPERATOR_ONLY, "", None),
        operation(
            "GetInfraEnvPresignedFileURL",
            OPERATOR_ONLY,
            "file_name=discovery.ign",
            None,
        ),
        operation("RegenerateInfraEnvSigningKey", OPERATOR_ONLY, "", None),
        operation("v2DownloadInfraEnvFiles", BOTH, "file_name=discovery.ign", None),
        operation("DownloadMinimalInitrd", URL, "", None),
        operation(
            "v2TriggerEvent",
            AGENT,
            "",
            Some(
                json!({"name": "greeting", "severity": "info", "message": "hello", "infra_env_id": "{ie}",
                "event_time": "2026-11-21T18:00:00.000Z"}),
            ),
        ),
        operation("v2ListEvents", URL, "infra_env_id={ie}", None),
        operation("v2ListHosts", AGENT, "", None),
        operation("v2RegisterHost", AGENT, "", Some(json!({"host_id": host_id(1)}))),
        operation("v2GetHost", OPERATOR_ONLY, "", None),
        operation(
            "v2UpdateHost",
            OPERATOR_ONLY,
            "",
            Some(json!({"host_role": "worker"})),
        ),
        operation("v2DeregisterHost", OPERATOR_ONLY, "", None),
        operation("v2GetNextSteps", AGENT, "", None),
        operation(
            "v2PostStepReply",
            AGENT,
            "",
            Some(json!({"step_type": "ntp-synchronizer", "output": "{\"ntp_sources\":[]}"})),
        ),
        operation("v2ListComponentVersions", OPERATOR_ONLY, "", None),
        operation("V2ListSupportedOperators", OPERATOR_ONLY, "", None),
        operation("v2ListSupportedOpenshiftVersions", OPERATOR_ONLY, "", None),
        operation("GetSupportedFeatures", OPERATOR_ONLY, level, None),
        operation("GetDetailedSupportedFeatures", OPERATOR_ONLY, level, None),
        operation("GetSupportedArchitectures", OPERATOR_ONLY, level, None),
        operation("v2ListReleaseSources", OPERATOR_ONLY, "", None),
        operation("V2ListManagedDomains", OPERATOR_ONLY, "", None),
        operation("V2ListBundles", OPERATOR_ONLY, "", None),
        operation(
            "v2ImportCluster",
            OPERATOR_ONLY,
            "",
            Some(json!({"name": "day2", "api_vip_dnsname": "192.0.2.5", "openshift_cluster_id": host_id(9)})),
        ),
        operation("v2ListClusters", OPERATOR_ONLY, "with_hosts=true", None),
        operation("v2GetCluster", AGENT, "", None),
        operation("ListClusterHosts", AGENT, "", None),
        operation("V2UpdateCluster", OPERATOR_ONLY, "", Some(json!({}))),
        operation("V2DeregisterCluster", OPERATOR_ONLY, "", None),
        operation("V2GetClusterDefaultConfig", OPERATOR_ONLY, "", None),
        operation("v2GetIgnoredValidations", OPERATOR_ONLY, "", None),
        operation("v2SetIgnoredValidations", OPERATOR_ONLY, "", Some(json!({}))),
        operation("MusterSettleHostIdentity", OPERATOR_ONLY, "", Some(json!({}))),
        refusable("V2DownloadClusterLogs", URL, 409, None),
        // The right form of it stands in `cluster_logs.rs`.
        Operation {
            refusal: Some(400),
            ..operation(
                "V2UploadLogs",
                AGENT,
                "logs_type=host&infra_env_id={ie}&host_id={h2}",
                Some(json!({})),
            )
        },
        operation(
            "v2UpdateClusterLogsProgress",
            AGENT,
            "",
            Some(json!({"logs_state": "requested"})),
        ),
        operation(
            "v2UpdateHostLogsProgress",
            AGENT,
            "",
            Some(json!({"logs_state": "requested"})),
        ),
        refusable("v2DownloadHostIgnition", AGENT, 404, None),
        refusable("v2GetHostIgnition", OPERATOR_ONLY, 404, None),
        operation(
            "v2UpdateHostIgnition",
            OPERATOR_ONLY,
            "",
            Some(json!({"config": ""})),
        ),
        operation(
            "v2UpdateHostInstallerArgs",
            OPERATOR_ONLY,
            "",
            Some(json!({"args": []})),
        ),
        refusable("v2ResetHostValidation", OPERATOR_ONLY, 409, None),
        // The host of the InfraEnv is bound by the first of them, and on its way for the others.
        refusable("BindHost", OPERATOR_ONLY, 409, Some(json!({"cluster_id": "{c}"}))),
        refusable("UnbindHost", OPERATOR_ONLY, 409, None),
        refusable("v2InstallHost", OPERATOR_ONLY, 409, None),
        refusable("v2ResetHost", OPERATOR_ONLY, 409, None),
        refusable(
            "v2UpdateHostInstallProgress",
            AGENT,
            409,
            Some(json!({"current_stage": "Installing"})),
        ),
    ];
    list.extend(DAY1.map(|(id, open_to, refusal)| refusable(id, open_to, refusal, None)));
    list
}

/// Paths that need no token, because firmware, probes and users without one must reach them.
const OPEN_PATHS: [&str; 5] = [
    "/health",
    "/ready",
    "/metrics",
    "/api/assisted-install/openapi",
    "/api/assisted-install/v2/openapi",
];

/// Every operation of the description: id, method, path.
fn described(client: &HttpClient) -> BTreeMap<String, (String, String)> {
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
    service: &Served,
    method: &str,
    url: &str,
    body: Option<&Value>,
    credential: Option<(Carrier, &str)>,
) -> Answer {
    let client = service.http();
    let join = if url.contains('?') { "&" } else { "?" };
    let (client, url) = match credential {
        None => (client, url.to_owned()),
        Some((Carrier::Raw, token)) => (client.with("Authorization", token), url.to_owned()),
        Some((Carrier::Bearer, token)) => (
            client.with("Authorization", &format!("Bearer {token}")),
            url.to_owned(),
        ),
        Some((Carrier::SecretKey, token)) => (client.with("X-Secret-Key", token), url.to_owned()),
        Some((Carrier::ImageToken, token)) => (client.with("Image-Token", token), url.to_owned()),
        Some((Carrier::ApiKeyInUrl, token)) => (client, format!("{url}{join}api_key={token}")),
        Some((Carrier::ImageTokenInUrl, token)) => (client, format!("{url}{join}image_token={token}")),
    };
    let body = body.map(Value::to_string);
    client.request(method, &url, body.as_deref().map(str::as_bytes))
}

/// A fresh InfraEnv with two hosts, one of them in a cluster, so that each call finds what it may delete.
struct World {
    service: Served,
    operator: String,
    /// The last one that was made, which has a host of the InfraEnv made with it.
    cluster: RefCell<String>,
}

impl World {
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
        let token = self.service.token(Some(&path));
        (path.trim_start_matches("/infra-envs/").to_owned(), token)
    }
}

fn every_operation_asks_for_a_token_and_takes_the_right_ones(database: Database) {
    let service = database.serve_with(muster_tests::service::Settings::auth_local);
    let operator = service.token(None);
    let world = World {
        service,
        operator,
        cluster: RefCell::default(),
    };
    let service = &world.service;
    let anonymous = service.http();
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

    let (_, foreign) = world.target();
    let garbage = [
        "",
        "x",
        "not.a.token",
        "Bearer",
        &format!("{}x", world.operator),
        &tampered(&world.operator),
        UNSIGNED,
    ];
    let (mut infra_env, mut own) = world.target();
    for operation in operations() {
        let (method, path) = &described[operation.id];
        assert!(path.starts_with(BASE_PATH), "{path}");
        let url = |infra_env: &str| {
            let query = if operation.query.is_empty() {
                String::new()
            } else {
                format!("?{}", operation.query)
            };
            format!("{path}{query}")
                .replace("{infra_env_id}", infra_env)
                .replace("{ie}", infra_env)
                .replace("{host_id}", &host_id(1))
                .replace("{h2}", &host_id(2))
                .replace("{validation_id}", "container-images-available")
                .replace("{cluster_id}", &world.cluster.borrow())
        };
        let ask = |infra_env: &str, credential: Option<(Carrier, &str)>| {
            let body = operation.body.as_ref();
            let body: Option<Value> = body.map(|body| {
                let text = body.to_string().replace("{ie}", infra_env);
                serde_json::from_str(&text.replace("{c}", &world.cluster.borrow())).unwrap()
            });
            call(service, method, &url(infra_env), body.as_ref(), credential)
        };
        let id = operation.id;
        if method == "DELETE" {
            (infra_env, own) = world.fresh(id);
        }

        let refused = ask(&infra_env, None);
        assert_eq!(refused.status, 401, "{id} without a token: {}", refused.text());
        assert_eq!(
            refused.json(),
            json!({"code": 401, "message": "unauthenticated for invalid credentials"})
        );
        for carrier in CARRIERS {
            for token in garbage {
                let refused = ask(&infra_env, Some((carrier, token)));
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
            let refused = ask(&infra_env, Some((carrier, &foreign)));
            let allowed = [401, 403, 404];
            assert!(
                allowed.contains(&refused.status),
                "{id} with another's token as {carrier:?}: {} {}",
                refused.status,
                refused.text()
            );
            refused.error_message();
        }
        for (carrier, is_operator) in [
            (Carrier::Raw, true),
            (Carrier::Bearer, true),
            (Carrier::SecretKey, false),
            (Carrier::ImageToken, false),
            (Carrier::ApiKeyInUrl, false),
            (Carrier::ImageTokenInUrl, false),
        ] {
            let open = match carrier {
                Carrier::Raw | Carrier::Bearer => true,
                Carrier::SecretKey => operation.open_to.agent,
                Carrier::ImageToken | Carrier::ApiKeyInUrl | Carrier::ImageTokenInUrl => {
                    operation.open_to.url
                }
            };
            let token = if is_operator { &world.operator } else { &own };
            let answer = ask(&infra_env, Some((carrier, token)));
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
            if method == "DELETE" {
                (infra_env, own) = world.fresh(id);
            }
        }
        for carrier in [
            Carrier::ImageToken,
            Carrier::ApiKeyInUrl,
            Carrier::ImageTokenInUrl,
        ] {
            let refused = ask(&infra_env, Some((carrier, &world.operator)));
            assert_eq!(
                refused.status, 401,
                "{id} with the operator's token as {carrier:?}"
            );
        }
        if method == "DELETE" {
            (infra_env, own) = world.target();
        }
    }
    let log = service.log();
    for secret in [&world.operator, &own, &foreign] {
        assert!(!log.contains(secret.as_str()), "the log holds a token");
    }
}

impl World {
    /// Prepares the next call of an operation: an InfraEnv to be deleted must have no hosts.
    fn fresh(&self, operation: &str) -> (String, String) {
        if operation != "DeregisterInfraEnv" {
            return self.target();
        }
        let client = self.service.http().with("Authorization", &self.operator);
        let path = infra_env(&client);
        let token = self.service.token(Some(&path));
        (path.trim_start_matches("/infra-envs/").to_owned(), token)
    }
}

/// `{"alg":"none"}` `{"operator":true}`: what a careless verifier would take.
const UNSIGNED: &str = "eyJhbGciOiJub25lIn0.eyJvcGVyYXRvciI6dHJ1ZX0.";

/// The same token with another payload and the old signature.
fn tampered(token: &str) -> String {
    let parts: Vec<&str> = token.split('.').collect();
    let payload: String = parts[1].chars().rev().collect();
    format!("{}.{payload}.{}", parts[0], parts[2])
}

fn a_token_dies_with_its_infra_env(database: Database) {
    let service = database.serve_with(muster_tests::service::Settings::auth_local);
    let operator = service.http().with("Authorization", &service.token(None));
    let path = infra_env(&operator);
    let token = service.token(Some(&path));
    let agent = service.http().with("X-Secret-Key", &token);
    let host = known_host(&agent, &path, 1);
    agent.get(&format!("{host}/instructions")).expect(200);
    // The agent's token does not open events of others, not even by naming foreign hosts beside its own
    // InfraEnv.
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
    // The machine of the other InfraEnv, registered here as well, shows nothing of its life there.
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
    service
        .http()
        .request("GET", &format!("/byapikey/{token}/4.20/x86_64/full.iso"), None)
        .expect(401);
}
