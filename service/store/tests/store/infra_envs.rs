//! Records of InfraEnvs.

on_both! {
    every_field_of_an_infra_env_comes_back,
    an_update_on_an_old_version_is_a_conflict,
    ids_and_boot_ids_are_unique,
    an_infra_env_is_deleted_only_when_no_host_lives_in_it,
    lists_may_be_of_one_cluster,
}

mod cases {
    use muster_api::ids::{ClusterId, InfraEnvId};
    use muster_api::infra_env::{
        Cleaning, CleaningDepth, CpuArchitecture, HostStaticNetworkConfig, ImageType, KernelArgument,
        KernelArgumentOperation, MacInterface, Proxy,
    };
    use muster_core::record::{InfraEnv, KubeRef, Secret, Settings};
    use muster_store::{Deletion, StoreError};

    use crate::world::{World, at, event, infra_env};

    pub async fn every_field_of_an_infra_env_comes_back(world: World) {
        let mac = MacInterface {
            mac_address: Some("52:54:00:00:00:01".into()),
            logical_nic_name: Some("eth0".into()),
        };
        let mut full = InfraEnv {
            name: "Größe ☃".into(),
            cluster_id: Some(ClusterId::random()),
            kube: Some(KubeRef::new("hw", "größe")),
            created_at: at(1),
            updated_at: at(2),
            settings: Settings {
                token_generation: 3,
                require_host_keys: true,
                offered_to: Some(KubeRef::new("lab", "rack")),
                image_type: ImageType::MinimalIso,
                cpu_architecture: CpuArchitecture::Arm64,
                openshift_version: "4.20".into(),
                pull_secret: Secret::new("{\"auths\":{}}"),
                ssh_authorized_key: "ssh-ed25519 AAAA me".into(),
                proxy: Proxy {
                    http_proxy: Some("http://proxy:3128".into()),
                    https_proxy: Some("https://proxy:3128".into()),
                    no_proxy: Some("*".into()),
                },
                additional_ntp_sources: "ntp1,ntp2".into(),
                ntp_sources: "ntp3".into(),
                kernel_arguments: Some(vec![KernelArgument {
                    operation: KernelArgumentOperation::Append,
                    value: "console=ttyS1".into(),
                }]),
                ignition_config_override: "{}".into(),
                static_network_config: vec![HostStaticNetworkConfig {
                    network_yaml: Some("interfaces: []".into()),
                    mac_interface_map: vec![mac],
                }],
                additional_trust_bundle: "-----BEGIN CERTIFICATE-----".into(),
                rendezvous_ip: "192.0.2.3".into(),
                network_discovery_delay_seconds: Some(12),
                cleaning: Cleaning {
                    depth: CleaningDepth::Full,
                    overwrite: true,
                    all_disks: true,
                },
                idle_after: "30m".into(),
                warm_spares: Some(2),
                quiet_hours: "20:00-06:00".into(),
            },
            ..infra_env()
        };
        full.version = world
            .store
            .insert_infra_env(&full, &[event(0, "made")])
            .await
            .unwrap();
        assert_eq!(full.version, 1);
        assert_eq!(
            world.store.find_infra_env(full.id).await.unwrap().as_ref(),
            Some(&full)
        );
        let by_boot_id = world
            .store
            .find_infra_env_by_boot_id(&full.boot_id)
            .await
            .unwrap();
        assert_eq!(by_boot_id.as_ref(), Some(&full));
        assert_eq!(
            world.store.find_infra_env(InfraEnvId::random()).await.unwrap(),
            None
        );
        assert_eq!(world.store.find_infra_env_by_boot_id("").await.unwrap(), None);

        let mut emptied = InfraEnv {
            id: full.id,
            version: 1,
            created_at: full.created_at,
            kube: full.kube.clone(),
            ..infra_env()
        };
        emptied.version = world
            .store
            .update_infra_env(&emptied, &[event(1, "changed")])
            .await
            .unwrap();
        assert_eq!(emptied.version, 2);
        assert_eq!(world.store.find_infra_env(full.id).await.unwrap(), Some(emptied));
        assert_eq!(
            world
                .store
                .find_infra_env_by_boot_id(&full.boot_id)
                .await
                .unwrap(),
            None,
            "revoked"
        );
        assert_eq!(
            world.store.list_events(&Default::default()).await.unwrap().total,
            2
        );
    }

    pub async fn an_update_on_an_old_version_is_a_conflict(world: World) {
        let first = world.infra_env().await;
        let second = InfraEnv {
            name: "late".into(),
            ..first.clone()
        };
        world.store.update_infra_env(&first, &[]).await.unwrap();
        let late = world.store.update_infra_env(&second, &[event(0, "late")]).await;
        assert!(
            matches!(
                late,
                Err(StoreError::Conflict {
                    table: "infra_envs",
                    ..
                })
            ),
            "{late:?}"
        );
        assert_eq!(
            world.store.find_infra_env(first.id).await.unwrap().unwrap().name,
            first.name
        );
        assert_eq!(
            world.store.list_events(&Default::default()).await.unwrap().total,
            0
        );
    }

    pub async fn ids_and_boot_ids_are_unique(world: World) {
        let first = world.infra_env().await;
        assert!(
            world
                .store
                .insert_infra_env(&first, &[])
                .await
                .unwrap_err()
                .is_conflict()
        );
        let same_boot_id = InfraEnv {
            boot_id: first.boot_id.clone(),
            ..infra_env()
        };
        assert!(
            world
                .store
                .insert_infra_env(&same_boot_id, &[])
                .await
                .unwrap_err()
                .is_conflict()
        );
        let second = world.infra_env().await;
        let takes_over = InfraEnv {
            boot_id: first.boot_id.clone(),
            ..second
        };
        assert!(
            world
                .store
                .update_infra_env(&takes_over, &[])
                .await
                .unwrap_err()
                .is_conflict()
        );
    }

    pub async fn an_infra_env_is_deleted_only_when_no_host_lives_in_it(world: World) {
        let infra_env = world.infra_env().await;
        let host = world.host(infra_env.id).await;
        let refused = world
            .store
            .delete_infra_env(infra_env.id, at(1), &[event(1, "deleted")])
            .await
            .unwrap();
        assert_eq!(refused, Deletion::Inhabited(1));
        assert!(world.store.find_infra_env(infra_env.id).await.unwrap().is_some());
        world
            .store
            .delete_host(infra_env.id, host.id, at(2), &[])
            .await
            .unwrap();
        let done = world
            .store
            .delete_infra_env(infra_env.id, at(3), &[event(3, "deleted")])
            .await
            .unwrap();
        assert_eq!(done, Deletion::Deleted);
        assert_eq!(world.store.find_infra_env(infra_env.id).await.unwrap(), None);
        assert_eq!(
            world
                .store
                .find_infra_env_by_boot_id(&infra_env.boot_id)
                .await
                .unwrap(),
            None
        );
        assert_eq!(world.store.list_infra_envs(None).await.unwrap(), []);
        assert!(
            world
                .store
                .update_infra_env(&infra_env, &[])
                .await
                .unwrap_err()
                .is_conflict()
        );
        let again = world
            .store
            .delete_infra_env(infra_env.id, at(4), &[event(4, "deleted")])
            .await
            .unwrap();
        assert_eq!(again, Deletion::Absent);
        assert_eq!(
            world.store.list_events(&Default::default()).await.unwrap().total,
            1
        );
    }

    pub async fn lists_may_be_of_one_cluster(world: World) {
        let cluster_id = ClusterId::random();
        let free = world.infra_env().await;
        let bound = InfraEnv {
            cluster_id: Some(cluster_id),
            created_at: at(1),
            ..infra_env()
        };
        world.store.insert_infra_env(&bound, &[]).await.unwrap();
        let ids = |list: Vec<InfraEnv>| list.into_iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(
            ids(world.store.list_infra_envs(None).await.unwrap()),
            [free.id, bound.id]
        );
        assert_eq!(
            ids(world.store.list_infra_envs(Some(cluster_id)).await.unwrap()),
            [bound.id]
        );
        assert_eq!(
            ids(world
                .store
                .list_infra_envs(Some(ClusterId::random()))
                .await
                .unwrap()),
            []
        );
    }
}
