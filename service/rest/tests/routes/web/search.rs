//! The box that finds everything, as a page and as JSON.

use serde_json::json;

use super::Browser;
use crate::tokens::scopes::operator;
use crate::world::{World, host_id};

#[tokio::test]
async fn a_serial_number_leads_to_its_host_by_the_box_of_every_page() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({"name": "zebra"})).await;
    for number in [1, 2] {
        world.host(infra_env, number).await;
    }
    let cluster = world.cluster().await;
    let visitor = Browser::operator(&world).await;
    for path in ["/ui/hosts", "/ui/pools", "/ui/search"] {
        let page = visitor.open(&world, path).await.expect(200).text();
        assert!(
            page.contains(r#"<form class="find" action="/ui/search""#),
            "{page}"
        );
    }
    let found = visitor.open(&world, "/ui/search?q=sn-2").await.expect(200).text();
    let address = format!("/ui/hosts/{infra_env}/{}", host_id(2));
    assert!(
        found.contains(&format!(r#"<a href="{address}"><bdi>host-2</bdi>"#)) && !found.contains("host-1"),
        "{found}"
    );
    assert!(
        found.contains("<strong>1 record</strong>")
            && found.contains("muster search &#39;sn-2&#39;")
            && found.contains(r#"value="sn-2""#),
        "{found}"
    );
    let hits = visitor
        .open(&world, "/ui/search/hits?q=SN-2")
        .await
        .expect(200)
        .json();
    assert_eq!(hits["hits"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&hits["hits"][0]["kind"], &hits["hits"][0]["address"]),
        (&json!("host"), &json!(address))
    );
    assert_eq!(hits["is_all"], json!(true));
    for (text, kind, address) in [
        ("zebra", "pool", format!("/ui/pools/{infra_env}")),
        ("day2", "cluster", format!("/ui/clusters/{cluster}")),
    ] {
        let hits = visitor
            .open(&world, &format!("/ui/search/hits?q={text}"))
            .await
            .expect(200)
            .json();
        assert_eq!(
            (&hits["hits"][0]["kind"], &hits["hits"][0]["address"]),
            (&json!(kind), &json!(address))
        );
    }

    let none = visitor
        .open(&world, "/ui/search?q=nowhere")
        .await
        .expect(200)
        .text();
    assert!(none.contains("Nothing fits"), "{none}");
    let long = "x".repeat(5000);
    let wrong = visitor
        .open(&world, &format!("/ui/search?q={long}"))
        .await
        .expect(400)
        .text();
    assert!(wrong.contains("at most 256"), "{wrong}");
    let wrong = visitor
        .open(&world, &format!("/ui/search/hits?q={long}"))
        .await
        .expect(400)
        .json();
    assert!(
        wrong["problem"].as_str().unwrap().contains("at most 256"),
        "{wrong}"
    );
}

#[tokio::test]
async fn the_box_shows_nothing_to_strangers_and_of_others_nothing_to_guests() {
    let world = World::open().await;
    let (own, other) = (
        world.infra_env(json!({"name": "zebra-1"})).await,
        world.infra_env(json!({"name": "<b>zebra-2"})).await,
    );
    world.host(other, 2).await;
    let stranger = Browser::default();
    let led = stranger.open(&world, "/ui/search?q=zebra").await.expect(303);
    assert_eq!(
        led.header("location"),
        "/ui/sign-in?next=%2Fui%2Fsearch%3Fq%3Dzebra"
    );
    stranger.open(&world, "/ui/search/hits?q=zebra").await.expect(401);
    let form = stranger.open(&world, "/ui/sign-in").await.expect(200).text();
    assert!(!form.contains("/ui/search"), "{form}");

    let (_, guest) = operator(&world, true, Some(own)).await;
    let guest = Browser::signed_in(&world, &guest).await;
    let found = guest.open(&world, "/ui/search?q=zebra").await.expect(200).text();
    assert!(found.contains("zebra-1") && !found.contains("zebra-2"), "{found}");
    let none = guest.open(&world, "/ui/search?q=sn-2").await.expect(200).text();
    assert!(none.contains("Nothing fits"), "{none}");

    let visitor = Browser::operator(&world).await;
    let found = visitor
        .open(&world, "/ui/search?q=%3Cb%3Ezebra")
        .await
        .expect(200)
        .text();
    assert!(
        found.contains("zebra-2") && !found.contains("<b>zebra"),
        "{found}"
    );
}

#[tokio::test]
async fn every_script_of_a_page_is_there_under_its_name() {
    let world = World::open().await;
    let visitor = Browser::operator(&world).await;
    let page = visitor.open(&world, "/ui/hosts").await.expect(200).text();
    let mut stems = Vec::new();
    for part in page.split("src=\"").skip(1) {
        let address = part.split('"').next().unwrap();
        let script = visitor.open(&world, address).await.expect(200);
        assert_eq!(
            script.header("content-type"),
            "text/javascript; charset=utf-8",
            "{address}"
        );
        assert!(script.header("cache-control").contains("immutable"), "{address}");
        stems.push(address.split('/').next_back().unwrap().split('-').next().unwrap());
    }
    // That of the theme before anything is shown.
    assert_eq!(
        stems,
        ["theme", "live", "keys", "palette", "filter", "views", "many"]
    );
}
