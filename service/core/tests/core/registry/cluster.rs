//! Cases of checks that depend on the host's place in a cluster.

use muster_api::cluster::{DiskEncryption, DiskEncryptionMode, Hyperthreading, Platform, PlatformType};
use muster_api::inventory::Interface;
use muster_core::record::CheckId as C;

use super::case::Case;
use super::case::Outcome::{Error, Failure, Hidden, Pending, Success};
use super::case::Where::{Anywhere, Bound, Pool};
use super::scene::Scene;

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

fn of_machine_networks() -> Vec<Case> {
    vec![
        (C::MachineCidrDefined, Pool, Hidden, |_| ()),
        (C::MachineCidrDefined, Bound, Success, |_| ()),
        (C::BelongsToMachineCidr, Pool, Hidden, |_| ()),
        (C::BelongsToMachineCidr, Bound, Success, |_| ()),
        (C::BelongsToMachineCidr, Bound, Success, nowhere),
        (C::NoIscsiNicBelongsToMachineCidr, Pool, Hidden, |_| ()),
        (C::NoIscsiNicBelongsToMachineCidr, Bound, Hidden, |_| ()),
    ]
}

fn of_reach() -> Vec<Case> {
    fn narrow(s: &mut Scene) {
        s.report(1).mtu_report[0].mtu_successful = false;
    }
    vec![
        (C::IgnitionDownloadable, Pool, Hidden, |_| ()),
        (C::IgnitionDownloadable, Bound, Success, |_| ()),
        (C::IgnitionDownloadable, Bound, Pending, |s| {
            s.host.data.api_vip_connectivity = None
        }),
        (C::IgnitionDownloadable, Bound, Failure, |s| {
            let answer = s.host.data.api_vip_connectivity.as_mut().unwrap();
            answer.is_success = false;
            answer.url = "http://api.day2.example.test:22624/config/worker".into();
            answer.download_error = "connection refused".into();
        }),
        (C::BelongsToMajorityGroup, Pool, Hidden, |_| ()),
        (C::BelongsToMajorityGroup, Bound, Success, |_| ()),
        (C::MtuValid, Pool, Hidden, |_| ()),
        (C::MtuValid, Bound, Hidden, single_node),
        (C::MtuValid, Bound, Success, |_| ()),
        (C::MtuValid, Bound, Success, narrow),
        (
            C::SufficientNetworkLatencyRequirementForRole,
            Pool,
            Hidden,
            |_| (),
        ),
        (
            C::SufficientNetworkLatencyRequirementForRole,
            Anywhere,
            Pending,
            Scene::no_inventory,
        ),
        (
            C::SufficientNetworkLatencyRequirementForRole,
            Bound,
            Success,
            |_| (),
        ),
        (
            C::SufficientNetworkLatencyRequirementForRole,
            Bound,
            Success,
            |s| slow(s, 1000.1),
        ),
        (C::SufficientPacketLossRequirementForRole, Pool, Hidden, |_| ()),
        (
            C::SufficientPacketLossRequirementForRole,
            Anywhere,
            Pending,
            Scene::no_inventory,
        ),
        (C::SufficientPacketLossRequirementForRole, Bound, Success, |_| ()),
        (C::SufficientPacketLossRequirementForRole, Bound, Success, |s| {
            lossy(s, 10.1)
        }),
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
        C::ApiDomainNameResolvedCorrectly,
        C::ApiIntDomainNameResolvedCorrectly,
        C::AppsDomainNameResolvedCorrectly,
    ] {
        let cases: Vec<Case> = vec![
            (check, Pool, Hidden, |_| ()),
            (check, Bound, Success, |_| ()),
            (check, Bound, Failure, unknown),
            (check, Bound, Success, |s| {
                unknown(s);
                s.ignition(r#"{"storage":{"files":[{"path":"/etc/kubernetes/manifests/coredns.yaml"}]}}"#);
            }),
            (check, Bound, Success, |s| {
                unknown(s);
                let answer = s.host.data.domain_name_resolutions.as_mut().unwrap();
                answer
                    .resolutions
                    .iter_mut()
                    .for_each(|entry| entry.cnames = vec!["lb.example.test.".into()]);
            }),
            (check, Bound, Pending, |s| s.host.data.api_vip_connectivity = None),
            (check, Bound, Error, |s| {
                s.host.data.domain_name_resolutions = None
            }),
            (check, Bound, Error, |s| s.cluster().base_dns_domain.clear()),
        ];
        all.extend(cases);
    }
    fn wildcard(s: &mut Scene) {
        let answer = s.host.data.domain_name_resolutions.as_mut().unwrap();
        let mut entries = answer.resolutions.iter_mut();
        let entry = entries.find(|entry| entry.domain_name == "validateNoWildcardDNS.day2.example.test.");
        entry.unwrap().ipv4_addresses = vec!["198.51.100.9".into()];
    }
    let cases: Vec<Case> = vec![
        (C::DnsWildcardNotConfigured, Pool, Hidden, |_| ()),
        (C::DnsWildcardNotConfigured, Bound, Success, |_| ()),
        (C::DnsWildcardNotConfigured, Bound, Success, wildcard),
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
        (CHECK, Bound, Hidden, |s| {
            s.ignition(r#"{"storage":{"luks":[{"name":"data"}]}}"#)
        }),
        (CHECK, Bound, Failure, |s| s.ignition(TPM)),
        (CHECK, Bound, Success, |s| {
            s.ignition(TPM);
            tpm(s, "2.0");
        }),
        (CHECK, Bound, Failure, |s| {
            s.ignition(TPM);
            tpm(s, "1.2");
        }),
        (CHECK, Bound, Failure, |s| {
            s.ignition(r#"{"storage":{"luks":[{"clevis":{}}]}}"#)
        }),
        (CHECK, Bound, Pending, |s| s.ignition(TANG)),
        (CHECK, Bound, Success, |s| {
            s.ignition(TANG);
            tang(s, r#"{"is_success":true,"tang_server_response":[]}"#);
        }),
        (CHECK, Bound, Failure, |s| {
            s.ignition(TANG);
            tang(s, r#"{"tang_server_response":null}"#);
        }),
        (CHECK, Bound, Failure, |s| {
            s.ignition(TANG);
            tang(s, "connection refused");
        }),
        (CHECK, Bound, Hidden, |s| {
            s.ignition(TANG);
            tang(s, "failed to find action for step tang-connectivity-check");
        }),
        (CHECK, Bound, Pending, |s| {
            asked(s, Hyperthreading::All, DiskEncryptionMode::Tpmv2);
            s.host.data.api_vip_connectivity = None;
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
        (C::NoIpCollisionsInNetwork, Anywhere, Success, |_| ()),
    ]
}
