//! Pictures, and the tables that have the same content.

use muster_api::boot::BootFile;
use muster_api::host::{HostRole, HostStage};
use muster_core::record::{HostState, Progress};
use muster_operations::now;
use muster_store::BootRequests;
use muster_tests::hosts::plain::inventory;
use serde_json::json;

use super::Browser;
use crate::connectivity::one_way_link;
use crate::tokens::scopes::operator;
use crate::world::{World, host_id};

#[tokio::test]
async fn the_matrix_has_broken_pairs_a_window_and_one_pair_in_words() {
    let world = World::open().await;
    let (pool, cluster) = one_way_link(&world).await;
    let visitor = Browser::operator(&world).await;
    let get = async |query: &str| {
        let path = format!("/ui/matrix/{pool}{query}");
        visitor.open(&world, &path).await.expect(200).text()
    };
    let page = get("").await;
    for part in [
        "1 of all ordered pairs",
        "not reported as broken",
        "3 × 3",
        r#"<canvas id="cells" role="img""#,
        "one way: not reached, though the other host reaches this one, to <bdi>host-2</bdi>",
        "one way: the other host does not reach this one, to <bdi>host-1</bdi>",
        "never checked, to <bdi>host-3</bdi>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains(" style="), "{page}");
    let pair = get(&format!("?from={}&to={}", host_id(1), host_id(2))).await;
    for part in [
        "pings of 198.51.100.11: no answer",
        "pings of 198.51.100.11: 0.20 ms, 0 % lost",
        ">no answer</span>",
        ">answers</span>",
    ] {
        assert!(pair.contains(part), "{part}: {pair}");
    }
    let unprobed = get(&format!("?from={}&to={}", host_id(1), host_id(3))).await;
    assert!(unprobed.contains(">never probed</span>"), "{unprobed}");
    assert!(
        unprobed.contains("it has reported about no other host"),
        "{unprobed}"
    );
    let absent = get(&format!("?from={}&to={}", host_id(1), host_id(99))).await;
    assert!(absent.contains("not in the pool any more"), "{absent}");
    assert!(get(&format!("?cluster={cluster}")).await.contains("2 × 2"));

    let (_, guest) = operator(&world, true, Some(pool)).await;
    let guest = Browser::signed_in(&world, &guest).await;
    let own = guest
        .open(&world, &format!("/ui/matrix/{pool}"))
        .await
        .expect(200)
        .text();
    assert!(own.contains("1 of all ordered pairs"), "{own}");
    let empty = world.infra_env(json!({})).await;
    let empty = visitor
        .open(&world, &format!("/ui/matrix/{empty}"))
        .await
        .expect(200);
    assert!(empty.text().contains("No host is here"), "{}", empty.text());
}

#[tokio::test]
async fn links_mark_ports_with_two_hosts_and_hosts_on_one_switch() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let visitor = Browser::operator(&world).await;
    let none = visitor.open(&world, "/ui/links").await.expect(200).text();
    assert!(none.contains("No switch is known"), "{none}");
    for number in [1, 2] {
        let host = world.host(pool, number).await;
        let mut reported = inventory(number.into());
        reported["interfaces"][0]["switch_port"] = json!({"switch": "sw1", "port": "Gi1/0/9<b>"});
        world.report(pool, &host, "inventory", &reported).await;
    }
    let page = visitor.open(&world, "/ui/links").await.expect(200).text();
    for part in [
        "by LLDP: 1.",
        "several hosts at this port",
        "on this switch only",
        "<bdi>Gi1/0/9&#60;b&#62;</bdi>",
        r#"role="img" aria-label="2 cables of a switch"#,
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn a_host_has_its_disks_its_machine_and_its_past_as_pictures() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    world.host(pool, 1).await;
    world.host(pool, 2).await;
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/hosts/{pool}/{}", host_id(1));
    let page = visitor.open(&world, &page).await.expect(200).text();
    for part in [
        "2 disks to scale",
        "★ chosen all on it is overwritten",
        "8 processor threads",
        "⇄ eth0 1 Gbit/s",
        &format!(r#"href="/ui/timeline/{pool}/{}""#, host_id(1)),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<h2>Installation</h2>"), "{page}");

    let timeline = format!("/ui/timeline/{pool}/{}", host_id(1));
    let past = async |query: &str| {
        let path = format!("{timeline}{query}");
        visitor.open(&world, &path).await.expect(200).text()
    };
    world.put(pool, 1, HostState::KnownUnbound).await;
    let day = past("").await;
    for part in [
        "<caption>States</caption>",
        ">known-unbound</span>",
        "</span>boot</td>",
    ] {
        assert!(day.contains(part), "{part}: {day}");
    }
    assert_eq!(day.matches("<svg").count(), 1);
    let both = past(&format!("?zoom=1+h&with={}", host_id(2))).await;
    assert_eq!(both.matches("<svg").count(), 2, "{both}");
    let before = past("?end=2020-01-01T00:00:00Z").await;
    assert!(before.contains("Nothing is known of this time"), "{before}");
    let absent = format!("/ui/timeline/{pool}/{}", host_id(99));
    visitor.open(&world, &absent).await.expect(404);
}

#[tokio::test]
async fn a_pool_shows_how_far_machines_came() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let visitor = Browser::operator(&world).await;
    let page = async || {
        let path = format!("/ui/pools/{pool}");
        visitor.open(&world, &path).await.expect(200).text()
    };
    assert!(!page().await.contains("How far machines came"));
    let before = now();
    let asked = |mac: &str, file| BootRequests {
        infra_env_id: pool,
        mac: mac.into(),
        address: "192.0.2.7".into(),
        file,
        user_agent: "iPXE/1.21".into(),
        first_at: before,
        last_at: before,
        requests: 1,
        bytes: 100,
        refusal: String::new(),
    };
    let all = [
        asked("02:00:00:00:00:01", BootFile::Initrd),
        asked("52:54:00:00:00:09", BootFile::Script),
    ];
    world.operations.store().add_boot_requests(&all).await.unwrap();
    world.host(pool, 1).await;
    let shown = page().await;
    let step = |number: u32| {
        let row = shown
            .split(&format!(r#"id="boot-step-{number}""#))
            .nth(1)
            .unwrap();
        row.split("</tr>").next().unwrap().to_owned()
    };
    assert!(
        step(0).contains(">2<") && step(0).contains("<bdi>52:54:00:00:00:09</bdi>"),
        "{}",
        step(0)
    );
    assert!(step(1).contains(">1<") && !step(1).contains("bdi"), "{}", step(1));
    assert!(step(4).contains(">1<"), "{}", step(4));
}

#[tokio::test]
async fn an_installation_is_a_bar_of_stages() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    world.host(pool, 1).await;
    let id = host_id(1).parse().unwrap();
    let mut host = world.operations.hosts.get(pool, id).await.unwrap();
    host.state = HostState::InstallingInProgress;
    host.data.role = HostRole::Worker;
    host.data.progress = Some(Progress {
        stage: HostStage::WritingImageToDisk,
        percentage: 40,
        info: String::new(),
        stage_started_at: now(),
        stage_updated_at: now(),
    });
    world
        .operations
        .store()
        .save_host(&host, None, &[])
        .await
        .unwrap();
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/hosts/{pool}/{}", host_id(1));
    let page = visitor.open(&world, &page).await.expect(200).text();
    let (_, bar) = page.split_once("<h2>Installation</h2>").unwrap();
    let (bar, _) = bar.split_once("</section>").unwrap();
    assert!(
        bar.contains("Writing image to disk is the present stage of"),
        "{bar}"
    );
    assert_eq!(
        (
            bar.matches("<td>done</td>").count(),
            bar.matches("<td>now</td>").count()
        ),
        (2, 1),
        "{bar}"
    );
    assert!(bar.contains("<title>Rebooting: to come</title>"), "{bar}");
}
