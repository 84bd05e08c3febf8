//! Which hosts reach each other, as hosts of a cluster report it, and switches with the hosts at their ports.

use muster_api::ids::{ClusterId, InfraEnvId};
use muster_tests::hosts::plain::inventory;
use serde_json::{Value, json};

use crate::tokens::scopes::operator;
use crate::world::{Credential, World, host_id};

/// The report about another host that was probed by pings.
fn remote(number: u32, is_reached: bool) -> Value {
    let ping = json!({
        "remote_ip_address": "198.51.100.11", "successful": is_reached, "average_rtt_ms": 0.2,
        "packet_loss_percentage": if is_reached { 0 } else { 100 },
    });
    json!({"host_id": host_id(number), "l2_connectivity": null, "l3_connectivity": [ping], "mtu_report": null})
}

/// A pool with the hosts 1 and 2 of a cluster, of which 2 reaches 1 and 1 does not reach 2, and the host 3 without a cluster.
pub async fn one_way_link(world: &World) -> (InfraEnvId, ClusterId) {
    let pool = world.infra_env(json!({"name": "lab"})).await;
    let cluster = world.cluster().await;
    for number in [1, 2] {
        let host = world.host(pool, number).await;
        world.bind(&host, cluster).await;
        // It registers and reports again, now in the cluster.
        world.host(pool, number).await;
    }
    world.host(pool, 3).await;
    for (number, other, is_reached) in [(1, 2, false), (2, 1, true)] {
        let host = format!("/infra-envs/{pool}/hosts/{}", host_id(number));
        let report = json!({"remote_hosts": [remote(other, is_reached)]});
        world.report(pool, &host, "connectivity-check", &report).await;
    }
    (pool, cluster)
}

fn path(pool: InfraEnvId, query: &str) -> String {
    format!("/api/muster/v1/infra-envs/{pool}/connectivity?{query}")
}

#[tokio::test]
async fn a_tile_has_all_ordered_pairs_and_the_overview_what_is_broken() {
    let world = World::open().await;
    let (pool, cluster) = one_way_link(&world).await;
    let get = async |query: &str| world.get(&world.operator, &path(pool, query)).await;

    let whole = get("").await.expect(200).json();
    assert_eq!(whole["total"], 3);
    assert!(whole.get("tile").is_none(), "{whole}");
    let overview = &whole["overview"];
    assert_eq!(overview["broken_total"], 1, "{whole}");
    assert_eq!(overview["broken"], json!([[0, 1, 0], [0, 0, 0], [0, 0, 0]]));
    let pair = &overview["pairs"][0];
    assert_eq!(
        [&pair["from"]["name"], &pair["to"]["name"], &pair["is_mutual"]],
        [&json!("host-1"), &json!("host-2"), &json!(false)]
    );
    let after = get("after=1").await.expect(200).json();
    assert_eq!(
        (&after["overview"]["pairs"], &after["overview"]["broken_total"]),
        (&json!([]), &json!(1))
    );

    // 17: probed, and one way. 21: probed, answers pings, one way.
    let of_cluster = format!("cluster={cluster}&rows=0");
    let tile = get(&of_cluster).await.expect(200).json();
    assert_eq!(tile["total"], 2);
    let tile = &tile["tile"];
    assert_eq!(
        [&tile["reach"], &tile["latency"], &tile["loss"]],
        [&json!("0AE0"), &json!("0030"), &json!("0010")]
    );
    assert_eq!(tile["rows"][0]["has_report"], true);

    let part = get("rows=1&columns=0&size=1").await.expect(200).json();
    assert_eq!(
        (&part["tile"]["reach"], &part["tile"]["first_row"]),
        (&json!("E"), &json!(1))
    );
    let beyond = get("rows=99").await.expect(200).json();
    assert_eq!(
        (&beyond["tile"]["rows"], &beyond["total"]),
        (&json!([]), &json!(3))
    );

    // The next report is in the next answer.
    let host = format!("/infra-envs/{pool}/hosts/{}", host_id(1));
    let mended = json!({"remote_hosts": [remote(2, true)]});
    world.report(pool, &host, "connectivity-check", &mended).await;
    let mended = get(&of_cluster).await.expect(200).json();
    assert_eq!(mended["tile"]["reach"], "0550");
    assert_eq!(get("").await.expect(200).json()["overview"]["broken_total"], 0);
}

#[tokio::test]
async fn a_matrix_is_refused_beyond_its_scope_and_its_sizes() {
    let world = World::open().await;
    let (pool, _) = one_way_link(&world).await;
    let other = world.infra_env(json!({})).await;
    for wrong in [
        "rows=-1",
        "columns=-1&rows=0",
        "size=0",
        "size=257&rows=0",
        "after=-1",
        "cluster=x",
    ] {
        world.get(&world.operator, &path(pool, wrong)).await.expect(400);
    }
    let absent = InfraEnvId::random();
    world.get(&world.operator, &path(absent, "")).await.expect(404);
    let (_, own) = operator(&world, true, Some(pool)).await;
    let (_, foreign) = operator(&world, false, Some(other)).await;
    world.get(&own, &path(pool, "rows=0")).await.expect(200);
    let refused = world.get(&foreign, &path(pool, "rows=0")).await.status;
    assert!(matches!(refused, 403 | 404), "{refused}");
    world
        .get(&world.agent(pool).await, &path(pool, ""))
        .await
        .expect(401);
}

#[tokio::test]
async fn switches_have_the_hosts_of_the_caller_at_their_ports() {
    let world = World::open().await;
    let (lab, rack) = (world.infra_env(json!({})).await, world.infra_env(json!({})).await);
    for (pool, number, port) in [(lab, 1, "Gi1/0/10"), (lab, 2, "Gi1/0/9"), (rack, 3, "Gi1/0/9")] {
        let host = world.host(pool, number).await;
        let mut reported = inventory(number.into());
        reported["interfaces"][0]["switch_port"] =
            json!({"switch": "sw1", "port": port, "native_vlan": 1, "tagged_vlans": [20]});
        world.report(pool, &host, "inventory", &reported).await;
    }
    world.host(rack, 4).await;
    let get = async |credential: &Credential, query: &str| {
        let path = format!("/api/muster/v1/links{query}");
        world.get(credential, &path).await.expect(200).json()
    };
    let ports = |found: &Value| {
        let ports = found["switches"][0]["ports"].as_array().unwrap().iter();
        let shown = ports.map(|port| {
            let hosts = port["hosts"].as_array().unwrap().iter();
            let names: Vec<Value> = hosts.map(|host| host["name"].clone()).collect();
            json!([port["port"], names])
        });
        shown.collect::<Vec<Value>>()
    };
    let all = get(&world.operator, "").await;
    assert_eq!(
        ports(&all),
        [
            json!(["Gi1/0/9", ["host-2", "host-3"]]),
            json!(["Gi1/0/10", ["host-1"]])
        ]
    );
    assert_eq!((&all["total"], &all["without_switch"]), (&json!(1), &json!(1)));
    let host = &all["switches"][0]["ports"][1]["hosts"][0];
    assert_eq!((&host["switches"], &host["vlans"]), (&json!(1), &json!([1, 20])));

    let (_, guest) = operator(&world, true, Some(lab)).await;
    let own = get(&guest, "").await;
    assert_eq!(
        ports(&own),
        [json!(["Gi1/0/9", ["host-2"]]), json!(["Gi1/0/10", ["host-1"]])]
    );
    assert_eq!(own["without_switch"], 0);
    assert_eq!(get(&world.operator, "?switch=sw2").await["total"], 0);
    assert_eq!(get(&world.operator, "?after=1").await["switches"], json!([]));
    world
        .get(&world.operator, "/api/muster/v1/links?after=-1")
        .await
        .expect(400);
}
