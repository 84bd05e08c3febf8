//! URLs that carry their own credential: what they open, how they are revoked, how they end.

use muster_tests::artifacts::live_image;
use muster_tests::condition::await_condition;
use muster_tests::service::Settings;

use crate::database::{Database, infra_env, on_each_database};
use crate::discovery::SOON;
use muster_tests::http::HttpClient;

on_each_database!(
    a_signed_url_reads_and_nothing_more_and_can_be_revoked,
    a_signed_url_ends_when_its_time_is_over
);

/// The path with query of a signed URL, below the API's base path.
fn presigned(operator: &HttpClient, path: &str) -> (String, String) {
    let answer = operator
        .get(&format!(
            "{path}/downloads/files-presigned?file_name=discovery.ign"
        ))
        .expect(200)
        .json();
    let url = answer["url"].as_str().unwrap();
    let (_, below) = url.split_once(muster_api::BASE_PATH).unwrap();
    (
        below.to_owned(),
        answer["expires_at"].as_str().unwrap().to_owned(),
    )
}

fn a_signed_url_reads_and_nothing_more_and_can_be_revoked(database: Database) {
    let service = database.serve_with(|settings| Settings::auth_local(settings).live_image(&live_image()));
    let operator = service.http().with("Authorization", &service.token(None));
    let (path, other) = (infra_env(&operator), infra_env(&operator));
    let anonymous = service.http();
    let (url, expires_at) = presigned(&operator, &path);
    assert_eq!(expires_at, "0001-01-01T00:00:00.000Z");
    assert_eq!(
        presigned(&operator, &path).0,
        url,
        "the same text until it is revoked"
    );
    anonymous.get(&url).expect(200);

    // The token in it opens neither another InfraEnv nor what hosts do.
    let token = url
        .split_once("api_key=")
        .and_then(|(_, rest)| rest.split('&').next())
        .unwrap();
    anonymous.get(&format!("{other}?api_key={token}")).expect(404);
    let as_host = service.http().with("X-Secret-Key", token);
    let body = serde_json::json!({"host_id": crate::database::host_id(1)});
    as_host.post(&format!("{path}/hosts"), &body).expect(401);
    anonymous
        .request("GET", &format!("/byapikey/{token}/4.20/x86_64/full.iso"), None)
        .expect(200);

    operator
        .post(&format!("{path}/regenerate-signing-key"), &serde_json::json!({}))
        .expect(204);
    let message = anonymous.get(&url).expect(401).error_message();
    assert!(message.contains("revoked"), "{message}");
    anonymous
        .request("GET", &format!("/byapikey/{token}/4.20/x86_64/full.iso"), None)
        .expect(401);
    let (renewed, _) = presigned(&operator, &path);
    assert_ne!(renewed, url);
    anonymous.get(&renewed).expect(200);
    // Hosts that run go on: theirs is another token.
    let agent = service.http().with("X-Secret-Key", &service.token(Some(&path)));
    agent.post(&format!("{path}/hosts"), &body).expect(201);
}

fn a_signed_url_ends_when_its_time_is_over(database: Database) {
    let service = database.serve_with(|settings| settings.auth_local().argument("--url-lifetime=2"));
    let operator = service.http().with("Authorization", &service.token(None));
    let path = infra_env(&operator);
    let (url, expires_at) = presigned(&operator, &path);
    assert!(!expires_at.starts_with("0001"), "{expires_at}");
    let anonymous = service.http();
    anonymous.get(&url).expect(200);
    await_condition("the URL to expire", SOON, || match anonymous.get(&url).status {
        401 => Ok(()),
        other => Err(other.to_string()),
    });
    let message = anonymous.get(&url).expect(401).error_message();
    assert!(message.contains("expired"), "{message}");
}
