//! A host is put to sleep and woken; the test plays the driver of its BMC.

use muster_api::bmc::{BmcCreateParams, BmcFailure, BmcPowerAction};
use muster_api::host::HostStatus;
use muster_api::ids::BmcId;
use muster_core::lifecycle::bmc::{BmcEvent, PowerDone, Problem, create};
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{Bmc, BmcStage, HostData, HostState, Secret, SleepStage};
use muster_core::rules::failures::is_quarantined;

use super::*;
use crate::testing::world::World;

/// A host of a pool that its BMC has booted.
async fn discovered(world: &World) -> (Host, Bmc) {
    let at = world.operations.now();
    let infra_env_id = world.infra_env("hw", None).await;
    let mut host = Host {
        id: HostId::random(),
        infra_env_id,
        cluster_id: None,
        state: HostState::KnownUnbound,
        version: 0,
        due_at: Some(at),
        checked_in_at: at,
        inventory: None,
        reports: Default::default(),
        bootstrap_ignition: Secret::default(),
        data: HostData::new(at),
    };
    world.insert(&mut host).await;
    let params: BmcCreateParams = serde_json::from_value(serde_json::json!({
        "name": "r1u7", "address": "192.0.2.7", "user_name": "u", "password": "p",
    }))
    .unwrap();
    let mut bmc = create(params, infra_env_id, BmcId::random(), at).unwrap();
    bmc.host_id = Some(host.id);
    bmc.stage = BmcStage::Discovered {
        host_id: host.id,
        differences: Vec::new(),
    };
    (bmc.progress.deadline, bmc.progress.due_at) = (None, None);
    let store = &world.operations.store;
    store.insert_bmcs(std::slice::from_ref(&bmc), &[]).await.unwrap();
    (host, bmc)
}

async fn found(world: &World, bmc: &Bmc) -> Bmc {
    world.operations.store.find_bmc(bmc.id).await.unwrap().unwrap()
}

async fn apply(world: &World, bmc: &Bmc, event: BmcEvent) {
    let bmcs = &world.operations.bmcs;
    assert!(bmcs.apply(bmc.id, None, event).await.unwrap().is_some());
}

async fn stage(world: &World, host: &Host) -> SleepStage {
    let hosts = &world.operations.hosts;
    let host = hosts.get(host.infra_env_id, host.id).await.unwrap();
    host.data.sleep.unwrap().stage
}

#[tokio::test]
async fn a_host_sleeps_when_its_bmc_says_so_and_is_booted_once_for_a_claim() {
    let world = World::new().await;
    let (host, bmc) = discovered(&world).await;
    let operations = &world.operations;
    let key = (host.infra_env_id, host.id);
    operations
        .bmcs
        .put_to_sleep(&operations.hosts, key, SleepCause::Person)
        .await
        .unwrap();
    for _ in 0..2 {
        round(operations, false).await;
        assert_eq!(stage(&world, &host).await, SleepStage::Falling);
    }
    let asked = found(&world, &bmc).await;
    let request = asked.power.pending().unwrap();
    assert_eq!(
        (request.id, request.action, request.force),
        (1, BmcPowerAction::Off, false)
    );
    let done = PowerDone {
        id: request.id,
        state: Some("Off".into()),
        certificate: None,
        problem: None,
    };
    apply(&world, &bmc, BmcEvent::PowerDone(done)).await;
    round(operations, false).await;
    assert!(matches!(stage(&world, &host).await, SleepStage::Asleep { .. }));
    let store = &operations.store;
    assert_eq!(store.list_host_keys_of_changing_sleep().await.unwrap(), []);
    assert_eq!(
        store.list_infra_envs_with_sleep().await.unwrap(),
        [host.infra_env_id]
    );
    // A person's wish is no matter of the pool, which has no settings.
    round(operations, true).await;
    assert!(matches!(stage(&world, &host).await, SleepStage::Asleep { .. }));

    let cluster_id = world.cluster().await;
    let event = HostEvent::Bound { cluster_id };
    operations.hosts.apply(key.0, key.1, event).await.unwrap();
    round(operations, false).await;
    let booting = found(&world, &bmc).await;
    assert_eq!(
        (&booting.stage, booting.progress.for_host, booting.run),
        (&BmcStage::Waiting, true, bmc.run + 1)
    );
    apply(&world, &bmc, BmcEvent::Begun).await;
    for _ in 0..2 {
        round(operations, false).await;
        match stage(&world, &host).await {
            SleepStage::Waking(waking) => assert!(waking.begun_at.is_some()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(found(&world, &bmc).await.run, bmc.run + 1);
    let broken = Problem {
        failure: BmcFailure::Boot,
        reason: "the power supply is broken".into(),
        passing: false,
    };
    apply(&world, &bmc, BmcEvent::StepFailed(broken)).await;
    round(operations, false).await;
    let lost = operations.hosts.get(key.0, key.1).await.unwrap();
    assert_eq!(lost.state.status(), HostStatus::Disconnected);
    let failures = lost.data.failures.unwrap();
    assert!(
        is_quarantined(&failures) && failures.message.contains("power supply"),
        "{failures:?}"
    );
}

#[tokio::test]
async fn a_host_without_a_bmc_that_has_booted_it_is_not_switched_off() {
    let world = World::new().await;
    let (host, bmc) = discovered(&world).await;
    let operations = &world.operations;
    let key = (host.infra_env_id, host.id);
    let problem = async || {
        let asked = operations
            .bmcs
            .put_to_sleep(&operations.hosts, key, SleepCause::Person);
        asked.await.unwrap_err().to_string()
    };
    apply(&world, &bmc, BmcEvent::Discover).await;
    assert!(problem().await.contains("has not booted it"));
    apply(&world, &bmc, BmcEvent::Stop).await;
    operations.bmcs.delete(key.0, bmc.id).await.unwrap();
    assert!(problem().await.contains("no BMC has booted it"));
    let host = operations.hosts.get(key.0, key.1).await.unwrap();
    assert_eq!(host.data.sleep, None);
}
