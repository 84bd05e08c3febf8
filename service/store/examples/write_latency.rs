//! Measures how long writes take: `cargo run --release -p muster-store --example write_latency -- URL`, on an empty database.

use std::time::{Duration, Instant};

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::inventory::{Disk, Interface, Inventory};
use muster_api::time::Timestamp;
use muster_core::record::{Host, HostData, HostState, InfraEnv, NewEvent, Settings};
use muster_store::{CheckIn, HistoryEntry, Store};

const HOSTS: usize = 1000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args()
        .nth(1)
        .ok_or("say which database: sqlite:///PATH or postgres://...")?;
    let store = Store::open(&url).await?;
    let infra_env_id = InfraEnvId::random();
    store.insert_infra_env(&infra_env(infra_env_id), &[]).await?;

    let mut hosts: Vec<Host> = (0..HOSTS).map(|_| host(infra_env_id)).collect();
    let mut inserts = Vec::new();
    for host in &mut hosts {
        let begun = Instant::now();
        host.version = store.insert_host(host, &history(None), &[event(host)]).await?;
        inserts.push(begun.elapsed());
    }
    show("insert a host, with inventory, event, history, outbox", inserts);

    let mut saves = Vec::new();
    for host in &mut hosts {
        host.state = HostState::KnownUnbound;
        let begun = Instant::now();
        host.version = store
            .save_host(host, Some(&history(Some(host.state.status()))), &[event(host)])
            .await?;
        saves.push(begun.elapsed());
    }
    show("save a host, with the same", saves);

    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for host in hosts.clone() {
        let store = store.clone();
        tasks.spawn(async move { store.save_host(&host, None, &[event(&host)]).await.map(drop) });
    }
    tasks.join_all().await.into_iter().collect::<Result<(), _>>()?;
    println!(
        "{HOSTS} saves at once: {:.0} a second",
        HOSTS as f64 / begun.elapsed().as_secs_f64()
    );

    let mut flushes = Vec::new();
    for round in 1..=20 {
        let batch: Vec<CheckIn> = hosts.iter().map(|host| check_in(host, round)).collect();
        let begun = Instant::now();
        let written = store.flush_check_ins(&batch).await?;
        flushes.push(begun.elapsed());
        assert_eq!(written, HOSTS as u64);
    }
    show("flush 1000 check-ins", flushes);

    let mut reads = Vec::new();
    for host in &hosts {
        let begun = Instant::now();
        store
            .find_host_brief(infra_env_id, host.id)
            .await?
            .ok_or("a host is gone")?;
        reads.push(begun.elapsed());
    }
    show("read a host without inventory", reads);
    store.close().await;
    Ok(())
}

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{what}: median {:.2?}, p99 {:.2?}", at(0.5), at(0.99));
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp_micros(1_795_000_000_000_000 + seconds * 1_000_000).expect("a moment")
}

fn infra_env(id: InfraEnvId) -> InfraEnv {
    InfraEnv {
        id,
        name: "bench".into(),
        cluster_id: None,
        kube: None,
        mirror: None,
        boot_id: id.to_string(),
        version: 0,
        created_at: at(0),
        updated_at: at(0),
        settings: Settings::default(),
    }
}

/// With an inventory of about 10 kB, as of a small server.
fn host(infra_env_id: InfraEnvId) -> Host {
    let disk = Disk {
        by_id: "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4".repeat(4),
        ..Disk::default()
    };
    let interface = Interface {
        mac_address: "52:54:00:aa:00:01".into(),
        flags: vec!["up".into()],
        ..Interface::default()
    };
    let inventory = Inventory {
        hostname: "bench".into(),
        disks: vec![disk; 24],
        interfaces: vec![interface; 12],
        ..Inventory::default()
    };
    let data = serde_json::json!({
        "status_info": "", "status_updated_at": at(0), "created_at": at(0), "updated_at": at(0), "registered_at": at(0),
    });
    let data: HostData = serde_json::from_value(data).expect("the least a host has");
    Host {
        id: HostId::random(),
        infra_env_id,
        cluster_id: None,
        state: HostState::DiscoveringUnbound,
        version: 0,
        due_at: Some(at(180)),
        checked_in_at: at(0),
        reports: Default::default(),
        bootstrap_ignition: Default::default(),
        inventory: Some(inventory.into()),
        data,
    }
}

fn history(from: Option<muster_api::host::HostStatus>) -> HistoryEntry {
    HistoryEntry {
        at: at(0),
        who: "agent".into(),
        event: "inventory".into(),
        from,
        to: muster_api::host::HostStatus::KnownUnbound,
        reason: "Ready to be bound".into(),
    }
}

fn event(host: &Host) -> NewEvent {
    NewEvent {
        name: "host_status_updated".into(),
        severity: muster_api::event::Severity::Info,
        category: muster_api::event::Category::User,
        message: "Host bench: updated status from discovering-unbound to known-unbound (Ready to be bound)"
            .into(),
        props: serde_json::Map::new(),
        host_id: Some(host.id),
        infra_env_id: Some(host.infra_env_id),
        cluster_id: None,
        at: at(0),
    }
}

fn check_in(host: &Host, round: i64) -> CheckIn {
    CheckIn {
        infra_env_id: host.infra_env_id,
        host_id: host.id,
        at: at(60 * round),
        silent_at: at(60 * round + 180),
        host_clock: Some(1_795_000_000 + 60 * round),
        agent_version: Some("muster-agent 0.1.0".into()),
    }
}
