//! The image that installers write boots under both firmwares, is configured by Ignition, and its kubelet becomes a
//! Node: what all scenarios of installations stand on.

use std::time::Duration;

use muster_tests::ignition_server::IgnitionServer;
use muster_tests::kube::Workload;
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, Machine, Nic, Slots, UserNet};
use muster_tests::target::TargetImage;
use serde_json::{Value, json};

use crate::nodes::{approve_pending, file_of_hostname, is_ready};

/// Three times the slowest first boot of docs/protocol/target-lab.md#3.
const LIMIT: Duration = Duration::from_secs(900);

#[test]
fn the_target_image_boots_under_both_firmwares_and_its_kubelets_become_ready_nodes() {
    let image = TargetImage::built();
    let workload = Workload::start();
    let folder = tempfile::tempdir().unwrap();
    // One is led to its config, the other has all of it.
    let server = IgnitionServer::start();
    server.publish("lab", &workload.worker_config("led"));
    let mut led = server.user_data("lab", "clusters/lab");
    led["storage"] = json!({"files": [file_of_hostname("led")]});
    let mut whole = workload.worker_config("whole");
    let files = whole["storage"]["files"].as_array_mut().unwrap();
    files.push(file_of_hostname("whole"));
    whole["systemd"]["units"].as_array_mut().unwrap().push(reboot());

    let slots = Slots::all();
    let mut machines = [
        ("led", Firmware::SeaBios, "52:54:00:dd:00:01", led),
        ("whole", Firmware::Ovmf, "52:54:00:dd:00:02", whole),
    ]
    .map(|(name, firmware, mac, config)| {
        let place = folder.path().join(name);
        std::fs::create_dir(&place).unwrap();
        let disk = Disk::new(DiskBus::Virtio, 8 * GIB, name).content(&image.with_config(&config, &place));
        let machine = Machine::new(name).memory_mib(2048).firmware(firmware).disk(disk);
        let nic = Nic::user("virtio-net-pci", mac, UserNet::new(2));
        let machine = machine.nic(nic).disk_first().lasting().time_limit(LIMIT);
        machine.start_in(slots.with())
    });
    let kubectl = workload.kubectl();
    let limit = machines[0].time_left();
    let mut first_boot = None;
    kubectl.await_that("both nodes, one of them rebooted", &["nodes"], limit, |nodes| {
        for machine in &mut machines {
            assert!(machine.is_on(), "{} switched itself off", machine.name());
        }
        approve_pending(&kubectl);
        let (led, whole) = (node(nodes, "led")?, node(nodes, "whole")?);
        let boot_id = whole["status"]["nodeInfo"]["bootID"].as_str()?.to_owned();
        let before = first_boot.get_or_insert_with(|| boot_id.clone());
        (*before != boot_id && is_ready(led) && is_ready(whole)).then_some(())
    });
    println!(
        "one node was Ready, the other Ready again after its reboot {:.1} s after power-on",
        machines[0].uptime().as_secs_f32()
    );
    assert!(server.answered().contains(&200), "{:?}", server.answered());
    let console = machines[1].console().text();
    assert_eq!(console.matches("target: booting").count(), 2, "{console}");
    assert_eq!(console.matches("Ignition: files").count(), 1, "{console}");
}

/// Reboots once, when the kubelet has both of its certificates.
fn reboot() -> Value {
    let unit = "[Unit]\nConditionKernelCommandLine=ignition.firstboot\n\
        [Service]\nType=simple\n\
        ExecStart=/bin/sh -c 'until [ -e /var/lib/kubelet/pki/kubelet-server-current.pem ]; do sleep 1; done; systemctl reboot'\n\
        [Install]\nWantedBy=multi-user.target\n";
    json!({"name": "reboot-once.service", "enabled": true, "contents": unit})
}

fn node<'a>(nodes: &'a Value, name: &str) -> Option<&'a Value> {
    let all = nodes["items"].as_array()?;
    all.iter().find(|node| node["metadata"]["name"] == name)
}
