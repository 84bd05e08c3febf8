//! A host with a value for every key.

use chrono::Duration;
use muster_api::host::{HostRole, HostStage, HostStatus};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::search::{HostGpus, HostSwitchPort};
use muster_api::time::Timestamp;
use muster_core::query::{
    BmcSummary, DiskSummary, DriveType, Firmware, HardwareSummary, HostSummary, Query, WaitSummary,
};
use muster_core::record::CheckId;
use muster_core::rules::sleep::Power;
use uuid::Uuid;

use crate::world::start;

pub fn now() -> Timestamp {
    start() + Duration::days(2)
}

/// As a host that is being installed.
pub fn host() -> HostSummary {
    HostSummary {
        id: HostId(Uuid::from_u128(0x1111_1111_0000_4000_8000_0000_0000_0001)),
        infra_env_id: InfraEnvId(Uuid::from_u128(7)),
        pool: "rack-1".into(),
        cluster_id: Some(ClusterId(Uuid::from_u128(0xc))),
        cluster: "Prod".into(),
        name: "node-7".into(),
        status: HostStatus::InstallingInProgress,
        stage: Some(HostStage::WritingImageToDisk),
        percentage: 33,
        role: HostRole::Worker,
        approved: Some(true),
        labels: vec![
            ("zone".into(), "a".into()),
            ("example.test/size".into(), "".into()),
        ],
        findings: vec!["clock-offset".into(), "waiting".into()],
        failed_checks: vec![CheckId::NtpSynced],
        wait: Some(WaitSummary {
            what: "the end of the stage \"Writing image to disk\"".into(),
            since: now() - Duration::minutes(20),
            until: Some(now() - Duration::minutes(1)),
            then: "the installation counts as failed".into(),
            what_to_do: "See the console of the host".into(),
        }),
        reason: "Writing image, 70 %".into(),
        since: now() - Duration::hours(3),
        seen_at: now() - Duration::seconds(30),
        registered_at: start(),
        agent_version: "muster-agent/0.1.0".into(),
        sleep: Power::Awake,
        kept_awake: false,
        sleep_failed_at: None,
        celsius: Some(61),
        bmc: Some(BmcSummary {
            name: "bmc-7".into(),
            address: "bmc-7.example.test".into(),
            power: "On".into(),
            wakes: true,
        }),
        hardware: Some(hardware()),
    }
}

fn hardware() -> HardwareSummary {
    let disk = |bytes, drive_type, serial: &str| DiskSummary {
        bytes,
        drive_type,
        serial: serial.into(),
    };
    let port = |switch: &str, port: &str| HostSwitchPort {
        switch: switch.into(),
        port: port.into(),
    };
    HardwareSummary {
        vendor: "Dell Inc.".into(),
        model: "PowerEdge R750".into(),
        serial: "SN-0007".into(),
        cpu_threads: 64,
        memory_bytes: 256 << 30,
        disks: vec![
            disk(480_103_981_056, DriveType::Ssd, "DISK-A"),
            disk(1_920_383_410_176, DriveType::Hdd, ""),
        ],
        gpus: vec![HostGpus {
            model: "NVIDIA Corporation H100 80GB".into(),
            count: 2,
        }],
        nic_speed_mbps: 25_000,
        macs: vec!["52:54:00:12:34:56".into(), "52:54:00:12:34:57".into()],
        ips: vec!["198.51.100.7".into(), "2001:db8::7".into()],
        ports: vec![port("sw1", "Gi1/0/7"), port("sw2", "Gi1/0/7")],
        vlans: vec![10, 200],
        bmc_address: "192.0.2.7".into(),
        firmware: Some(Firmware::Uefi),
        secure_boot: Some(false),
    }
}

/// A host of which little is known: it has registered, and reported nothing yet.
pub fn bare() -> HostSummary {
    HostSummary {
        id: HostId(Uuid::from_u128(0x2222_2222_0000_4000_8000_0000_0000_0002)),
        cluster_id: None,
        cluster: String::new(),
        name: "22222222-0000-4000-8000-000000000002".into(),
        status: HostStatus::DiscoveringUnbound,
        stage: None,
        percentage: 0,
        role: HostRole::AutoAssign,
        approved: None,
        labels: Vec::new(),
        findings: Vec::new(),
        failed_checks: Vec::new(),
        wait: None,
        reason: "Waiting for host to send hardware details".into(),
        agent_version: String::new(),
        bmc: None,
        celsius: None,
        hardware: None,
        ..host()
    }
}

pub fn query(text: &str) -> Query {
    Query::parse(text).unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

pub fn passes(text: &str, host: &HostSummary) -> bool {
    query(text).matches(host, now())
}
