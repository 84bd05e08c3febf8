//! Responses match the description for any request: schemathesis generates requests from `api-spec/openapi.json`, valid
//! and invalid, alone and in sequences, and compares the responses. It also requests existing objects, and sends texts
//! of the right form (`tests/clients/schemathesis_hooks.py`).

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use muster_tests::artifacts::{live_image, project_root};
use muster_tests::process::Program;
use muster_tests::process::python::Environment;
use muster_tests::rest::PULL_SECRET;
use serde_json::Value;

use muster_tests::database::{Database, Served, inventory};

/// Generated requests for each operation in the phase of random ones; the others have as many as the description
/// requires.
const EXAMPLES: &str = "8";

/// The same requests each time, as long as the description stays.
const SEED: &str = "20261121";

const LIMIT: Duration = Duration::from_secs(600);

/// Checks of every response: no 5xx; status, media type, headers and body as described; `Allow` with a 405; deleted
/// objects are gone. Not that all created objects exist at once: a host's ignition exists only with its cluster.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance,unsupported_method,allow_header_conformance,use_after_free";

/// Further checks if tokens are required: without one, or with a wrong one, 401; and what the description forbids is
/// refused.
const CHECKS_WITH_TOKENS: &str = "ignored_auth,missing_required_header,negative_data_rejection";

/// Operations that succeed only where tokens are required.
const OF_TOKENS: [&str; 3] = ["MusterBeginSession", "MusterEndSession", "MusterAddSessionLink"];

/// Operations that succeed only with the id of a token or session, which is random: `routes::tokens::listed` shows their success.
const OF_ANOTHER_TOKEN: [&str; 2] = ["MusterRevokeToken", "MusterEndOtherSession"];

/// Operations that succeed only with logs that are an archive, which the generator does not send: `routes::web::logs` shows their success.
const OF_AN_ARCHIVE: [&str; 2] = ["MusterListHostLogFiles", "MusterReadHostLog"];

/// Operations that succeed only with a host whose erasure failed, one that its BMC has booted, or a NodePool of the Kubernetes API, which the
/// generator cannot make: `routes::erasing`, `bmc::asleep` and `routes::node_pools` show their success.
const OF_A_PAST: [&str; 5] = [
    "MusterGetNodePool",
    "MusterRetryHostErasure",
    "MusterSkipHostErasure",
    "MusterSleepHost",
    "MusterWakeHost",
];

#[test]
fn every_answer_is_described() {
    let service = Database::Sqlite.serve_with(|settings| settings.live_image(&live_image()));
    let seen = compare(&service, None);
    let description = fs::read_to_string(project_root().join("api-spec/openapi.json")).unwrap();
    let description: Value = serde_json::from_str(&description).unwrap();
    let without_success: Vec<&str> = can_succeed(&description)
        .filter(|operation| !OF_TOKENS.contains(operation) && !OF_ANOTHER_TOKEN.contains(operation))
        .filter(|operation| !OF_A_PAST.contains(operation) && !OF_AN_ARCHIVE.contains(operation))
        .filter(|operation| !succeeded(&seen, operation))
        .collect();
    assert!(
        without_success.is_empty(),
        "never asked so that they could succeed (teach tests/clients/schemathesis_hooks.py): {without_success:?}"
    );
}

/// True if an operation was answered so among the statuses that were seen.
fn succeeded(seen: &BTreeMap<String, Vec<u16>>, operation: &str) -> bool {
    let statuses = seen.get(operation);
    statuses.is_some_and(|statuses| statuses.iter().any(|status| (200..300).contains(status)))
}

/// The operations that can succeed with an answer that ends: a generated request does not accept the stream of changes.
fn can_succeed(description: &Value) -> impl Iterator<Item = &str> {
    let paths = description["paths"].as_object().expect("there are paths");
    let operations = paths
        .values()
        .flat_map(|path| path.as_object().expect("operations").values());
    operations
        .filter(|operation| {
            let answers = operation["responses"].as_object().expect("it has answers");
            let ends = |answer: &Value| answer["content"].get("text/event-stream").is_none();
            answers
                .iter()
                .any(|(code, answer)| code.starts_with('2') && ends(answer))
        })
        .map(|operation| operation["operationId"].as_str().expect("an id"))
}

#[test]
fn every_answer_is_described_where_tokens_are_asked_for() {
    let service = Database::Sqlite.serve_with(|settings| settings.auth_local().live_image(&live_image()));
    let token = service.token(None);
    let seen = compare(&service, Some(&token));
    // A request ends the session that it carries, and these carry a token.
    for operation in OF_TOKENS
        .iter()
        .filter(|operation| **operation != "MusterEndSession")
    {
        assert!(
            succeeded(&seen, operation),
            "{operation}: {:?}",
            seen.get(*operation)
        );
    }
}

/// Returns the statuses with which each operation has responded.
fn compare(service: &Served, token: Option<&str>) -> BTreeMap<String, Vec<u16>> {
    let home = tempfile::tempdir().unwrap();
    let good_machine = home.path().join("inventory.json");
    fs::write(&good_machine, inventory(1).to_string()).unwrap();
    let seen = home.path().join("seen.json");
    let url = format!("http://127.0.0.1:{}", service.port());
    let description = project_root().join("api-spec/openapi.json");
    let mut asking = Environment::of("schemathesis").program("schemathesis", home.path());
    asking
        .env("SCHEMATHESIS_HOOKS", "schemathesis_hooks")
        .env("PYTHONPATH", project_root().join("tests/clients"))
        .env("SERVICE_URL", &url)
        .env("DESCRIPTION", &description)
        .env("INVENTORY", good_machine)
        .env("SEEN", &seen)
        .env("PULL_SECRET", PULL_SECRET);
    asking
        .arg("run")
        .arg(description)
        .args(["--url", &url, "--no-color", "--continue-on-failure"])
        .args(["--seed", SEED, "--max-examples", EXAMPLES])
        .args(["--generation-database", "none"])
        .args(["--generation-with-security-parameters", "false"]);
    match token {
        None => asking.args(["--checks", CHECKS]),
        Some(token) => {
            // Random requests are the same as without tokens.
            asking.env("TOKEN", token).args(["--phases", "coverage"]);
            asking.args(["--header", &format!("Authorization: {token}")]);
            asking.args(["--checks", &format!("{CHECKS},{CHECKS_WITH_TOKENS}")])
        }
    };
    let mut program = Program::start("schemathesis", &mut asking, &home.path().join("schemathesis.log"));
    let status = program.await_exit(LIMIT);
    let printed = program.transcript().text();
    assert!(status.success(), "{printed}\nschemathesis: {status}");
    println!("{printed}");
    let seen = serde_json::from_slice(&fs::read(seen).unwrap()).unwrap();
    println!("{seen:?}");
    seen
}
