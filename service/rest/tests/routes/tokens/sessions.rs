//! Sessions of operators: how they begin, what they open, which pages may change something by them, and how they end.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, header};
use muster_operations::now;
use muster_tests::http::Answer;
use serde_json::json;

use crate::log;
use crate::tokens::scopes::operator;
use crate::world::{Credential, HOST, Settings, World, answer, host_id};

const SESSION: &str = "/api/muster/v1/session";
const SESSIONS: &str = "/api/muster/v1/sessions";
const LINKS: &str = "/api/muster/v1/sessions/links";

/// The session in the cookie of an answer.
#[track_caller]
fn session_of(answer: &Answer) -> Credential {
    let (secret, attributes) = answer.header("set-cookie").split_once(';').unwrap();
    assert_eq!(attributes, " HttpOnly; Secure; SameSite=Strict; Path=/");
    let secret = secret.strip_prefix("__Host-muster=").unwrap();
    assert!(secret.len() > 40 && !answer.text().contains(secret));
    Credential::Session(secret.to_owned())
}

async fn begin(world: &World, token: &Credential) -> Credential {
    session_of(&world.post(token, SESSIONS, &json!({})).await.expect(201))
}

/// A request for a change as a page of the service sends it.
async fn by_page(
    world: &World,
    session: &Credential,
    method: &str,
    path: &str,
    body: Option<&serde_json::Value>,
) -> Answer {
    let own = [("sec-fetch-site", "same-origin".to_owned())];
    world.send(session, method, path, body, &own).await
}

#[tokio::test]
async fn a_session_opens_what_its_token_opens() {
    let world = World::open().await;
    let (own, other) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    let host = world.host(own, 1).await;
    let (id, token) = operator(&world, false, Some(own)).await;
    let session = begin(&world, &token).await;

    let shown = world.get(&session, SESSION).await.expect(200).json();
    assert_eq!(shown["requires_tokens"], true);
    assert_eq!((&shown["name"], &shown["token_id"]), (&json!("ci"), &json!(id)));
    assert_eq!(
        (&shown["read_only"], &shown["infra_env_id"]),
        (&json!(false), &json!(own))
    );
    assert!(
        shown["session_id"].is_string() && shown["expires_at"].is_string(),
        "{shown}"
    );
    let of_token = world.get(&token, SESSION).await.expect(200).json();
    assert_eq!(
        (&of_token["token_id"], of_token.get("session_id")),
        (&json!(id), None)
    );
    assert_eq!(of_token.get("expires_at"), None);

    world.get(&session, &host).await.expect(200);
    world
        .get(&session, &format!("/infra-envs/{other}"))
        .await
        .expect(403);
    world.get(&session, "/clusters").await.expect(403);
    let name = json!({"host_name": "renamed"});
    by_page(&world, &session, "PATCH", &host, Some(&name))
        .await
        .expect(201);
    let who = format!(
        "operator ci ({id}), session {}",
        shown["session_id"].as_str().unwrap()
    );
    log::line(&["changed", &who, "PATCH", "/hosts/{host_id}", "201"]);

    // Operations of hosts are not for operators in browsers.
    let registration = json!({"host_id": host_id(2)});
    let hosts = format!("/infra-envs/{own}/hosts");
    by_page(&world, &session, "POST", &hosts, Some(&registration))
        .await
        .expect(401);
    world
        .get(&session, &format!("{host}/instructions"))
        .await
        .expect(401);
    // A token that a client names itself is the one that counts.
    let Credential::Session(secret) = &session else {
        unreachable!("it is a session")
    };
    let cookie = [("cookie", format!("__Host-muster={secret}"))];
    let wrong = Credential::Operator("not.a.token".into());
    world.send(&wrong, "GET", &host, None, &cookie).await.expect(401);
    world.send(&token, "GET", &host, None, &cookie).await.expect(200);
    // No cookie but that of HTTPS is taken here.
    let plain = [("cookie", format!("muster={secret}"))];
    world
        .send(&Credential::Nothing, "GET", &host, None, &plain)
        .await
        .expect(401);
    assert!(!log::text().contains(secret.as_str()));
}

#[tokio::test]
async fn a_session_of_a_reading_token_changes_nothing_and_signs_out() {
    let world = World::open().await;
    let own = world.infra_env(json!({})).await;
    let host = world.host(own, 1).await;
    let (_, reader) = operator(&world, true, None).await;
    let session = begin(&world, &reader).await;
    assert_eq!(
        world.get(&session, SESSION).await.expect(200).json()["read_only"],
        true
    );
    let name = json!({"host_name": "renamed"});
    let refused = by_page(&world, &session, "PATCH", &host, Some(&name))
        .await
        .expect(403);
    assert!(refused.text().contains("changes nothing"), "{}", refused.text());

    world.ask(&reader, "DELETE", SESSION, None).await.expect(409);
    world.ask(&session, "DELETE", SESSION, None).await.expect(403);
    let ended = by_page(&world, &session, "DELETE", SESSION, None)
        .await
        .expect(204);
    assert_eq!(
        ended.header("set-cookie"),
        "__Host-muster=; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=0"
    );
    let refused = world.get(&session, &host).await.expect(401);
    assert!(refused.text().contains("sign in again"), "{}", refused.text());
    world.get(&reader, &host).await.expect(200);
}

#[tokio::test]
async fn a_session_ends_at_once_with_its_token() {
    let world = World::open().await;
    let replica = world.replica().await;
    let ((id, token), (_, other)) = (
        operator(&world, false, None).await,
        operator(&world, false, None).await,
    );
    let (session, stays) = (begin(&world, &token).await, begin(&world, &other).await);
    let link = world.post(&token, LINKS, &json!({})).await.expect(201).json();
    replica.get(&session, "/infra-envs").await.expect(200);
    let store = world.operations.store();
    store.revoke_operator_token(&id, now()).await.unwrap();
    for service in [&world, &replica] {
        service.get(&session, "/infra-envs").await.expect(401);
        service.get(&stays, "/infra-envs").await.expect(200);
    }
    let body = json!({"link": link["secret"]});
    world
        .post(&Credential::Nothing, SESSIONS, &body)
        .await
        .expect(401);
    world.post(&token, SESSIONS, &json!({})).await.expect(401);
    let unknown = Credential::Session("x".repeat(52));
    world.get(&unknown, "/infra-envs").await.expect(401);
}

#[tokio::test]
async fn pages_of_others_change_nothing_by_a_session() {
    let world = World::open().await;
    let own = world.infra_env(json!({})).await;
    let host = world.host(own, 1).await;
    let (_, token) = operator(&world, false, None).await;
    let session = begin(&world, &token).await;
    let before = world.get(&token, &host).await.expect(200).json();
    let name = json!({"host_name": "renamed"});
    for headers in [
        &[("sec-fetch-site", "cross-site")][..],
        &[],
        &[
            ("sec-fetch-site", "same-site"),
            ("origin", "https://muster.example.test"),
        ],
        &[("sec-fetch-site", "none")],
        &[("origin", "null")],
        &[("origin", "https://evil.com")],
        &[("origin", "http://muster.example.test")],
    ] {
        let headers: Vec<_> = headers
            .iter()
            .map(|&(name, value)| (name, value.to_owned()))
            .collect();
        for (method, path, body) in [
            ("PATCH", host.clone(), Some(&name)),
            ("DELETE", host.clone(), None),
            ("POST", format!("{host}/actions/unbind"), Some(&name)),
            ("DELETE", SESSION.to_owned(), None),
        ] {
            let refused = world
                .send(&session, method, &path, body, &headers)
                .await
                .expect(403);
            assert!(
                refused.text().contains("pages of this service"),
                "{}",
                refused.text()
            );
        }
    }
    let after = world.get(&session, &host).await.expect(200).json();
    assert_eq!(after["updated_at"], before["updated_at"]);
    assert_eq!(after["requested_hostname"], before["requested_hostname"]);

    let origin = [("origin", format!("https://{HOST}"))];
    world
        .send(&session, "PATCH", &host, Some(&name), &origin)
        .await
        .expect(201);
    // Nor does a browser keep a session that another page has begun.
    for (site, status) in [("same-origin", 201), ("same-site", 403), ("cross-site", 403)] {
        let site = [("sec-fetch-site", site.to_owned())];
        let body = json!({});
        let begun = world.send(&token, "POST", SESSIONS, Some(&body), &site).await;
        begun.expect(status);
    }
    // Programs that send the token need neither header.
    world.patch(&token, &host, &name).await.expect(201);
}

#[tokio::test]
async fn a_link_begins_one_session_in_its_time() {
    let world = World::open().await;
    let (id, reader) = operator(&world, true, None).await;
    let made = world.post(&reader, LINKS, &json!({})).await.expect(201).json();
    assert!(made["expires_at"].is_string(), "{made}");
    let by_link = json!({"link": made["secret"]});
    world.post(&reader, SESSIONS, &by_link).await.expect(400);
    let (one, two) = tokio::join!(
        world.post(&Credential::Nothing, SESSIONS, &by_link),
        world.post(&Credential::Nothing, SESSIONS, &by_link)
    );
    let (begun, refused) = if one.status == 201 { (one, two) } else { (two, one) };
    let session = session_of(&begun.expect(201));
    assert_eq!(
        world.get(&session, SESSION).await.expect(200).json()["token_id"],
        json!(id)
    );
    let refused = refused.expect(401);
    assert!(refused.text().contains("was used"), "{}", refused.text());

    let begun = now() - Duration::from_secs(60);
    let late = world.operations.sessions.link(&id, begun).await.unwrap();
    let late = json!({"link": late.secret.reveal()});
    world
        .post(&Credential::Nothing, SESSIONS, &late)
        .await
        .expect(401);
    for wrong in [json!({}), json!({"link": ""}), json!({"link": "x".repeat(52)})] {
        world
            .post(&Credential::Nothing, SESSIONS, &wrong)
            .await
            .expect(401);
    }
    let large = json!({"link": "x".repeat(5000)});
    world
        .post(&Credential::Nothing, SESSIONS, &large)
        .await
        .expect(413);

    // A session leads to no other one.
    by_page(&world, &session, "POST", LINKS, None).await.expect(403);
    by_page(&world, &session, "POST", SESSIONS, Some(&json!({})))
        .await
        .expect(401);
    let text = log::text();
    assert!(!text.contains(made["secret"].as_str().unwrap()));
}

#[tokio::test]
async fn a_link_signs_in_behind_a_proxy_that_has_passwords() {
    let world = World::open().await;
    let (_, token) = operator(&world, false, None).await;
    let link = world.post(&token, LINKS, &json!({})).await.expect(201).json();
    let of_proxy = [("authorization", "Basic b3BlcmF0b3I6cGFzc3dvcmQ=".to_owned())];
    let body = json!({"link": link["secret"]});
    let nobody = Credential::Nothing;
    let begun = world
        .send(&nobody, "POST", SESSIONS, Some(&body), &of_proxy)
        .await;
    let session = session_of(&begun.expect(201));
    let read = world.send(&session, "GET", "/infra-envs", None, &of_proxy).await;
    read.expect(200);
    let read = world.send(&nobody, "GET", "/infra-envs", None, &of_proxy).await;
    read.expect(401);
}

#[tokio::test]
async fn a_session_ends_when_its_browser_signs_in_again() {
    let world = World::open().await;
    let (_, token) = operator(&world, false, None).await;
    let (mut former, other) = (begin(&world, &token).await, begin(&world, &token).await);
    for by_link in [false, true] {
        let Credential::Session(secret) = &former else {
            unreachable!("it is a session")
        };
        let cookie = [
            ("cookie", format!("__Host-muster={secret}")),
            ("sec-fetch-site", "same-origin".to_owned()),
        ];
        // A try that is refused ends nothing.
        let wrong = json!({"link": "unknown"});
        let nobody = Credential::Nothing;
        world
            .send(&nobody, "POST", SESSIONS, Some(&wrong), &cookie)
            .await
            .expect(401);
        world.get(&former, "/infra-envs").await.expect(200);
        let begun = match by_link {
            false => {
                world
                    .send(&token, "POST", SESSIONS, Some(&json!({})), &cookie)
                    .await
            }
            true => {
                let link = world.post(&token, LINKS, &json!({})).await.expect(201).json();
                let body = json!({"link": link["secret"]});
                world.send(&nobody, "POST", SESSIONS, Some(&body), &cookie).await
            }
        };
        let session = session_of(&begun.expect(201));
        world.get(&former, "/infra-envs").await.expect(401);
        world.get(&session, "/infra-envs").await.expect(200);
        former = session;
    }
    world.get(&other, "/infra-envs").await.expect(200);
}

#[tokio::test]
async fn sessions_need_a_token_that_can_be_revoked() {
    let world = World::open().await;
    // It is one without an id.
    world
        .post(&world.operator, SESSIONS, &json!({}))
        .await
        .expect(409);
    world.post(&world.operator, LINKS, &json!({})).await.expect(409);
    let own = world.infra_env(json!({})).await;
    let agent = world.agent(own).await;
    world.post(&agent, SESSIONS, &json!({})).await.expect(401);

    let open = World::with(Settings {
        asks_for_tokens: false,
        ..Settings::default()
    })
    .await;
    let shown = open.get(&Credential::Nothing, SESSION).await.expect(200).json();
    assert_eq!(shown, json!({"requires_tokens": false, "read_only": false}));
    for (method, path, body) in [
        ("POST", SESSIONS, Some(json!({}))),
        ("POST", LINKS, None),
        ("DELETE", SESSION, None),
    ] {
        let refused = open
            .ask(&Credential::Nothing, method, path, body.as_ref())
            .await
            .expect(409);
        assert!(refused.text().contains("--auth none"), "{}", refused.text());
    }
}

/// Sends a token, or nothing but a link, from this address.
async fn sign_in(world: &World, address: &str, token: Option<&str>, link: Option<&str>) -> u16 {
    let body = json!({"link": link}).to_string();
    let mut request = Request::builder()
        .method("POST")
        .uri(SESSIONS)
        .header(header::HOST, HOST)
        .header(header::CONTENT_LENGTH, body.len());
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, token);
    }
    let client: SocketAddr = format!("{address}:40000").parse().unwrap();
    let request = request.extension(ConnectInfo(client)).body(Body::from(body));
    answer(&world.router, request.unwrap()).await.status
}

#[tokio::test]
async fn refused_tries_to_sign_in_are_limited_for_each_network() {
    let world = World::open().await;
    let (_, Credential::Operator(token)) = operator(&world, false, None).await else {
        unreachable!("it is an operator's")
    };
    let (client, same, other) = ("[2001:db8:7::1]", "[2001:db8:7::2]", "[2001:db8:8::1]");
    for _ in 0..12 {
        assert_eq!(sign_in(&world, client, Some(&token), None).await, 201);
        assert_eq!(sign_in(&world, client, None, None).await, 401, "that is no try");
    }
    for _ in 0..5 {
        assert_eq!(sign_in(&world, client, Some("not.a.token"), None).await, 401);
        assert_eq!(sign_in(&world, same, None, Some("unknown")).await, 401);
    }
    assert_eq!(sign_in(&world, same, Some("not.a.token"), None).await, 429);
    assert_eq!(sign_in(&world, client, None, Some("unknown")).await, 429);
    // Wrong tokens of others behind the same proxy keep nobody out.
    assert_eq!(sign_in(&world, same, Some(&token), None).await, 201);
    assert_eq!(sign_in(&world, other, Some(&token), None).await, 201);
    // The other operations are open as before.
    world
        .get(&Credential::Operator(token.clone()), "/infra-envs")
        .await
        .expect(200);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    tokio::task::yield_now().await;
    assert_eq!(sign_in(&world, client, Some("not.a.token"), None).await, 401);
}
