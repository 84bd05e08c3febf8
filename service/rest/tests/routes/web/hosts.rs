//! The list of hosts: columns, groups, views, tables, and what its form leads to.

use muster_core::query::{Key, Query};
use muster_core::record::{Sleep, SleepCause, SleepStage};
use muster_operations::now;
use serde_json::json;

use super::Browser;
use crate::world::{World, host_id};

/// A world with a pool of two hosts and another of one, and its visitor.
async fn three_hosts() -> (World, Browser) {
    let world = World::open().await;
    let (lab, rack) = (
        world.infra_env(json!({"name": "lab"})).await,
        world.infra_env(json!({"name": "rack"})).await,
    );
    world.host(rack, 1).await;
    world.host(lab, 2).await;
    world.host(lab, 3).await;
    let visitor = Browser::operator(&world).await;
    (world, visitor)
}

/// The texts between `before` and `after`, in their order, without references to characters.
fn all(page: &str, before: &str, after: &str) -> Vec<String> {
    let parts = page.split(before).skip(1);
    let texts = parts.filter_map(|part| part.split_once(after));
    texts
        .map(|(text, _)| {
            text.replace("&#34;", "\"")
                .replace("&#60;", "<")
                .replace("&#62;", ">")
                .replace("&#38;", "&")
        })
        .collect()
}

/// The page without the boxes behind its content.
fn content(page: &str) -> &str {
    page.split("</main>").next().unwrap()
}

/// The address of the link with this text.
fn link(page: &str, text: &str) -> String {
    let (before, _) = page
        .split_once(&format!(">{text}</a>"))
        .unwrap_or_else(|| panic!("{text}: {page}"));
    let (_, tag) = before.rsplit_once("<a ").unwrap();
    all(tag, "href=\"", "\"").remove(0)
}

#[tokio::test]
async fn a_host_that_sleeps_has_the_stage_of_its_sleep_beside_its_state() {
    let world = World::open().await;
    let lab = world.infra_env(json!({"name": "lab"})).await;
    for number in [1, 2] {
        world.host(lab, number).await;
    }
    let id = host_id(2).parse().unwrap();
    let mut host = world.operations.hosts.get(lab, id).await.unwrap();
    host.data.sleep = Some(Sleep {
        asked_at: now(),
        bmc: "r1u7".to_owned(),
        cause: SleepCause::Person,
        stage: SleepStage::Asleep { since: now() },
    });
    // Before the first search: this change is not published.
    world
        .operations
        .store()
        .save_host(&host, None, &[])
        .await
        .unwrap();
    let visitor = Browser::operator(&world).await;
    let page = visitor.open(&world, "/ui/hosts").await.expect(200).text();
    let asleep = "<span class=\"mood busy\">asleep</span>";
    assert_eq!(content(&page).matches(asleep).count(), 1, "{page}");
    let (_, row) = page.split_once(&format!("id=\"/ui/hosts/{lab}/{id}\"")).unwrap();
    let row = row.split("</tr>").next().unwrap();
    assert!(row.contains(asleep), "{row}");
}

#[tokio::test]
async fn columns_are_those_of_the_address_in_its_order() {
    let (world, visitor) = three_hosts().await;
    let page = visitor
        .open(&world, "/ui/hosts?columns=vendor,nonsense,serial")
        .await
        .expect(200)
        .text();
    let labels = all(&page, "data-label=\"", "\"");
    assert_eq!(labels, ["Maker", "Serial"].repeat(3));
    assert!(page.contains("<bdi>ACME</bdi>") && page.contains("<bdi>SN-2</bdi>"));
    let table = visitor
        .open(&world, &link(&page, "CSV of all that fit"))
        .await
        .expect(200);
    assert_eq!(
        table.text(),
        "name,vendor,serial\nhost-1,ACME,SN-1\nhost-2,ACME,SN-2\nhost-3,ACME,SN-3\n"
    );
    let usual = visitor.open(&world, "/ui/hosts").await.expect(200).text();
    let labels = all(&usual, "data-label=\"", "\"");
    let expected = [
        "State",
        "Pool",
        "Cluster",
        "Role",
        "CPU",
        "Memory",
        "Disks",
        "GPUs",
        "Model",
        "Serial",
        "Address",
        "Switch port",
        "Seen",
    ];
    assert_eq!(labels, expected.repeat(3));
}

#[tokio::test]
async fn every_column_can_be_shown_ordered_and_exported() {
    let (world, visitor) = three_hosts().await;
    let page = visitor.open(&world, "/ui/hosts").await.expect(200).text();
    let names = all(&page, "name=\"columns\" value=\"", "\"");
    assert!(names.len() > 20, "{names:?}");
    let page = visitor
        .open(&world, &format!("/ui/hosts?columns={}", names.join(",")))
        .await
        .expect(200)
        .text();
    let labels = all(&page, "data-label=\"", "\"");
    assert_eq!(labels.len(), 3 * names.len());
    let table = visitor
        .open(&world, &link(&page, "CSV of all that fit"))
        .await
        .expect(200);
    assert_eq!(table.text().lines().count(), 4);
    let orders: Vec<String> = all(&page, "aria-sort=\"", "</th>")
        .iter()
        .map(|heading| all(heading, "href=\"", "\"").remove(0))
        .collect();
    assert!(
        orders.len() > 10 && orders[0].starts_with("/ui/hosts?sort=-name&"),
        "{orders:?}"
    );
    for order in orders {
        visitor.open(&world, &order).await.expect(200);
    }
}

#[tokio::test]
async fn the_form_leads_to_a_clean_address() {
    let (world, visitor) = three_hosts().await;
    for (form, expected) in [
        ("q=&group=&columns=state&open=1", "/ui/hosts?columns=state"),
        (
            "q=&group=pool&columns=state&columns=cpu&choose=1",
            "/ui/hosts?group=pool&columns=state%2Ccpu",
        ),
        (
            "q=a&sort=cpu&group=&columns=state&columns=cpu&earlier=cpu",
            "/ui/hosts?q=a&sort=cpu&columns=cpu%2Cstate#column-cpu",
        ),
        (
            "q=&columns=state&columns=cpu&earlier=state",
            "/ui/hosts?columns=state%2Ccpu",
        ),
        ("q=&columns=nonsense&choose=1", "/ui/hosts"),
    ] {
        let led = visitor
            .open(&world, &format!("/ui/hosts?{form}"))
            .await
            .expect(303);
        assert_eq!(led.header("location"), expected, "{form}");
    }
}

#[tokio::test]
async fn enter_after_a_word_that_one_host_has_opens_it() {
    let (world, visitor) = three_hosts().await;
    let page = visitor
        .open(&world, "/ui/hosts?q=host-2")
        .await
        .expect(200)
        .text();
    let host = link(&page, "<bdi>host-2</bdi>");
    let (host, _) = host.split_once("?from=").unwrap();
    for word in ["host-2", "SN-2", "02:00:00:00:00:02", "020000000002"] {
        let led = visitor
            .open(&world, &format!("/ui/hosts?q={word}&open=1"))
            .await
            .expect(303);
        assert_eq!(led.header("location"), host, "{word}");
        visitor
            .open(&world, &format!("/ui/hosts?q={word}"))
            .await
            .expect(200);
    }
    for (query, expected) in [
        ("host", "/ui/hosts?q=host"),
        ("serial:SN-2", "/ui/hosts?q=serial%3ASN-2"),
        ("-host-2", "/ui/hosts?q=-host-2"),
        ("nobody", "/ui/hosts?q=nobody"),
    ] {
        let led = visitor
            .open(&world, &format!("/ui/hosts?q={query}&open=1"))
            .await
            .expect(303);
        assert_eq!(led.header("location"), expected);
    }
}

#[tokio::test]
async fn groups_have_a_heading_with_their_count_and_their_order() {
    let (world, visitor) = three_hosts().await;
    let page = visitor
        .open(&world, "/ui/hosts?group=pool&sort=cpu")
        .await
        .expect(200)
        .text();
    let (_, table) = content(&page).split_once("<table class=\"hosts\">").unwrap();
    let parts: Vec<&str> = table.split("<tbody>").skip(1).collect();
    assert_eq!(parts.len(), 2, "{table}");
    for (part, pool, count, hosts) in [
        (parts[0], "lab", "2 hosts", &["host-2", "host-3"][..]),
        (parts[1], "rack", "1 host", &["host-1"][..]),
    ] {
        assert!(
            part.contains(&format!("<bdi>{pool}</bdi></a> <span class=\"quiet\">{count}<")),
            "{part}"
        );
        let names: Vec<String> = all(part, "<th scope=\"row\">", "</th>")
            .iter()
            .map(|cell| all(cell, "<bdi>", "</bdi>").remove(0))
            .collect();
        assert_eq!(names, hosts);
    }
    assert_eq!(
        link(parts[0], "<bdi>lab</bdi>"),
        "/ui/hosts?q=pool%3Alab&group=pool"
    );
    for group in ["state", "cluster", "model", "switch"] {
        let page = visitor
            .open(&world, &format!("/ui/hosts?group={group}"))
            .await
            .expect(200)
            .text();
        assert_eq!(
            all(&page, "<tr class=\"group\">", "</tr>").len(),
            1,
            "{group}: {page}"
        );
    }
    let page = visitor
        .open(&world, "/ui/hosts?group=cluster")
        .await
        .expect(200)
        .text();
    assert_eq!(
        link(&page, "<bdi>Cluster: none</bdi>"),
        "/ui/hosts?q=cluster%3A%22%22&group=cluster"
    );
}

#[tokio::test]
async fn pools_of_one_name_are_one_group_with_the_hosts_of_all() {
    let world = World::open().await;
    for number in 1..=3 {
        let twin = world.infra_env(json!({})).await;
        world.host(twin, number).await;
    }
    let visitor = Browser::operator(&world).await;
    let page = visitor
        .open(&world, "/ui/hosts?group=pool")
        .await
        .expect(200)
        .text();
    let groups = all(&page, "<tr class=\"group\">", "</tr>");
    assert_eq!(groups.len(), 1, "{groups:?}");
    assert!(
        groups[0].contains("<bdi>hw</bdi> <span class=\"quiet\">3 hosts<"),
        "{groups:?}"
    );
}

#[tokio::test]
async fn a_wrong_key_has_the_nearest_one_as_a_link() {
    let (world, visitor) = three_hosts().await;
    for (wrong, right) in [
        ("modle:*server*", "model:*server*"),
        ("state:discoverin", "state:discovering"),
    ] {
        let page = visitor
            .open(&world, &format!("/ui/hosts?q={wrong}"))
            .await
            .expect(400)
            .text();
        let address = link(&page, &format!("Show <code>{right}</code>"));
        visitor.open(&world, &address).await.expect(200);
    }
    let page = visitor
        .open(&world, "/ui/hosts?q=cpu:many")
        .await
        .expect(400)
        .text();
    assert!(!page.contains("Show <code>"), "{page}");
}

#[tokio::test]
async fn the_plain_table_has_all_hosts_and_follows_no_changes() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({})).await;
    for number in 1..=101 {
        world.host(infra_env, number).await;
    }
    let visitor = Browser::operator(&world).await;
    let rows = |page: &str| all(content(page), "<th scope=\"row\">", "</th>").len();
    let window = visitor.open(&world, "/ui/hosts").await.expect(200).text();
    assert_eq!(rows(&window), 100);
    let plain = visitor
        .open(&world, &link(&window, "All in one plain table"))
        .await
        .expect(200)
        .text();
    assert_eq!(rows(&plain), 101);
    assert!(window.contains("data-revision") && window.contains("<aside"));
    assert!(!plain.contains("data-revision") && !plain.contains("<aside"));
    assert!(!plain.contains("This table ends after"));
    let back = link(&plain, "100 at a time, kept up to date");
    assert_eq!(back, "/ui/hosts");
}

#[tokio::test]
async fn ready_views_and_completions_are_what_queries_are_made_of() {
    let (world, visitor) = three_hosts().await;
    let page = visitor.open(&world, "/ui/hosts").await.expect(200).text();
    for name in [
        "All",
        "Needs approval",
        "Failed checks",
        "Overdue",
        "Free and fit",
        "No contact for a day",
    ] {
        visitor.open(&world, &link(&page, name)).await.expect(200);
    }
    let keys = all(&page, "<p data-key=\"", "\"");
    let expected: Vec<&str> = Key::ALL.iter().map(|key| key.name()).collect();
    assert_eq!(keys, expected);
    let words = all(&page, "data-words=\"", "\"");
    for (key, words) in keys.iter().zip(words) {
        for word in words.split(' ').filter(|word| !word.is_empty()) {
            let term = format!("{key}:{word}");
            assert!(Query::parse(&term).is_ok(), "{term}");
        }
    }
    for term in all(&page, "data-term=\"", "\"") {
        assert!(Query::parse(&term).is_ok(), "{term}");
    }
}

#[tokio::test]
async fn the_script_of_the_filter_imports_the_one_of_the_page() {
    let (world, visitor) = three_hosts().await;
    let page = visitor.open(&world, "/ui/hosts").await.expect(200).text();
    let scripts = all(&page, "<script type=\"module\" src=\"/ui/static/", "\"");
    let named = |stem: &str| scripts.iter().find(|name| name.starts_with(stem)).unwrap();
    let filter = visitor
        .open(&world, &format!("/ui/static/{}", named("filter-")))
        .await
        .expect(200)
        .text();
    let imported = all(&filter, "from './", "'");
    assert_eq!(imported, [named("live-").as_str()]);
    named("views-");
    let pools = visitor.open(&world, "/ui/pools").await.expect(200).text();
    assert!(!pools.contains("/filter-"), "{pools}");
}

#[tokio::test]
async fn the_page_of_a_host_leads_along_the_list_and_back() {
    let (world, visitor) = three_hosts().await;
    let list = "/ui/hosts?q=vendor%3AACME&sort=-name";
    let open = async |path: String| visitor.open(&world, &path).await.expect(200).text();
    let first = open(link(&open(list.to_owned()).await, "<bdi>host-3</bdi>")).await;
    assert!(!first.contains("rel=\"prev\""), "{first}");
    let second = open(link(&first, "Next: <bdi>host-2</bdi>")).await;
    assert!(second.contains("<h1><bdi>host-2</bdi></h1>"), "{second}");
    assert_eq!(link(&second, "Back to the list"), list);
    let last = open(link(&second, "Next: <bdi>host-1</bdi>")).await;
    assert!(!last.contains("rel=\"next\""), "{last}");
    let again = open(link(&last, "Previous: <bdi>host-2</bdi>")).await;
    assert!(again.contains("Previous: <bdi>host-3</bdi>"), "{again}");

    // After an action and after a refusal, too.
    let action = all(&again, "action=\"", "\"")
        .into_iter()
        .find(|action| action.contains("/name?from="))
        .unwrap();
    let done = visitor.submit(&world, &action, "value=node-2").await.expect(303);
    assert!(done.header("location").contains("?from="));
    let page = visitor.follow(&world, &done).await.expect(200).text();
    assert!(page.contains("The host has another name."), "{page}");
    assert!(page.contains("Next: <bdi>host-3</bdi>"), "{page}");
    // What a script fetches again keeps the list in its forms, and does not search it.
    let (_, again) = page.split_once("data-address=\"").unwrap();
    let again = again.split('"').next().unwrap().replace("&amp;", "&");
    let fresh = open(again).await;
    assert!(
        fresh.contains("/name?from=") && !fresh.contains("Back to the list"),
        "{fresh}"
    );
    let refused = visitor
        .submit(&world, &action, "value=no%20name")
        .await
        .expect(400)
        .text();
    assert_eq!(link(&refused, "Back to the list"), list);

    // The whole list is one, too; without a list there is no way back to it.
    let whole = open(link(&open("/ui/hosts".to_owned()).await, "<bdi>host-3</bdi>")).await;
    assert_eq!(link(&whole, "Back to the list"), "/ui/hosts");
    let (own, _) = action.split_once("/name?").unwrap();
    for query in [
        "",
        "?from=",
        "?from=q%3Dnokey%3Ax",
        &format!("?from=q%3D{}", "x".repeat(400)),
    ] {
        let page = open(format!("{own}{query}")).await;
        assert!(!page.contains("Back to the list"), "{query}");
    }
    let words = ["x", "y"].map(|word| format!("-name:{}", word.repeat(200)));
    let long = open(format!("/ui/hosts?q={}", words.join("%20"))).await;
    assert!(link(&long, "<bdi>host-3</bdi>").ends_with(|end: char| end.is_ascii_hexdigit()));
    assert!(!long.contains("?from="), "{long}");
}
