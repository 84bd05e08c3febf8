//! Machines that boot from a mounted ISO are not stopped by a database that is away.

use std::time::Duration;

use muster_image::testing::LiveTree;
use muster_tests::condition::{assert_throughout, await_condition};
use muster_tests::database::postgres::Postgres;
use muster_tests::http::HttpClient;
use muster_tests::rest::PULL_SECRET;
use serde_json::json;
use url::Url;

use crate::world::World;

/// Time within which a revoked URL stops working.
const REVOKED_WITHIN: Duration = Duration::from_secs(5);

/// Longer than cached InfraEnvs are served without a query to the database.
const OUTAGE: Duration = Duration::from_secs(12);

/// Longest time that a BMC is kept waiting for a range.
const PATIENCE: Duration = Duration::from_secs(5);

/// An ISO that a BMC has mounted.
struct Mounted {
    client: HttpClient,
    path: String,
}

impl Mounted {
    fn range(&self, first: usize, last: usize) -> Result<Vec<u8>, String> {
        let client = self.client.with("Range", &format!("bytes={first}-{last}"));
        let answer = client.timeout(PATIENCE).try_request("GET", &self.path, None)?;
        match answer.status {
            206 => Ok(answer.body),
            other => Err(format!("{other}: {}", String::from_utf8_lossy(&answer.body))),
        }
    }

    fn is_revoked(&self) -> Result<(), String> {
        match self.range(0, 99) {
            Err(refused) if refused.starts_with("404") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }
}

#[test]
fn a_mounted_iso_goes_on_while_the_database_is_away_and_ends_when_it_is_revoked() {
    let mut postgres = Postgres::start();
    let database = postgres.create_database();
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let image = folder.path().join("live.iso");
    LiveTree::new(700_001).write_iso(&image);
    let image = image.display().to_string();
    let world = World::start_with(&["--database-url", &database, "--live-image", &image]);
    let rest = world.rest();
    let made = rest
        .post("/infra-envs", &json!({"name": "hw", "pull_secret": PULL_SECRET}))
        .expect(201)
        .json();
    let id = made["id"].as_str().expect("an InfraEnv has an id");
    let url = made["download_url"].as_str().expect("an InfraEnv has an image");
    let url: Url = url.parse().expect("the image has a URL");
    let mounted = Mounted {
        client: HttpClient::new(&url.origin().ascii_serialization()),
        path: url.path().to_owned(),
    };
    let whole = mounted.client.request("GET", url.path(), None).expect(200).body;

    let mut first = 0;
    let mut boots = || {
        let last = (first + 60_000).min(whole.len() - 1);
        let part = mounted.range(first, last)?;
        if part != whole[first..=last] {
            return Err(format!("bytes from {first} on differ"));
        }
        first = if last + 1 < whole.len() { last + 1 } else { 0 };
        Ok(())
    };
    // During the creation of its custom resource.
    assert_throughout("the boot", REVOKED_WITHIN, &mut boots);
    postgres.stop();
    assert_throughout("the boot without a database", OUTAGE, &mut boots);
    let unknown = Mounted {
        path: url.path().replace("/boot/", "/boot/x"),
        client: mounted.client.clone(),
    };
    unknown.range(0, 99).expect_err("only what was opened goes on");

    postgres.start_again();
    // Written as by another replica, whose notification has not arrived yet.
    let database = database.rsplit('/').next().unwrap_or_default();
    postgres.query(
        database,
        &format!("UPDATE infra_envs SET boot_id = 'another-boot-id-000000' WHERE id = '{id}'"),
    );
    await_condition("the old URL to be dead", REVOKED_WITHIN, || mounted.is_revoked());
}
