use std::time::Duration;

use kube::api::DeleteParams;
use muster_api::bmc::{BmcCreateParams, BmcPhase, BmcUpdateParams};
use muster_api::ids::HostId;
use muster_core::lifecycle::bmc::BmcEvent;
use muster_core::record::KubeRef;
use muster_operations::OperationError;
use muster_resources::InfraEnv;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{NAMESPACE, PASSWORD, World, fingerprint, of_type};
use crate::backend::eventually;

/// Longer than a reconcile takes, to see that nothing happens.
const A_WHILE: Duration = Duration::from_millis(400);

#[tokio::test(flavor = "multi_thread")]
async fn a_bmc_is_made_followed_and_its_agent_is_named() {
    let world = World::start().await;
    world.credentials(PASSWORD).await;
    world.apply("r1u7", json!({})).await;
    let shown = world.await_phase("r1u7", "waiting").await;
    let record = world.record("r1u7").await.unwrap();
    assert_eq!(shown["status"]["bmcID"], record.id.to_string());
    assert_eq!(
        shown["metadata"]["finalizers"],
        json!(["bmc.muster.dev/deprovision"])
    );
    assert_eq!(
        (record.settings.user_name.as_str(), record.password.reveal()),
        ("root", PASSWORD),
        "without the line breaks of the files that it was made from"
    );

    world.insert("r1u7").await;
    let shown = world.await_phase("r1u7", "inserting").await;
    assert_eq!(
        shown["status"]["mediumInserted"],
        Value::Null,
        "no drive has shown it"
    );
    assert_eq!(
        shown["status"]["certificate"]["fingerprint"],
        fingerprint(),
        "pinned"
    );
    let host_id = HostId::random();
    let found = BmcEvent::AgentSeen {
        host_id,
        differences: Vec::new(),
        runs_from_medium: false,
    };
    let slot = "/x".to_owned();
    world
        .drive(
            "r1u7",
            [
                BmcEvent::Inserted { slot },
                BmcEvent::Booted { note: String::new() },
                found,
                BmcEvent::Cleaned,
            ],
        )
        .await;
    let shown = world.await_phase("r1u7", "discovered").await;
    assert_eq!(
        shown["status"]["agentRef"],
        json!({"name": host_id.to_string(), "namespace": NAMESPACE})
    );
    assert_eq!(of_type(&shown, "Discovered")["status"], "True");
    world.await_event("r1u7", "Discovered").await;
    let run = world.record("r1u7").await.unwrap().run;
    sleep(A_WHILE).await;
    assert_eq!(
        world.record("r1u7").await.unwrap().run,
        run,
        "it is not booted again"
    );

    // Requested again, and stopped.
    world.ask("r1u7", "1").await;
    let shown = world.await_phase("r1u7", "waiting").await;
    assert_eq!(shown["status"]["agentRef"], Value::Null);
    let shown = world
        .await_bmc("r1u7", "asked", |bmc| bmc["status"]["observedDiscover"] == "1")
        .await;
    assert!(!shown.to_string().contains(PASSWORD));
    world.patch("r1u7", json!({"spec": {"discover": false}})).await;
    world.await_phase("r1u7", "stopped").await;
    world.patch("r1u7", json!({"spec": {"discover": true}})).await;
    world.await_phase("r1u7", "waiting").await;

    world.delete("r1u7").await;
    eventually("the BMC to go", async || {
        let is_gone = world.find("r1u7").await.is_none();
        is_gone.then_some(())
    })
    .await;
    assert_eq!(
        world.record("r1u7").await,
        None,
        "the record goes with the password"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_password_is_tried_once_until_the_secret_or_the_ask_changes() {
    let world = World::start().await;
    world.credentials(PASSWORD).await;
    world.apply("r1u7", json!({})).await;
    world.refuse_password("r1u7").await;
    let why = world
        .await_reason("r1u7", "Discovered", "CredentialsRefused")
        .await;
    assert_eq!(why, "the BMC refuses root");
    let shown = world.await_phase("r1u7", "failed").await;
    assert_eq!(shown["status"]["reason"], "credentials");
    assert_eq!(shown["status"]["checks"][0]["outcome"], "fail");
    let note = world.await_event("r1u7", "CredentialsRefused").await;
    assert!(!note.contains(PASSWORD));

    // Other changes of the object, and of the Secret's labels, do not change the credentials.
    let run = world.record("r1u7").await.unwrap().run;
    world
        .patch("r1u7", json!({"metadata": {"labels": {"rack": "1"}}}))
        .await;
    world.credentials(PASSWORD).await;
    sleep(A_WHILE).await;
    assert_eq!(world.record("r1u7").await.unwrap().run, run);

    world.credentials("another-password").await;
    world.await_phase("r1u7", "waiting").await;
    let record = world.record("r1u7").await.unwrap();
    assert_eq!(record.password.reveal(), "another-password");
    world.refuse_password("r1u7").await;
    world.await_phase("r1u7", "failed").await;
    world.ask("r1u7", "unlocked").await;
    world.await_phase("r1u7", "waiting").await;
    assert!(world.record("r1u7").await.unwrap().run > record.run);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_or_wrong_is_told_and_costs_no_other_bmc() {
    let world = World::start().await;
    world.apply("r1u1", json!({"credentialsName": "absent"})).await;
    let why = world.await_reason("r1u1", "SpecSynced", "InputError").await;
    assert!(
        why.contains("spec.credentialsName: the Secret default/absent"),
        "{why}"
    );
    world.credentials(PASSWORD).await;
    world
        .apply("r1u2", json!({"address": "https://user@r1u2.example.test"}))
        .await;
    let why = world.await_reason("r1u2", "SpecSynced", "InputError").await;
    assert!(why.starts_with("spec.address: "), "{why}");
    world
        .apply(
            "r1u3",
            json!({"trust": {"mode": "bundle", "bundleRef": {"name": "ca"}}}),
        )
        .await;
    let why = world.await_reason("r1u3", "SpecSynced", "InputError").await;
    assert!(why.contains("ConfigMap default/ca"), "{why}");
    world.secret("half", json!({"username": "root"})).await;
    world.apply("r1u4", json!({"credentialsName": "half"})).await;
    let why = world.await_reason("r1u4", "SpecSynced", "InputError").await;
    assert!(why.contains("username and password"), "{why}");
    world
        .secret("half", json!({"username": "root", "password": PASSWORD}))
        .await;
    world.await_phase("r1u4", "waiting").await;
    // The same machine twice.
    world.apply("r1u5", json!({"address": "r1u4.example.test"})).await;
    let why = world.await_reason("r1u5", "SpecSynced", "InputError").await;
    assert!(why.contains("another BMC has this name"), "{why}");
    world.await_event("r1u5", "InputError").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bmc_waits_for_its_infra_env_and_goes_with_it_into_the_next() {
    let world = World::start().await;
    world.credentials(PASSWORD).await;
    world
        .apply(
            "r1u7",
            json!({"infraEnvRef": {"name": "later"}, "discover": false}),
        )
        .await;
    let why = world.await_reason("r1u7", "SpecSynced", "InputError").await;
    assert!(why.contains("no InfraEnv default/later"), "{why}");
    world.infra_env("later").await;
    world.await_phase("r1u7", "stopped").await;
    let first = world.record("r1u7").await.unwrap();

    let infra_envs = world.api::<InfraEnv>();
    infra_envs
        .delete("later", &DeleteParams::default())
        .await
        .unwrap();
    world.await_reason("r1u7", "SpecSynced", "InputError").await;
    let shown = world.find("r1u7").await.unwrap();
    assert_eq!(shown["status"]["phase"], Value::Null);
    world.infra_env("later").await;
    world.await_phase("r1u7", "stopped").await;
    assert_ne!(world.record("r1u7").await.unwrap().id, first.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_takes_the_medium_out_first() {
    let world = World::start().await;
    world.credentials(PASSWORD).await;
    world.apply("r1u7", json!({})).await;
    world.insert("r1u7").await;
    world.await_phase("r1u7", "inserting").await;
    world.delete("r1u7").await;
    let why = world
        .await_reason("r1u7", "DeletionBlocked", "MediumInserted")
        .await;
    assert!(why.contains("is given up"), "{why}");
    let record = world.record("r1u7").await.unwrap();
    assert_eq!(record.stage.phase(), BmcPhase::Stopped);
    assert!(record.cleans_up());
    world.drive("r1u7", [BmcEvent::Cleaned]).await;
    eventually("the BMC to go", async || {
        let is_gone = world.find("r1u7").await.is_none();
        is_gone.then_some(())
    })
    .await;
    assert_eq!(world.record("r1u7").await, None);
    assert_eq!(world.events("r1u7", "MediumLeft").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_infra_env_that_is_deleted_takes_its_media_out_first() {
    let world = World::start().await;
    world.credentials(PASSWORD).await;
    world.apply("r1u7", json!({})).await;
    world.insert("r1u7").await;
    let infra_envs = world.api::<InfraEnv>();
    infra_envs.delete("hw", &DeleteParams::default()).await.unwrap();
    eventually("the InfraEnv to wait", async || {
        let infra_env = infra_envs.get("hw").await.unwrap();
        let conditions = infra_env.status?.conditions;
        let blocked = conditions
            .into_iter()
            .find(|one| one.type_ == "DeletionBlocked")?;
        let message = blocked.message.unwrap_or_default();
        message.contains("r1u7").then_some(())
    })
    .await;
    let record = world.record("r1u7").await.unwrap();
    assert_eq!(record.stage.phase(), BmcPhase::Stopped);
    world.drive("r1u7", [BmcEvent::Cleaned]).await;
    let why = world.await_reason("r1u7", "SpecSynced", "InputError").await;
    assert!(why.contains("no InfraEnv"), "{why}");
    assert_eq!(world.record("r1u7").await, None);
    // The BMC is deleted without a record as well.
    world.delete("r1u7").await;
    eventually("the BMC to go", async || {
        let is_gone = world.find("r1u7").await.is_none();
        is_gone.then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rest_is_refused_what_the_resource_decides_and_what_rest_made_is_taken_over() {
    let world = World::start().await;
    world.credentials(PASSWORD).await;
    let operations = &world.backend.operations;
    let bmcs = &operations.bmcs;
    let infra_env = operations
        .infra_envs
        .find_by_kube(&KubeRef::new(NAMESPACE, "hw"))
        .await
        .unwrap()
        .unwrap();
    let params: BmcCreateParams = serde_json::from_value(json!({
        "name": "r1u7", "address": "r1u7.example.test", "user_name": "root", "password": PASSWORD, "discover": false,
    }))
    .unwrap();
    let made = bmcs
        .add(infra_env.id, vec![params], false)
        .await
        .unwrap()
        .remove(0);
    let rename = BmcUpdateParams {
        name: Some("other".into()),
        ..BmcUpdateParams::default()
    };
    world.apply("r1u7", json!({})).await;
    let shown = world.await_phase("r1u7", "stopped").await;
    assert_eq!(
        shown["status"]["bmcID"],
        made.id.to_string(),
        "and nothing is booted"
    );
    let refused = bmcs
        .update_by_user(&operations.bridge, infra_env.id, made.id, &rename)
        .await
        .unwrap_err();
    assert!(matches!(refused, OperationError::OfResource(_)), "{refused}");
    assert!(
        refused
            .to_string()
            .ends_with("kubectl -n default delete bmc r1u7"),
        "{refused}"
    );
    let refused = bmcs
        .delete_by_user(&operations.bridge, infra_env.id, made.id)
        .await;
    assert!(refused.is_err());
    // Actions are possible by REST, too.
    bmcs.discover(infra_env.id, made.id).await.unwrap();
    world.await_phase("r1u7", "waiting").await;
    bmcs.stop(infra_env.id, made.id).await.unwrap();
    world.await_phase("r1u7", "stopped").await;
    sleep(A_WHILE).await;
    assert_eq!(
        world.record("r1u7").await.unwrap().stage.phase(),
        BmcPhase::Stopped
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_kind_all_else_goes_on_and_it_is_found_later() {
    let mut world = World::start().await;
    world.credentials(PASSWORD).await;
    world.apply("left", json!({"discover": false})).await;
    world.await_phase("left", "stopped").await;
    let left = world.record("left").await.unwrap();
    world.stop().await;
    // The definition is deleted, and the finalizers in the way are removed.
    world
        .patch("left", json!({"metadata": {"finalizers": null}}))
        .await;
    world.forget_kind().await;
    world.run();
    world.infra_env("second").await;
    world.declare_kind().await;
    let released = eventually("its record to be REST's", async || {
        let found = world.backend.operations.store().find_bmc(left.id).await.unwrap();
        found.filter(|bmc| bmc.resource.is_none())
    });
    released.await;
    world.apply("r1u7", json!({"discover": false})).await;
    world.await_phase("r1u7", "stopped").await;
}
