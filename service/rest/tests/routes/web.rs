//! The page, as browsers get it: who sees it, what it shows, which forms change something. What belongs to one page alone is in a file of
//! `web/`.

mod bmcs;
mod clusters;
mod events;
mod host;
mod hosts;
mod jobs;
mod logs;
mod overview;
mod pictures;
mod pools;

mod search;
mod service;

use axum::body::Body;
use http::Request;
use muster_tests::http::Answer;
use serde_json::json;

use crate::tokens::scopes::operator;
use crate::world::{Credential, HOST, World, answer};

/// What a browser sends.
#[derive(Default, Clone)]
struct Browser {
    cookie: String,
}

impl Browser {
    async fn send(&self, world: &World, method: &str, path: &str, form: Option<&str>, site: &str) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", HOST)
            .header("accept", "text/html")
            .header("cookie", &self.cookie);
        if form.is_some() {
            request = request
                .header("content-type", "application/x-www-form-urlencoded")
                .header("sec-fetch-site", site);
        }
        let body = form.map_or_else(Body::empty, |form| Body::from(form.to_owned()));
        answer(&world.router, request.body(body).unwrap()).await
    }

    async fn open(&self, world: &World, path: &str) -> Answer {
        self.send(world, "GET", path, None, "").await
    }

    /// Sends a form of one of our pages.
    async fn submit(&self, world: &World, path: &str, form: &str) -> Answer {
        self.send(world, "POST", path, Some(form), "same-origin").await
    }

    /// Opens the page to which an answer leads, with the cookie that the answer sets.
    async fn follow(&self, world: &World, answer: &Answer) -> Answer {
        let (cookie, _) = answer.header("set-cookie").split_once(';').unwrap_or_default();
        self.noted(cookie).open(world, answer.header("location")).await
    }

    /// The same browser with one more cookie.
    fn noted(&self, cookie: &str) -> Self {
        Self {
            cookie: format!("{}; {cookie}", self.cookie),
        }
    }

    /// An operator who may do everything.
    async fn operator(world: &World) -> Self {
        let (_, token) = operator(world, false, None).await;
        Self::signed_in(world, &token).await
    }

    async fn signed_in(world: &World, token: &Credential) -> Self {
        let Credential::Operator(token) = token else {
            panic!("operators sign in")
        };
        let answer = Self::default()
            .submit(world, "/ui/sign-in", &format!("token={token}&next=/ui/hosts"))
            .await
            .expect(303);
        assert_eq!(answer.header("location"), "/ui/hosts");
        let (cookie, _) = answer.header("set-cookie").split_once(';').unwrap();
        Self {
            cookie: cookie.to_owned(),
        }
    }
}

#[tokio::test]
async fn a_visitor_signs_in_sees_the_hosts_and_signs_out() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({"name": "lab"})).await;
    let path = world.host(infra_env, 1).await;
    let id = path.rsplit('/').next().unwrap();
    let stranger = Browser::default();
    let led = stranger.open(&world, "/ui/hosts?q=cpu:8").await.expect(303);
    assert_eq!(
        led.header("location"),
        "/ui/sign-in?next=%2Fui%2Fhosts%3Fq%3Dcpu%3A8"
    );
    let form = stranger
        .open(&world, led.header("location"))
        .await
        .expect(200)
        .text();
    assert!(form.contains(r#"value="/ui/hosts?q=cpu:8""#), "{form}");
    let refused = stranger.submit(&world, "/ui/sign-in", "token=").await.expect(400);
    assert!(refused.text().contains("paste a token"), "{}", refused.text());
    let refused = stranger
        .submit(&world, "/ui/sign-in", "token=wrong")
        .await
        .expect(401);
    assert!(refused.text().contains("role=\"alert\""), "{}", refused.text());
    assert_eq!(
        stranger.open(&world, "/").await.expect(303).header("location"),
        "/ui/"
    );

    let visitor = Browser::operator(&world).await;
    let list = visitor.open(&world, "/ui/hosts").await.expect(200).text();
    assert!(
        list.contains(">host-1<") && list.contains("<strong>1 host</strong>"),
        "{list}"
    );
    let page = visitor
        .open(&world, &format!("/ui/hosts/{infra_env}/{id}"))
        .await
        .expect(200)
        .text();
    for part in [
        "<bdi>host-1</bdi>",
        "Checks: hardware",
        "<h2>Disks</h2>",
        "<h2>Network</h2>",
        "discovering-unbound",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let (_, other) = operator(&world, true, None).await;
    let Credential::Operator(token) = other else {
        unreachable!("it is an operator's")
    };
    let again = visitor
        .submit(&world, "/ui/sign-in", &format!("token={token}"))
        .await
        .expect(303);
    visitor.open(&world, "/ui/hosts").await.expect(303);
    let (cookie, _) = again.header("set-cookie").split_once(';').unwrap();
    let visitor = Browser {
        cookie: cookie.to_owned(),
    };
    let out = visitor.submit(&world, "/ui/sign-out", "").await.expect(303);
    assert_eq!(out.header("location"), "/ui/sign-in");
    visitor.open(&world, "/ui/hosts").await.expect(303);
}

#[tokio::test]
async fn every_answer_has_the_policy_and_no_page_is_kept() {
    let world = World::open().await;
    let visitor = Browser::operator(&world).await;
    for path in [
        "/ui/",
        "/ui/hosts",
        "/ui/hosts?q=nokey:x",
        "/ui/events",
        "/ui/events?severity=loud",
        "/ui/jobs",
        "/ui/jobs/plan?which=all&action=names",
        "/ui/bmcs",
        "/ui/bmcs?phase=failed",
        "/ui/service",
        "/ui/sign-in",
        "/ui/hosts/x/y",
        "/ui/static/none.css",
    ] {
        let answer = visitor.open(&world, path).await;
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"));
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        let text = answer.text();
        assert!(!text.contains(" style=") && !text.contains(" onclick="), "{path}");
    }
    let page = visitor.open(&world, "/ui/hosts").await.text();
    let style = page
        .split("href=\"")
        .find(|part| part.starts_with("/ui/static/style-"))
        .unwrap();
    let style = visitor
        .open(&world, style.split('"').next().unwrap())
        .await
        .expect(200);
    assert!(style.header("cache-control").contains("immutable"));
}

#[tokio::test]
async fn a_query_that_cannot_be_read_and_one_that_nothing_fits_are_explained() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let visitor = Browser::operator(&world).await;
    let empty = visitor.open(&world, "/ui/hosts").await.expect(200).text();
    assert!(empty.contains("No machine has registered yet"), "{empty}");
    world.host(infra_env, 1).await;
    let wrong = visitor
        .open(&world, "/ui/hosts?q=modle:x")
        .await
        .expect(400)
        .text();
    assert!(
        wrong.contains("is it model?") && wrong.contains(r#"value="modle:x""#),
        "{wrong}"
    );
    let none = visitor
        .open(&world, "/ui/hosts?q=cpu:%3E900")
        .await
        .expect(200)
        .text();
    assert!(
        none.contains("No host fits") && none.contains("<code>cpu:&#62;900</code>"),
        "{none}"
    );
}

#[tokio::test]
async fn forms_change_what_the_service_lets_them_and_those_of_other_pages_nothing() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let path = world.host(infra_env, 1).await;
    let page = format!("/ui/hosts/{infra_env}/{}", path.rsplit('/').next().unwrap());
    let visitor = Browser::operator(&world).await;
    let name =
        async || world.get(&world.operator, &path).await.expect(200).json()["requested_hostname"].clone();
    for site in ["cross-site", "same-site", "none"] {
        let refused = visitor
            .send(
                &world,
                "POST",
                &format!("{page}/name"),
                Some("value=theirs"),
                site,
            )
            .await;
        assert_eq!(refused.status, 403, "{site}");
    }
    assert_ne!(name().await, "theirs");
    let changed = visitor
        .submit(&world, &format!("{page}/name"), "value=node-7")
        .await
        .expect(303);
    assert_eq!(changed.header("location"), page);
    assert_eq!(name().await, "node-7");
    let shown = visitor.follow(&world, &changed).await.expect(200).text();
    assert!(shown.contains("muster host set"), "{shown}");
    let refused = visitor
        .submit(&world, &format!("{page}/name"), "value=no%20name")
        .await;
    assert!(
        refused.status == 400 && refused.text().contains("role=\"alert\""),
        "{}",
        refused.text()
    );
    visitor
        .submit(&world, &format!("{page}/explode"), "")
        .await
        .expect(404);

    let (_, reader) = operator(&world, true, None).await;
    let reader = Browser::signed_in(&world, &reader).await;
    let list = reader.open(&world, "/ui/hosts").await.expect(200).text();
    assert!(list.contains("only reads"), "{list}");
    assert!(
        list.contains("<section aria-label=\"About this visit\">"),
        "{list}"
    );
    let delete = format!("{page}/delete");
    reader.submit(&world, &delete, "sure=yes").await.expect(403);
    let unsure = visitor.submit(&world, &delete, "").await.expect(400).text();
    assert!(
        unsure.contains("the host was not deleted: tick that you are sure")
            && unsure.contains("<details open><summary>Delete …"),
        "{unsure}"
    );
    world.get(&world.operator, &path).await.expect(200);
    let gone = visitor.submit(&world, &delete, "sure=yes").await.expect(303);
    assert_eq!(gone.header("location"), "/ui/hosts");
    let list = visitor.follow(&world, &gone).await.expect(200).text();
    let id = path.rsplit('/').next().unwrap();
    assert!(
        list.contains("The host is deleted.") && list.contains(&format!("muster host delete {id}")),
        "{list}"
    );
    world.get(&world.operator, &path).await.expect(404);
}

#[tokio::test]
async fn a_page_shows_once_what_was_done_and_no_address_claims_it() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    let path = world.host(infra_env, 1).await;
    let id = path.rsplit('/').next().unwrap();
    let page = format!("/ui/hosts/{infra_env}/{id}");
    let visitor = Browser::operator(&world).await;
    let done = "class=\"done\"";
    let changed = visitor
        .submit(&world, &format!("{page}/name"), "value=node-7")
        .await;
    let set = changed.header("set-cookie").to_owned();
    let (cookie, attributes) = set.split_once(';').unwrap();
    assert_eq!(
        attributes,
        " HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=60"
    );
    let noted = visitor.noted(cookie);
    // Another page leaves it alone.
    let other = noted.open(&world, "/ui/hosts").await.expect(200);
    assert_eq!(other.header("set-cookie"), "");
    assert!(!other.text().contains(done));
    let shown = noted.open(&world, &page).await.expect(200);
    assert!(shown.text().contains(done));
    let (name, _) = cookie.split_once('=').unwrap();
    assert_eq!(
        shown.header("set-cookie"),
        format!("{name}=; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=0")
    );
    for query in ["?done=name", "?done=delete", "?done=tokens", "?action=name"] {
        for page in [
            page.as_str(),
            "/ui/hosts",
            "/ui/pools",
            &format!("/ui/pools/{infra_env}"),
        ] {
            let linked = visitor.open(&world, &format!("{page}{query}")).await.expect(200);
            assert!(!linked.text().contains(done), "{page}{query}");
        }
    }
    // Nor does a cookie bring text of its own.
    for (page, action) in [
        ("/ui/hosts", "delete"),
        ("/ui/pools", "delete"),
        (page.as_str(), "evil"),
    ] {
        let cookie = format!("{name}=page={page}&action={action}&detail=%3Cevil%3E");
        let text = visitor.noted(&cookie).open(&world, page).await.expect(200).text();
        assert!(!text.contains(done) && !text.contains("evil"), "{text}");
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_shown_now_is_loaded_again() {
    let world = World::open().await;
    let visitor = Browser::operator(&world).await;
    world.operations.store().close().await;
    let address = "/ui/hosts?q=cpu:8";
    let shown = visitor.open(&world, address).await.expect(503);
    assert_eq!(shown.header("refresh"), format!("10; url={address}"));
    assert!(
        shown.text().contains("loaded again by itself"),
        "{}",
        shown.text()
    );
    // Not the address of a form.
    let shown = visitor.submit(&world, "/ui/sign-out", "").await.expect(503);
    assert_eq!(shown.header("refresh"), "10; url=/ui/");
}

#[tokio::test]
async fn what_others_chose_is_text_on_every_page() {
    let world = World::open().await;
    let name = "<script>alert(1)</script>\" onload=\"x";
    let infra_env = world.infra_env(json!({"name": name})).await;
    let path = world.host(infra_env, 1).await;
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/hosts/{infra_env}/{}", path.rsplit('/').next().unwrap());
    for path in [
        "/ui/",
        "/ui/hosts",
        "/ui/events",
        "/ui/events?text=%3Cscript%3Ealert(1)%3C/script%3E",
        &page,
        "/ui/hosts?q=%3Cscript%3Ealert(1)%3C/script%3E",
    ] {
        let text = visitor.open(&world, path).await.text();
        assert!(
            !text.contains("<script>alert") && !text.contains("\" onload"),
            "{path}: {text}"
        );
    }
}
