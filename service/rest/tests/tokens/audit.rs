//! The log tells who changed what.

use std::io::{Result, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::scopes::operator;
use crate::world::{Credential, World, host_id};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Log {
    /// The line that holds all of `words`.
    #[track_caller]
    fn line(&self, words: &[&str]) -> String {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let found = text
            .lines()
            .find(|line| words.iter().all(|word| line.contains(word)));
        found
            .unwrap_or_else(|| panic!("no line with {words:?} in:\n{text}"))
            .to_owned()
    }
}

#[tokio::test]
async fn every_change_is_logged_with_who_made_it() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // Of the whole process: what other tests on other threads logged first would otherwise not be logged here.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let world = World::open().await;
    let pool = world.infra_env(json!({})).await;
    let (id, token) = operator(&world, false, None).await;
    let host = world.host(pool, 1).await;
    world
        .patch(&token, &host, &json!({"host_name": "renamed"}))
        .await
        .expect(201);
    world.get(&token, &host).await.expect(200);
    world
        .post(&token, &format!("{host}/actions/unbind"), &json!({}))
        .await;

    let who = format!("operator ci ({id})");
    let changed = log.line(&["changed", &who, "PATCH", "/hosts/{host_id}", "201"]);
    for word in [pool.to_string(), host_id(1)] {
        assert!(changed.contains(&word), "{changed}");
    }
    log.line(&["changed", &who, "/actions/unbind", "409"]);
    log.line(&[
        "changed",
        &format!("agent of InfraEnv {pool}"),
        "POST",
        "/hosts",
        "201",
    ]);
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let reading = text
        .lines()
        .find(|line| line.contains("changed") && line.contains("GET"));
    assert_eq!(reading, None, "reading is no change");
    let Credential::Operator(secret) = &token else {
        unreachable!()
    };
    assert!(!text.contains(secret.as_str()));
}
