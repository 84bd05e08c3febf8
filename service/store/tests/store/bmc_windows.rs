//! BMCs of all InfraEnvs, in windows.

on_both! {
    a_window_has_failed_ones_first_and_none_of_a_deleted_infra_env,
}

mod cases {
    use muster_api::bmc::{BmcFailure, BmcPhase};
    use muster_core::record::BmcStage;
    use muster_store::bmc::BmcWindow;

    use crate::world::{World, bmc};

    pub async fn a_window_has_failed_ones_first_and_none_of_a_deleted_infra_env(world: World) {
        let (own, other) = (world.infra_env().await, world.infra_env().await);
        let (first, second) = (bmc(own.id, "192.0.2.1"), bmc(other.id, "192.0.2.2"));
        let mut third = bmc(own.id, "192.0.2.3");
        third.stage = BmcStage::Failed {
            failure: BmcFailure::Credentials,
        };
        let all = [first, second, third];
        world.store.insert_bmcs(&all, &[]).await.unwrap();
        let names = async |infra_env_id, phase, from, most| {
            let window = BmcWindow {
                infra_env_id,
                phase,
                from,
                most,
            };
            let (found, more) = world.store.bmc_window(window).await.unwrap();
            let names: Vec<String> = found.into_iter().map(|bmc| bmc.name).collect();
            (names, more)
        };
        let named = |numbers: &[u8]| -> Vec<String> {
            numbers
                .iter()
                .map(|number| format!("at 192.0.2.{number}"))
                .collect()
        };
        assert_eq!(names(None, None, 0, 10).await, (named(&[3, 1, 2]), false));
        assert_eq!(names(None, None, 1, 1).await, (named(&[1]), true));
        assert_eq!(names(Some(own.id), None, 0, 2).await, (named(&[3, 1]), false));
        assert_eq!(
            names(Some(own.id), Some(BmcPhase::Failed), 0, 2).await,
            (named(&[3]), false)
        );
        assert_eq!(
            names(Some(other.id), Some(BmcPhase::Failed), 0, 2).await,
            (named(&[]), false)
        );
        let counted = world.store.count_bmcs_by_phase(None).await.unwrap();
        assert_eq!(counted.get(&BmcPhase::Failed), Some(&1));
        assert_eq!(counted.values().sum::<i64>(), 3);
        let counted = world.store.count_bmcs_by_phase(Some(other.id)).await.unwrap();
        assert_eq!(counted.values().sum::<i64>(), 1);

        world
            .sql(&format!(
                "UPDATE infra_envs SET deleted_at = 1 WHERE id = '{}'",
                own.id
            ))
            .await;
        assert_eq!(names(None, None, 0, 10).await, (named(&[2]), false));
        let counted = world.store.count_bmcs_by_phase(None).await.unwrap();
        assert_eq!(counted.values().sum::<i64>(), 1);
    }
}
