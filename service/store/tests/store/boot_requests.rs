//! Files that machines fetched to boot from.

on_both! {
    requests_of_one_boot_add_up_and_a_later_boot_begins_anew,
    an_infra_env_keeps_no_more_than_its_share,
}

mod cases {
    use muster_api::boot::BootFile;
    use muster_api::ids::InfraEnvId;
    use muster_store::{Aging, BootRequests};

    use crate::world::{World, at};

    fn requests(infra_env_id: InfraEnvId, mac: &str, file: BootFile, seconds: i64) -> BootRequests {
        BootRequests {
            infra_env_id,
            mac: mac.into(),
            address: "192.0.2.7".into(),
            file,
            user_agent: "iPXE/1.21.1".into(),
            first_at: at(seconds),
            last_at: at(seconds + 1),
            requests: 2,
            bytes: 10,
            refusal: String::new(),
        }
    }

    const CARD: &str = "52:54:00:aa:bb:cc";

    pub async fn requests_of_one_boot_add_up_and_a_later_boot_begins_anew(world: World) {
        let (here, elsewhere) = (InfraEnvId::random(), InfraEnvId::random());
        let store = &world.store;
        let script = requests(here, CARD, BootFile::Script, 0);
        let kernel = requests(here, CARD, BootFile::Kernel, 10);
        let other = requests(elsewhere, CARD, BootFile::Script, 20);
        store
            .add_boot_requests(&[kernel.clone(), script.clone(), other])
            .await
            .unwrap();
        let again = BootRequests {
            refusal: "no image".into(),
            ..requests(here, CARD, BootFile::Script, 60)
        };
        // Requests that another replica received may be stored late.
        let late = requests(here, CARD, BootFile::Kernel, 5);
        world
            .another_store()
            .await
            .add_boot_requests(&[again, late])
            .await
            .unwrap();
        let wanted = [
            BootRequests {
                last_at: at(61),
                requests: 4,
                bytes: 20,
                refusal: "no image".into(),
                ..script
            },
            BootRequests {
                requests: 4,
                bytes: 20,
                ..kernel
            },
        ];
        assert_eq!(store.list_boot_requests(here, at(0)).await.unwrap(), wanted);
        assert_eq!(store.list_boot_requests(here, at(61)).await.unwrap(), wanted[..1]);

        let next_boot = requests(here, CARD, BootFile::Script, 5000);
        store
            .add_boot_requests(std::slice::from_ref(&next_boot))
            .await
            .unwrap();
        let told = store.list_boot_requests(here, at(0)).await.unwrap();
        assert_eq!(told, [next_boot, wanted[1].clone()]);
        assert_eq!(
            store.delete_old(Aging::BootRequests, at(30)).await.unwrap(),
            (2, false)
        );
        assert_eq!(store.list_boot_requests(here, at(0)).await.unwrap(), told[..1]);
    }

    pub async fn an_infra_env_keeps_no_more_than_its_share(world: World) {
        let (flooded, quiet) = (InfraEnvId::random(), InfraEnvId::random());
        let store = &world.store;
        let kept = requests(quiet, CARD, BootFile::Iso, 0);
        store
            .add_boot_requests(std::slice::from_ref(&kept))
            .await
            .unwrap();
        let flood: Vec<BootRequests> = (0..17_000)
            .map(|n| {
                requests(
                    flooded,
                    &format!("52:54:00:00:{:02x}:{:02x}", n / 256, n % 256),
                    BootFile::Script,
                    n,
                )
            })
            .collect();
        store.add_boot_requests(&flood).await.unwrap();
        let told = store.list_boot_requests(flooded, at(0)).await.unwrap();
        assert_eq!(told.len(), 16_384);
        assert_eq!(told[0], flood[16_999]);
        assert_eq!(store.list_boot_requests(quiet, at(0)).await.unwrap(), [kept]);
    }
}
