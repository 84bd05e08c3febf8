//! Hosts that wait for a boot are booted by their BMCs, and no others.

use chrono::TimeDelta;
use muster_api::bmc::{BmcFailure, BmcPhase, BmcPowerOutcome, BmcUpdateParams};
use muster_api::cluster::ImportClusterParams;
use muster_api::host::{HostStage, HostStatus};
use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use muster_bmc_emulator::{Booted, Quirks};
use muster_core::lifecycle::cluster::import;
use muster_core::record::{Bmc, BmcStage, Host, HostState, NotBooted, Progress, RebootOutcome};
use muster_operations::bmcs::RebootRequest;

use crate::rack::Unit;
use crate::service::{Service, limits, settings};

/// A machine that its BMC has discovered.
async fn discovered(service: &Service, name: &str, number: u8) -> (Unit, Bmc) {
    let mut unit = Unit::new(name, number, Quirks::default());
    unit.boots_an_agent(&service.operations, service.infra_env_id);
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::Discovered).await;
    let bmc = service.await_clean(bmc.id).await;
    (unit, bmc)
}

async fn host(service: &Service, unit: &Unit) -> Host {
    let hosts = &service.operations.hosts;
    hosts.get(service.infra_env_id, unit.host_id()).await.unwrap()
}

/// Writes the state of a host, as its way through a cluster would.
pub async fn put(service: &Service, unit: &Unit, change: impl Fn(&mut Host)) {
    let store = service.operations.store();
    loop {
        let mut found = host(service, unit).await;
        found.data.status_updated_at = muster_operations::now();
        change(&mut found);
        match store.save_host(&found, None, &[]).await {
            Err(error) if error.is_conflict() => {}
            saved => {
                saved.unwrap();
                return;
            }
        }
    }
}

async fn await_host(service: &Service, unit: &Unit, what: &str, is: impl Fn(&Host) -> bool) -> Host {
    service
        .await_it(what, async || {
            Some(host(service, unit).await).filter(|host| is(host))
        })
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installed_host_is_booted_when_it_waits_for_that_and_never_before() {
    let service = Service::start().await;
    let (unit, bmc) = discovered(&service, "node", 51).await;
    let (other, other_bmc) = discovered(&service, "other", 52).await;
    put(&service, &unit, |host| {
        host.state = HostState::AddedToExistingCluster
    })
    .await;
    put(&service, &other, |host| {
        host.state = HostState::UnbindingPendingUserAction
    })
    .await;
    let again = service
        .await_run(other_bmc.id, other_bmc.run + 1, BmcPhase::Discovered)
        .await;
    assert_eq!(again.host_id, Some(other.host_id()));
    assert_eq!(
        (unit.images(), other.images()),
        (1, 2),
        "an installed host was switched off"
    );

    put(&service, &unit, |host| {
        host.state = HostState::ResettingPendingUserAction
    })
    .await;
    service.await_run(bmc.id, bmc.run + 1, BmcPhase::Discovered).await;
    let back = await_host(&service, &unit, "back", |host| {
        host.state.status() != HostStatus::ResettingPendingUserAction && host.inventory.is_some()
    })
    .await;
    assert_eq!(back.data.bmc_boot, None);
    assert_eq!(unit.images(), 2);
    service.await_clean(bmc.id).await;
    assert_eq!(unit.machine.medium(), None);
    let events = service.events("muster_bmc_boots_host").await;
    assert!(
        events.iter().any(|event| event.host_id == Some(unit.host_id())),
        "{events:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_may_come_back_by_itself_has_its_time_first() {
    let service = Service::start().await;
    let (unit, bmc) = discovered(&service, "patient", 53).await;
    let (other, other_bmc) = discovered(&service, "beside", 54).await;
    let waits = |host: &mut Host| host.state = HostState::UnbindingPendingUserAction;
    put(&service, &unit, |host| {
        waits(host);
        host.data.comes_back = true;
    })
    .await;
    put(&service, &other, waits).await;
    service
        .await_run(other_bmc.id, other_bmc.run + 1, BmcPhase::Discovered)
        .await;
    assert_eq!((unit.images(), service.bmc(bmc.id).await.run), (1, bmc.run));
    // Its time has passed: it waits for longer than agents may be silent, and was discovered before.
    let long = service.operations.hosts.limits().silence() + TimeDelta::minutes(1);
    let mut before = service.bmc(bmc.id).await;
    before.progress.since -= long * 2;
    service.operations.store().update_bmc(&before, &[]).await.unwrap();
    put(&service, &unit, |host| {
        waits(host);
        host.data.comes_back = true;
        host.data.status_updated_at -= long;
    })
    .await;
    service.await_run(bmc.id, bmc.run + 1, BmcPhase::Discovered).await;
    assert_eq!(unit.images(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bmc_that_fails_says_so_on_the_host_and_is_asked_once() {
    let service = Service::start().await;
    let (unit, bmc) = discovered(&service, "locked", 55).await;
    let bmcs = &service.operations.bmcs;
    let password = |text: &str| BmcUpdateParams {
        password: Some(text.into()),
        ..BmcUpdateParams::default()
    };
    bmcs.update(service.infra_env_id, bmc.id, &password("wrong"))
        .await
        .unwrap();
    put(&service, &unit, |host| {
        host.state = HostState::UnbindingPendingUserAction
    })
    .await;
    let failed = service.await_run(bmc.id, bmc.run + 1, BmcPhase::Failed).await;
    assert!(
        matches!(
            failed.stage,
            BmcStage::Failed {
                failure: BmcFailure::Credentials
            }
        ),
        "{failed:?}"
    );
    let told = await_host(&service, &unit, "told", |host| {
        host.data
            .bmc_boot
            .as_ref()
            .is_some_and(|boots| boots.failure.is_some())
    })
    .await;
    let info = &told.data.status_info;
    assert!(
        info.contains("BMC locked did not boot it") && info.contains("Waits for somebody"),
        "{info}"
    );
    let logins = unit.logins();
    let service = service.start_again(settings(), limits()).await;
    // Another wait of a host that needs no BMC shows that sweeps continued.
    let (other, other_bmc) = discovered(&service, "beside", 56).await;
    put(&service, &other, |host| {
        host.state = HostState::UnbindingPendingUserAction
    })
    .await;
    service
        .await_run(other_bmc.id, other_bmc.run + 1, BmcPhase::Discovered)
        .await;
    assert_eq!(unit.logins(), logins, "refused credentials were tried again");
    // With the right password, the run continues without another request.
    let mut unit = unit;
    unit.boots_an_agent(&service.operations, service.infra_env_id);
    let bmcs = &service.operations.bmcs;
    bmcs.update(service.infra_env_id, bmc.id, &password("password"))
        .await
        .unwrap();
    service.await_phase(bmc.id, BmcPhase::Discovered).await;
    await_host(&service, &unit, "back", |host| {
        host.state.status() != HostStatus::UnbindingPendingUserAction
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installed_host_that_came_up_from_the_image_is_booted_from_its_disk_once() {
    let service = Service::start().await;
    let (unit, bmc) = discovered(&service, "image-again", 57).await;
    let boots = unit.machine.boots().len();
    let waits = |why| HostState::InstallingPendingUserAction { why };
    put(&service, &unit, |host| host.state = waits(NotBooted::TooSlow)).await;
    let (other, other_bmc) = discovered(&service, "beside", 58).await;
    put(&service, &other, |host| {
        host.state = waits(NotBooted::DiscoveryImage);
        rebooted(host, host.data.created_at - TimeDelta::hours(1));
    })
    .await;
    let told = await_host(&service, &other, "told", |host| host.data.bmc_boot.is_some()).await;
    assert!(
        told.data
            .status_info
            .contains("Its BMC beside boots it from there; nobody has to"),
        "{}",
        told.data.status_info
    );
    service
        .await_bmc(other_bmc.id, "switched", |bmc| {
            let request = bmc.power.request.as_ref();
            request.is_some_and(|request| request.outcome == BmcPowerOutcome::Done)
        })
        .await;
    assert_eq!(other.machine.boots().last(), Some(&Booted::Disk));
    let events = service.events("muster_bmc_boots_host").await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].host_id, Some(other.host_id()));
    assert_eq!(
        unit.machine.boots().len(),
        boots,
        "one that takes long may still come up"
    );
    assert_eq!(service.bmc(bmc.id).await.power.request, None);

    // Whatever the boot order, it is the image again, and there is no second try.
    let boots = other.machine.boots().len();
    crate::rack::register_again(&service.operations, service.infra_env_id, &other.hardware).await;
    let told = await_host(&service, &other, "told", |host| {
        let boots = host.data.bmc_boot.as_ref();
        boots.is_some_and(|boots| boots.failure.is_some())
    })
    .await;
    let info = &told.data.status_info;
    assert!(
        info.contains("did not come up from its disk. Put the disk first"),
        "{info}"
    );
    assert_eq!(other.machine.boots().len(), boots);
}

/// A node registers, and its machine has not read the image since it was to boot from its disk: another program may have sent that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_not_switched_off_for_a_registration_alone() {
    let service = Service::start().await;
    let (node, bmc) = discovered(&service, "node", 59).await;
    let boots = node.machine.boots().len();
    put(&service, &node, |host| {
        host.state = HostState::AddedToExistingCluster;
        rebooted(host, muster_operations::now());
    })
    .await;
    crate::rack::register_again(&service.operations, service.infra_env_id, &node.hardware).await;
    // Nor for a request with the ids that every machine of the InfraEnv can read.
    let operations = &service.operations;
    let infra_env = operations.infra_envs.get(service.infra_env_id).await.unwrap();
    let tag = operations.medium_tag(&infra_env).await.unwrap();
    let guessed = operations
        .urls
        .bmc_iso(&infra_env, (bmc.id, "2222222"), Some(&tag));
    let answer = crate::rack::client().get(&guessed).send().await.unwrap();
    assert!(answer.status().is_success(), "{answer:?}");
    let waiting = HostState::InstallingPendingUserAction {
        why: NotBooted::DiscoveryImage,
    };
    let told = await_host(&service, &node, "waits", |host| host.state == waiting).await;
    assert!(
        told.data.status_info.contains("Put that disk first"),
        "{}",
        told.data.status_info
    );

    // Another wait, of a host with a machine that did read it, shows that sweeps continued.
    let (other, other_bmc) = discovered(&service, "beside", 60).await;
    put(&service, &other, |host| {
        host.state = waiting.clone();
        rebooted(host, host.data.created_at - TimeDelta::hours(1));
    })
    .await;
    service
        .await_bmc(other_bmc.id, "switched", |bmc| bmc.power.request.is_some())
        .await;
    assert_eq!(node.machine.boots().len(), boots);
    assert_eq!(service.bmc(bmc.id).await.power.request, None);
    assert_eq!(host(&service, &node).await.data.bmc_boot, None);
}

/// The host was to boot from its disk since then.
fn rebooted(host: &mut Host, since: Timestamp) {
    host.data.progress = Some(Progress {
        stage: HostStage::Rebooting,
        percentage: 0,
        info: String::new(),
        stage_started_at: since,
        stage_updated_at: since,
    });
}

/// Makes the host a node of a cluster. Returns the cluster.
async fn joined(service: &Service, unit: &Unit) -> ClusterId {
    let params = ImportClusterParams {
        name: "day2".into(),
        api_vip_dnsname: "api.day2.example.test".into(),
        openshift_version: None,
        openshift_cluster_id: ClusterId::random().0,
    };
    let cluster = import(params, ClusterId::random(), muster_operations::now()).unwrap();
    let cluster = service.operations.clusters.create(cluster).await.unwrap();
    put(service, unit, |host| {
        host.state = HostState::AddedToExistingCluster;
        host.cluster_id = Some(cluster.id);
    })
    .await;
    cluster.id
}

/// Requests the reboot of the machine's host now.
async fn reboot(service: &Service, unit: &Unit, cluster_id: ClusterId) -> RebootRequest {
    let request = RebootRequest {
        requested_at: muster_operations::now(),
        cluster_id: Some(cluster_id),
    };
    let (known, operations) = (host(service, unit).await, &service.operations);
    let asked = operations
        .bmcs
        .reboot(&operations.hosts, &known, request)
        .await
        .unwrap();
    assert!(asked.data.pending_reboot().is_some());
    request
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_switched_off_and_on_once_for_each_request_of_a_controller() {
    let service = Service::start().await;
    let (unit, bmc) = discovered(&service, "sick", 60).await;
    let cluster_id = joined(&service, &unit).await;
    let before = unit.machine.boots().len();
    let request = Box::pin(reboot(&service, &unit, cluster_id)).await;
    let done = |host: &Host| {
        let asked = host.data.asked_reboot.as_ref();
        asked.is_some_and(|asked| asked.outcome == Some(RebootOutcome::Done))
    };
    let told = await_host(&service, &unit, "rebooted", done).await;
    assert_eq!(unit.machine.boots()[before..], [Booted::Disk]);
    assert_eq!(told.state, HostState::AddedToExistingCluster);
    // The same request again, as after a restart of the controller.
    let operations = &service.operations;
    let again = operations
        .bmcs
        .reboot(&operations.hosts, &told, request)
        .await
        .unwrap();
    assert_eq!(again.data.asked_reboot, told.data.asked_reboot);
    let bmc = service.bmc(bmc.id).await;
    assert!(bmc.power.pending().is_none());
    assert_eq!(service.events("muster_host_rebooted").await.len(), 1);
}
