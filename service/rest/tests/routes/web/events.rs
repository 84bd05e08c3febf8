//! The page of events.

use muster_api::ids::InfraEnvId;
use serde_json::json;

use super::Browser;
use crate::tokens::scopes::operator;
use crate::world::{World, host_id};

/// Records an event of an InfraEnv, as an agent does.
async fn tell(world: &World, infra_env: InfraEnvId, severity: &str, message: &str) {
    let agent = world.agent(infra_env).await;
    let event = json!({
        "name": "n", "severity": severity, "message": message, "infra_env_id": infra_env,
        "event_time": "2026-11-22T15:00:00Z",
    });
    world.post(&agent, "/events", &event).await.expect(201);
}

/// The address behind a link's text.
fn link<'a>(page: &'a str, text: &str) -> &'a str {
    let (before, _) = page
        .split_once(&format!(">{text}"))
        .unwrap_or_else(|| panic!("{text}: {page}"));
    let (_, address) = before.rsplit_once("href=\"").unwrap();
    address.split('"').next().unwrap()
}

#[tokio::test]
async fn events_are_filtered_and_lead_to_their_hosts() {
    let world = World::open().await;
    let (lab, rack) = (
        world.infra_env(json!({"name": "lab"})).await,
        world.infra_env(json!({"name": "rack"})).await,
    );
    world.host(lab, 1).await;
    let gone = world.host(rack, 2).await;
    tell(&world, lab, "info", "all is calm").await;
    tell(&world, lab, "critical", "the lab burns").await;
    tell(&world, rack, "warning", "the rack is warm").await;
    let visitor = Browser::operator(&world).await;
    let open = async |query: &str| {
        let path = format!("/ui/events{query}");
        visitor.open(&world, &path).await.expect(200).text()
    };
    let all = open("").await;
    let (warm, burns) = (
        all.find("the rack is warm").unwrap(),
        all.find("the lab burns").unwrap(),
    );
    assert!(warm < burns, "the newest first: {all}");
    let host = format!("<a href=\"/ui/hosts/{lab}/{}\"><bdi>host-1</bdi></a>", host_id(1));
    assert!(all.contains(&host), "{all}");
    assert!(
        all.contains("<a href=\"/ui/events\" aria-current=\"page\">"),
        "{all}"
    );
    for (query, has, lacks) in [
        ("?severity=error".to_owned(), "the lab burns", "the rack is warm"),
        ("?severity=warning".to_owned(), "the rack is warm", "all is calm"),
        (format!("?pool={rack}"), "the rack is warm", "the lab burns"),
        ("?text=BURNS".to_owned(), "the lab burns", "the rack is warm"),
        (
            format!("?text=warm&pool={lab}"),
            "No event fits",
            "the rack is warm",
        ),
        ("?host=host-1".to_owned(), "<bdi>host-1</bdi>", "the lab burns"),
        (
            format!("?host={}", host_id(1)),
            "data-host=\"00000000-0000-0000-0000-000000000001\"",
            "host-2",
        ),
        ("?host=cpu:900".to_owned(), "No host fits", "As CSV"),
    ] {
        let page = open(&query).await;
        assert!(page.contains(has) && !page.contains(lacks), "{query}: {page}");
    }
    for (query, words) in [
        ("?host=modle:x", "is it model?"),
        ("?severity=loud", "severities"),
        ("?pool=nope", "<a href=\"/ui/pools\">Show the pools</a>"),
        ("?cluster=nope", "is no id of a cluster"),
        ("?before=nope", "is no id of an event"),
    ] {
        let page = visitor
            .open(&world, &format!("/ui/events{query}"))
            .await
            .expect(400);
        assert!(page.text().contains(words), "{query}: {}", page.text());
    }
    // The events of a deleted host stay, and lead nowhere.
    world
        .ask(&world.operator, "DELETE", &gone, None)
        .await
        .expect(204);
    let page = open("").await;
    let address = format!("/ui/hosts/{rack}/{}", host_id(2));
    assert!(
        !page.contains(&address) && page.contains("the rack is warm"),
        "{page}"
    );
}

#[tokio::test]
async fn windows_follow_each_other_and_the_table_has_all() {
    let world = World::open().await;
    let lab = world.infra_env(json!({"name": "lab"})).await;
    for number in 0..120 {
        tell(&world, lab, "critical", &format!("=event {number:03}")).await;
    }
    let visitor = Browser::operator(&world).await;
    let first = visitor
        .open(&world, "/ui/events?severity=critical")
        .await
        .expect(200)
        .text();
    assert_eq!(first.matches("<li>").count(), 100, "{first}");
    assert!(
        first.contains("=event 119") && !first.contains("=event 019"),
        "{first}"
    );
    assert!(!first.contains("Newest events"), "{first}");
    // What happens meanwhile does not move the next window.
    tell(&world, lab, "critical", "=event 120").await;
    let older = link(&first, "Older events").replace("&#38;", "&");
    let second = visitor.open(&world, &older).await.expect(200).text();
    assert_eq!(second.matches("<li>").count(), 20, "{second}");
    assert!(
        second.contains("=event 019") && second.contains("=event 000"),
        "{second}"
    );
    assert!(
        !second.contains("=event 020") && !second.contains("Older events"),
        "{second}"
    );
    assert_eq!(link(&second, "Newest events"), "/ui/events?severity=critical");

    let table = link(&first, "As CSV").replace("&#38;", "&");
    let table = visitor.open(&world, &table).await.expect(200).text();
    assert_eq!(table.lines().count(), 1 + 121, "{table}");
    assert!(table.lines().nth(1).unwrap().ends_with(",'=event 120"), "{table}");
}

#[tokio::test]
async fn a_token_for_one_infra_env_sees_its_events_alone() {
    let world = World::open().await;
    let (own, other) = (
        world.infra_env(json!({"name": "own"})).await,
        world.infra_env(json!({"name": "other"})).await,
    );
    world.host(own, 1).await;
    world.host(other, 2).await;
    tell(&world, own, "info", "it is calm here").await;
    tell(&world, other, "info", "it burns elsewhere").await;
    let (_, guest) = operator(&world, true, Some(own)).await;
    let guest = Browser::signed_in(&world, &guest).await;
    for query in ["", "?text=it%20", &format!("?pool={own}")] {
        let page = guest
            .open(&world, &format!("/ui/events{query}"))
            .await
            .expect(200)
            .text();
        assert!(
            page.contains("it is calm here") && !page.contains("it burns elsewhere"),
            "{query}: {page}"
        );
        assert!(!page.contains("name=\"pool\""), "{page}");
    }
    for foreign in [format!("?host={}", host_id(2)), format!("?pool={other}")] {
        let page = guest
            .open(&world, &format!("/ui/events{foreign}"))
            .await
            .expect(404);
        assert!(page.text().contains("Object Not Found"), "{}", page.text());
    }
}
