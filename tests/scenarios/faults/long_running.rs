//! Events of years in the life of a service, in one run: hosts of a cluster poll two replicas, ten of them are being
//! installed, and one fault follows the other. Afterwards no host is lost, misjudged or failed, every event is
//! there once, and memory and database are as large as they were.
//!
//! `make test-long` runs it on a scale of one to six: 300 hosts that poll every 10 s and may be silent for 30 s,
//! outages of 50 s. With `MUSTER_LONG=1` it has its true measure: 3,000 hosts, a poll a minute, three minutes of
//! silence, outages of five. Outages last as long as stated: no clock is changed to make them look longer.
//!
//! The database starts from the dump of the previous release. `MUSTER_PREVIOUS_BIN` names a `muster` of it that serves
//! until the upgrade; without one the present program is replaced by itself.

mod identity;
mod running;
mod scale;

use std::fs;
use std::time::{Duration, Instant};

use muster_tests::artifacts::muster_program;
use muster_tests::condition::await_condition;
use muster_tests::http::HttpClient;
use muster_tests::process::Signal;
use muster_tests::rest::PULL_SECRET;
use serde_json::json;

use running::Running;

type Fault = fn(&mut Running);

const FAULTS: [(&str, Fault); 8] = [
    ("the database was away", database_away),
    ("the service was stopped", service_stopped),
    ("the clock was set forward", clock_forward),
    ("the clock was set back", clock_back),
    ("the disk was full", disk_full),
    ("the certificate was rotated", certificate_rotated),
    ("the service was upgraded", rolling_upgrade),
    ("a replica was killed", replica_killed),
];

#[test]
#[ignore = "it takes eight minutes and more"]
fn faults_of_years_lose_no_host_misjudge_none_and_leave_everything_as_large_as_it_was() {
    let mut running = Running::begin();
    let (before, size) = (running.await_rest(), running.size());
    let installing = running.install_ten(&before);
    for (what, fault) in FAULTS {
        let began = Instant::now();
        fault(&mut running);
        let lasted = began.elapsed();
        running.judge(what, &before, &installing);
        println!(
            "{what} for {} s; judged after {} s",
            lasted.as_secs(),
            began.elapsed().as_secs()
        );
    }
    running.await_installed(&installing);
    running.judge("all of it", &before, &installing);
    running.size().is_like(&size);
    running.end();
}

fn database_away(running: &mut Running) {
    running.postgres.stop();
    running.for_an_outage("the service lives, and is not ready", |running| {
        running.replicas.iter().all(|replica| {
            let lives = replica.client().request("GET", "/health", None);
            lives.is_ok_and(|(status, _)| status == 200) && replica.client().is_ready().is_err()
        })
    });
    running.postgres.start_again();
}

fn service_stopped(running: &mut Running) {
    running
        .replicas
        .iter()
        .for_each(|replica| replica.signal(Signal::SIGSTOP));
    let impatient = running.client.clone().timeout(Duration::from_secs(1));
    running.for_an_outage("nobody answers", |_| {
        impatient.try_request("GET", "/health", None).is_err()
    });
    running
        .replicas
        .iter()
        .for_each(|replica| replica.signal(Signal::SIGCONT));
}

/// Sets the clock of the whole computer forward: of both replicas and of PostgreSQL, whose time they use.
fn clock_forward(running: &mut Running) {
    running.clock.forward(3600);
    running.nobody_is_judged(running.scale.silence + running.scale.poll);
}

fn clock_back(running: &mut Running) {
    running.clock.forward(0);
    running.nobody_is_judged(running.scale.silence + running.scale.poll);
}

/// Fills the disk of PostgreSQL's tables.
fn disk_full(running: &mut Running) {
    let somebody_elses = running.disk.fill();
    let try_write = |running: &Running| {
        let body = json!({"name": "one more", "pull_secret": PULL_SECRET});
        running.client.post("/infra-envs", &body)
    };
    let refused = (0..5000).find_map(|_| Some(try_write(running)).filter(|answer| answer.status != 201));
    let message = refused
        .expect("a full disk takes no 5,000 records")
        .expect(503)
        .error_message();
    assert!(message.contains("space"), "{message}");
    running.nobody_is_judged(running.scale.silence + running.scale.poll);
    fs::remove_file(somebody_elses).unwrap();
    try_write(running).expect(201);
}

fn certificate_rotated(running: &mut Running) {
    running.identity.renew();
    for replica in &running.replicas {
        await_condition("the new certificate", Duration::from_secs(60), || {
            let client = HttpClient::trusting(replica.client().base(), running.identity.present.as_bytes());
            client.try_request("GET", "/health", None).map(drop)
        });
    }
}

fn rolling_upgrade(running: &mut Running) {
    let present = running.clock.around(&muster_program());
    for replica in &mut running.replicas {
        assert!(replica.terminate().success());
        replica.start_again_as(&present);
    }
}

fn replica_killed(running: &mut Running) {
    running.replicas[0].kill();
    running.nobody_is_judged(running.scale.outage);
    running.replicas[0].start_again();
}
