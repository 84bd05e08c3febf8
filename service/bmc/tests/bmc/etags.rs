//! If-Match, as BMCs require it.

use muster_bmc_emulator::quirks::ETags;
use muster_bmc_emulator::{Booted, Quirks};

use crate::lab::{IMAGE, Lab};

async fn boots(etag: ETags) -> Lab {
    for patch_media in [false, true] {
        let lab = Lab::new(Quirks {
            etag,
            patch_media,
            ..Quirks::default()
        });
        lab.boot()
            .await
            .unwrap_or_else(|error| panic!("{etag:?}: {error}"));
        assert_eq!(lab.machine.boots().last(), Some(&Booted::Image(IMAGE.to_owned())));
        lab.finish()
            .await
            .unwrap_or_else(|error| panic!("{etag:?}: {error}"));
        if patch_media {
            return lab;
        }
    }
    unreachable!()
}

#[tokio::test]
async fn every_habit_is_served() {
    let with = |change: fn(&mut ETags)| {
        let mut etag = ETags::default();
        change(&mut etag);
        etag
    };
    for etag in [
        with(|etag| etag.required = true),
        with(|etag| etag.weak = true),
        with(|etag| (etag.weak, etag.required) = (true, true)),
        with(|etag| etag.only_star = true),
        with(|etag| (etag.only_star, etag.required) = (true, true)),
        with(|etag| etag.refused = true),
        with(|etag| etag.refused_on_actions = true),
        with(|etag| (etag.body_only, etag.required) = (true, true)),
        with(|etag| etag.absent = true),
    ] {
        boots(etag).await;
    }
}

#[tokio::test]
async fn a_patch_has_the_tag_of_what_was_just_read_and_an_action_has_none() {
    let lab = boots(ETags {
        required: true,
        ..ETags::default()
    })
    .await;
    let patches = lab.sent("PATCH", "/Systems/1");
    assert!(!patches.is_empty());
    assert!(patches.iter().all(|request| request.status != Some(412)));
    assert!(patches[0].header("if-match").is_some_and(|tag| tag != "*"));
    let all = lab.bmc.requests();
    let posts = all.iter().filter(|request| request.method == "POST");
    assert!(
        posts
            .into_iter()
            .all(|request| request.header("if-match").is_none())
    );
}
