//! A host without hardware: its agent's requests, written out.

use serde_json::{Value, json};

use crate::http::Requests;
use crate::rest::PULL_SECRET;

/// Creates an InfraEnv with nothing but a name; returns its path below the API.
#[track_caller]
pub fn infra_env(client: &impl Requests) -> String {
    let body = json!({"name": "rack", "pull_secret": PULL_SECRET});
    let made = client.post("/infra-envs", &body).expect(201).json();
    format!("/infra-envs/{}", made["id"].as_str().expect("an id"))
}

/// The id number `n` of made-up hosts.
pub fn host_id(n: u64) -> String {
    format!("00000000-0000-4000-8000-{n:012x}")
}

/// Registers the host number `n`; returns its path below the API.
#[track_caller]
pub fn register(client: &impl Requests, infra_env: &str, n: u64) -> String {
    let id = host_id(n);
    let body = json!({"host_id": id, "discovery_agent_version": "muster-agent/0.1.0"});
    client.post(&format!("{infra_env}/hosts"), &body).expect(201);
    format!("{infra_env}/hosts/{id}")
}

/// A good server's inventory, the host number `n`.
pub fn inventory(n: u64) -> Value {
    let disk = |name: &str, bytes: u64| {
        json!({
            "id": format!("/dev/disk/by-id/wwn-{name}"), "name": name, "path": format!("/dev/{name}"),
            "by_id": format!("/dev/disk/by-id/wwn-{name}"), "by_path": format!("/dev/disk/by-path/pci-{name}"),
            "drive_type": "SSD", "size_bytes": bytes, "serial": format!("S-{n}-{name}"), "vendor": "ACME",
            "model": "D1", "wwn": format!("0x{name}"), "hctl": "0:0:0:0", "bootable": false, "smart": "",
            "installation_eligibility": {"eligible": true, "not_eligible_reasons": []},
        })
    };
    json!({
        "hostname": format!("host-{n}"), "bmc_address": "0.0.0.0", "bmc_v6address": "::/0",
        "cpu": {"count": 8, "architecture": "x86_64", "model_name": "Test CPU", "frequency": 2400.0,
                "flags": ["vmx", "sse4_2", "ssse3", "popcnt"]},
        "memory": {"physical_bytes": 34_359_738_368_u64, "usable_bytes": 33_359_738_368_u64,
                   "physical_bytes_method": "dmidecode"},
        "disks": [disk("sda", 480_000_000_000), disk("sdb", 8_000_000_000)],
        "interfaces": [{
            "name": "eth0", "mac_address": format!("02:00:00:00:{:02x}:{:02x}", n >> 8 & 0xff, n & 0xff),
            "ipv4_addresses": ["198.51.100.11/24"], "ipv6_addresses": [], "flags": ["up", "broadcast"],
            "has_carrier": true, "mtu": 1500, "speed_mbps": 1000, "type": "physical", "vendor": "0x8086",
            "product": "0x10d3", "biosdevname": "", "client_id": "",
        }],
        "routes": [{"interface": "eth0", "destination": "0.0.0.0", "gateway": "198.51.100.1", "family": 2, "metric": 100}],
        "system_vendor": {"manufacturer": "ACME", "product_name": "Server 1", "serial_number": format!("SN-{n}")},
        "boot": {"current_boot_mode": "uefi", "secure_boot_state": "Enabled"},
        "gpus": [], "timestamp": 1_760_000_000, "tpm_version": "none",
    })
}

/// The reply to a step with this output.
pub fn reply(step: &str, output: &Value) -> Value {
    json!({"step_type": step, "step_id": format!("{step}-1"), "exit_code": 0, "output": output.to_string(), "error": ""})
}

/// The output of an agent that has erased the disks of a request.
pub fn erased(request: &Value) -> Value {
    let disks = request["disks"].as_array().into_iter().flatten();
    let disks = disks.map(|disk| {
        json!({
            "id": disk["id"], "state": "erased", "method": "metadata", "bytes_done": 1_048_576, "bytes_total": 1_048_576,
            "seconds": 1, "samples": 8,
        })
    });
    json!({"id": request["id"], "is_over": true, "disks": disks.collect::<Vec<_>>()})
}

/// Registers the host number `n` and reports its inventory; returns its path below the API.
#[track_caller]
pub fn known_host(client: &impl Requests, infra_env: &str, n: u64) -> String {
    let host = register(client, infra_env, n);
    client
        .post(
            &format!("{host}/instructions"),
            &reply("inventory", &inventory(n)),
        )
        .expect(204);
    host
}
