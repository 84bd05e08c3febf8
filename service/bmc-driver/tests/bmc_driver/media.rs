//! One medium is one image, whatever happens to the service while it is read.

use muster_api::bmc::BmcPhase;
use muster_api::ids::BmcId;
use muster_bmc_emulator::Quirks;
use muster_bmc_emulator::machine::Hardware;
use muster_core::record::{Bmc, BmcStage};
use muster_image::testing::LiveTree;
use reqwest::StatusCode;
use reqwest::header::RANGE;
use serde_json::json;

use crate::rack::{Unit, client, register_with};
use crate::service::{Service, limits, settings};

/// The bytes of a range, or the status of the refusal.
async fn range(url: &str, from: usize, to: usize) -> Result<Vec<u8>, StatusCode> {
    let asked = client()
        .get(url)
        .header(RANGE, format!("bytes={from}-{}", to - 1))
        .send()
        .await
        .unwrap();
    match asked.status() {
        StatusCode::PARTIAL_CONTENT => Ok(asked.bytes().await.unwrap().to_vec()),
        refused => Err(refused),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_of_one_medium_are_of_one_image() {
    let service = Service::start().await;
    let unit = Unit::new("reader", 61, Quirks::default());
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
    let url = unit.machine.medium().unwrap();
    let whole = client().get(&url).send().await.unwrap().bytes().await.unwrap();
    let middle = whole.len() / 2;
    let same = |from: usize, to: usize, got: Result<Vec<u8>, StatusCode>| {
        assert!(
            got.unwrap() == whole[from..to],
            "bytes {from} to {to} are of another image"
        );
    };
    same(0, middle, range(&url, 0, middle).await);

    // A user edits the InfraEnv: images for it are different from now on.
    let operations = &service.operations;
    let before = operations.infra_envs.get(service.infra_env_id).await.unwrap();
    let old = operations.medium_tag(&before).await.unwrap();
    let edit = serde_json::from_value(json!({"additional_ntp_sources": "ntp.example.com"})).unwrap();
    let infra_envs = &operations.infra_envs;
    infra_envs
        .update(service.infra_env_id, &edit, |_| Ok(()))
        .await
        .unwrap();
    let edited = operations.infra_envs.get(service.infra_env_id).await.unwrap();
    assert_ne!(operations.medium_tag(&edited).await.unwrap(), old);
    same(middle, whole.len(), range(&url, middle, whole.len()).await);

    // The live image is replaced, as by a new version of the service.
    service.replace_live_image(&LiveTree::new(700_003));
    assert!(range(&url, 0, middle).await.unwrap() == whole[..middle]);
    let now = operations.medium_tag(&edited).await.unwrap();
    let code = operations.auth.bmc_code(&edited, bmc.id);
    let other = operations.urls.bmc_iso(&edited, (bmc.id, &code), Some(&now));
    let other = client().get(&other).send().await.unwrap().bytes().await.unwrap();
    assert!(other != whole, "the live image was not replaced");
    same(middle, whole.len(), range(&url, middle, whole.len()).await);

    // After a restart the medium is gone, and no byte of another is served.
    let _service = service.start_again(settings(), limits()).await;
    let refused = range(&url, 0, middle).await;
    assert_eq!(refused, Err(StatusCode::GONE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_bmc_reads_its_own_name_in_the_image_and_nothing_else_differs() {
    let service = Service::start().await;
    let mut media = Vec::new();
    for (name, number) in [("one", 63), ("other", 64)] {
        let unit = Unit::new(name, number, Quirks::default());
        let bmc = service.add(vec![unit.params()]).await.remove(0);
        service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
        let url = unit.machine.medium().unwrap();
        let answer = client().get(&url).send().await.unwrap();
        let tag = answer.headers()["etag"].clone();
        let bytes = answer.bytes().await.unwrap();
        let argument = format!(" muster.bmc={}\n", bmc.id.0.simple()).into_bytes();
        let at = bytes
            .windows(argument.len())
            .position(|window| window == argument)
            .unwrap();
        media.push((at, argument.len(), tag, bytes));
        drop(unit);
    }
    let [(at, length, tag, bytes), (other_at, _, other_tag, other_bytes)] = &media[..] else {
        unreachable!("two were made");
    };
    assert_eq!(at, other_at);
    assert_ne!(tag, other_tag);
    assert!(bytes[..*at] == other_bytes[..*at] && bytes[at + length..] == other_bytes[at + length..]);
    assert!(bytes != other_bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_that_booted_a_bmcs_image_is_its_machine() {
    let service = Service::start().await;
    let (operations, pool) = (&service.operations, service.infra_env_id);
    let named = |id: BmcId| format!("quiet muster.bmc={}", id.0.simple());
    // It has the cards of the BMC's machine, and booted the image of another.
    let swapped = Unit::new("swapped", 65, Quirks::default());
    let bmc = service.add(vec![swapped.params()]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
    register_with(operations, pool, &swapped.hardware, &named(BmcId::random())).await;
    let noted = |words: &'static str| move |bmc: &Bmc| bmc.progress.reason.contains(words);
    service
        .await_bmc(bmc.id, "noted", noted("look whether the two are swapped"))
        .await;
    // The URL was used elsewhere.
    let stranger = Hardware::example(66);
    register_with(operations, pool, &stranger, &named(bmc.id)).await;
    service
        .await_bmc(bmc.id, "noted", noted("the image's URL was used elsewhere"))
        .await;
    // A replaced board has the UUID and other cards: the identifiers do not decide, the boot does.
    let renewed = Unit::new("renewed", 67, Quirks::default());
    let bmc = service.add(vec![renewed.params()]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
    let mut hardware = renewed.hardware.clone();
    hardware.macs = vec!["d0:94:66:99:99:01".into()];
    register_with(operations, pool, &hardware, &named(bmc.id)).await;
    let found = service.await_phase(bmc.id, BmcPhase::Discovered).await;
    let BmcStage::Discovered { differences, .. } = &found.stage else {
        unreachable!("awaited");
    };
    assert!(
        differences.iter().any(|one| one.what == "MAC address"),
        "{differences:?}"
    );
    assert_eq!(found.host_id, Some(renewed.host_id()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_service_changes_no_medium() {
    let service = Service::start().await;
    let unit = Unit::new("lasting", 62, Quirks::default());
    let bmc = service.add(vec![unit.params()]).await.remove(0);
    service.await_phase(bmc.id, BmcPhase::WaitingForAgent).await;
    let url = unit.machine.medium().unwrap();
    let first = range(&url, 0, 400_000).await.unwrap();
    let _service = service.start_again(settings(), limits()).await;
    let again = range(&url, 0, 400_000).await.unwrap();
    assert!(first == again);
}
