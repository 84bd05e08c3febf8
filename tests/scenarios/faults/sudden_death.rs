//! `kill -9` during many writes: everything that was acknowledged with 2xx exists after the next start, with its
//! events.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use muster_api::BASE_PATH;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use serde_json::{Value, json};

use muster_tests::database::{Database, host_id, infra_env, inventory, on_postgres, reply};
use muster_tests::http::HttpClient;

on_postgres!(what_was_answered_survives_a_kill);

/// Writers at once.
const WRITERS: u64 = 6;

/// Requests answered with 2xx, by host.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Promised {
    registered: bool,
    inventory: bool,
    named: bool,
}

type Ledger = Arc<Mutex<BTreeMap<u64, Promised>>>;

/// Registers hosts, reports inventories and names them, one after the other, until the service is gone.
fn write(client: &HttpClient, infra_env: &str, next: &AtomicU64, stop: &AtomicBool, ledger: &Ledger) {
    while !stop.load(Ordering::Relaxed) {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let host = format!("{BASE_PATH}{infra_env}/hosts/{}", host_id(n));
        let kept = |change: fn(&mut Promised)| change(ledger.lock().unwrap().entry(n).or_default());
        let send = |method: &str, path: &str, body: Value, wanted: u16| {
            let answer = client.try_request(method, path, Some(body.to_string().as_bytes()));
            match answer {
                Ok(answer) if answer.status == wanted => true,
                Ok(answer) => panic!("{}: {} {}", answer.asked, answer.status, answer.text()),
                Err(_) => false,
            }
        };
        let hosts = format!("{BASE_PATH}{infra_env}/hosts");
        if !send(
            "POST",
            &hosts,
            json!({"host_id": host_id(n), "discovery_agent_version": "v"}),
            201,
        ) {
            return;
        }
        kept(|promised| promised.registered = true);
        if !send(
            "POST",
            &format!("{host}/instructions"),
            reply("inventory", &inventory(n)),
            204,
        ) {
            return;
        }
        kept(|promised| promised.inventory = true);
        if !send("PATCH", &host, json!({"host_name": format!("named-{n}")}), 201) {
            return;
        }
        kept(|promised| promised.named = true);
    }
}

pub fn what_was_answered_survives_a_kill(database: Database) {
    let mut service = database.serve();
    let client = service.http();
    let infra_env = infra_env(&client);
    let ledger = Ledger::default();
    let next = AtomicU64::new(1);
    for round in 0..3 {
        let before = ledger.lock().unwrap().len();
        // Some thousandths of a second after some dozens of hosts: at another point of the work each time.
        let chance = u64::from(uuid_byte());
        let enough = before + 10 + usize::try_from(chance % 20).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                // Connections of a killed service are not used again.
                let client = service.http();
                let (infra_env, next, stop, ledger) = (&infra_env, &next, &stop, &ledger);
                scope.spawn(move || write(&client, infra_env, next, stop, ledger));
            }
            await_condition("enough hosts to be written", LEAST_LIMIT, || {
                let written = ledger.lock().unwrap().len();
                if written >= enough {
                    Ok(())
                } else {
                    Err(format!("{written} of {enough}"))
                }
            });
            let at = Instant::now() + Duration::from_micros(chance * 200);
            while Instant::now() < at {
                std::hint::spin_loop();
            }
            service.kill();
            stop.store(true, Ordering::Relaxed);
        });
        service.start_again();
        let promised = ledger.lock().unwrap().clone();
        println!(
            "round {round}: killed after {} hosts were promised",
            promised.len()
        );
        check(&service.http(), &infra_env, &promised);
    }
}

/// A random number.
fn uuid_byte() -> u8 {
    muster_api::ids::HostId::random().0.as_bytes()[0]
}

fn check(client: &HttpClient, infra_env: &str, promised: &BTreeMap<u64, Promised>) {
    let hosts = client.get(&format!("{infra_env}/hosts")).expect(200).json();
    let hosts: BTreeMap<&str, &Value> = hosts
        .as_array()
        .unwrap()
        .iter()
        .map(|host| (host["id"].as_str().unwrap(), host))
        .collect();
    let id = infra_env.trim_start_matches("/infra-envs/");
    let events = client
        .get(&format!("/events?infra_env_id={id}&limit=-1"))
        .expect(200)
        .json();
    let events = events.as_array().unwrap();
    for (n, promise) in promised {
        let id = host_id(*n);
        let host = hosts
            .get(id.as_str())
            .unwrap_or_else(|| panic!("host {n} was registered and is lost"));
        let happened = |name: &str| {
            events
                .iter()
                .any(|event| event["host_id"] == id.as_str() && event["name"] == name)
        };
        assert!(
            happened("host_registration_succeeded"),
            "the registration of host {n} has lost its event"
        );
        if promise.inventory {
            assert!(
                host["inventory"]
                    .as_str()
                    .unwrap_or_default()
                    .contains(&format!("\"SN-{n}\"")),
                "the inventory of host {n} is lost: {host}"
            );
            assert_eq!(host["status"], "known-unbound", "host {n}");
            assert!(
                happened("host_status_updated"),
                "host {n} became known without an event"
            );
        }
        if promise.named {
            assert_eq!(host["requested_hostname"], format!("named-{n}"));
        }
    }
    // An existing host was registered with its event, acknowledged or not: they are committed together.
    for (id, host) in hosts {
        assert!(
            events
                .iter()
                .any(|event| event["host_id"] == id && event["name"] == "host_registration_succeeded"),
            "a host without the event of its registration: {host}"
        );
    }
}
