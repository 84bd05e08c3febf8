//! Simulated machines that act on their own: agents that register, poll, answer every step and report an installation,
//! each in a thread, while a client program drives the service. Rules: docs/protocol/agent-protocol.md,
//! docs/protocol/instructions.md#4.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use muster_api::BASE_PATH;
use serde_json::{Value, json};

use crate::database::{erased, host_id, inventory};
use crate::http::{Answer, HttpClient};

/// Interval between two polls, whatever the service requests: tests need short waits.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The stages that the agent of an added worker reports, in order (docs/protocol/host-lifecycle.md#5, day-2
/// managed).
const STAGES: [&str; 5] = [
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Waiting for control plane",
    "Rebooting",
];

/// Agents that run until this is dropped. If one received a fatal response, dropping it fails the test.
#[derive(Default)]
pub struct Agents {
    running: Vec<(Sender<()>, JoinHandle<()>)>,
}

impl Agents {
    /// Creates an empty set.
    pub fn none() -> Self {
        Self::default()
    }

    /// Boots the image of the InfraEnv called `infra_env` on the host number `n`, as soon as the InfraEnv exists.
    pub fn boot(&mut self, client: &HttpClient, infra_env: &str, n: u64) {
        let (off, switch) = channel();
        let machine = Machine {
            client: client.clone(),
            infra_env: infra_env.to_owned(),
            n,
            switch,
        };
        let thread = std::thread::spawn(move || {
            // An error means that the machine was switched off.
            let _ = machine.live();
        });
        self.running.push((off, thread));
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        let ended: Vec<JoinHandle<()>> = self
            .running
            .drain(..)
            .map(|(off, thread)| {
                drop(off);
                thread
            })
            .collect();
        for thread in ended {
            let end = thread.join();
            assert!(
                end.is_ok() || std::thread::panicking(),
                "an agent failed; its messages are above"
            );
        }
    }
}

struct Machine {
    client: HttpClient,
    infra_env: String,
    n: u64,
    switch: Receiver<()>,
}

/// The machine was switched off.
struct Off;

/// Next action of a machine.
enum Next {
    /// Poll again.
    Poll,
    /// Register again: after a response with exit.
    Register,
    /// Nothing more: the installed system runs.
    Installed,
}

impl Machine {
    fn live(&self) -> Result<(), Off> {
        let infra_env = self.find_infra_env()?;
        let host = format!("{infra_env}/hosts/{}", host_id(self.n));
        loop {
            let body = json!({"host_id": host_id(self.n), "discovery_agent_version": "muster-agent/0.1.0"});
            let answer = self.client.post(&format!("{infra_env}/hosts"), &body);
            if answer.status == 404 {
                // Deleted with its InfraEnv: an agent stops forever.
                return Ok(());
            }
            answer.expect(201);
            loop {
                self.pause()?;
                let clock = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .expect("it is later than 1970")
                    .as_secs();
                let polled = self.client.get(&format!("{host}/instructions?timestamp={clock}"));
                if polled.status == 404 {
                    return Ok(());
                }
                match self.obey(&host, &polled.expect(200).json()) {
                    Next::Poll => {}
                    Next::Register => break,
                    Next::Installed => {
                        if !self.await_reset(&host)? {
                            return Ok(());
                        }
                        break;
                    }
                }
            }
        }
    }

    fn pause(&self) -> Result<(), Off> {
        match self.switch.recv_timeout(POLL_INTERVAL) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Err(Off),
        }
    }

    /// The path of the InfraEnv of that name, as soon as it exists.
    fn find_infra_env(&self) -> Result<String, Off> {
        loop {
            let all = self.client.get("/infra-envs").expect(200).json();
            let all = all.as_array().expect("a list");
            if let Some(found) = all.iter().find(|one| one["name"] == self.infra_env.as_str()) {
                return Ok(format!("/infra-envs/{}", found["id"].as_str().expect("an id")));
            }
            self.pause()?;
        }
    }

    /// Runs every step of a response and replies.
    fn obey(&self, host: &str, steps: &Value) -> Next {
        let mut next = match steps["post_step_action"].as_str() {
            Some("exit") => Next::Register,
            Some("continue") => Next::Poll,
            other => panic!("post_step_action is {other:?} in {steps}"),
        };
        for step in steps["instructions"].as_array().into_iter().flatten() {
            let kind = step["step_type"].as_str().expect("a step has a type");
            let reply = json!({
                "step_type": kind, "step_id": step["step_id"], "exit_code": 0, "error": "",
                "output": self.output(kind, &step["args"]).map_or_else(String::new, |output| output.to_string()),
            });
            let answer = self.client.post(&format!("{host}/instructions"), &reply);
            if answer.status == 404 {
                return Next::Poll;
            }
            // A late report: the host has been bound or installed meanwhile. Agents continue.
            let is_late = answer.status == 400
                && answer
                    .error_message()
                    .contains("no inventory is requested from it now");
            if !is_late {
                answer.expect(204);
            }
            if kind == "install" {
                self.install(host);
                next = Next::Installed;
            }
        }
        next
    }

    /// Output of a step on a healthy machine; `None`: this step's output is not read.
    fn output(&self, step: &str, args: &Value) -> Option<Value> {
        let argument = |n: usize| args[n].as_str().unwrap_or_default();
        let structured = || -> Value {
            serde_json::from_str(argument(0)).unwrap_or_else(|error| panic!("{step} {args}: {error}"))
        };
        Some(match step {
            "inventory" => {
                let mut own = inventory(self.n);
                own["interfaces"][0]["ipv4_addresses"] = json!([format!("198.51.100.{}/24", 10 + self.n)]);
                own
            }
            "health" => json!({"load_percent": 3, "memory_percent": 10}),
            "ntp-synchronizer" => {
                json!({"ntp_sources": [{"source_name": "192.0.2.123", "source_state": "synced"}]})
            }
            "domain-resolution" => {
                let asked = structured();
                let answers = asked["domains"].as_array().expect("domains").iter().map(|domain| {
                    // A name that only a wildcard would match (docs/protocol/host-validations.tsv,
                    // dns-wildcard-not-configured).
                    let nowhere = domain["domain_name"].as_str().is_some_and(|name| name.contains("validateNoWildcardDNS"));
                    let addresses = if nowhere { json!([]) } else { json!(["192.0.2.10"]) };
                    json!({"domain_name": domain["domain_name"], "ipv4_addresses": addresses, "ipv6_addresses": [], "cnames": []})
                });
                json!({"resolutions": answers.collect::<Vec<_>>()})
            }
            "api-vip-connectivity-check" => {
                let url = structured()["url"].clone();
                // A cluster that is known by its address resolves its names itself
                // (docs/protocol/host-lifecycle.md#13).
                let by_address = url.as_str().is_some_and(|url| url.contains("//192.0.2."));
                let keepalived = json!([{"path": "/etc/kubernetes/manifests/keepalived.yaml"}]);
                let files = if by_address { keepalived } else { json!([]) };
                let ignition = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": files}});
                json!({"is_success": true, "url": url, "download_error": "", "ignition": ignition.to_string()})
            }
            "connectivity-check" => {
                let others = structured();
                let hosts = others.as_array().expect("hosts").iter().map(reachable);
                json!({"remote_hosts": hosts.collect::<Vec<_>>()})
            }
            "free-network-addresses" => {
                let networks = structured();
                let free = networks.as_array().expect("networks").iter();
                json!(
                    free.map(|network| json!({"network": network, "free_addresses": ["198.51.100.200"]}))
                        .collect::<Vec<_>>()
                )
            }
            "container-image-availability" => {
                let images = structured();
                let images = images["images"].as_array().expect("images").iter();
                json!({"images": images.map(|name| json!({"name": name, "result": "success", "size_bytes": 1e8, "time": 1.0, "download_rate": 1e8})).collect::<Vec<_>>()})
            }
            "erase-disks" => erased(&structured()),
            "installation-disk-speed-check" => json!({"path": structured()["path"], "io_sync_duration": 2}),
            "verify-vips" => {
                let vips = structured();
                let vips = vips.as_array().expect("vips").iter();
                json!(vips.map(|vip| json!({"vip": vip["vip"], "vip_type": vip["vip_type"], "verification": "succeeded"})).collect::<Vec<_>>())
            }
            "install"
            | "stop-installation"
            | "logs-gather"
            | "reboot-for-reclaim"
            | "download-boot-artifacts" => return None,
            other => panic!("this agent does not know the step {other:?} (arguments {args})"),
        })
    }

    /// Reports an installation without failures, up to the reboot into the installed system.
    fn install(&self, host: &str) {
        for stage in STAGES {
            let report = json!({"current_stage": stage, "progress_info": ""});
            self.put(&format!("{host}/progress"), &report).expect(200);
            if stage == "Writing image to disk" {
                let half = json!({"current_stage": stage, "progress_info": "50%"});
                self.put(&format!("{host}/progress"), &half).expect(200);
            }
        }
    }

    fn put(&self, path: &str, body: &Value) -> Answer {
        self.client.request(
            "PUT",
            &format!("{BASE_PATH}{path}"),
            Some(body.to_string().as_bytes()),
        )
    }

    /// Waits until the test reclaims the installed machine and boots the image again: true. False: the host was
    /// deleted.
    fn await_reset(&self, host: &str) -> Result<bool, Off> {
        loop {
            let found = self.client.get(host);
            if found.status == 404 {
                return Ok(false);
            }
            let status = found.expect(200).json()["status"].clone();
            if status == "unbinding-pending-user-action" || status == "resetting-pending-user-action" {
                return Ok(true);
            }
            self.pause()?;
        }
    }
}

/// A report about another host, reached by all of its addresses.
fn reachable(other: &Value) -> Value {
    let (mut near, mut far, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for card in other["nics"].as_array().into_iter().flatten() {
        for address in card["ip_addresses"].as_array().into_iter().flatten() {
            near.push(json!({"outgoing_nic": "eth0", "outgoing_ip_address": "198.51.100.11", "remote_ip_address": address,
                             "remote_mac": card["mac"], "successful": true}));
            far.push(
                json!({"outgoing_nic": "eth0", "remote_ip_address": address, "successful": true,
                            "average_rtt_ms": 0.3, "packet_loss_percentage": 0.0}),
            );
            sizes.push(json!({"outgoing_nic": "eth0", "remote_ip_address": address, "mtu_successful": true}));
        }
    }
    json!({"host_id": other["host_id"], "l2_connectivity": near, "l3_connectivity": far, "mtu_report": sizes})
}
