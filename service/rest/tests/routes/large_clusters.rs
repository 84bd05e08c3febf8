//! Clusters of many hosts are sent as they are read, with the same content as if they were made whole.

use http_body_util::BodyExt;
use muster_api::cluster::Cluster;
use muster_api::host::HostStatus;

use crate::world::{World, host_id};

/// More than are read at once.
const HOSTS: u32 = 130;

#[tokio::test]
async fn a_cluster_of_many_hosts_comes_in_parts_and_reads_as_a_whole() {
    let world = World::open().await;
    let (infra_env, other) = (
        world.infra_env(Default::default()).await,
        world.infra_env(Default::default()).await,
    );
    let cluster = world.cluster().await;
    for number in 1..=HOSTS {
        let pool = if number == 1 { other } else { infra_env };
        let host = world.host(pool, number).await;
        world.bind(&host, cluster).await;
        // It registers and reports again, now in the cluster.
        world.host(pool, number).await;
    }
    let path = format!("/clusters/{cluster}");
    let whole = world.get(&world.operator, &path).await.expect(200).text();
    let read: Cluster = serde_json::from_str(&whole).unwrap();
    assert_eq!(
        serde_json::to_string(&read).unwrap(),
        whole,
        "its fields in their order"
    );
    let ids: Vec<String> = read.hosts.iter().map(|host| host.id.to_string()).collect();
    assert_eq!(ids, (1..=HOSTS).map(host_id).collect::<Vec<_>>());
    assert_eq!(
        (read.total_host_count, read.enabled_host_count),
        (i64::from(HOSTS), i64::from(HOSTS))
    );
    let ready = read
        .hosts
        .iter()
        .filter(|host| host.status == Some(HostStatus::Known));
    assert_eq!(usize::try_from(read.ready_host_count), Ok(ready.count()));
    let networks = read.host_networks.unwrap();
    assert_eq!(networks.len(), 1);
    assert_eq!(networks[0].host_ids.len(), HOSTS as usize);

    // In a list, in the response to a change, and for the machines of one InfraEnv.
    let text = world
        .get(&world.operator, "/clusters?with_hosts=true")
        .await
        .expect(200)
        .text();
    let listed: Vec<Cluster> = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&listed).unwrap(), text);
    assert_eq!(listed[0].hosts, read.hosts);
    assert_eq!(listed[0].total_host_count, i64::from(HOSTS));
    let brief = world.get(&world.operator, "/clusters").await.expect(200).json();
    assert_eq!(brief[0]["hosts"], serde_json::json!([]));
    assert_eq!(brief[0].get("total_host_count"), None);
    let changed = world
        .patch(&world.operator, &path, &serde_json::json!({}))
        .await
        .expect(201);
    let changed: Cluster = serde_json::from_str(&changed.text()).unwrap();
    assert_eq!(changed.hosts.len(), HOSTS as usize);
    let agent = world.agent(other).await;
    let own: Cluster = serde_json::from_str(&world.get(&agent, &path).await.expect(200).text()).unwrap();
    assert_eq!((own.hosts.len(), own.total_host_count), (1, 1));

    let answer = world.unread(&world.operator, &path).await;
    let mut body = answer.into_body();
    let mut largest = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.unwrap().into_data().unwrap_or_default();
        largest = largest.max(frame.len());
    }
    assert!(
        largest < whole.len(),
        "{largest} of {} bytes at once",
        whole.len()
    );
}
