//! Parts that are hidden from viewers are in no form of any response to them.

use axum::body::{Body, to_bytes};
use http::Request;
use muster_kube_api::{Caller, Kind};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::world::{BOOKS, World, a_book};

/// In the place of titles, for viewers.
const HIDDEN: &str = "no title";

/// What the API of each [`World`] hides.
pub fn hide(object: &mut Value) {
    if let Some(title) = object.pointer_mut("/spec/title") {
        *title = HIDDEN.into();
    }
}

async fn answer(world: &World, caller: Caller, path: &str, accept: &str) -> String {
    let request = Request::get(path)
        .header("accept", accept)
        .extension(caller)
        .body(Body::empty())
        .unwrap();
    let answer = world.api.router().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_is_shown_objects_without_what_is_hidden() {
    let world = World::new(Kind::Sqlite).await;
    let before = world.get(BOOKS).await["metadata"]["resourceVersion"].clone();
    world.post(BOOKS, a_book("one", 10)).await;
    let path = format!("{BOOKS}/one");
    world.merge(&path, json!({"spec": {"pages": 20}})).await;
    let since = format!("resourceVersion={}", before.as_str().unwrap());
    let (json, table) = ("application/json", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let forms = [
        (path.clone(), json),
        (path.clone(), "application/yaml"),
        (path.clone(), table),
        (format!("{path}/status"), json),
        (BOOKS.to_owned(), json),
        (BOOKS.to_owned(), "application/yaml"),
        (BOOKS.to_owned(), table),
        (format!("{BOOKS}?includeObject=Object"), table),
        (format!("{BOOKS}?limit=1"), json),
        (format!("{BOOKS}?labelSelector=size%3Dsmall"), json),
        (format!("{BOOKS}?watch=true&timeoutSeconds=1"), json),
        (format!("{BOOKS}?watch=true&timeoutSeconds=1&{since}"), json),
        (format!("{BOOKS}?watch=true&timeoutSeconds=1&{since}"), table),
        (
            format!("{BOOKS}?watch=true&timeoutSeconds=1&{since}&labelSelector=size"),
            json,
        ),
    ];
    for (path, accept) in forms {
        let seen = answer(&world, Caller::viewer(), &path, accept).await;
        assert!(
            seen.contains(HIDDEN) && !seen.contains("About one"),
            "{path} as {accept}: {seen}"
        );
        let seen = answer(&world, Caller::administrator(), &path, accept).await;
        assert!(
            seen.contains("About one") && !seen.contains(HIDDEN),
            "{path} as {accept}: {seen}"
        );
    }
    // Nor is it found by guesses.
    for query in [
        "fieldSelector=spec.title%3DAbout%20one",
        "watch=true&timeoutSeconds=1&fieldSelector=spec.title%3DAbout%20one",
    ] {
        let path = format!("{BOOKS}?{query}");
        assert!(
            !answer(&world, Caller::viewer(), &path, json)
                .await
                .contains("\"one\""),
            "{query}"
        );
        assert!(
            answer(&world, Caller::administrator(), &path, json)
                .await
                .contains("\"one\""),
            "{query}"
        );
    }
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let seen =
        [Caller::viewer(), Caller::administrator()].map(|caller| answer(&world, caller, definitions, json));
    let [viewers, all] = seen;
    assert_eq!(viewers.await, all.await, "definitions are shown as they are");
}
