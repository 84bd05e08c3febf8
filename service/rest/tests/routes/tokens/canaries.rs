//! Every field that can hold a secret holds a canary, and every operation that reads is called with each kind of token. The table of
//! the tokens that may see one is docs/security.md.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_api::MUSTER_PATH;
use muster_operations::auth::{ClusterUrl, UrlPurpose};
use muster_operations::now;
use serde_json::{Value, json};

use crate::world::{Credential, World, host_id};

/// Secrets, by the field that holds them.
const CANARIES: [&str; 9] = [
    "pull-secret-of-infra-env",
    "override-of-infra-env",
    "pull-secret-of-cluster",
    "proxy-password-of-cluster",
    "override-of-host",
    "ignition-token-of-host",
    "ignition-header-of-host",
    "kubeconfig-of-cluster",
    "password-of-bmc",
];

/// A caller, a canary, and the operations that show it to that caller. All others show none.
const SEEN: [(&str, &str, &[&str]); 14] = [
    (
        "operator",
        "pull-secret-of-infra-env",
        &["v2DownloadInfraEnvFiles"],
    ),
    (
        "operator",
        "override-of-infra-env",
        &["GetInfraEnv", "ListInfraEnvs", "v2DownloadInfraEnvFiles"],
    ),
    (
        "operator",
        "proxy-password-of-cluster",
        &["v2GetCluster", "v2ListClusters"],
    ),
    (
        "operator",
        "override-of-host",
        &[
            "ListClusterHosts",
            "v2DownloadHostIgnition",
            "v2GetCluster",
            "v2GetHost",
            "v2GetHostIgnition",
            "v2ListClusters",
            "v2ListHosts",
        ],
    ),
    (
        "operator",
        "ignition-token-of-host",
        &["v2DownloadHostIgnition", "v2GetHostIgnition", "v2GetNextSteps"],
    ),
    (
        "operator",
        "ignition-header-of-host",
        &["v2DownloadHostIgnition", "v2GetHostIgnition", "v2GetNextSteps"],
    ),
    (
        "agent of the pool",
        "ignition-token-of-host",
        &["v2DownloadHostIgnition", "v2GetNextSteps"],
    ),
    (
        "agent of the pool",
        "ignition-header-of-host",
        &["v2DownloadHostIgnition", "v2GetNextSteps"],
    ),
    (
        "agent of the pool",
        "override-of-host",
        &["v2DownloadHostIgnition"],
    ),
    (
        "signed URL",
        "override-of-infra-env",
        &["GetInfraEnv", "v2DownloadInfraEnvFiles"],
    ),
    ("agent of another pool", "", &[]),
    ("signed URL of another pool", "", &[]),
    ("URL of the cluster's events", "", &[]),
    ("nobody", "", &[]),
];

fn pull_secret(canary: &str) -> String {
    let auth = STANDARD.encode(format!("robot:{canary}"));
    json!({"auths": {"registry.example.test": {"auth": auth}}}).to_string()
}

fn ignition(canary: &str) -> String {
    let file = json!({"path": "/etc/own", "contents": {"source": format!("data:,{canary}")}});
    json!({"ignition": {"version": "3.1.0"}, "storage": {"files": [file]}}).to_string()
}

/// The response of the machine config server, as foreign agents pass it on.
fn worker_ignition() -> String {
    let kubeconfig = format!(
        "clusters:\n- cluster:\n    server: https://192.0.2.5:6443\n  name: local\nusers:\n- user:\n    token: {}\n",
        CANARIES[7]
    );
    let source = format!(
        "data:text/plain;charset=utf-8;base64,{}",
        STANDARD.encode(kubeconfig)
    );
    let file = json!({"path": "/etc/kubernetes/kubeconfig", "contents": {"source": source}});
    json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [file]}}).to_string()
}

struct Planted {
    world: World,
    /// Path parameters with their values.
    ids: Vec<(&'static str, String)>,
    callers: Vec<(&'static str, Credential)>,
}

async fn planted() -> Planted {
    let world = World::open().await;
    let operator = world.operator.clone();
    let settings = json!({
        "pull_secret": pull_secret(CANARIES[0]), "ignition_config_override": ignition(CANARIES[1]),
    });
    let infra_env = world.infra_env(settings).await;
    let other = world.infra_env(json!({"name": "other"})).await;
    let cluster = world.cluster().await;
    let settings = json!({
        "pull_secret": pull_secret(CANARIES[2]),
        "http_proxy": format!("http://robot:{}@proxy.example.test:3128", CANARIES[3]),
    });
    world
        .patch(&operator, &format!("/clusters/{cluster}"), &settings)
        .await
        .expect(201);
    let host = world.host(infra_env, 1).await;
    world.host(other, 2).await;
    world.bind(&host, cluster).await;
    let config = json!({"config": ignition(CANARIES[4])});
    world
        .patch(&operator, &format!("{host}/ignition"), &config)
        .await
        .expect(201);
    let settings = json!({
        "ignition_endpoint_token": CANARIES[5],
        "ignition_endpoint_http_headers": [{"key": "X-Own", "value": CANARIES[6]}],
    });
    world.patch(&operator, &host, &settings).await.expect(201);
    let agent = world.agent(infra_env).await;
    // Its agent starts again in the cluster.
    world.host(infra_env, 1).await;
    let output = json!({"is_success": true, "ignition": worker_ignition()});
    world
        .report(infra_env, &host, "api-vip-connectivity-check", &output)
        .await;
    let bmc = json!({"address": "bmc.example.test", "user_name": "root", "password": CANARIES[8], "discover": false});
    let bmcs = format!("{MUSTER_PATH}/infra-envs/{infra_env}/bmcs");
    let bmc = world.post(&operator, &bmcs, &bmc).await.expect(201).json();
    let record = world.operations.clusters.get(cluster).await.unwrap();
    let scope = ClusterUrl {
        purpose: UrlPurpose::Events,
        host_id: None,
    };
    let events = world
        .operations
        .auth
        .cluster_url_token(&record, scope, now())
        .token
        .unwrap();
    Planted {
        ids: vec![
            ("infra_env_id", infra_env.to_string()),
            ("host_id", host_id(1)),
            ("cluster_id", cluster.to_string()),
            ("validation_id", "connected".into()),
            ("bmc_id", bmc["id"].as_str().unwrap().to_owned()),
        ],
        callers: vec![
            ("operator", operator),
            ("agent of the pool", agent),
            ("agent of another pool", world.agent(other).await),
            ("signed URL", world.url(infra_env).await),
            ("signed URL of another pool", world.url(other).await),
            ("URL of the cluster's events", Credential::Url(events)),
            ("nobody", Credential::Nothing),
        ],
        world,
    }
}

/// Every operation that reads, by its id, with the queries that show most.
fn reading_operations(ids: &[(&str, String)]) -> Vec<(String, String)> {
    let id_of = |wanted: &str| &ids.iter().find(|(name, _)| *name == wanted).unwrap().1;
    let description: Value = serde_json::to_value(muster_rest::openapi()).unwrap();
    let paths = description["paths"].as_object().unwrap();
    let mut found = Vec::new();
    for (path, item) in paths {
        let Some(id) = item["get"]["operationId"].as_str() else {
            continue;
        };
        let mut path = path.trim_start_matches(muster_api::BASE_PATH).to_owned();
        for (name, value) in ids {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        // Names of objects without secrets.
        while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
            path.replace_range(from..=to, "none");
        }
        let queries: &[&str] = match id {
            "v2DownloadInfraEnvFiles" => &["?file_name=discovery.ign", "?file_name=static-network-config"],
            "GetInfraEnvPresignedFileURL" => &["?file_name=discovery.ign"],
            "v2ListClusters" => &["?with_hosts=true"],
            "ListClusterHosts" => &["?with-inventory=true&with-connectivity=true"],
            "v2ListEvents" => &["?infra_env_id=", "?cluster_id=", "?limit=-1"],
            "MusterListEvents" => &["?limit=1000"],
            _ => &[""],
        };
        found.extend(queries.iter().map(|query| {
            let query = match *query {
                "?infra_env_id=" => format!("{query}{}", id_of("infra_env_id")),
                "?cluster_id=" => format!("{query}{}", id_of("cluster_id")),
                other => other.to_owned(),
            };
            (id.to_owned(), format!("{path}{query}"))
        }));
    }
    assert!(found.len() > 30, "{found:?}");
    found
}

/// True when `text` holds `canary`, plain or in base64, once or twice.
fn holds(text: &str, canary: &str) -> bool {
    let forms = |bytes: &[u8]| {
        (0..3)
            .map(|before| {
                let padded = [&vec![b' '; before], bytes].concat();
                let encoded = STANDARD.encode(&padded[..padded.len() / 3 * 3]);
                encoded[if before == 0 { 0 } else { 4 }..].to_owned()
            })
            .collect::<Vec<String>>()
    };
    let once = forms(canary.as_bytes());
    text.contains(canary)
        || once
            .iter()
            .any(|form| text.contains(form) || forms(form.as_bytes()).iter().any(|form| text.contains(form)))
}

#[tokio::test]
async fn secrets_are_shown_to_those_whom_the_security_page_names() {
    let planted = planted().await;
    let mut seen = BTreeSet::new();
    for (operation, path) in reading_operations(&planted.ids) {
        for (name, credential) in &planted.callers {
            let answer = planted.world.get(credential, &path).await;
            assert!(
                answer.status < 500 || answer.status == 503,
                "{path}: {}",
                answer.text()
            );
            for canary in CANARIES {
                if holds(&answer.text(), canary) {
                    seen.insert((*name, canary, operation.clone()));
                }
            }
        }
    }
    let expected: BTreeSet<_> = SEEN
        .iter()
        .flat_map(|(name, canary, operations)| {
            operations
                .iter()
                .map(move |operation| (*name, *canary, (*operation).to_owned()))
        })
        .collect();
    let more: Vec<_> = seen.difference(&expected).collect();
    let less: Vec<_> = expected.difference(&seen).collect();
    assert!(
        more.is_empty() && less.is_empty(),
        "shown beyond the table: {more:#?}\nnot shown: {less:#?}"
    );
}

#[test]
fn a_canary_is_found_in_base64_twice() {
    for before in ["", "x", "xy"] {
        let twice = STANDARD.encode(format!(
            "{{\"auth\":\"{}\"}}",
            STANDARD.encode(format!("{before}{}", CANARIES[0]))
        ));
        assert!(holds(&twice, CANARIES[0]), "{twice}");
    }
    assert!(!holds("nothing here", CANARIES[0]));
}
