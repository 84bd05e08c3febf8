//! Hosts that poll are not lost by outages of the service or its database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use muster_tests::condition::{assert_throughout, await_condition};
use muster_tests::database::postgres::Postgres;
use muster_tests::http::HttpClient;
use muster_tests::process::Signal;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use crate::world::World;

/// Time that a host may be silent here.
const SILENCE: Duration = Duration::from_secs(12);

const SILENCE_ARGUMENT: &str = "--host-max-disconnection-time=12s";

/// Longer than that.
const OUTAGE: Duration = Duration::from_secs(20);

/// Two hosts of the pool.
struct Hosts {
    client: HttpClient,
    urls: [String; 2],
}

impl Hosts {
    fn register(world: &World) -> Self {
        let client = world.rest().timeout(Duration::from_secs(5));
        let made = client.post("/infra-envs", &json!({"name": "hw", "pull_secret": PULL_SECRET}));
        let infra_env = made.expect(201).json()["id"]
            .as_str()
            .expect("an InfraEnv has an id")
            .to_owned();
        let hosts = format!("/infra-envs/{infra_env}/hosts");
        let urls = [1, 2].map(|number| {
            let id = format!("00000000-0000-4000-8000-00000000000{number}");
            client.post(&hosts, &json!({"host_id": id})).expect(201);
            format!("/api/assisted-install/v2{hosts}/{id}")
        });
        Self { client, urls }
    }

    /// Polls every second, as agents do: a missing response does not stop it.
    fn poll_until(&self, done: &AtomicBool) {
        while !done.load(Ordering::Relaxed) {
            for url in &self.urls {
                let _ = self
                    .client
                    .try_request("GET", &format!("{url}/instructions"), None);
            }
            std::thread::park_timeout(Duration::from_secs(1));
        }
    }

    fn are(&self, wanted: &str) -> Result<(), String> {
        for url in &self.urls {
            let answer = self.client.try_request("GET", url, None)?;
            let found: Value = answer.json();
            if found["status"] != wanted {
                return Err(found["status"].to_string());
            }
        }
        Ok(())
    }

    /// `outage` happens while they poll. No host is lost by it, and afterwards silence is noticed again.
    fn survive(&self, outage: impl FnOnce()) {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let polling = scope.spawn(|| self.poll_until(&done));
            outage();
            await_condition("the service to answer", Duration::from_secs(60), || {
                self.are("discovering-unbound")
            });
            assert_throughout("the connection of both hosts", SILENCE * 2, || {
                self.are("discovering-unbound")
            });
            done.store(true, Ordering::Relaxed);
            polling.thread().unpark();
        });
        let events = self.client.get("/events").expect(200).text();
        assert!(!events.contains("disconnected"), "{events}");
        await_condition("silent hosts to be lost", SILENCE * 6, || {
            self.are("disconnected-unbound")
        });
    }
}

fn pass(time: Duration) {
    let began = Instant::now();
    await_condition("time to pass", time * 2, || {
        if began.elapsed() >= time {
            Ok(())
        } else {
            Err(String::new())
        }
    });
}

#[test]
fn a_service_that_was_stopped_loses_nobody() {
    let world = World::start_with(&[SILENCE_ARGUMENT]);
    Hosts::register(&world).survive(|| {
        world.service.signal(Signal::SIGSTOP);
        pass(OUTAGE);
        world.service.signal(Signal::SIGCONT);
    });
}

#[test]
fn a_database_that_was_away_loses_nobody() {
    let mut postgres = Postgres::start();
    let url = postgres.create_database();
    let world = World::start_with(&[SILENCE_ARGUMENT, "--database-url", &url]);
    Hosts::register(&world).survive(|| {
        postgres.stop();
        pass(OUTAGE);
        postgres.start_again();
    });
}
