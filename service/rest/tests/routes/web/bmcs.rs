//! The pages of BMCs: those of all pools that a visitor may see, one with its checks and certificates, actions, and the import of a table.

use muster_api::MUSTER_PATH;
use muster_api::bmc::{BmcCheck, BmcDifference, BmcInventory, BmcOutcome};
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_core::record::{Bmc, BmcStage};
use serde_json::{Value, json};

use super::Browser;
use crate::tokens::scopes::operator;
use crate::world::World;

const PAGE: &str = "/ui/bmcs";

/// Adds a BMC whose machine is left alone; its id.
async fn add(world: &World, pool: InfraEnvId, name: &str) -> BmcId {
    let body = json!({"name": name, "address": format!("{name}.example.test"), "user_name": "u", "password": "secret-of-bmc", "discover": false});
    let path = format!("{MUSTER_PATH}/infra-envs/{pool}/bmcs");
    let made = world.post(&world.operator, &path, &body).await.expect(201).json();
    made["id"].as_str().unwrap().parse().unwrap()
}

/// Stores what the driver would.
async fn put(world: &World, pool: InfraEnvId, id: BmcId, change: impl FnOnce(&mut Bmc)) {
    let mut bmc = world.operations.bmcs.get(pool, id).await.unwrap();
    change(&mut bmc);
    world.operations.store().update_bmc(&bmc, &[]).await.unwrap();
}

async fn shown(world: &World, pool: InfraEnvId, id: BmcId) -> Value {
    let path = format!("{MUSTER_PATH}/infra-envs/{pool}/bmcs/{id}");
    world.get(&world.operator, &path).await.expect(200).json()
}

#[tokio::test]
async fn the_list_has_the_bmcs_of_all_pools_that_the_visitor_may_see() {
    let world = World::open().await;
    let visitor = Browser::operator(&world).await;
    let empty = visitor.open(&world, PAGE).await.expect(200).text();
    assert!(
        empty.contains("There is no BMC yet") && empty.contains("There is no pool yet"),
        "{empty}"
    );
    let own = world.infra_env(json!({"name": "own<b>"})).await;
    let other = world.infra_env(json!({"name": "other"})).await;
    let first = add(&world, own, "r1").await;
    let second = add(&world, other, "r2").await;
    put(&world, other, second, |bmc| {
        bmc.stage = BmcStage::Failed {
            failure: muster_api::bmc::BmcFailure::Credentials,
        };
        bmc.progress.reason = "the login was refused".into();
    })
    .await;
    let all = visitor.open(&world, PAGE).await.expect(200).text();
    let place = |text: &str| all.find(text).unwrap_or_else(|| panic!("no {text}: {all}"));
    // Failed ones first.
    assert!(place("<bdi>r2</bdi>") < place("<bdi>r1</bdi>"));
    place("the login was refused");
    place("own&#60;b&#62;");
    place(&format!("/ui/bmcs/{own}/{first}"));
    let failed = visitor
        .open(&world, "/ui/bmcs?phase=failed")
        .await
        .expect(200)
        .text();
    assert!(failed.contains("<bdi>r2</bdi>") && !failed.contains("<bdi>r1</bdi>"));

    let (_, confined) = operator(&world, true, Some(own)).await;
    let listed = world
        .get(&confined, &format!("{MUSTER_PATH}/bmcs"))
        .await
        .expect(200)
        .json();
    assert_eq!(listed["bmcs"].as_array().unwrap().len(), 1);
    assert_eq!(listed["phases"], json!({"stopped": 1}));
    let confined = Browser::signed_in(&world, &confined).await;
    let seen = confined.open(&world, PAGE).await.expect(200).text();
    assert!(
        seen.contains("<bdi>r1</bdi>")
            && !seen.contains("<bdi>r2</bdi>")
            && seen.contains("<fieldset disabled"),
        "{seen}"
    );
    confined
        .open(&world, &format!("/ui/bmcs/{other}/{second}"))
        .await
        .expect(403);
    for query in ["limit=0", "limit=1001", "from=-1", "phase=none"] {
        let path = format!("{MUSTER_PATH}/bmcs?{query}");
        world.get(&world.operator, &path).await.expect(400);
    }
}

#[tokio::test]
async fn a_page_has_checks_with_what_to_do_both_certificates_and_differences() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let id = add(&world, pool, "r1").await;
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/bmcs/{pool}/{id}");
    let (trusted, presented) = ("aa".repeat(32), "bb".repeat(32));
    put(&world, pool, id, |bmc| {
        bmc.settings.certificate.fingerprint = Some(trusted.clone());
        bmc.progress.certificate_shown = Some(presented.clone());
        bmc.progress.checks = vec![BmcCheck {
            id: "certificate".into(),
            outcome: BmcOutcome::Fail,
            seen: "another <i>certificate</i>".into(),
            advice: "compare it".into(),
        }];
        bmc.stage = BmcStage::Discovered {
            host_id: HostId::random(),
            differences: vec![BmcDifference {
                what: "memory".into(),
                bmc: "64 GiB".into(),
                host: "32 GiB".into(),
            }],
        };
        bmc.inventory = Some(BmcInventory {
            serial: Some("SN-OF-BMC".into()),
            ..BmcInventory::default()
        });
    })
    .await;
    let text = visitor.open(&world, &page).await.expect(200).text();
    for part in [
        trusted.as_str(),
        presented.as_str(),
        "another &#60;i&#62;certificate",
        "compare it",
        "64 GiB",
        "32 GiB",
        "SN-OF-BMC",
        "Trust the presented one",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("secret-of-bmc"));

    let accept = format!("{page}/accept");
    let form = format!("fingerprint={presented}");
    let unsure = visitor.submit(&world, &accept, &form).await.expect(400).text();
    assert!(unsure.contains("tick that you are sure"), "{unsure}");
    assert_eq!(
        shown(&world, pool, id).await["certificate"]["fingerprint"],
        json!(trusted)
    );
    let accepted = visitor
        .submit(&world, &accept, &format!("{form}&sure=yes"))
        .await
        .expect(303);
    assert_eq!(accepted.header("location"), page);
    let text = visitor.follow(&world, &accepted).await.expect(200).text();
    assert!(
        text.contains("The certificate is trusted") && !text.contains("Trust the presented one"),
        "{text}"
    );
    let now = shown(&world, pool, id).await;
    let fingerprint = now["certificate"]["fingerprint"].as_str().unwrap();
    assert_eq!(fingerprint.replace(':', "").to_lowercase(), presented);
}

#[tokio::test]
async fn actions_are_requests_of_rest_and_deletion_needs_a_tick() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let id = add(&world, pool, "r1").await;
    let visitor = Browser::operator(&world).await;
    let page = format!("/ui/bmcs/{pool}/{id}");
    let on = visitor
        .submit(&world, &format!("{page}/power-on"), "")
        .await
        .expect(303);
    let text = visitor.follow(&world, &on).await.expect(200).text();
    assert!(
        text.contains(&format!("muster bmc power {id} on")) && text.contains("on: pending"),
        "{text}"
    );
    assert_eq!(shown(&world, pool, id).await["power"]["request"]["action"], "on");
    // Another request is under way.
    let refused = visitor
        .submit(&world, &format!("{page}/power-off"), "sure=yes")
        .await
        .expect(409)
        .text();
    assert!(refused.contains("role=\"alert\""), "{refused}");
    visitor
        .submit(&world, &format!("{page}/explode"), "")
        .await
        .expect(404);

    let (_, reader) = operator(&world, true, None).await;
    let reader = Browser::signed_in(&world, &reader).await;
    let text = reader.open(&world, &page).await.expect(200).text();
    assert!(text.contains("<fieldset disabled"), "{text}");
    reader
        .submit(&world, &format!("{page}/delete"), "sure=yes")
        .await
        .expect(403);

    let other = add(&world, pool, "r2").await;
    let page = format!("/ui/bmcs/{pool}/{other}");
    visitor
        .submit(&world, &format!("{page}/delete"), "")
        .await
        .expect(400);
    let gone = visitor
        .submit(&world, &format!("{page}/delete"), "sure=yes")
        .await
        .expect(303);
    assert_eq!(gone.header("location"), PAGE);
    let list = visitor.follow(&world, &gone).await.expect(200).text();
    assert!(
        list.contains(&format!("muster bmc delete {other}")) && !list.contains("<bdi>r2</bdi>"),
        "{list}"
    );
}

#[tokio::test]
async fn a_pasted_table_is_tried_and_added_and_no_password_comes_back() {
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let visitor = Browser::operator(&world).await;
    let table = "table=a.example.test,secret-one%0D%0Ab.example.test,secret-two&form=csv&user=root";
    let count = async || {
        let path = format!("{MUSTER_PATH}/infra-envs/{pool}/bmcs");
        let all = world.get(&world.operator, &path).await.expect(200).json();
        all.as_array().unwrap().len()
    };
    let form = format!("pool={pool}&{table}");
    let tried = visitor
        .submit(&world, PAGE, &format!("{form}&what=try"))
        .await
        .expect(200)
        .text();
    assert!(
        tried.contains("All of them could be added") && tried.contains("<bdi>https://b.example.test</bdi>"),
        "{tried}"
    );
    assert!(!tried.contains("secret-"), "{tried}");
    assert_eq!(count().await, 0);
    let added = visitor
        .submit(&world, PAGE, &format!("{form}&what=add"))
        .await
        .expect(303);
    // Loading the page again sends no password again.
    assert_eq!(added.header("location"), PAGE);
    let added = visitor.follow(&world, &added).await.expect(200).text();
    assert!(
        added.contains("Added: 2 BMCs.") && !added.contains("secret-"),
        "{added}"
    );
    assert_eq!(count().await, 2);
    // What is taken is named by its line.
    let twice = visitor
        .submit(&world, PAGE, &format!("{form}&what=add"))
        .await
        .expect(409)
        .text();
    assert!(
        twice.contains("line 1: ") && twice.contains("role=\"alert\"") && !twice.contains("secret-"),
        "{twice}"
    );
    let wrong = visitor
        .submit(&world, PAGE, &format!("pool={pool}&table=only-address&what=try"))
        .await
        .expect(400)
        .text();
    assert!(wrong.contains("line 1: it has no password"), "{wrong}");
    visitor
        .submit(&world, PAGE, &format!("pool=none&{table}"))
        .await
        .expect(400);
    let (_, reader) = operator(&world, true, None).await;
    let reader = Browser::signed_in(&world, &reader).await;
    reader
        .submit(&world, PAGE, &format!("{form}&what=add"))
        .await
        .expect(403);
}
