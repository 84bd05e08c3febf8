//! Responds to each step like a machine: one table by step type. Argument and output shapes:
//! docs/protocol/agent-protocol.md#6, docs/protocol/instructions.md#3 and §4.
//!
//! An output depends only on machine and arguments, so an agent needs to record only that it was sent.

mod checks;
mod network;
mod outcome;
mod storage;

pub use outcome::Outcome;
pub use storage::erase_disks;

use crate::machine::Machine;

/// Handler of a step.
#[derive(Debug, Clone, Copy)]
pub enum Handling {
    /// Returned at once by a pure function.
    Answer(fn(Machine, &[String]) -> Outcome),
    /// Runs for a while and sends requests to the service meanwhile.
    Job(Job),
}

/// Steps that are more than a reply; the agent runs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Progress stage by stage, logs, the reboot.
    Install,
    /// Ends a running installation.
    StopInstallation,
    /// Uploads logs.
    GatherLogs,
    /// Registers again with the requested version.
    UpgradeAgent,
    /// The installed system boots the discovery image again.
    RebootForReclaim,
    /// Disks are erased; the same request returns more with each poll.
    EraseDisks,
    /// The node reboots into its installed system.
    RebootNode,
}

/// All known steps.
const TABLE: [(&str, Handling); 20] = [
    ("inventory", Handling::Answer(checks::inventory)),
    ("health", Handling::Answer(checks::health)),
    ("ntp-synchronizer", Handling::Answer(checks::ntp)),
    ("connectivity-check", Handling::Answer(network::connectivity)),
    (
        "free-network-addresses",
        Handling::Answer(network::free_addresses),
    ),
    ("dhcp-lease-allocate", Handling::Answer(network::dhcp_lease)),
    ("domain-resolution", Handling::Answer(network::domain_resolution)),
    ("api-vip-connectivity-check", Handling::Answer(network::api_vip)),
    ("verify-vips", Handling::Answer(network::verify_vips)),
    ("tang-connectivity-check", Handling::Answer(network::tang)),
    (
        "installation-disk-speed-check",
        Handling::Answer(storage::disk_speed),
    ),
    (
        "container-image-availability",
        Handling::Answer(storage::image_availability),
    ),
    (
        "download-boot-artifacts",
        Handling::Answer(storage::boot_artifacts),
    ),
    ("install", Handling::Job(Job::Install)),
    ("stop-installation", Handling::Job(Job::StopInstallation)),
    ("logs-gather", Handling::Job(Job::GatherLogs)),
    ("upgrade-agent", Handling::Job(Job::UpgradeAgent)),
    ("reboot-for-reclaim", Handling::Job(Job::RebootForReclaim)),
    ("erase-disks", Handling::Job(Job::EraseDisks)),
    ("reboot-node", Handling::Job(Job::RebootNode)),
];

/// Returns the handler of a step type. Unknown ones (also `execute`, which no agent has) fail as in every agent.
pub fn handling(step_type: &str) -> Result<Handling, Outcome> {
    let known = TABLE.iter().find(|(name, _)| *name == step_type);
    known
        .map(|(_, handling)| *handling)
        .ok_or_else(|| Outcome::failed(-1, format!("failed to find action for step type {step_type}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::steps::StepType;
    use serde_json::{Value, json};

    fn answer(step: &str, args: &[&str]) -> Outcome {
        let args: Vec<String> = args.iter().map(|text| (*text).to_owned()).collect();
        match handling(step).unwrap() {
            Handling::Answer(answer) => answer(Machine::new(1, 5), &args),
            Handling::Job(job) => panic!("{step} is {job:?}"),
        }
    }

    fn output(step: &str, argument: &Value) -> Value {
        let outcome = answer(step, &[&argument.to_string()]);
        assert_eq!(outcome.exit_code, 0, "{outcome:?}");
        serde_json::from_str(&outcome.output).unwrap()
    }

    #[test]
    fn the_table_has_each_step_of_the_protocol_that_an_agent_can_do() {
        for (name, _) in TABLE {
            serde_json::from_value::<StepType>(json!(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        for name in ["execute", "next-step-runner", "brew-coffee"] {
            let failed = handling(name).unwrap_err();
            assert_eq!(
                (failed.exit_code, failed.error),
                (-1, format!("failed to find action for step type {name}"))
            );
        }
    }

    #[test]
    fn bad_arguments_fail_as_in_an_agent() {
        for (step, handling) in TABLE {
            let Handling::Answer(answer) = handling else {
                continue;
            };
            if step == "inventory" || step == "download-boot-artifacts" {
                continue;
            }
            for args in [vec![], vec!["{".to_owned()], vec!["7".to_owned()]] {
                assert_eq!(answer(Machine::new(1, 1), &args).exit_code, -1, "{step} {args:?}");
            }
        }
    }

    #[test]
    fn inventory_and_time_are_what_the_service_reads() {
        let outcome = answer(
            "inventory",
            &["00000000-0000-0000-0000-000000000000", "--output-max-size=9"],
        );
        let inventory: muster_api::inventory::Inventory = serde_json::from_str(&outcome.output).unwrap();
        assert_eq!(inventory, Machine::new(1, 5).inventory());
        let reported = output("ntp-synchronizer", &json!({"ntp_source": "a.example, 192.0.2.1"}));
        let reported: muster_api::steps::NtpSynchronizationResponse =
            serde_json::from_value(reported).unwrap();
        assert_eq!(reported.ntp_sources.len(), 2);
    }

    #[test]
    fn a_machine_at_rest_always_has_the_same_health_and_no_fault() {
        let asked = json!({"interval_seconds": 60});
        let report: muster_api::steps::HealthReport =
            serde_json::from_value(output("health", &asked)).unwrap();
        assert_eq!(output("health", &asked), output("health", &asked));
        assert!(
            report
                .temperatures
                .iter()
                .all(|one| Some(one.celsius) < one.limit)
        );
        assert!(!report.disks.is_empty() && report.disks.iter().all(|disk| disk.faults.is_empty()));
        assert!(report.slow_links.is_empty());
    }

    #[test]
    fn peers_of_the_fleet_are_reached_and_strangers_are_not() {
        let peer = Machine::new(1, 6).inventory();
        let nics: Vec<Value> = peer
            .interfaces
            .iter()
            .filter(|nic| !nic.ipv4_addresses.is_empty() && nic.name != "lo")
            .map(|nic| {
                let addresses: Vec<&str> = nic
                    .ipv4_addresses
                    .iter()
                    .map(|address| address.split('/').next().unwrap())
                    .collect();
                json!({"name": nic.name, "mac": nic.mac_address, "ip_addresses": addresses})
            })
            .collect();
        let id = Machine::new(1, 6).host_id();
        let stranger =
            json!([{"name": "eth0", "mac": "52:54:00:00:00:01", "ip_addresses": ["198.51.100.7"]}]);
        let reported = output(
            "connectivity-check",
            &json!([{"host_id": id, "nics": nics}, {"host_id": "ffffffff-0000-0000-0000-000000000000", "nics": stranger}]),
        );
        let of = |id: String| {
            reported["remote_hosts"]
                .as_array()
                .unwrap()
                .iter()
                .find(|host| host["host_id"] == id)
                .unwrap()
                .clone()
        };
        let near = of(id.to_string());
        assert_eq!(near["l3_connectivity"][0]["successful"], true, "{near}");
        assert_eq!(near["l2_connectivity"][0]["remote_mac"], nics[0]["mac"], "{near}");
        let far = of("ffffffff-0000-0000-0000-000000000000".into());
        assert_eq!(
            far["l3_connectivity"],
            json!([{"remote_ip_address": "198.51.100.7"}])
        );
        assert_eq!(far["l2_connectivity"], Value::Null);
    }

    #[test]
    fn network_answers_have_their_shapes() {
        let free = output("free-network-addresses", &json!(["10.0.0.0/24"]));
        let addresses = free[0]["free_addresses"].as_array().unwrap();
        assert!(
            addresses.contains(&json!("10.0.0.0")) && addresses.len() < 256,
            "{}",
            addresses.len()
        );
        assert_eq!(
            answer("free-network-addresses", &[r#"["10.0.0.7/24"]"#]).exit_code,
            -1
        );
        let names = output(
            "domain-resolution",
            &json!({"domains": [{"domain_name": "api.a.example"}, {"domain_name": "validateNoWildcardDNS.a.example."}]}),
        );
        assert_eq!(
            names["resolutions"][0]["ipv4_addresses"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        assert_eq!(names["resolutions"][1]["ipv4_addresses"], json!([]));
        let vips = output("verify-vips", &json!([{"vip": "10.0.0.5", "vip_type": "api"}]));
        assert_eq!(
            vips,
            json!([{"vip": "10.0.0.5", "vip_type": "api", "verification": "succeeded"}])
        );
        assert_eq!(output("verify-vips", &json!([])), Value::Null);
        let api = output(
            "api-vip-connectivity-check",
            &json!({"url": "https://10.0.0.5:22623/config/worker"}),
        );
        assert_eq!(api["is_success"], true);
        assert!(serde_json::from_str::<Value>(api["ignition"].as_str().unwrap()).is_ok());
        let tang = output(
            "tang-connectivity-check",
            &json!({"tang_servers": r#"[{"url":"http://tang.example:7500","thumbprint":"PLjN"}]"#}),
        );
        assert_eq!(
            tang["tang_server_response"][0]["tang_url"],
            "http://tang.example:7500"
        );
        let lease = output(
            "dhcp-lease-allocate",
            &json!({"interface": "eno8303", "api_vip_mac": "00:1a:4a:00:00:01", "ingress_vip_mac": "00:1a:4a:00:00:02"}),
        );
        assert!(
            lease["api_vip_lease"].as_str().unwrap().contains("renew"),
            "{lease}"
        );
    }

    #[test]
    fn an_erasure_is_over_with_its_third_request() {
        let argument = json!({"id": "e", "depth": "full", "disks": [{"id": "/dev/sda", "size_bytes": 900}]});
        let round = |number| -> muster_api::steps::EraseDisksResponse {
            let outcome = erase_disks(&[argument.to_string()], number);
            serde_json::from_str(&outcome.output).unwrap()
        };
        let shown: Vec<(bool, i64)> = (0..3)
            .map(|number| (round(number).is_over, round(number).disks[0].bytes_done))
            .collect();
        assert_eq!(shown, [(false, 300), (false, 600), (true, 900)]);
        assert_eq!(
            serde_json::to_value(round(9)).unwrap()["disks"][0]["state"],
            "erased"
        );
        assert_eq!(erase_disks(&[], 0).exit_code, -1);
    }

    #[test]
    fn storage_answers_have_their_shapes() {
        let speed = answer(
            "installation-disk-speed-check",
            &[r#"{"path":"/dev/sda"}"#, "480.00"],
        );
        let reported: Value = serde_json::from_str(&speed.output).unwrap();
        assert!(reported["io_sync_duration"].as_i64().unwrap() > 0, "{speed:?}");
        let images = answer(
            "container-image-availability",
            &[r#"{"images":["quay.example/a:1","quay.example/b:1"],"timeout":960}"#],
        );
        let reported: Value = serde_json::from_str(&images.output).unwrap();
        assert_eq!(reported["images"].as_array().unwrap().len(), 2);
        let any_failed = reported["images"]
            .as_array()
            .unwrap()
            .iter()
            .any(|image| image["result"] == "failure");
        assert_eq!(images.exit_code, if any_failed { 2 } else { 0 });
    }
}
