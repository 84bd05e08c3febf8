//! Discoveries that succeed.

use muster_api::bmc::{BmcBoot, BmcCreateParams, BmcOutcome, BmcPhase};
use muster_bmc_emulator::{Booted, Quirks};
use muster_core::lifecycle::bmc::view;
use muster_core::record::{BmcStage, HostState};
use muster_core::rules::boot_argument::boot_argument;

use crate::rack::{Unit, register_as, register_with};
use crate::service::{Service, limits, pool, settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_machines_of_ten_vendors_become_hosts_by_one_import() {
    let service = Service::start().await;
    let presets = Quirks::vendors().into_iter().take(10).zip(1..);
    let mut rack: Vec<Unit> = presets
        .map(|((name, quirks), number)| Unit::new(name, number, quirks))
        .collect();
    for unit in &mut rack {
        unit.boots_an_agent(&service.operations, service.infra_env_id);
    }
    let added = service.add(rack.iter().map(Unit::params).collect()).await;
    assert_eq!(added.len(), 10);
    for (unit, bmc) in rack.iter().zip(&added) {
        let found = service.await_phase(bmc.id, BmcPhase::Discovered).await;
        let BmcStage::Discovered { host_id, differences } = &found.stage else {
            unreachable!("awaited");
        };
        assert_eq!(*host_id, unit.host_id(), "{}", unit.name);
        assert_eq!(differences, &[], "{}", unit.name);
        let shown = view(&found);
        assert!(
            shown.checks.iter().all(|check| check.outcome != BmcOutcome::Fail),
            "{shown:#?}"
        );
        assert!(shown.inventory.is_some(), "{}", unit.name);
        let image = unit.machine.boots().last().cloned();
        assert!(
            matches!(&image, Some(Booted::Image(url)) if url.contains(&format!("-{}", bmc.id.0.simple())))
        );
        // The medium is taken out, and the session ended.
        let clean = service.await_clean(bmc.id).await;
        assert_eq!(
            (clean.progress.due_at, unit.machine.medium()),
            (None, None),
            "{}",
            unit.name
        );
        assert_eq!(unit.bmc.sessions(), 0, "{}", unit.name);
        let read = service
            .await_bmc(bmc.id, "read", |bmc| bmc.image.requests >= 3)
            .await;
        assert!(read.image.bytes > 65536, "{}: {:?}", unit.name, read.image);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uefi_loads_the_image_by_itself() {
    let service = Service::start().await;
    let mut unit = Unit::new("http", 31, Quirks::default());
    unit.boots_an_agent(&service.operations, service.infra_env_id);
    let params = BmcCreateParams {
        boot: Some(BmcBoot::UefiHttp),
        ..unit.params()
    };
    unit.bmc.occupy("Cd", "http://elsewhere.example/other.iso");
    let bmc = service.add(vec![params]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::Discovered).await;
    service.await_clean(bmc.id).await;
    let left = unit.bmc.image();
    assert_eq!(
        left.as_deref(),
        Some("http://elsewhere.example/other.iso"),
        "it is another's"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_infra_env_that_is_deleted_leaves_no_medium_behind() {
    let service = Service::start().await;
    let unit = Unit::new("orphan", 34, Quirks::default());
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
    assert!(unit.machine.medium().is_some());
    let operations = &service.operations;
    operations.infra_envs.delete(service.infra_env_id).await.unwrap();
    service
        .await_it("gone", async || {
            operations
                .store()
                .find_bmc(bmc.id)
                .await
                .unwrap()
                .is_none()
                .then_some(())
        })
        .await;
    assert_eq!((unit.machine.medium(), unit.bmc.sessions()), (None, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_goes_on_from_the_stored_phase() {
    let service = Service::start().await;
    let mut unit = Unit::new("restarted", 32, Quirks::default());
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    // No agent registers, so that it stays in this phase.
    service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
    let images = unit.images();
    let service = service.start_again(settings(), limits()).await;
    let line = boot_argument(bmc.id);
    register_with(&service.operations, service.infra_env_id, &unit.hardware, &line).await;
    let found = service.await_phase(bmc.id, BmcPhase::Discovered).await;
    assert_eq!(found.run, bmc.run);
    assert_eq!(unit.images(), images, "it is not booted again");
    service.await_clean(bmc.id).await;
    // On another request, it boots again.
    unit.boots_an_agent(&service.operations, service.infra_env_id);
    let bmcs = &service.operations.bmcs;
    bmcs.discover(service.infra_env_id, bmc.id).await.unwrap();
    let again = service.await_phase(bmc.id, BmcPhase::Discovered).await;
    assert!(again.run > found.run && unit.images() > images);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_stops_it_and_deletes_it() {
    let service = Service::start().await;
    let unit = Unit::new("stopped", 33, Quirks::default());
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
    let bmcs = &service.operations.bmcs;
    bmcs.delete(service.infra_env_id, bmc.id).await.unwrap_err();
    bmcs.stop(service.infra_env_id, bmc.id).await.unwrap();
    service.await_clean(bmc.id).await;
    assert_eq!(unit.machine.medium(), None);
    bmcs.delete(service.infra_env_id, bmc.id).await.unwrap();
    assert_eq!(bmcs.list(service.infra_env_id).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_nobody_has_named_is_called_as_its_bmc() {
    let service = Service::start().await;
    let host_of = async |unit: &Unit, hostname: &str, name: Option<&str>| {
        let params = BmcCreateParams {
            name: name.map(str::to_owned),
            ..unit.params()
        };
        let bmc = service.add(vec![params]).await.remove(0);
        service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
        let (operations, pool) = (&service.operations, service.infra_env_id);
        let line = boot_argument(bmc.id);
        register_as(operations, pool, &unit.hardware, (hostname, &line)).await;
        service.await_phase(bmc.id, BmcPhase::Discovered).await;
        let host = operations.hosts.get(pool, unit.host_id()).await.unwrap();
        host.data.requested_hostname
    };
    let units: Vec<Unit> = (61..=64)
        .map(|number| Unit::new("r1", number, Quirks::default()))
        .collect();
    // The name that the agent reports for a machine without one.
    let made = units[0].hardware.macs[0].replace(':', "-");
    let named = host_of(&units[0], &made, Some("r1u7")).await;
    assert_eq!(named.as_deref(), Some("r1u7"));
    let named = host_of(&units[1], "localhost", Some("r1u8")).await;
    assert_eq!(named.as_deref(), Some("r1u8"));
    let named = host_of(&units[2], "by-dhcp", Some("r1u9")).await;
    assert_eq!(named, None, "its network has named it");
    let named = host_of(&units[3], "localhost", None).await;
    assert_eq!(named, None, "the BMC is called by its address");
}

/// Cards, serial number and UUID are only a host's own report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_did_not_boot_the_image_of_its_bmc_is_not_bound() {
    let service = Service::start().await;
    let unit = Unit::new("claimed", 70, Quirks::default());
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
    register_with(&service.operations, service.infra_env_id, &unit.hardware, "quiet").await;
    let noted = service
        .await_bmc(bmc.id, "noted", |bmc| {
            bmc.progress.reason.contains("did not boot the image of this BMC")
        })
        .await;
    assert_eq!((noted.stage, noted.host_id), (BmcStage::WaitingForAgent, None));
    register_with(
        &service.operations,
        service.infra_env_id,
        &unit.hardware,
        &boot_argument(bmc.id),
    )
    .await;
    let found = service.await_phase(bmc.id, BmcPhase::Discovered).await;
    assert_eq!(found.host_id, Some(unit.host_id()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_is_installed_for_another_infra_env_is_not_switched_off() {
    let service = Service::start().await;
    let operations = &service.operations;
    let (unit, other) = (Unit::new("node", 71, Quirks::default()), pool(operations).await);
    register_with(operations, other, &unit.hardware, "quiet").await;
    let mut node = operations.hosts.get(other, unit.host_id()).await.unwrap();
    node.state = HostState::AddedToExistingCluster;
    operations.store().save_host(&node, None, &[]).await.unwrap();
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    let failed = service.await_phase(bmc.id, BmcPhase::Failed).await;
    let why = failed.progress.reason;
    assert!(why.contains("of another InfraEnv already"), "{why}");
    assert_eq!(unit.images(), 0);
}
