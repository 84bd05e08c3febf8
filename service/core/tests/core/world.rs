//! A small world to put a host in.

use chrono::{DateTime, Duration};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::infra_env::InfraEnvCreateParams;
use muster_api::inventory::{Cpu, Disk, Eligibility, Interface, Inventory, Memory, Route, SystemVendor};
use muster_api::steps::{StepReply, StepType};
use muster_api::time::Timestamp;
use muster_core::host::reply::{Limits, interpret};
use muster_core::host::requirements::Requirements;
use muster_core::host::{Host, HostEvent, HostFacts, Refused, Step, advance, register};
use muster_core::infra_env::{self, InfraEnv};
use uuid::Uuid;

pub const PULL_SECRET: &str = r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNz"}}}"#;
pub const AGENT: &str = "muster-agent/0.1.0";

/// Everything around one host; time moves only when told to.
pub struct World {
    pub infra_env: InfraEnv,
    pub requirements: Requirements,
    pub now: Timestamp,
    pub last_seen: Option<Timestamp>,
    /// Seconds by which the host's clock is ahead; `None`: it tells no time.
    pub clock_ahead: Option<i64>,
    pub listening_since: Option<Timestamp>,
}

impl World {
    pub fn new() -> Self {
        let now = start();
        Self {
            infra_env: infra_env(),
            requirements: Requirements::default(),
            now,
            last_seen: None,
            clock_ahead: Some(0),
            listening_since: None,
        }
    }

    pub fn facts(&self) -> HostFacts<'_> {
        HostFacts {
            cluster: None,
            infra_env: &self.infra_env,
            requirements: &self.requirements,
            last_seen: self.last_seen,
            host_clock: self
                .last_seen
                .and_then(|seen| Some(seen.timestamp() + self.clock_ahead?)),
            listening_since: self.listening_since,
            agent_version: AGENT,
        }
    }

    pub fn register(&self) -> Host {
        register(host_id(), self.infra_env.id, AGENT, &self.facts(), self.now)
            .unwrap()
            .host
    }

    pub fn step(&self, host: &Host, event: &HostEvent) -> Result<Step, Refused> {
        advance(host, event, &self.facts(), self.now)
    }

    /// The host after `event`, which must be accepted.
    pub fn after(&self, host: &Host, event: &HostEvent) -> Host {
        self.step(host, event).unwrap().host
    }

    pub fn poll(&mut self) {
        self.last_seen = Some(self.now);
    }

    pub fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    /// A registered host that has polled and told a good inventory.
    pub fn known_host(&mut self) -> Host {
        self.poll();
        let host = self.register();
        self.after(&host, &HostEvent::InventoryReported(good_inventory()))
    }
}

pub fn start() -> Timestamp {
    DateTime::from_timestamp(1_763_733_600, 0).unwrap()
}

pub fn host_id() -> HostId {
    HostId(Uuid::from_u128(0x1111_1111_0000_4000_8000_0000_0000_0001))
}

pub fn infra_env() -> InfraEnv {
    infra_env::create(
        create_params(),
        InfraEnvId(Uuid::from_u128(7)),
        "boot".into(),
        start(),
    )
    .unwrap()
}

pub fn create_params() -> InfraEnvCreateParams {
    InfraEnvCreateParams {
        name: "hw".into(),
        pull_secret: PULL_SECRET.into(),
        ..InfraEnvCreateParams::default()
    }
}

pub fn disk(name: &str, size_gb: i64) -> Disk {
    Disk {
        id: format!("/dev/disk/by-id/wwn-{name}"),
        by_id: format!("/dev/disk/by-id/wwn-{name}"),
        by_path: format!("/dev/disk/by-path/pci-{name}"),
        name: name.into(),
        path: format!("/dev/{name}"),
        drive_type: "SSD".into(),
        size_bytes: size_gb * 1_000_000_000,
        hctl: "0:0:0:0".into(),
        installation_eligibility: Eligibility {
            eligible: true,
            not_eligible_reasons: Vec::new(),
        },
        ..Disk::default()
    }
}

pub fn good_inventory() -> Inventory {
    Inventory {
        hostname: "host-1".into(),
        cpu: Some(Cpu {
            architecture: "x86_64".into(),
            count: 8,
            ..Cpu::default()
        }),
        memory: Some(Memory {
            physical_bytes: 32 << 30,
            physical_bytes_method: "dmidecode".into(),
            usable_bytes: 31 << 30,
        }),
        disks: vec![disk("sda", 480), disk("sdb", 8)],
        interfaces: vec![Interface {
            name: "eth0".into(),
            kind: "physical".into(),
            ipv4_addresses: vec!["198.51.100.11/24".into()],
            ..Interface::default()
        }],
        routes: vec![Route {
            destination: "0.0.0.0".into(),
            gateway: "198.51.100.1".into(),
            family: 2,
            interface: "eth0".into(),
            metric: 100,
        }],
        system_vendor: Some(SystemVendor {
            manufacturer: "ACME".into(),
            product_name: "Server 1".into(),
            ..SystemVendor::default()
        }),
        ..Inventory::default()
    }
}

pub fn reply(step: StepType, exit_code: i64, output: &str) -> StepReply {
    StepReply {
        step_type: Some(step),
        step_id: String::new(),
        exit_code,
        output: output.into(),
        error: String::new(),
    }
}

/// What a good reply of `step` says.
pub fn said(step: StepType, output: &str) -> Vec<HostEvent> {
    interpret(&reply(step, 0, output), &Limits::default()).unwrap()
}
