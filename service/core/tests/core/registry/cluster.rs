//! Cases of checks that look at the host's place in a cluster.

use muster_api::cluster::{
    DiskEncryption, DiskEncryptionMode, Hyperthreading, LoadBalancerType, Platform, PlatformType,
};
use muster_api::host::HostRole;
use muster_api::inventory::{Interface, Iscsi};
use muster_core::validate::CheckId as C;

use super::Outcome::{Error, Failure, Hidden, Pending, Success};
use super::Where::{Anywhere, Bound, Day1, Day2, Pool};
use super::{Case, Scene};

pub fn cases() -> Vec<Case> {
    let mut all = of_machine_networks();
    all.extend(of_reach());
    all.extend(of_names());
    all.extend(of_platform());
    all.extend(of_encryption());
    all.extend(of_addresses());
    all
}

fn nowhere(s: &mut Scene) {
    s.inventory().interfaces[0].ipv4_addresses = vec!["203.0.113.7/24".into()];
}

fn single_node(s: &mut Scene) {
    s.traits().control_plane_count = 1;
}

fn user_balancer(s: &mut Scene) {
    s.traits().load_balancer = LoadBalancerType::UserManaged;
}

fn of_machine_networks() -> Vec<Case> {
    vec![
        (C::MachineCidrDefined, Pool, Hidden, |_| ()),
        (C::MachineCidrDefined, Bound, Success, |_| ()),
        (C::MachineCidrDefined, Day1, Failure, |s| {
            s.cluster().machine_networks.clear()
        }),
        (C::MachineCidrDefined, Day1, Failure, |s| {
            s.cluster().machine_networks.clear();
            s.traits().vip_dhcp_allocation = Some(true);
        }),
        (C::MachineCidrDefined, Day1, Success, |s| {
            s.cluster().machine_networks.clear();
            s.user_managed();
        }),
        (C::BelongsToMachineCidr, Pool, Hidden, |_| ()),
        (C::BelongsToMachineCidr, Bound, Success, |_| ()),
        (C::BelongsToMachineCidr, Day2, Success, nowhere),
        (C::BelongsToMachineCidr, Day1, Failure, nowhere),
        (C::BelongsToMachineCidr, Day1, Failure, |s| {
            s.cluster().machine_networks.push("203.0.113.0/24".into())
        }),
        (C::BelongsToMachineCidr, Day1, Success, |s| {
            s.cluster().machine_networks.push("203.0.113.0/24".into());
            user_balancer(s);
        }),
        (C::BelongsToMachineCidr, Day1, Success, |s| {
            nowhere(s);
            s.user_managed();
        }),
        (C::BelongsToMachineCidr, Day1, Failure, |s| {
            nowhere(s);
            s.user_managed();
            s.host.data.bootstrap = true;
        }),
        (C::BelongsToMachineCidr, Day1, Pending, |s| {
            s.cluster().machine_networks.clear()
        }),
        (C::BelongsToMachineCidr, Day1, Pending, Scene::no_inventory),
        (C::BelongsToMachineCidr, Day1, Error, |s| {
            s.cluster().machine_networks = vec!["x".into()]
        }),
        (C::NoIscsiNicInMachineCidr, Pool, Hidden, |_| ()),
        (C::NoIscsiNicInMachineCidr, Bound, Hidden, |_| ()),
        (C::NoIscsiNicInMachineCidr, Day1, Failure, |s| {
            iscsi(s, "198.51.100.11")
        }),
        (C::NoIscsiNicInMachineCidr, Day1, Success, |s| {
            iscsi(s, "203.0.113.7")
        }),
        (C::NoIscsiNicInMachineCidr, Day1, Error, |s| iscsi(s, "")),
        (C::NoIscsiNicInMachineCidr, Day1, Error, |s| {
            iscsi(s, "192.0.2.99")
        }),
        (C::NoIscsiNicInMachineCidr, Day1, Hidden, |s| {
            iscsi(s, "198.51.100.11");
            s.user_managed();
        }),
        (C::NoIscsiNicInMachineCidr, Day1, Pending, Scene::no_inventory),
        (C::NoIscsiNicInMachineCidr, Day1, Pending, |s| {
            s.cluster().machine_networks.clear()
        }),
    ]
}

/// The installation disk is reached from `own`; a second interface has 203.0.113.7.
fn iscsi(s: &mut Scene, own: &str) {
    s.inventory().interfaces.push(Interface {
        name: "eth1".into(),
        ipv4_addresses: vec!["203.0.113.7/24".into()],
        ..Interface::default()
    });
    let disk = &mut s.inventory().disks[0];
    disk.drive_type = "iSCSI".into();
    disk.iscsi = Some(Iscsi {
        host_ip_address: own.into(),
    });
}

fn of_reach() -> Vec<Case> {
    fn alone(s: &mut Scene) {
        s.day1().connectivity.as_mut().unwrap().majority_groups.clear();
    }
    fn no_report(s: &mut Scene) {
        s.host.reports.connectivity = None;
    }
    fn narrow(s: &mut Scene) {
        s.report(1).mtu_report[0].mtu_successful = false;
    }
    vec![
        (C::IgnitionDownloadable, Pool, Hidden, |_| ()),
        (C::IgnitionDownloadable, Day1, Hidden, |_| ()),
        (C::IgnitionDownloadable, Day2, Success, |_| ()),
        (C::IgnitionDownloadable, Day2, Pending, |s| {
            s.host.data.api_vip_connectivity = None
        }),
        (C::IgnitionDownloadable, Day2, Failure, |s| {
            let answer = s.host.data.api_vip_connectivity.as_mut().unwrap();
            answer.is_success = false;
            answer.url = "http://api.day2.example.test:22624/config/worker".into();
            answer.download_error = "connection refused".into();
        }),
        (C::BelongsToMajorityGroup, Pool, Hidden, |_| ()),
        (C::BelongsToMajorityGroup, Bound, Success, |_| ()),
        (C::BelongsToMajorityGroup, Day1, Failure, alone),
        (C::BelongsToMajorityGroup, Day1, Pending, |s| {
            alone(s);
            s.peers.pop();
        }),
        (C::BelongsToMajorityGroup, Day1, Pending, |s| {
            s.day1().connectivity = None
        }),
        (C::BelongsToMajorityGroup, Day1, Pending, |s| {
            s.cluster().machine_networks.clear()
        }),
        (C::BelongsToMajorityGroup, Day1, Success, |s| {
            alone(s);
            single_node(s);
        }),
        (C::BelongsToMajorityGroup, Day1, Success, |s| {
            alone(s);
            s.user_managed();
        }),
        (C::BelongsToMajorityGroup, Day1, Failure, |s| {
            s.day1()
                .connectivity
                .as_mut()
                .unwrap()
                .l3_connected_addresses
                .clear();
            user_balancer(s);
        }),
        (C::BelongsToMajorityGroup, Day1, Error, |s| {
            s.cluster().machine_networks = vec!["x".into()]
        }),
        (C::MtuValid, Pool, Hidden, |_| ()),
        (C::MtuValid, Bound, Success, |_| ()),
        (C::MtuValid, Day2, Success, narrow),
        (C::MtuValid, Day1, Failure, narrow),
        (C::MtuValid, Day1, Success, |s| {
            narrow(s);
            s.report(1).mtu_report[0].remote_ip_address = "203.0.113.9".into();
        }),
        (C::MtuValid, Day1, Failure, |s| {
            narrow(s);
            s.report(1).mtu_report[0].remote_ip_address = "203.0.113.9".into();
            s.user_managed();
        }),
        (C::MtuValid, Day1, Hidden, single_node),
        (C::MtuValid, Day1, Pending, no_report),
        (C::MtuValid, Day1, Pending, Scene::no_inventory),
        (C::MtuValid, Day1, Error, |s| {
            s.cluster().machine_networks = vec!["x".into()]
        }),
        (C::SufficientNetworkLatency, Pool, Hidden, |_| ()),
        (
            C::SufficientNetworkLatency,
            Anywhere,
            Pending,
            Scene::no_inventory,
        ),
        (C::SufficientNetworkLatency, Bound, Success, |_| ()),
        (C::SufficientNetworkLatency, Day2, Success, |s| slow(s, 1000.1)),
        (C::SufficientNetworkLatency, Day1, Success, |s| slow(s, 1000.0)),
        (C::SufficientNetworkLatency, Day1, Failure, |s| slow(s, 1000.1)),
        (C::SufficientNetworkLatency, Day1, Success, |s| {
            slow(s, 1000.1);
            s.peers[1].role = HostRole::Master;
        }),
        (C::SufficientNetworkLatency, Day1, Success, |s| {
            slow(s, 1000.1);
            s.host.data.role = HostRole::AutoAssign;
        }),
        (C::SufficientNetworkLatency, Day1, Success, |s| {
            slow(s, 1000.1);
            s.world.requirements.default.worker.network_latency_threshold_ms = None;
        }),
        (C::SufficientNetworkLatency, Day1, Pending, no_report),
        (C::SufficientPacketLoss, Pool, Hidden, |_| ()),
        (C::SufficientPacketLoss, Anywhere, Pending, Scene::no_inventory),
        (C::SufficientPacketLoss, Bound, Success, |_| ()),
        (C::SufficientPacketLoss, Day2, Success, |s| lossy(s, 10.1)),
        (C::SufficientPacketLoss, Day1, Success, |s| lossy(s, 10.0)),
        (C::SufficientPacketLoss, Day1, Failure, |s| lossy(s, 10.1)),
        (C::SufficientPacketLoss, Day1, Pending, no_report),
    ]
}

fn slow(s: &mut Scene, ms: f64) {
    s.report(1).l3_connectivity[0].average_rtt_ms = ms;
}

fn lossy(s: &mut Scene, percentage: f64) {
    s.report(1).l3_connectivity[0].packet_loss_percentage = percentage;
}

fn of_names() -> Vec<Case> {
    fn unknown(s: &mut Scene) {
        for entry in &mut s.host.data.domain_name_resolutions.as_mut().unwrap().resolutions {
            entry.ipv4_addresses.clear();
        }
    }
    let mut all = Vec::new();
    for check in [
        C::ApiDomainNameResolved,
        C::ApiIntDomainNameResolved,
        C::AppsDomainNameResolved,
    ] {
        let cases: Vec<Case> = vec![
            (check, Pool, Hidden, |_| ()),
            (check, Bound, Success, |_| ()),
            (check, Day2, Failure, unknown),
            (check, Day2, Success, |s| {
                unknown(s);
                s.ignition(r#"{"storage":{"files":[{"path":"/etc/kubernetes/manifests/coredns.yaml"}]}}"#);
            }),
            (check, Day2, Success, |s| {
                unknown(s);
                let answer = s.host.data.domain_name_resolutions.as_mut().unwrap();
                answer
                    .resolutions
                    .iter_mut()
                    .for_each(|entry| entry.cnames = vec!["lb.example.test.".into()]);
            }),
            (check, Day2, Pending, |s| s.host.data.api_vip_connectivity = None),
            (check, Day2, Error, |s| s.host.data.domain_name_resolutions = None),
            (check, Day2, Error, |s| s.cluster().base_dns_domain.clear()),
            (check, Day1, Success, unknown),
            (check, Day1, Failure, |s| {
                unknown(s);
                s.user_managed();
            }),
            (check, Day1, Success, |s| {
                unknown(s);
                s.user_managed();
                single_node(s);
            }),
            (check, Day1, Error, |s| {
                s.user_managed();
                s.host.data.domain_name_resolutions = None;
            }),
        ];
        all.extend(cases);
    }
    fn wildcard(s: &mut Scene, dotted: bool) {
        let answer = s.host.data.domain_name_resolutions.as_mut().unwrap();
        let name = if dotted {
            "validateNoWildcardDNS.day2.example.test."
        } else {
            "validateNoWildcardDNS.day2.example.test"
        };
        let entry = answer
            .resolutions
            .iter_mut()
            .find(|entry| entry.domain_name == name);
        entry.unwrap().ipv4_addresses = vec!["198.51.100.9".into()];
    }
    let cases: Vec<Case> = vec![
        (C::DnsWildcardNotConfigured, Pool, Hidden, |_| ()),
        (C::DnsWildcardNotConfigured, Bound, Success, |_| ()),
        (C::DnsWildcardNotConfigured, Day2, Success, |s| wildcard(s, true)),
        (C::DnsWildcardNotConfigured, Day1, Failure, |s| wildcard(s, true)),
        (C::DnsWildcardNotConfigured, Day1, Failure, |s| wildcard(s, false)),
        (C::DnsWildcardNotConfigured, Day1, Pending, |s| {
            s.host.data.domain_name_resolutions = None
        }),
        (C::DnsWildcardNotConfigured, Day1, Error, |s| {
            s.host
                .data
                .domain_name_resolutions
                .as_mut()
                .unwrap()
                .resolutions
                .truncate(4)
        }),
    ];
    all.extend(cases);
    all
}

fn of_platform() -> Vec<Case> {
    fn platform(s: &mut Scene, platform_type: PlatformType) {
        s.traits().platform = Some(Platform {
            platform_type,
            external: None,
        });
    }
    fn vmware(s: &mut Scene) {
        s.inventory().system_vendor.as_mut().unwrap().manufacturer = "VMware, Inc.".into();
    }
    vec![
        (C::CompatibleWithClusterPlatform, Pool, Hidden, |_| ()),
        (C::CompatibleWithClusterPlatform, Bound, Success, |_| ()),
        (C::CompatibleWithClusterPlatform, Bound, Success, |s| {
            platform(s, PlatformType::None)
        }),
        (C::CompatibleWithClusterPlatform, Bound, Success, |s| {
            platform(s, PlatformType::External)
        }),
        (C::CompatibleWithClusterPlatform, Bound, Failure, |s| {
            platform(s, PlatformType::Vsphere)
        }),
        (C::CompatibleWithClusterPlatform, Bound, Failure, |s| {
            platform(s, PlatformType::Nutanix)
        }),
        (C::CompatibleWithClusterPlatform, Bound, Success, |s| {
            platform(s, PlatformType::Vsphere);
            vmware(s);
        }),
        (
            C::CompatibleWithClusterPlatform,
            Bound,
            Pending,
            Scene::no_inventory,
        ),
        (C::VsphereDiskUuidEnabled, Pool, Hidden, |_| ()),
        (C::VsphereDiskUuidEnabled, Bound, Hidden, |_| ()),
        (C::VsphereDiskUuidEnabled, Bound, Failure, vmware),
        (C::VsphereDiskUuidEnabled, Bound, Success, |s| {
            vmware(s);
            s.inventory().disks[0].has_uuid = true;
        }),
        (C::VsphereDiskUuidEnabled, Bound, Pending, |s| {
            vmware(s);
            s.inventory().disks.clear();
        }),
        (C::VsphereDiskUuidEnabled, Bound, Pending, Scene::no_inventory),
    ]
}

fn of_encryption() -> Vec<Case> {
    const CHECK: C = C::DiskEncryptionRequirementsSatisfied;
    const TPM: &str = r#"{"storage":{"luks":[{"name":"root","clevis":{"tpm2":true}}]}}"#;
    const TANG: &str =
        r#"{"storage":{"luks":[{"name":"root","clevis":{"tang":[{"url":"http://t","thumbprint":"x"}]}}]}}"#;
    fn asked(s: &mut Scene, roles: Hyperthreading, mode: DiskEncryptionMode) {
        s.traits().disk_encryption = DiskEncryption {
            enable_on: Some(roles),
            mode: Some(mode),
            tang_servers: None,
        };
    }
    fn tpm(s: &mut Scene, version: &str) {
        s.inventory().tpm_version = version.into();
    }
    fn tang(s: &mut Scene, answer: &str) {
        s.host.data.tang_connectivity = answer.into();
    }
    vec![
        (CHECK, Pool, Hidden, |_| ()),
        (CHECK, Bound, Hidden, |_| ()),
        (CHECK, Day2, Hidden, |s| {
            s.ignition(r#"{"storage":{"luks":[{"name":"data"}]}}"#)
        }),
        (CHECK, Day2, Failure, |s| s.ignition(TPM)),
        (CHECK, Day2, Success, |s| {
            s.ignition(TPM);
            tpm(s, "2.0");
        }),
        (CHECK, Day2, Failure, |s| {
            s.ignition(TPM);
            tpm(s, "1.2");
        }),
        (CHECK, Day2, Failure, |s| {
            s.ignition(r#"{"storage":{"luks":[{"clevis":{}}]}}"#)
        }),
        (CHECK, Day2, Pending, |s| s.ignition(TANG)),
        (CHECK, Day2, Success, |s| {
            s.ignition(TANG);
            tang(s, r#"{"is_success":true,"tang_server_response":[]}"#);
        }),
        (CHECK, Day2, Failure, |s| {
            s.ignition(TANG);
            tang(s, r#"{"tang_server_response":null}"#);
        }),
        (CHECK, Day2, Failure, |s| {
            s.ignition(TANG);
            tang(s, "connection refused");
        }),
        (CHECK, Day2, Hidden, |s| {
            s.ignition(TANG);
            tang(s, "failed to find action for step tang-connectivity-check");
        }),
        (CHECK, Day2, Pending, |s| {
            asked(s, Hyperthreading::All, DiskEncryptionMode::Tpmv2);
            s.host.data.api_vip_connectivity = None;
        }),
        (CHECK, Day1, Failure, |s| {
            asked(s, Hyperthreading::All, DiskEncryptionMode::Tpmv2)
        }),
        (CHECK, Day1, Success, |s| {
            asked(s, Hyperthreading::MastersWorkers, DiskEncryptionMode::Tpmv2);
            tpm(s, "2.0");
        }),
        (CHECK, Day1, Hidden, |s| {
            asked(s, Hyperthreading::Masters, DiskEncryptionMode::Tpmv2)
        }),
        (CHECK, Day1, Pending, |s| {
            asked(s, Hyperthreading::Workers, DiskEncryptionMode::Tang)
        }),
        (CHECK, Day1, Pending, |s| {
            asked(s, Hyperthreading::All, DiskEncryptionMode::Tpmv2);
            s.host.data.role = HostRole::AutoAssign;
        }),
        (CHECK, Day1, Pending, |s| {
            asked(s, Hyperthreading::All, DiskEncryptionMode::Tpmv2);
            s.no_inventory();
        }),
    ]
}

fn of_addresses() -> Vec<Case> {
    fn second_network(s: &mut Scene, address: &str) {
        s.inventory().interfaces.push(Interface {
            name: "eth1".into(),
            ipv4_addresses: vec![address.into()],
            ..Interface::default()
        });
    }
    fn collision(s: &mut Scene) {
        let macs = vec!["02:00:00:00:00:01".to_owned(), "02:00:00:00:00:99".to_owned()];
        s.day1().ip_collisions.insert("198.51.100.11".into(), macs);
    }
    vec![
        (C::NonOverlappingSubnets, Pool, Hidden, |_| ()),
        (C::NonOverlappingSubnets, Anywhere, Pending, Scene::no_inventory),
        (C::NonOverlappingSubnets, Bound, Success, |s| {
            second_network(s, "203.0.113.7/24")
        }),
        (C::NonOverlappingSubnets, Bound, Failure, |s| {
            second_network(s, "198.51.100.12/24")
        }),
        (C::NonOverlappingSubnets, Bound, Failure, |s| {
            second_network(s, "198.51.100.12/16")
        }),
        (C::NonOverlappingSubnets, Bound, Success, |s| {
            second_network(s, "198.51.100.12/24");
            s.traits().cluster_networks.clear();
            s.traits().service_networks = vec!["fd00::/112".into()];
        }),
        (C::NonOverlappingSubnets, Bound, Error, |s| {
            second_network(s, "198.51.100.12")
        }),
        (C::NoIpCollisions, Anywhere, Success, |_| ()),
        (C::NoIpCollisions, Day1, Failure, collision),
        (C::NoIpCollisions, Day1, Error, |s| {
            collision(s);
            s.inventory().interfaces[0].ipv4_addresses = vec!["junk".into()];
        }),
        (C::NoIpCollisions, Day1, Success, |s| {
            collision(s);
            s.no_inventory();
        }),
    ]
}
