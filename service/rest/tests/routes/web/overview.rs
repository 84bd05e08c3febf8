//! The first page.

use muster_api::bmc::BmcFailure;
use muster_core::record::{BmcStage, HostState};
use serde_json::json;

use super::Browser;
use crate::tokens::scopes::operator;
use crate::world::{World, host_id};

/// The part of the page between a heading and the next section.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page
        .split_once(heading)
        .unwrap_or_else(|| panic!("{heading}: {page}"));
    rest.split("</section>").next().unwrap()
}

#[tokio::test]
async fn a_service_without_pools_leads_to_the_first_one() {
    let world = World::open().await;
    let visitor = Browser::operator(&world).await;
    let led = visitor.open(&world, "/ui").await.expect(303);
    assert_eq!(led.header("location"), "/ui/");
    let page = visitor.open(&world, "/ui/").await.expect(200).text();
    assert!(
        page.contains("<a href=\"/ui/pools\">Make the first pool</a>"),
        "{page}"
    );
    assert!(!page.contains("Needs you"), "{page}");
    let stranger = Browser::default();
    let led = stranger.open(&world, "/ui/").await.expect(303);
    assert_eq!(led.header("location"), "/ui/sign-in?next=%2Fui%2F");
    let (_, reader) = operator(&world, true, None).await;
    let reader = Browser::signed_in(&world, &reader).await;
    let page = reader.open(&world, "/ui/").await.expect(200).text();
    assert!(!page.contains("Make the first pool"), "{page}");
}

#[tokio::test]
async fn a_pool_without_hosts_needs_nobody() {
    let world = World::open().await;
    world.infra_env(json!({"name": "lab"})).await;
    let visitor = Browser::operator(&world).await;
    let page = visitor.open(&world, "/ui/").await.expect(200).text();
    assert!(page.contains("Nothing needs you"), "{page}");
    assert!(page.contains("No machine has registered yet"), "{page}");
}

#[tokio::test]
async fn what_needs_somebody_stands_first_with_the_reason() {
    let world = World::open().await;
    let (lab, rack) = (
        world.infra_env(json!({"name": "lab"})).await,
        world.infra_env(json!({"name": "rack"})).await,
    );
    for number in 1..=7 {
        world.host(lab, number).await;
        // Before the first search: this change is not published.
        world.put(lab, number, HostState::DisconnectedUnbound).await;
    }
    world.host(rack, 8).await;
    let visitor = Browser::operator(&world).await;
    let page = visitor.open(&world, "/ui/").await.expect(200).text();
    let needs = section(&page, "Needs you");
    let heading = "/ui/hosts?q=state%3Aerror";
    assert!(needs.contains(heading), "{needs}");
    for part in [
        "wait for a hand</a> <span class=\"number\">7</span>".to_owned(),
        format!(
            "<a href=\"/ui/hosts/{lab}/{}\"><bdi>host-1</bdi></a>: <bdi>",
            host_id(1)
        ),
        "and 2 more".to_owned(),
    ] {
        assert!(needs.contains(&part), "{part}: {needs}");
    }
    let counts = section(&page, "<h2 id=\"counts\">");
    for part in [
        "8 hosts</a>",
        "q=state%3Adisconnected-unbound\"><bdi>disconnected-unbound</bdi></a> <span class=\"number\">7<",
        "q=-cluster%3A*\"><bdi>free</bdi></a> <span class=\"number\">8<",
        "q=pool%3Alab\"><bdi>lab</bdi></a> <span class=\"number\">7<",
        "q=pool%3Arack\"><bdi>rack</bdi></a> <span class=\"number\">1<",
    ] {
        assert!(counts.contains(part), "{part}: {counts}");
    }
    let last = section(&page, "What changed last");
    assert!(last.contains("<bdi>host-8</bdi>"), "{last}");
    assert!((5..=20).contains(&last.matches("<li>").count()), "{last}");
    assert!(page.contains("<a href=\"/ui/\" aria-current=\"page\">"), "{page}");
}

#[tokio::test]
async fn a_bmc_whose_discovery_failed_needs_somebody() {
    let world = World::open().await;
    let lab = world.infra_env(json!({"name": "lab"})).await;
    let bmcs = format!("/api/muster/v1/infra-envs/{lab}/bmcs");
    let body = json!({"name": "r1u7", "address": "bmc.example.test", "user_name": "u", "password": "p", "discover": false});
    let made = world.post(&world.operator, &bmcs, &body).await.expect(201).json();
    let visitor = Browser::operator(&world).await;
    let calm = visitor.open(&world, "/ui/").await.expect(200).text();
    assert!(!section(&calm, "Needs you").contains("r1u7"), "{calm}");
    let id = made["id"].as_str().unwrap().parse().unwrap();
    let mut found = world.operations.bmcs.get(lab, id).await.unwrap();
    found.stage = BmcStage::Failed {
        failure: BmcFailure::Unreachable,
    };
    world.operations.store().update_bmc(&found, &[]).await.unwrap();
    let page = visitor.open(&world, "/ui/").await.expect(200).text();
    let needs = section(&page, "Needs you");
    for part in [
        format!("<a href=\"/ui/pools/{lab}\">BMCs whose discovery failed</a> <span class=\"number\">1<"),
        "<bdi>r1u7 (lab)</bdi>".to_owned(),
    ] {
        assert!(needs.contains(&part), "{part}: {needs}");
    }
}

#[tokio::test]
async fn a_token_for_one_infra_env_has_an_overview_of_it() {
    let world = World::open().await;
    let (own, other) = (
        world.infra_env(json!({"name": "own"})).await,
        world.infra_env(json!({"name": "other"})).await,
    );
    world.host(own, 1).await;
    world.host(other, 2).await;
    let (_, guest) = operator(&world, true, Some(own)).await;
    let guest = Browser::signed_in(&world, &guest).await;
    let page = guest.open(&world, "/ui/").await.expect(200).text();
    assert!(page.contains("1 host</a>") && page.contains("host-1"), "{page}");
    assert!(
        !page.contains("host-2") && !page.contains("<bdi>other<"),
        "{page}"
    );
}
