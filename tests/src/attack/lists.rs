//! Lists of an InfraEnv with large inventories, with its own token.

use std::time::Duration;

use muster_api::BASE_PATH;
use serde_json::{Value, json};

use super::victim::{Enough, Victim};
use crate::hosts::plain::{host_id, inventory, reply};

/// Time limit of the attacker for one response.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn all_the_time(victim: &Victim, enough: &Enough<'_>) {
    for n in 10..20 {
        let registration = json!({"host_id": host_id(n), "discovery_agent_version": "muster-agent/0.1.0"});
        let mut large = inventory(n);
        let disk = json!({"id": "", "name": "sda", "path": "/dev/sda", "size_bytes": 1_000_000_000_u64, "smart": "x".repeat(2000)});
        large["disks"] = json!(vec![disk; 2000]);
        let hosts = format!("{}/hosts", victim.attackers_infra_env);
        taken_or_refused(victim, &hosts, &registration);
        let instructions = format!("{hosts}/{}/instructions", host_id(n));
        taken_or_refused(victim, &instructions, &reply("inventory", &large));
    }
    let path = format!("{BASE_PATH}{}/hosts", victim.attackers_infra_env);
    std::thread::scope(|scope| {
        for n in 0..16 {
            let path = &path;
            scope.spawn(move || {
                let encoding = if n % 2 == 0 { "gzip" } else { "identity" };
                let client = victim.attacker().with("Accept-Encoding", encoding);
                while !enough() {
                    // Listed, refused with a later retry, or cut off by parallel attacks.
                    let answer = client.try_request("GET", path, None);
                    let status = answer.map_or(503, |answer| answer.status);
                    assert!([200, 429, 503].contains(&status), "{status}");
                }
            });
        }
    });
}

/// If other bodies of the attacker take all of its places, it gets no response in time.
fn taken_or_refused(victim: &Victim, path: &str, body: &Value) {
    let (path, body) = (format!("{BASE_PATH}{path}"), body.to_string());
    let client = victim.attacker().timeout(PATIENCE);
    if let Ok(answer) = client.try_request("POST", &path, Some(body.as_bytes())) {
        let (status, text) = (answer.status, answer.text());
        assert!(
            [201, 204, 400, 404, 413, 429, 503].contains(&status),
            "{path}: {text}"
        );
    }
}
