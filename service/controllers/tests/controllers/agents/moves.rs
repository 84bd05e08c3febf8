//! A machine is booted into another InfraEnv of its namespace, and the service is killed at each step of the move. What is killed is this program
//! of tests, started again with [`move_until_killed`] alone.

use std::fmt;
use std::future::Future;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use muster_api::ids::HostId;
use muster_core::lifecycle::host::Machine;
use muster_core::record::{InfraEnv, KubeRef};
use muster_operations::now;
use muster_resources::Agent;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::world::{NAMESPACE, World};
use crate::backend::{Backend, eventually};

/// The name of the process's test.
const WORKER: &str = "agents::moves::move_until_killed";

/// Variables of the process.
const STEP: &str = "MOVE_STEP";
const DIR: &str = "MOVE_DIR";
const HOST: &str = "MOVE_HOST";

/// What is logged at the steps, in their order.
const STEPS: [&str; 3] = [
    "the host was booted into another InfraEnv",
    "host deleted",
    "host registered",
];

/// The last step, of which nothing is logged: the Agent is the new host's, and its status may be written or not.
const AGENT: &str = "the Agent begins anew";

const POOLS: [&str; 2] = ["hw", "other"];

fn die() {
    kill_process(getpid(), Signal::KILL).unwrap();
}

/// Ends the process when that is logged.
struct DiesAt(String);

impl Subscriber for DiesAt {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Looks(&self.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Looks<'a>(&'a str);

impl Visit for Looks<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" && format!("{value:?}") == self.0 {
            die();
        }
    }
}

/// A service that has heard its hosts for an hour, on the database in a folder, and what is done with it. It is gone afterwards, without a clean
/// end.
fn with_service<T, F: Future<Output = T>>(folder: &Path, work: impl FnOnce(World) -> F) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let since = now() - Duration::from_secs(3600);
        let world = World::on(Backend::open_in(folder, since).await);
        work(world).await
    })
}

async fn pool(world: &World, name: &str) -> Arc<InfraEnv> {
    let infra_envs = &world.backend.operations.infra_envs;
    let found = infra_envs.find_by_kube(&KubeRef::new(NAMESPACE, name)).await;
    found.unwrap().unwrap()
}

/// An approved host that is silent; its id.
async fn silent_host(world: World) -> HostId {
    let from = world.infra_env().await;
    world.another_infra_env(POOLS[1]).await;
    let silent = now() - Duration::from_secs(1800);
    let id = world.host_as(&from, |host| host.checked_in_at = silent).await;
    let labels = Patch::Merge(json!({"metadata": {"labels": {"pool": "gold"}}}));
    let api = world.api::<Agent>();
    let params = PatchParams::default();
    api.patch(&id.to_string(), &params, &labels).await.unwrap();
    let spec = json!({"approved": true, "hostname": "first", "role": "worker"});
    world.edit(id, spec).await;
    eventually("the approval", async || {
        world.host(id).await.filter(|host| host.data.approved)
    })
    .await;
    id
}

async fn arrives(world: &World, id: HostId) {
    let to = pool(world, POOLS[1]).await;
    let hosts = &world.backend.operations.hosts;
    hosts.register(to.id, id, "v", Machine::default()).await.unwrap();
}

fn owner(agent: &Agent) -> Option<&str> {
    let owners = agent.metadata.owner_references.as_ref()?;
    owners.first().map(|owner| owner.name.as_str())
}

#[test]
#[ignore = "no test: the process that is killed, started by the other"]
fn move_until_killed() {
    let variable = |name| std::env::var(name);
    let (Ok(step), Ok(folder), Ok(host)) = (variable(STEP), variable(DIR), variable(HOST)) else {
        return;
    };
    tracing::subscriber::set_global_default(DiesAt(step)).unwrap();
    let id: HostId = host.parse().unwrap();
    with_service(folder.as_ref(), async |world| {
        arrives(&world, id).await;
        eventually("the Agent to follow", async || {
            let agent = world.agent(id).await?;
            (owner(&agent) == Some(POOLS[1])).then_some(())
        })
        .await;
        die();
    });
}

fn is_killed_at(step: &str, folder: &Path, id: HostId) {
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", WORKER, "--ignored"])
        .env(STEP, step)
        .env(DIR, folder)
        .env(HOST, id.to_string())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(ended.signal(), Some(Signal::KILL.as_raw()), "{step}");
}

/// What is there before the machine tries again.
async fn is_as_killed_at(world: &World, step: &str, id: HostId) {
    let hosts = &world.backend.operations.hosts;
    let (from, to) = (pool(world, POOLS[0]).await, pool(world, POOLS[1]).await);
    let [stayed, came] = [from.id, to.id].map(|pool| hosts.find(pool, id));
    let (stayed, came) = (stayed.await.unwrap(), came.await.unwrap());
    let is_approved = stayed.as_ref().is_some_and(|host| host.data.approved);
    assert_eq!(is_approved, step == STEPS[0], "{step}");
    assert_eq!(stayed.is_some(), step == STEPS[0], "{step}");
    assert_eq!(came.is_some(), step == STEPS[2] || step == AGENT, "{step}");
    // An approval that is left over belongs to nobody.
    if step != STEPS[0] {
        eventually("the approval to end", async || {
            let agent = world.agent(id).await;
            agent.is_none_or(|agent| !agent.spec.approved).then_some(())
        })
        .await;
    }
}

#[test]
fn a_move_that_is_killed_at_any_step_ends_with_one_host_that_begins_anew() {
    for step in STEPS.into_iter().chain([AGENT]) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let id = with_service(folder, silent_host);
        is_killed_at(step, folder, id);
        with_service(folder, async |world| {
            is_as_killed_at(&world, step, id).await;
            arrives(&world, id).await;
            let agent = eventually("the Agent to begin anew", async || {
                let agent = world.agent(id).await?;
                let is_there = agent.metadata.deletion_timestamp.is_none() && agent.status.is_some();
                (is_there && owner(&agent) == Some(POOLS[1])).then_some(agent)
            })
            .await;
            assert!(!agent.spec.approved && agent.spec.hostname.is_none(), "{step}");
            assert_eq!(agent.labels().get("pool"), None, "{step}");
            assert_eq!(
                agent.labels()["infraenvs.agent-install.openshift.io"],
                POOLS[1],
                "{step}"
            );
            let found = world.backend.operations.store().find_hosts_by_kube(NAMESPACE, id);
            let found = found.await.unwrap();
            let [(pool, host)] = found.as_slice() else {
                panic!("{step}: {found:?}");
            };
            assert_eq!(pool, POOLS[1], "{step}");
            assert!(!host.data.approved && host.cluster_id.is_none(), "{step}");
            assert_eq!(host.data.requested_hostname, None, "{step}");
        });
    }
}
