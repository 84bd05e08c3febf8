//! Three machines on one segment, for a cluster that exists already: reachability, and faults between them.

use std::time::Instant;

use muster_api::BASE_PATH;
use muster_api::host::Host;
use muster_api::infra_env::InfraEnv;
use muster_api::steps::ConnectivityReport;
use muster_tests::condition::await_condition;
use muster_tests::qemu::{Disk, DiskBus, GIB, MACHINE_LIMIT, Machine, Medium, Nic, Running, Slots};
use muster_tests::rest::{Client, inventory};
use muster_tests::segment::{ADDRESS, Offer, Segment, in_segment};
use muster_tests::service::Settings;
use serde_json::{Value, json};

/// Names and MACs; the second card is in the second network.
const MACHINES: [(&str, [&str; 2]); 3] = [
    ("fine", ["52:54:00:bb:00:01", "52:54:00:cc:00:01"]),
    ("narrow", ["52:54:00:bb:00:02", "52:54:00:cc:00:02"]),
    ("late", ["52:54:00:bb:00:03", "52:54:00:cc:00:03"]),
];
/// The address that `narrow` and `late` both have in the second network.
const TWICE: &str = "10.92.0.77";
/// Seconds by which the clock of `late` is ahead.
const AHEAD: i64 = 2 * 3600;

#[test]
fn three_hosts_of_a_cluster_show_a_duplicate_address_a_narrow_link_and_a_clock_that_is_ahead() {
    in_segment(|segment| {
        let service = Settings::on_address(ADDRESS).start();
        let client = service.client();
        let infra_env = infra_env_of_a_cluster(client);
        let folder = tempfile::tempdir().unwrap();
        let iso = folder.path().join("discovery.iso");
        let url = service.reachable(&client.image_url(infra_env.id).unwrap());
        client.download(&url, &iso).unwrap();
        segment.second_network();
        for (name, macs) in MACHINES {
            segment.name_host(macs[0], name);
        }
        segment.fix_address(&[MACHINES[1].1[1], MACHINES[2].1[1]], TWICE);
        segment.serve(&Offer::Addresses);

        let slots = Slots::one();
        let began = Instant::now();
        let mut machines: Vec<Running> = MACHINES
            .iter()
            .map(|(name, macs)| {
                let machine = machine(segment, name, macs).boot(Medium::Cd(iso.clone()));
                machine.start_in(slots.with())
            })
            .collect();
        let expected = [
            ("fine", "duplicate-address", TWICE, vec!["narrow", "late"]),
            ("fine", "mtu-too-large-for-path", "", vec!["narrow"]),
            ("narrow", "duplicate-address", TWICE, vec!["late"]),
            ("narrow", "mtu-too-large-for-path", "", vec!["fine", "late"]),
            ("late", "duplicate-address", TWICE, vec!["narrow"]),
            ("late", "mtu-too-large-for-path", "", vec!["narrow"]),
            ("late", "clock-offset", "service", vec![]),
            ("late", "clock-offset", "hosts", vec!["fine", "narrow"]),
        ];
        let hosts = await_condition(
            "the findings of all three hosts, who reach each other",
            MACHINE_LIMIT,
            || {
                for machine in &mut machines {
                    assert!(machine.is_on(), "{} switched itself off", machine.name());
                }
                let hosts = client.hosts(infra_env.id).map_err(|error| error.to_string())?;
                for (host, kind, about, others) in &expected {
                    find(&hosts, host, kind, about, others)?;
                }
                everybody_reaches_everybody(&hosts)?;
                compatible_ids_keep_their_values(&hosts)?;
                Ok(hosts)
            },
        );
        println!(
            "everything was found {:.1} s after power-on",
            began.elapsed().as_secs_f32()
        );
        assert_eq!(hosts.len(), 3);
        let fine = named(&hosts, "fine").unwrap();
        assert!(
            !fine.findings.iter().any(|finding| finding.kind == "clock-offset"),
            "the one wrong clock is reported on no other host: {:?}",
            fine.findings
        );
        let told = expected.map(|(host, kind, _, _)| (named(&hosts, host).unwrap(), word_of(kind)));
        events_tell(client, &infra_env, &told);
    });
}

fn machine(segment: &mut Segment, name: &str, macs: &[&str; 2]) -> Machine {
    let first = match name {
        "narrow" => segment.tap_with_mtu(1400),
        _ => segment.tap(),
    };
    let machine = Machine::new(name)
        .memory_mib(8192)
        .smbios(&format!("type=1,manufacturer=AcmeCorp,serial=ACME-{name}"))
        .disk(Disk::new(DiskBus::Virtio, 120 * GIB, &format!("SER-{name}")))
        .nic(Nic::tap("virtio-net-pci", macs[0], &first))
        .nic(Nic::tap("e1000e", macs[1], &segment.second_tap()));
    match name {
        "late" => machine.clock_ahead(AHEAD),
        _ => machine,
    }
}

/// An InfraEnv with hosts that join an imported cluster.
pub fn infra_env_of_a_cluster(client: &Client) -> InfraEnv {
    let cluster = json!({
        "name": "edge", "openshift_version": "4.16.0", "api_vip_dnsname": "api.edge.lab.example",
        "openshift_cluster_id": "3b5d5ec5-4ae0-4d6a-9f8e-0c1d2e3f4a5b",
    });
    let imported = client.request("POST", &format!("{BASE_PATH}/clusters/import"), Some(&cluster));
    let (status, text) = imported.unwrap();
    assert_eq!(status, 201, "{text}");
    let cluster: Value = serde_json::from_str(&text).unwrap();
    client
        .create_infra_env_with("rack-one", &json!({"cluster_id": cluster["id"]}))
        .unwrap()
}

fn named<'a>(hosts: &'a [Host], name: &str) -> Result<&'a Host, String> {
    let names: Vec<&str> = hosts
        .iter()
        .map(|host| host.requested_hostname.as_str())
        .collect();
    let found = hosts.iter().find(|host| host.requested_hostname == name);
    found.ok_or_else(|| format!("no host {name} among {names:?}"))
}

/// A finding of that kind about that (if it is not empty), which names those hosts and no others.
fn find(hosts: &[Host], host: &str, kind: &str, about: &str, others: &[&str]) -> Result<(), String> {
    let host = named(hosts, host)?;
    let mut ids = Vec::new();
    for other in others {
        ids.push(named(hosts, other)?.id);
    }
    ids.sort();
    let fits = host.findings.iter().any(|finding| {
        let mut named = finding.others.clone();
        named.sort();
        finding.kind == kind && (about.is_empty() || finding.about == about) && named == ids
    });
    fits.then_some(()).ok_or_else(|| {
        format!(
            "{} ({:?}) has no {kind} {about} that names {others:?}, but {:?}",
            host.requested_hostname, host.status, host.findings
        )
    })
}

/// On the first network every host is reached on the segment and by echo. A busy machine loses some packets, and probes
/// again a minute later.
fn everybody_reaches_everybody(hosts: &[Host]) -> Result<(), String> {
    for host in hosts {
        let report: ConnectivityReport = serde_json::from_str(&host.connectivity).unwrap();
        let unreached = || format!("{} reaches {}", host.requested_hostname, host.connectivity);
        if report.remote_hosts.len() != 2 {
            return Err(unreached());
        }
        for remote in &report.remote_hosts {
            let other = hosts.iter().find(|other| other.id.to_string() == remote.host_id);
            let found = inventory(other.unwrap()).unwrap();
            let card = found
                .interfaces
                .iter()
                .find(|card| card.mac_address.contains(":bb:"));
            let address = card.unwrap().ipv4_addresses[0].split('/').next().unwrap();
            let mut segment = remote.l2_connectivity.iter();
            let mut echo = remote.l3_connectivity.iter();
            if !segment.any(|link| link.remote_ip_address == address && link.successful)
                || !echo.any(|link| link.remote_ip_address == address && link.successful)
            {
                return Err(unreached());
            }
        }
    }
    Ok(())
}

/// As docs/protocol/host-validations.tsv has them for hosts that are added to a cluster (column `day2`).
fn compatible_ids_keep_their_values(hosts: &[Host]) -> Result<(), String> {
    let is = |host: &str, id: &str, expected: &str| {
        let all: Value = serde_json::from_str(&named(hosts, host)?.validations_info).unwrap();
        let groups = all.as_object().unwrap().values().filter_map(Value::as_array);
        let found = groups.flatten().find(|one| one["id"] == id);
        match found.map(|found| found["status"] == expected) {
            Some(true) => Ok(()),
            Some(false) | None => Err(format!("{id} of {host} is to be {expected}: {found:?}")),
        }
    };
    for host in ["fine", "narrow", "late"] {
        for id in [
            "mtu-valid",
            "belongs-to-majority-group",
            "sufficient-network-latency-requirement-for-role",
            "sufficient-packet-loss-requirement-for-role",
        ] {
            is(host, id, "success")?;
        }
        let expected = if host == "late" { "failure" } else { "success" };
        is(host, "time-synced-between-host-and-service", expected)?;
    }
    Ok(())
}

/// Text in the message of the finding of that kind.
fn word_of(kind: &str) -> &'static str {
    match kind {
        "duplicate-address" => TWICE,
        "mtu-too-large-for-path" => "Full-sized packets",
        "clock-offset" => "clock",
        _ => panic!("{kind} is not expected"),
    }
}

/// Each finding was an event, too. An event from before the host had a name has its id.
#[track_caller]
fn events_tell(client: &Client, infra_env: &InfraEnv, expected: &[(&Host, &str)]) {
    await_condition("an event for each finding", MACHINE_LIMIT, || {
        let events = client.events(infra_env.id).map_err(|error| error.to_string())?;
        let messages: Vec<&str> = events
            .iter()
            .filter(|event| event.name.as_deref() == Some("muster_finding_appeared"))
            .map(|event| event.message.as_str())
            .collect();
        for (host, word) in expected {
            let (id, name) = (host.id.to_string(), &host.requested_hostname);
            let is_about = |message: &&&str| message.contains(name) || message.contains(&id);
            if !messages
                .iter()
                .filter(is_about)
                .any(|message| message.contains(word))
            {
                return Err(format!("nothing about {name} and {word} in {messages:#?}"));
            }
        }
        Ok(())
    });
}
