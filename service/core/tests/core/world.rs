//! A small world for one host.

use chrono::{DateTime, Duration};
use muster_api::fingerprint::Fingerprint;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::infra_env::InfraEnvCreateParams;
use muster_api::inventory::{Cpu, Disk, Eligibility, Interface, Inventory, Memory, Route, SystemVendor};
use muster_api::steps::{
    DiskErasure, EraseDisksResponse, ErasureMethod, ErasureState, StepReply, StepType, Steps,
};
use muster_api::time::Timestamp;
use muster_core::lifecycle::host::reply::{Limits, interpret};
use muster_core::lifecycle::host::{HostEvent, Machine, Refused, Step, advance, instructions, register};
use muster_core::lifecycle::infra_env;
use muster_core::record::{Cluster, ClusterData, DeafTime, Host, InfraEnv};
use muster_core::rules::cluster_peers::{Members, Peers};
use muster_core::rules::facts::{BootArtifacts, ClusterFacts, HostFacts, InstallImages};
use muster_core::rules::limits::WaitLimits;
use muster_core::rules::os_image::{OsImage, parse};
use muster_core::rules::requirements::Requirements;
use uuid::Uuid;

pub const PULL_SECRET: &str = r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNz"}}}"#;
pub const AGENT: &str = "muster-agent/0.1.0";

/// The facts around one host; time advances only through the methods.
pub struct World {
    pub infra_env: InfraEnv,
    pub requirements: Requirements,
    pub now: Timestamp,
    pub last_seen: Option<Timestamp>,
    /// Seconds by which the host's clock is ahead; `None`: it reports no time.
    pub clock_ahead: Option<i64>,
    pub listening_since: Option<Timestamp>,
    pub clock_set_by: i64,
    pub clock_was_set_by: i64,
    /// The cluster to which hosts are or can be bound.
    pub cluster: Cluster,
    pub peers: Members,
    pub kube: bool,
    pub agent_image: Option<String>,
    pub fingerprint: Option<Fingerprint>,
    pub os_images: Vec<OsImage>,
    pub node_agent: bool,
    pub limits: WaitLimits,
    pub deaf: Vec<DeafTime>,
    pub kernel_arguments: Vec<String>,
    /// Another InfraEnv through which the machine is in a cluster.
    pub in_cluster_through: Option<String>,
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
            clock_set_by: 0,
            clock_was_set_by: 0,
            cluster: cluster(),
            peers: Members::default(),
            kube: false,
            agent_image: None,
            fingerprint: None,
            os_images: os_images(),
            node_agent: true,
            limits: WaitLimits::default(),
            deaf: Vec::new(),
            kernel_arguments: vec!["quiet".into()],
            in_cluster_through: None,
        }
    }

    /// For a host of the pool.
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
            clock_set_by: self.clock_set_by,
            clock_was_set_by: self.clock_was_set_by,
            deaf: &self.deaf,
            agent_version: AGENT,
            agent_image: self.agent_image.as_deref(),
            kube: self.kube,
            images: InstallImages {
                installer: "registry.example.test/installer:1",
                controller: "registry.example.test/controller:1",
            },
            service_url: "https://muster.example.test",
            os_images: &self.os_images,
            node_agent: self.node_agent,
            limits: &self.limits,
            boot_artifacts: Some(BootArtifacts {
                kernel_url: "http://boot.example.test/vmlinuz",
                initrd_url: "http://boot.example.test/initrd",
                rootfs_url: "http://boot.example.test/rootfs",
                host_fs_mount_dir: "/host",
                kernel_arguments: &self.kernel_arguments,
            }),
            in_cluster_through: self.in_cluster_through.as_deref(),
        }
    }

    /// For a host of the cluster.
    pub fn cluster_facts(&self) -> HostFacts<'_> {
        HostFacts {
            cluster: Some(ClusterFacts {
                cluster: &self.cluster,
                peers: Peers::of(&self.peers),
            }),
            ..self.facts()
        }
    }

    pub fn facts_of(&self, host: &Host) -> HostFacts<'_> {
        if host.cluster_id.is_some() {
            self.cluster_facts()
        } else {
            self.facts()
        }
    }

    /// A first registration.
    pub fn appear(&self, agent_version: &str) -> Result<Step, Refused> {
        let facts = if self.infra_env.cluster_id.is_some() {
            self.cluster_facts()
        } else {
            self.facts()
        };
        let machine = Machine {
            fingerprint: self.fingerprint.clone(),
            public_key: String::new(),
        };
        register(
            host_id(),
            self.infra_env.id,
            agent_version,
            machine,
            &facts,
            self.now,
        )
    }

    pub fn register(&self) -> Host {
        self.appear(AGENT).unwrap().host
    }

    pub fn step(&self, host: &Host, event: &HostEvent) -> Result<Step, Refused> {
        let facts = match event {
            HostEvent::Bound { cluster_id } if *cluster_id == self.cluster.id => self.cluster_facts(),
            _ => self.facts_of(host),
        };
        advance(host, event, &facts, self.now)
    }

    pub fn registered(&self) -> HostEvent {
        HostEvent::Registered {
            public_key: String::new(),
            agent_version: AGENT.into(),
            fingerprint: self.fingerprint.clone(),
        }
    }

    pub fn steps(&self, host: &Host) -> Steps {
        instructions(host, &self.facts_of(host), &mut |step| step.name().into())
    }

    /// The host after `event`, which must be accepted.
    pub fn after(&self, host: &Host, event: &HostEvent) -> Host {
        self.step(host, event).unwrap().host
    }

    /// The reply of an agent that has erased what it was to erase.
    pub fn erased(&self, host: &Host) -> HostEvent {
        let cleaning = host.data.cleaning.as_ref().expect("an erasure");
        let disks = cleaning.disks.iter().map(|known| DiskErasure {
            id: known.disk.id.clone(),
            state: ErasureState::Erased,
            method: Some(ErasureMethod::Metadata),
            bytes_done: 1 << 20,
            bytes_total: 1 << 20,
            seconds: 2,
            samples: 8,
            message: String::new(),
        });
        HostEvent::ErasureReported(EraseDisksResponse {
            id: cleaning.id.clone(),
            is_over: true,
            disks: disks.collect(),
        })
    }

    pub fn poll(&mut self) {
        self.last_seen = Some(self.now);
    }

    pub fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    /// A host of the cluster that could be installed.
    pub fn known_host_of_cluster(&mut self) -> Host {
        let mut host = self.known_host();
        let cluster_id = self.cluster.id;
        for event in [
            HostEvent::Bound { cluster_id },
            self.registered(),
            HostEvent::InventoryReported(good_inventory()),
        ] {
            host = self.after(&host, &event);
        }
        for event in cluster_is_reached() {
            host = self.after(&host, &event);
        }
        host
    }

    /// A registered host that has polled and reported a good inventory.
    pub fn known_host(&mut self) -> Host {
        self.poll();
        let host = self.register();
        self.after(&host, &HostEvent::InventoryReported(good_inventory()))
    }
}

/// The operator's list: one image, at another server.
pub fn os_images() -> Vec<OsImage> {
    parse(&format!(
        r#"[{{"openshift_version":"4.16","cpu_architecture":"x86_64","version":"416.1","metal_url":"https://images.example.test/metal.raw.zst","metal_sha256":"{}","default":true}}]"#,
        "ab".repeat(32)
    ))
    .unwrap()
}

/// As an operator imports one.
pub fn cluster() -> Cluster {
    Cluster {
        id: ClusterId(Uuid::from_u128(0xc)),
        kube: None,
        mirror: None,
        version: 1,
        created_at: start(),
        updated_at: start(),
        data: ClusterData {
            name: "day2".into(),
            base_dns_domain: "example.test".into(),
            api_vip_dnsname: "api.day2.example.test".into(),
            openshift_version: "4.16.3".into(),
            ..ClusterData::default()
        },
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

/// The events of a successful reply to `step`.
pub fn said(step: StepType, output: &str) -> Vec<HostEvent> {
    interpret(&reply(step, 0, output), &Limits::default()).unwrap()
}

/// The reports of a host that reaches all addresses that it needs in its cluster.
pub fn cluster_is_reached() -> Vec<HostEvent> {
    let name = |domain_name: &str, addresses: &[&str]| {
        serde_json::json!({
            "domain_name": domain_name, "ipv4_addresses": addresses, "ipv6_addresses": [], "cnames": null
        })
    };
    let names = serde_json::json!({"resolutions": [
        name("api.day2.example.test", &["198.51.100.5"]),
        name("api-int.day2.example.test", &["198.51.100.5"]),
        name("console-openshift-console.apps.day2.example.test", &["198.51.100.6"]),
        name("validateNoWildcardDNS.day2.example.test.", &[]),
        name("validateNoWildcardDNS.day2.example.test", &[]),
    ]});
    let ignition = r#"{"is_success":true,"ignition":"{\"ignition\":{\"version\":\"3.2.0\"}}"}"#;
    [
        said(StepType::DomainResolution, &names.to_string()),
        said(StepType::ApiVipConnectivityCheck, ignition),
    ]
    .concat()
}
