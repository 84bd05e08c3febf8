//! Clusters, node pools, and the funnel of placement.

use muster_core::record::HostState;
use muster_operations::bridge::{BridgeStatus, PendingCsr};
use serde_json::json;

use super::Browser;
use crate::node_pools::played;
use crate::tokens::scopes::operator;
use crate::world::{World, host_id};

#[tokio::test]
async fn a_cluster_is_imported_and_its_page_has_its_hosts_and_what_keeps_them() {
    let world = World::open().await;
    let infra_env = world.infra_env(json!({"name": "hw"})).await;
    let visitor = Browser::operator(&world).await;
    let empty = visitor.open(&world, "/ui/clusters").await.expect(200).text();
    assert!(
        empty.contains("There is no cluster yet") && empty.contains("--kube-api off"),
        "{empty}"
    );
    assert!(
        empty.contains(r#"<a href="/ui/clusters" aria-current="page">"#),
        "{empty}"
    );
    let fields = "name=day2&api_vip_dnsname=api.day2.example.test&openshift_cluster_id=";
    let refused = visitor
        .submit(&world, "/ui/clusters", &format!("{fields}no-id"))
        .await;
    assert_eq!(refused.status, 400);
    let text = refused.text();
    assert!(
        text.contains("role=\"alert\"") && text.contains("value=\"no-id\""),
        "{text}"
    );
    let made = visitor
        .submit(
            &world,
            "/ui/clusters",
            &format!("{fields}00000000-0000-0000-0000-000000000009"),
        )
        .await
        .expect(303);
    let address = made.header("location").to_owned();
    let bare = visitor.open(&world, &address).await.expect(200).text();
    assert!(bare.contains("No host is in this cluster yet"), "{bare}");

    let cluster = address.rsplit('/').next().unwrap().parse().unwrap();
    for number in [1, 2] {
        let host = world.host(infra_env, number).await;
        world.bind(&host, cluster).await;
    }
    world.put(infra_env, 2, HostState::Disconnected).await;
    let request = PendingCsr {
        name: "csr-<1>".to_owned(),
        node: "worker-0".to_owned(),
        kind: "serving",
        since: None,
        reason: "it is another machine's".to_owned(),
    };
    world.operations.bridge.requests().set(cluster, vec![request]);
    let page = visitor.open(&world, &address).await.expect(200).text();
    for part in [
        "2 hosts</a>".to_owned(),
        "<h3>By role</h3>".to_owned(),
        "<meter min=\"0\" max=\"2\"".to_owned(),
        format!(
            "<a href=\"/ui/hosts/{infra_env}/{}\"><bdi>host-2</bdi></a>: <bdi>",
            host_id(2)
        ),
        "csr-&#60;1&#62;".to_owned(),
    ] {
        assert!(page.contains(&part), "{part}: {page}");
    }
    let overview = visitor.open(&world, "/ui/").await.expect(200).text();
    let need = format!("<a href=\"{address}\">Certificate requests of nodes that are not approved</a>");
    assert!(overview.contains(&need), "{overview}");
    let host = visitor
        .open(&world, &format!("/ui/hosts/{infra_env}/{}", host_id(1)))
        .await
        .expect(200)
        .text();
    assert!(
        host.contains(&format!("<a href=\"{address}\"><bdi>day2</bdi></a>")),
        "{host}"
    );
    let list = visitor.open(&world, "/ui/clusters").await.expect(200).text();
    assert!(
        list.contains(&format!("<a href=\"{address}\"><bdi>day2</bdi></a>")),
        "{list}"
    );
}

#[tokio::test]
async fn each_step_of_the_funnel_leads_to_the_hosts_that_it_costs() {
    let (world, infra_env) = played(None).await;
    let visitor = Browser::operator(&world).await;
    let list = visitor.open(&world, "/ui/clusters").await.expect(200).text();
    assert!(
        list.contains(r#"<a href="/ui/node-pools/clusters/workers"><bdi>clusters/workers</bdi></a>"#),
        "{list}"
    );
    let address = "/ui/node-pools/clusters/workers";
    let page = visitor.open(&world, address).await.expect(200).text();
    for part in [
        "<strong>1 of 2 nodes</strong>".to_owned(),
        "1 of 2 nodes are &#60;available&#62;".to_owned(),
        "HostedCluster Available: <bdi>the kubeconfig of clusters/east is missing</bdi>".to_owned(),
        // The Machine that waits is the one that is shown first.
        "Why not the others: <bdi>workers-b</bdi>".to_owned(),
        "7 hosts were considered.".to_owned(),
        format!(
            "<a href=\"/ui/hosts?q=id%3A{}%2C{}\">not approved</a> <code>NotApproved</code>",
            host_id(2),
            host_id(3)
        ),
        format!("q=pool%3A{infra_env}+state%3Adisconnected*\">silent</a> <code>NotConnected</code>"),
        "(all of which that is true now)".to_owned(),
        format!(
            "<a href=\"/ui/hosts/{infra_env}/{}\"><bdi>host-1</bdi></a>",
            host_id(1)
        ),
        "why not 2 &#60;b&#62;".to_owned(),
        "<bdi>lab/east</bdi>".to_owned(),
        "overdue".to_owned(),
    ] {
        assert!(page.contains(&part), "{part}: {page}");
    }
    let other = visitor
        .open(&world, &format!("{address}?machine=workers-a"))
        .await
        .expect(200)
        .text();
    assert!(
        other.contains("Why not the others: <bdi>workers-a</bdi>"),
        "{other}"
    );
    visitor
        .open(&world, &format!("{address}?machine=workers-z"))
        .await
        .expect(404);
    visitor
        .open(&world, "/ui/node-pools/clusters/nothing")
        .await
        .expect(404);
    visitor
        .open(&world, "/ui/node-pools/clusters/..%2F..%2Fhosts")
        .await
        .expect(404);
}

#[tokio::test]
async fn a_token_for_one_pool_sees_no_cluster_and_a_service_without_an_api_has_the_reason() {
    let (world, infra_env) = played(Some("the Kubernetes API has no NodePools")).await;
    let visitor = Browser::operator(&world).await;
    for path in ["/ui/clusters", "/ui/node-pools/clusters/workers"] {
        let page = visitor.open(&world, path).await.expect(200).text();
        assert!(page.contains("the Kubernetes API has no NodePools"), "{page}");
    }
    let (_, confined) = operator(&world, false, Some(infra_env)).await;
    let confined = Browser::signed_in(&world, &confined).await;
    let page = confined.open(&world, "/ui/clusters").await.expect(200).text();
    assert!(
        page.contains("Your token is for one pool, and shows no cluster.") && page.contains("disabled"),
        "{page}"
    );
    confined
        .open(&world, "/ui/node-pools/clusters/workers")
        .await
        .expect(403);
}

#[tokio::test]
async fn the_page_of_a_cluster_has_the_reason_why_node_pools_are_missing() {
    let (world, _) = played(Some("NodePools cannot be read at present: <refused>")).await;
    let cluster = world.cluster().await;
    let visitor = Browser::operator(&world).await;
    let address = format!("/ui/clusters/{cluster}");
    let page = visitor.open(&world, &address).await.expect(200).text();
    let why = "About node pools: <bdi>NodePools cannot be read at present: &#60;refused&#62;</bdi>";
    assert!(page.contains(why), "{page}");
    let bare = World::open().await;
    let cluster = bare.cluster().await;
    let visitor = Browser::operator(&bare).await;
    let page = visitor
        .open(&bare, &format!("/ui/clusters/{cluster}"))
        .await
        .expect(200)
        .text();
    assert!(!page.contains("About node pools"), "{page}");
    assert!(!page.contains("another replica"), "{page}");
    bare.operations.bridge.set(BridgeStatus::Elsewhere);
    let page = visitor
        .open(&bare, &format!("/ui/clusters/{cluster}"))
        .await
        .expect(200)
        .text();
    assert!(
        page.contains("The controllers run in another replica") && page.contains("--kube-api elsewhere"),
        "{page}"
    );
}

#[tokio::test]
async fn requests_beyond_those_that_are_read_are_named() {
    let world = World::open().await;
    let cluster = world.cluster().await;
    let requests = (0..150).map(|number| PendingCsr {
        name: format!("csr-{number}"),
        node: "worker-0".to_owned(),
        kind: "client",
        since: None,
        reason: "why".to_owned(),
    });
    world
        .operations
        .bridge
        .requests()
        .set(cluster, requests.collect());
    let visitor = Browser::operator(&world).await;
    let page = visitor
        .open(&world, &format!("/ui/clusters/{cluster}"))
        .await
        .expect(200)
        .text();
    assert!(page.contains("There are more than are read at once"), "{page}");
}
