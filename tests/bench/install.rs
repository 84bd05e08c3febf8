//! Concurrent installations: their cost for the service and the API, from the scale to the last Ready node. Hosts are
//! muster-fleet's; their nodes are simulated (`tests/src/walk/kubelets.rs`) on a real workload cluster.

use std::time::{Duration, Instant};

use anyhow::Result;
use muster_tests::kube::{ClusterApi, ControlPlane, Settings, Workload};
use muster_tests::walk::{FleetHosts, Hub, Kubelets, MachineDeploymentWalk, NodePoolWalk, apply_our_crds};

use crate::table::{self, row};
use crate::usage::{cpu_seconds, resident_mb};

/// Number on a real API server, with Cluster API's own controllers.
const FEW: usize = 20;
/// Number on the built-in API.
const MANY: usize = 1000;
/// Far above the expected duration.
const LIMIT: Duration = Duration::from_secs(1800);

struct Figures {
    hosts: usize,
    took: Duration,
    service: f64,
    api: f64,
    cluster_api: f64,
    memory: f64,
}

/// Prints one column a Kubernetes API.
pub fn measure() -> Result<()> {
    let columns = [real()?, built_in()?];
    let cells = |cell: &dyn Fn(&Figures) -> String| columns.iter().map(cell).collect::<Vec<_>>();
    let mut rows = vec![row(["", "real, Cluster API's controllers", "built-in, NodePool"])];
    let mut add = |name: &str, cell: &dyn Fn(&Figures) -> String| {
        rows.push([vec![name.to_owned()], cells(cell)].concat());
    };
    add("hosts", &|figures| figures.hosts.to_string());
    add("from the scale to the last Ready node, s", &|figures| {
        format!("{:.1}", figures.took.as_secs_f64())
    });
    add("  CPU s of the service", &|figures| {
        format!("{:.1}", figures.service)
    });
    add("  CPU s of API server and etcd", &|figures| {
        format!("{:.1}", figures.api)
    });
    add("  CPU s of Cluster API's controllers", &|figures| {
        format!("{:.1}", figures.cluster_api)
    });
    add("memory of the service at the end, MB", &|figures| {
        format!("{:.0}", figures.memory)
    });
    table::print(
        "Installations at once, none lost, none claimed twice; an installation takes a host 5 s",
        &rows,
    );
    Ok(())
}

fn real() -> Result<Figures> {
    let folder = tempfile::tempdir()?;
    let plane = ControlPlane::start();
    let cluster_api = ClusterApi::start(&plane);
    apply_our_crds(&plane);
    let hub = Hub::real(Hub::settings_with(&FleetHosts::os_images(folder.path())), &plane);
    let workload = Workload::start_with(Settings::default().without_heartbeats());
    let fleet = FleetHosts::start(&hub, FEW, folder.path());
    let _kubelets = Kubelets::of_rebooting_agents(hub.api.clone(), Hub::agents_path(), workload.plane());
    hub.approve_some(FEW, LIMIT);
    let walk = MachineDeploymentWalk::begin(&hub, &workload);
    let api = || cpu_seconds(plane.server_id()) + cpu_seconds(plane.etcd_id());
    let before = (
        cpu_seconds(hub.service.id()),
        api(),
        cpu_seconds(cluster_api.id()),
    );
    let began = Instant::now();
    walk.scale(FEW);
    walk.await_nodes(FEW, LIMIT, || fleet.assert_running());
    Ok(Figures {
        hosts: FEW,
        took: began.elapsed(),
        service: cpu_seconds(hub.service.id()) - before.0,
        api: api() - before.1,
        cluster_api: cpu_seconds(cluster_api.id()) - before.2,
        memory: resident_mb(hub.service.id()),
    })
}

fn built_in() -> Result<Figures> {
    let folder = tempfile::tempdir()?;
    let hub = Hub::built_in(Hub::settings_with(&FleetHosts::os_images(folder.path())));
    let workload = Workload::start_with(Settings::default().without_heartbeats());
    let _fleet = FleetHosts::start(&hub, MANY, folder.path());
    let _kubelets = Kubelets::of_rebooting_agents(hub.api.clone(), Hub::agents_path(), workload.plane());
    hub.approve_some(MANY, LIMIT);
    let walk = NodePoolWalk::begin_with(hub, workload);
    walk.announce("one");
    walk.publish("one");
    let before = cpu_seconds(walk.hub.service.id());
    let began = Instant::now();
    walk.scale(MANY);
    let done = walk.await_done(&mut [], MANY);
    walk.assert_machines(&done);
    Ok(Figures {
        hosts: MANY,
        took: began.elapsed(),
        service: cpu_seconds(walk.hub.service.id()) - before,
        api: 0.0,
        cluster_api: 0.0,
        memory: resident_mb(walk.hub.service.id()),
    })
}
