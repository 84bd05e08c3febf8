//! Measures writes, lists and watches: `cargo run --release -p muster-kube-api --example rates --
//! sqlite:///tmp/rates.db [OBJECTS]`
//!
//! Objects are Agents of a server with six disks and four cards, 25 to 30 kB each, with the CRD of Agents,
//! and each gets the three writes of a discovery: made, its status, its labels and annotations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;
use http::Request;
use muster_kube_api::{KubeApi, SqlStorage};
use muster_store::Store;
use serde_json::{Value, json};
use tower::ServiceExt as _;

const CRD: &str = include_str!("../../../api-spec/crds/agent-install.openshift.io_agents.yaml");
const AGENTS: &str = "/apis/agent-install.openshift.io/v1beta1/namespaces/default/agents";
const JSON: &str = "application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const MERGE: &str = "application/merge-patch+json";
/// Requests at the same time.
const WRITERS: usize = 16;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().context("usage: rates DATABASE-URL [OBJECTS]")?;
    let count: usize = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let store = Store::open(&url).await?;
    let (readers, writers) = store.pools();
    let storage = SqlStorage::new(store.kind(), readers, writers);
    let api = KubeApi::open(storage, vec![serde_saphyr::from_str(CRD)?]).await?;
    measure_writes(&api, count).await?;
    measure_memory(&api).await?;
    measure_reads(&api, count).await?;
    measure_watch(&api).await
}

async fn measure_writes(api: &KubeApi, count: usize) -> anyhow::Result<()> {
    let made = |index: usize| ("POST", AGENTS.to_owned(), "application/json", agent(index));
    all(api, "made", count, made).await?;
    let status = |index: usize| ("PATCH", format!("{}/status", path(index)), MERGE, status(index));
    all(api, "status patched", count, status).await?;
    let labelled = |index: usize| ("PATCH", path(index), MERGE, labels(index));
    all(api, "labelled", count, labelled).await?;
    let approval = |index: usize| ("PATCH", path(index), MERGE, json!({"spec": {"approved": true}}));
    all(api, "approved", count, approval).await?;
    all(api, "approved again (no change)", count, approval).await?;
    let condition = json!({"status": {"progress": {"currentStage": "Rebooting"}}});
    let stage = move |index: usize| {
        (
            "PATCH",
            format!("{}/status", path(index)),
            MERGE,
            condition.clone(),
        )
    };
    all(api, "stage patched", count, stage).await
}

async fn measure_reads(api: &KubeApi, count: usize) -> anyhow::Result<()> {
    for (name, accept) in [("list", JSON), ("table", TABLE), ("metadata", METADATA)] {
        for query in ["", "?limit=500", "?labelSelector=index%3D7"] {
            let began = Instant::now();
            let request = Request::get(format!("{AGENTS}{query}")).header("accept", accept);
            let response = api
                .service()
                .oneshot(request.body(axum::body::Body::empty())?)
                .await?;
            let size = axum::body::to_bytes(response.into_body(), usize::MAX)
                .await?
                .len();
            let took = began.elapsed().as_secs_f64() * 1e3;
            println!(
                "{:<34} {took:>8.1} ms of {count} objects, {} kB",
                format!("{name} {query}"),
                size >> 10
            );
        }
    }
    Ok(())
}

/// The peak of the process's memory while everything is read in one request, by a client that reads as fast as it can: as lists without a
/// limit, and as the list at the beginning of a watch.
async fn measure_memory(api: &KubeApi) -> anyhow::Result<()> {
    let streaming =
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    for (name, accept, query, end) in [
        ("list", JSON, "", ""),
        ("streaming list", JSON, streaming, "k8s.io/initial-events-end"),
        (
            "list by label",
            JSON,
            "labelSelector=infraenvs.agent-install.openshift.io%3Dhw",
            "",
        ),
        ("table", TABLE, "", ""),
        ("metadata", METADATA, "", ""),
    ] {
        let resting = peak()?;
        let request = Request::get(format!("{AGENTS}?{query}")).header("accept", accept);
        let request = request.body(axum::body::Body::empty())?;
        let response = api.service().oneshot(request).await?;
        let mut pieces = response.into_body().into_data_stream();
        let mut size = 0;
        while let Some(piece) = pieces.next().await.transpose()? {
            size += piece.len();
            if !end.is_empty() && piece.windows(end.len()).any(|part| part == end.as_bytes()) {
                break;
            }
        }
        let peak = peak()?;
        println!(
            "{name:<34} {:>8} MB resident at most ({} MB before), {} MB sent",
            peak >> 10,
            resting >> 10,
            size >> 20
        );
        ensure!(peak >> 10 <= LARGEST, "more than {LARGEST} MB");
    }
    Ok(())
}

/// MB that the process may have while 10,000 Agents are read at once.
const LARGEST: u64 = 300;

/// The largest resident memory since the last call, kB.
fn peak() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.context("the kernel tells the peak")?;
    std::fs::write("/proc/self/clear_refs", "5")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// From the request to the watcher's line, one change after the other.
async fn measure_watch(api: &KubeApi) -> anyhow::Result<()> {
    let first = Request::get(format!("{AGENTS}?limit=1")).body(axum::body::Body::empty())?;
    let list = axum::body::to_bytes(api.service().oneshot(first).await?.into_body(), usize::MAX).await?;
    let list: Value = serde_json::from_slice(&list)?;
    let start = list["metadata"]["resourceVersion"]
        .as_str()
        .context("a list has a version")?;
    let watch = Request::get(format!("{AGENTS}?watch=true&resourceVersion={start}"));
    let watch = api
        .service()
        .oneshot(watch.body(axum::body::Body::empty())?)
        .await?;
    let mut events = watch.into_body().into_data_stream();
    let mut times = Vec::new();
    for round in 0..200 {
        let began = Instant::now();
        let body = json!({"status": {"progress": {"progressInfo": round.to_string()}}});
        ask(api, ("PATCH", format!("{}/status", path(0)), MERGE, body)).await?;
        // The previous revision is an empty piece.
        while events.next().await.context("the watch goes on")??.is_empty() {}
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{:<34} {:>8.2} ms in the middle, {:.2} ms at most",
        "written and watched",
        milliseconds(times[times.len() / 2]),
        milliseconds(times[times.len() - 1])
    );
    Ok(())
}

fn path(index: usize) -> String {
    format!("{AGENTS}/00000000-0000-4000-8000-{index:012x}")
}

fn agent(index: usize) -> Value {
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
        "metadata": {
            "name": format!("00000000-0000-4000-8000-{index:012x}"),
            "labels": {"infraenvs.agent-install.openshift.io": "hw", "index": index.to_string()},
            "finalizers": ["agent.agent-install.openshift.io/ai-deprovision"],
        },
        "spec": {"approved": false, "role": ""},
    })
}

fn labels(index: usize) -> Value {
    let word = |name: &str| format!("inventory.agent-install.openshift.io/{name}");
    json!({"metadata": {
        "labels": {
            word("cpu-architecture"): "x86_64", word("cpu-virtenabled"): "true", word("host-isvirtual"): "false",
            word("host-manufacturer"): "ACME", word("host-productname"): "Server-1", word("storage-hasnonrotationaldisk"): "true",
        },
        "annotations": {
            "agent.agent-install.openshift.io/inventory": inventory(index).to_string(),
            "agent.agent-install.openshift.io/validations-info": validations().to_string(),
            "agent.agent-install.openshift.io/state": "known-unbound",
        },
    }})
}

fn status(index: usize) -> Value {
    let conditions = [
        "SpecSynced",
        "Connected",
        "RequirementsMet",
        "Validated",
        "Installed",
        "Bound",
        "Cleanup",
    ];
    let conditions = conditions.map(|kind| {
        json!({"type": kind, "status": "True", "reason": "AsItShouldBe", "message": "All of it is as it should be",
               "lastTransitionTime": "2026-11-21T21:00:00Z", "lastHeartbeatTime": null})
    });
    let disks = (0..6).map(|disk| {
        json!({"id": format!("/dev/disk/by-id/wwn-0x{index:08x}{disk}"), "name": format!("sd{disk}"), "path": format!("/dev/sd{disk}"),
               "byID": format!("/dev/disk/by-id/wwn-0x{index:08x}{disk}"), "byPath": format!("/dev/disk/by-path/pci-0000:00:1f.2-ata-{disk}"),
               "driveType": "SSD", "vendor": "ACME", "model": "D-480", "wwn": format!("0x{index:08x}{disk}"), "serial": format!("S{index}-{disk}"),
               "sizeBytes": 480_000_000_000_u64, "bootable": false, "hctl": "0:0:0:0", "io_perf": {"syncDurationMilliseconds": 3},
               "installationEligibility": {"eligible": true, "notEligibleReasons": []}})
    });
    let cards = (0..4).map(|card| {
        json!({"name": format!("eth{card}"), "macAddress": format!("02:00:{:02x}:{:02x}:{:02x}:{card:02x}", index >> 16 & 255, index >> 8 & 255, index & 255),
               "ipV4Addresses": ["198.51.100.15/24"], "ipV6Addresses": [], "flags": ["up", "broadcast", "multicast"], "hasCarrier": true,
               "mtu": 1500, "speedMbps": 25_000, "vendor": "0x8086", "product": "0x158b"})
    });
    json!({"status": {
        "bootstrap": false, "role": "worker", "conditions": conditions, "progress": {"currentStage": ""},
        "debugInfo": {"eventsURL": "https://muster.example.test:8090/api/assisted-install/v2/events?host_id=x", "state": "known-unbound",
                      "stateInfo": "Host is ready to be bound to a cluster"},
        "validationsInfo": validations(),
        "inventory": {
            "hostname": format!("host-{index}"), "bmcAddress": "192.0.2.1", "bmcV6Address": "::/0", "reportTime": "2026-11-21T21:00:00Z",
            "cpu": {"count": 64, "architecture": "x86_64", "modelName": "Test CPU", "clockMegahertz": 2400, "flags": flags()},
            "memory": {"physicalBytes": 274_877_906_944_u64, "usableBytes": 273_877_906_944_u64},
            "systemVendor": {"manufacturer": "ACME", "productName": "Server 1", "serialNumber": format!("SN-{index}")},
            "boot": {"currentBootMode": "uefi"}, "disks": disks.collect::<Value>(), "interfaces": cards.collect::<Value>(),
        },
    }})
}

fn inventory(index: usize) -> Value {
    json!({"status": status(index)["status"]["inventory"]})
}

fn flags() -> Vec<String> {
    (0..120).map(|flag| format!("flag_{flag}")).collect()
}

fn validations() -> Value {
    let of = |group: &str, count: usize| -> Value {
        let ids = (0..count).map(|index| format!("{group}-has-what-it-needs-{index}"));
        ids.map(|id| json!({"id": id, "status": "success", "message": format!("The host has what it needs for {id}")}))
            .collect()
    };
    json!({"hardware": of("hardware", 15), "network": of("network", 21), "operators": of("operators", 12)})
}

type Asked = (&'static str, String, &'static str, Value);

async fn ask(api: &KubeApi, (method, path, media_type, body): Asked) -> anyhow::Result<()> {
    let request = Request::builder()
        .method(method)
        .uri(&path)
        .header("content-type", media_type);
    let response = api
        .service()
        .oneshot(request.body(axum::body::Body::from(body.to_string()))?)
        .await?;
    let status = response.status();
    let said = axum::body::to_bytes(response.into_body(), usize::MAX).await?;
    ensure!(
        status.is_success(),
        "{method} {path}: {status} {}",
        String::from_utf8_lossy(&said)
    );
    Ok(())
}

/// Does it with all objects and prints the rate.
async fn all(
    api: &KubeApi,
    what: &str,
    count: usize,
    asked: impl Fn(usize) -> Asked + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let asked = Arc::new(asked);
    let began = Instant::now();
    let writers = (0..WRITERS).map(|writer| {
        let (api, asked) = (api.clone(), asked.clone());
        tokio::spawn(async move {
            for index in (writer..count).step_by(WRITERS) {
                ask(&api, asked(index)).await?;
            }
            anyhow::Ok(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    let rate = count as f64 / began.elapsed().as_secs_f64();
    println!("{what:<34} {rate:>8.0} a second");
    Ok(())
}
