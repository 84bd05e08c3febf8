//! Records of BMCs, and claims of them.

on_both! {
    every_field_of_a_bmc_comes_back,
    names_and_places_are_unique_and_a_list_is_stored_whole_or_not,
    an_update_on_an_old_version_is_a_conflict_and_reads_are_kept,
    one_replica_works_on_a_bmc_at_a_time,
    bmcs_go_with_their_infra_env,
    bmcs_are_found_by_hosts_that_wait,
    bmcs_of_custom_resources_are_found_by_these_and_changes_of_all_are_noted,
}

mod cases {
    use std::time::Duration;

    use muster_api::bmc::{
        BmcDifference, BmcFailure, BmcInventory, BmcMemory, BmcPowerAction, BmcPowerOutcome,
    };
    use muster_api::host::HostStatus;
    use muster_api::ids::{BmcId, HostId, InfraEnvId};
    use muster_core::record::{
        Bmc, BmcAsked, BmcPower, BmcResource, BmcStage, HostState, ImageReads, KubeRef, Leftover, Medium,
        PowerRequest, PowerSeen, Secret,
    };
    use muster_store::bmc::BmcName;
    use muster_store::{Deletion, OutboxScope, StoreError, Subject};

    use crate::world::{World, at, bmc, event};

    const CLAIM: Duration = Duration::from_secs(60);

    fn power_request() -> PowerRequest {
        PowerRequest {
            id: 3,
            action: BmcPowerAction::Reset,
            force: true,
            from_disk: true,
            reboot_of: Some(at(4)),
            sleep_of: Some(at(3)),
            asked_at: at(5),
            deadline: at(6),
            begun: true,
            outcome: BmcPowerOutcome::Pending,
            reason: "It waits".into(),
            ended_at: None,
        }
    }

    async fn stored(world: &World, address: &str) -> Bmc {
        let pool = world.infra_env().await;
        let mut bmc = bmc(pool.id, address);
        world
            .store
            .insert_bmcs(std::slice::from_ref(&bmc), &[])
            .await
            .unwrap();
        bmc.version = 1;
        bmc
    }

    pub async fn every_field_of_a_bmc_comes_back(world: World) {
        let mut full = stored(&world, "192.0.2.1").await;
        assert_eq!(world.store.find_bmc(full.id).await.unwrap().as_ref(), Some(&full));
        full.name = "Größe ☃".into();
        full.settings.system_id = Some("2".into());
        full.password = Secret::new("other");
        full.run = 7;
        full.stage = BmcStage::Discovered {
            host_id: HostId::random(),
            differences: vec![BmcDifference {
                what: "UUID".into(),
                bmc: "a".into(),
                host: "b".into(),
            }],
        };
        full.progress.leftover = Some(Leftover {
            slot: Some("/x".into()),
            attempts: 2,
            in_use: true,
            given_up: false,
            medium: Medium::Begun,
        });
        full.progress.last_failure = Some(BmcFailure::Media);
        full.progress.booted_at = Some(at(4));
        full.progress.for_host = true;
        full.power = BmcPower {
            seen: Some(PowerSeen {
                state: "On".into(),
                at: at(3),
            }),
            request: Some(power_request()),
            refused: Some(BmcFailure::Credentials),
        };
        full.host_id = Some(HostId::random());
        full.inventory = Some(BmcInventory {
            serial: Some("S".into()),
            memory: BmcMemory { gib: Some(7.5) },
            ..BmcInventory::default()
        });
        full.version = world
            .store
            .update_bmc(&full, &[event(0, "changed")])
            .await
            .unwrap();
        assert_eq!(world.store.find_bmc(full.id).await.unwrap().as_ref(), Some(&full));
        assert_eq!(world.store.find_bmc(BmcId::random()).await.unwrap(), None);
        let pool = full.infra_env_id;
        assert_eq!(world.store.list_bmcs(pool).await.unwrap(), [full.clone()]);
        let name = BmcName {
            id: full.id,
            infra_env_id: pool,
            name: full.name.clone(),
            address: "192.0.2.1".into(),
            phase: full.stage.phase(),
        };
        for scope in [Some(pool), None] {
            let names = world.store.list_bmc_names(scope).await.unwrap();
            assert_eq!(names, std::slice::from_ref(&name));
        }
        let other = Some(InfraEnvId::random());
        assert_eq!(world.store.list_bmc_names(other).await.unwrap(), []);
        for (due_at, awaiting) in [(Some(at(9)), 1), (None, 0)] {
            full.progress.due_at = due_at;
            full.version = world.store.update_bmc(&full, &[]).await.unwrap();
            let found = world.store.list_bmcs_awaiting_hosts(pool).await.unwrap();
            assert_eq!(found.len(), awaiting);
        }
        world.store.delete_bmc(&full, &[]).await.unwrap();
        assert_eq!(world.store.find_bmc(full.id).await.unwrap(), None);
    }

    pub async fn names_and_places_are_unique_and_a_list_is_stored_whole_or_not(world: World) {
        let first = stored(&world, "192.0.2.1").await;
        let same_name = Bmc {
            name: first.name.clone(),
            ..bmc(first.infra_env_id, "192.0.2.9")
        };
        let other_pool = world.infra_env().await;
        let same_place = bmc(other_pool.id, "192.0.2.1");
        for taken in [same_name, same_place] {
            assert!(world.store.bmc_takes(&taken).await.unwrap());
            let fresh = bmc(other_pool.id, "192.0.2.2");
            let error = world
                .store
                .insert_bmcs(&[fresh, taken.clone()], &[])
                .await
                .unwrap_err();
            assert!(
                matches!(&error, StoreError::Conflict { id, .. } if *id == taken.name),
                "{error:?}"
            );
        }
        assert_eq!(world.store.list_bmcs(other_pool.id).await.unwrap(), []);
        assert!(!world.store.bmc_takes(&first).await.unwrap());
        let nowhere = bmc(InfraEnvId::random(), "192.0.2.3");
        let error = world.store.insert_bmcs(&[nowhere], &[]).await.unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");

        // One that holds the image stays until that is taken out.
        let mut holding = stored(&world, "192.0.2.5").await;
        holding.stage = BmcStage::Booting;
        holding.progress.leftover = Some(Leftover::default());
        holding.version = world.store.update_bmc(&holding, &[]).await.unwrap();
        let pool = holding.infra_env_id;
        let gone = world.store.delete_infra_env(pool, at(9), &[]).await.unwrap();
        assert_eq!(gone, Deletion::Deleted);
        let kept = world.store.find_bmc(holding.id).await.unwrap().unwrap();
        assert!(kept.progress.abandoned && kept.cleans_up(), "{kept:?}");
        assert_eq!((kept.stage, kept.run), (BmcStage::Stopped, holding.run + 1));
    }

    pub async fn an_update_on_an_old_version_is_a_conflict_and_reads_are_kept(world: World) {
        let mut first = stored(&world, "192.0.2.1").await;
        let read = ImageReads {
            requests: 2,
            bytes: 1 << 33,
            last_at: Some(at(3)),
        };
        let reads = [(first.id, read), (BmcId::random(), read), (first.id, read)];
        world.store.add_bmc_image_reads(&reads).await.unwrap();
        let old = first.clone();
        first.version = world.store.update_bmc(&first, &[]).await.unwrap();
        for error in [
            world.store.update_bmc(&old, &[]).await.unwrap_err(),
            world.store.delete_bmc(&old, &[]).await.unwrap_err(),
        ] {
            assert!(error.is_conflict(), "{error:?}");
        }
        let found = world.store.find_bmc(first.id).await.unwrap().unwrap();
        assert_eq!((found.image.requests, found.image.bytes), (4, 1 << 34));
        assert_eq!(found.image.last_at, Some(at(3)));
    }

    pub async fn one_replica_works_on_a_bmc_at_a_time(world: World) {
        let mut first = stored(&world, "192.0.2.1").await;
        let mut other = bmc(first.infra_env_id, "192.0.2.2");
        other.progress.due_at = Some(at(-5));
        let mut resting = bmc(first.infra_env_id, "192.0.2.3");
        resting.progress.due_at = None;
        world
            .store
            .insert_bmcs(&[other.clone(), resting.clone()], &[])
            .await
            .unwrap();
        let replica = world.another_store().await;
        let ids = |bmcs: Vec<Bmc>| bmcs.into_iter().map(|bmc| bmc.id).collect::<Vec<_>>();
        let claim = |who: &'static str, seconds, limit| {
            let replica = replica.clone();
            async move {
                ids(replica
                    .claim_due_bmcs(who, at(seconds), CLAIM, limit)
                    .await
                    .unwrap())
            }
        };
        assert_eq!(claim("a", -9, 9).await, [], "nothing is due");
        assert_eq!(claim("a", 0, 1).await, [other.id], "the most overdue first");
        assert_eq!(claim("b", 0, 9).await, [first.id]);
        assert_eq!(claim("b", 59, 9).await, []);
        let renewed =
            |who: &'static str, seconds| world.store.renew_bmc_claim(first.id, who, at(seconds), CLAIM);
        assert_eq!(renewed("b", 59).await.unwrap(), Some(1));
        assert_eq!(renewed("a", 59).await.unwrap(), None, "it is another's");
        assert_eq!(claim("c", 61, 9).await, [other.id], "whose replica died");
        // A write of the record leaves the claim as it is, and returns the run.
        first.run = 5;
        first.version = world.store.update_bmc(&first, &[]).await.unwrap();
        assert_eq!(renewed("b", 62).await.unwrap(), Some(5));
        world.store.release_bmc(first.id, "c").await.unwrap();
        assert_eq!(claim("d", 63, 9).await, []);
        world.store.release_bmc(first.id, "b").await.unwrap();
        assert_eq!(claim("d", 63, 9).await, [first.id]);
        world.store.release_bmcs_of("d").await.unwrap();
        assert_eq!(claim("e", 63, 9).await, [first.id], "c holds the other");
        // Only its power is due.
        let mut asked = resting;
        asked.version = 1;
        asked.power.request = Some(power_request());
        world.store.update_bmc(&asked, &[]).await.unwrap();
        assert_eq!(claim("f", 4, 9).await, [], "it is asked for later");
        assert_eq!(claim("f", 64, 9).await, [asked.id]);
        assert_eq!(replica.count_bmcs(first.infra_env_id).await.unwrap(), 3);
    }

    pub async fn bmcs_go_with_their_infra_env(world: World) {
        let first = stored(&world, "192.0.2.1").await;
        let pool = first.infra_env_id;
        let gone = world.store.delete_infra_env(pool, at(9), &[]).await.unwrap();
        assert_eq!(gone, Deletion::Deleted);
        assert_eq!(world.store.find_bmc(first.id).await.unwrap(), None);
        let late = bmc(pool, "192.0.2.4");
        let error = world.store.insert_bmcs(&[late], &[]).await.unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
    }

    pub async fn bmcs_are_found_by_hosts_that_wait(world: World) {
        let mut found = stored(&world, "192.0.2.1").await;
        let pool = found.infra_env_id;
        let mut host = world.host(pool).await;
        let listed = async |world: &World| -> Vec<BmcId> {
            let statuses = [HostStatus::UnbindingPendingUserAction];
            let listed = world.store.list_bmcs_of_hosts_in(&statuses).await.unwrap();
            listed.iter().map(|bmc| bmc.id).collect()
        };
        assert_eq!(listed(&world).await, [], "its machine was never found");
        found.host_id = Some(host.id);
        found.version = world.store.update_bmc(&found, &[]).await.unwrap();
        assert_eq!(listed(&world).await, [found.id], "it is under way");
        found.stage = BmcStage::Stopped;
        found.version = world.store.update_bmc(&found, &[]).await.unwrap();
        assert_eq!(listed(&world).await, [], "the host waits for nothing");
        host.state = HostState::UnbindingPendingUserAction;
        host.version = world.store.save_host(&host, None, &[]).await.unwrap();
        assert_eq!(listed(&world).await, [found.id]);
        let of_host = world.store.find_bmc_of_host(pool, host.id).await.unwrap();
        assert_eq!(of_host, Some(found));
        let none = world
            .store
            .find_bmc_of_host(pool, HostId::random())
            .await
            .unwrap();
        assert_eq!(none, None);
    }

    pub async fn bmcs_of_custom_resources_are_found_by_these_and_changes_of_all_are_noted(world: World) {
        let of_rest = stored(&world, "192.0.2.1").await;
        let kube = KubeRef::new("lab", "r1u7");
        let resource = BmcResource {
            kube: kube.clone(),
            asked: BmcAsked {
                discover: true,
                again: Some("1".into()),
            },
        };
        let mut shown = Bmc {
            resource: Some(resource.clone()),
            ..bmc(of_rest.infra_env_id, "192.0.2.2")
        };
        world
            .store
            .insert_bmcs(std::slice::from_ref(&shown), &[event(0, "added")])
            .await
            .unwrap();
        shown.version = 1;
        let found = world.store.find_bmc_by_kube(&kube).await.unwrap();
        assert_eq!(found.as_ref(), Some(&shown));
        let by_name = world
            .store
            .find_bmc_by_name(shown.infra_env_id, &shown.name)
            .await
            .unwrap();
        assert_eq!(by_name.as_ref(), Some(&shown));
        assert_eq!(
            world.store.list_bmcs_of_resources().await.unwrap(),
            [shown.clone()]
        );
        let twice = Bmc {
            resource: Some(resource),
            ..bmc(of_rest.infra_env_id, "192.0.2.3")
        };
        assert!(world.store.insert_bmcs(&[twice], &[]).await.is_err());

        let noted = async |scope| {
            let taken = world
                .store
                .take_from_outbox(at(99), CLAIM, 99, scope)
                .await
                .unwrap();
            let of_bmcs = taken.into_iter().filter_map(|entry| match entry.subject {
                Subject::Bmc(id) => Some((id, entry.version)),
                Subject::Host { .. } | Subject::InfraEnv(_) | Subject::Cluster(_) | Subject::Job { .. } => {
                    None
                }
            });
            of_bmcs.collect::<Vec<_>>()
        };
        assert_eq!(noted(OutboxScope::NotHosts).await, []);
        shown.version = world.store.update_bmc(&shown, &[]).await.unwrap();
        world.store.update_bmc(&of_rest, &[]).await.unwrap();
        let both = noted(OutboxScope::All).await;
        assert!(
            both.len() == 2 && both.contains(&(shown.id, 2)) && both.contains(&(of_rest.id, 2)),
            "{both:?}"
        );
        world.store.delete_bmc(&shown, &[]).await.unwrap();
        assert_eq!(noted(OutboxScope::All).await, [(shown.id, 3)]);
        assert_eq!(world.store.find_bmc_by_kube(&kube).await.unwrap(), None);
    }
}
